"""Certificates of a release: the requested and achieved privacy, guarantees, and the distance from the optimum.

The full certificate is private, because its costs, bounds and times depend on the original table. The public one is a
function of the request and the published table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from shoal._core.facts import Fact
from shoal.algorithms.base import Guarantee
from shoal.algorithms.bounds import LossBound, LowerBound
from shoal.errors import InternalError
from shoal.findings import Remark
from shoal.hierarchy import Coarsening
from shoal.recoding import Recoding
from shoal.release.certificate_files import (
    FORMAT,
    SCHEMA,
    CertificateFile,
    CostFile,
    LeastKeys,
    PersonKeys,
    ProofKeys,
    PublicCertificateFile,
)
from shoal.report.card import Card, HasCard
from shoal.report.notebook import card_of_certificate, card_of_public_certificate
from shoal.wording import sentence

PRIVATE = (
    "This certificate depends on the original table and tells more than the published one. Keep it; the public one is "
    "the certificate.json in the folder of the published table."
)
"""Notice in the full certificate that it is private."""
_COUNTS = ("stars", "suppressed_tuples", "recoded_cells", "recoded_tuples")
_ROUNDING = 1e-9
"""Tolerance for comparing losses, which are sums of floats in different orders."""
_PROOF = Fact("proof_tells_more")
"""Notice in a public certificate with a proof."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The information loss of a release."""

    stars: int
    """Suppressed cells: those published as a star."""
    suppressed_tuples: int
    """Rows with at least one star."""
    recoded_cells: int
    """Cells that grouping made less precise: stars, intervals and sets. Coarsening before it is not counted."""
    recoded_tuples: int
    """Rows with at least one such cell."""
    bound: LowerBound
    """Lower bound over all releases with the same requirement: cells and rows that cannot keep their values."""
    suppression: bool
    """Whether cells can only be recoded to stars, so that the bound counts stars."""
    gcp: float
    """Global certainty penalty: the average loss of a cell, from 0 to 1, including earlier coarsening."""
    rows: int
    """Rows of the release."""
    least: LossBound | None = None
    """Lower bound of the loss over all releases with the same requirement and recoding whose cells are of the same kind
    in every column, see `nodes`; None if unknown, which is the case after coarsening and for a release that was recoded
    in parts."""
    nodes: tuple[str, ...] = ()
    """The columns whose cells are nodes of a hierarchy; other cells are values, intervals, sets or stars."""

    @classmethod
    def of(cls, recoding: Recoding, bound: LowerBound, *, gcp: float, least: LossBound | None = None) -> Cost:
        """Compute the cost of a recoding and check it against the bounds.

        Raises
        ------
        InternalError
            If the bound on the loss exceeds the loss.
        """
        # A bound above the loss would disprove the theory or the code.
        if least is not None and least.gcp > gcp * (1 + _ROUNDING) + _ROUNDING:
            raise InternalError("a lower bound exceeds what a release loses")
        counts: dict[str, Any] = {name: getattr(recoding, name) for name in _COUNTS}
        return cls(
            **counts,
            bound=bound,
            suppression=recoding.method == "suppression",
            gcp=gcp,
            rows=recoding.rows,
            least=least,
            nodes=tuple(column.name for column in recoding.columns if column.levels is not None),
        )

    @property
    def optimal(self) -> bool:
        """Whether the bound proves that no release with this requirement has fewer recoded cells."""
        return self.recoded_cells == self.bound.stars

    def to_dict(self) -> CostFile:
        """Return the entry `cost` of the certificate."""
        cells, rows = self.bound.stars, self.bound.suppressed_tuples
        return {
            "stars": self.stars,
            "suppressed_tuples": self.suppressed_tuples,
            "recoded_cells": self.recoded_cells,
            "recoded_tuples": self.recoded_tuples,
            "gcp": self.gcp,
            "lower_bound": {
                # The bound counts recoded cells, which are stars only if suppression is the only recoding.
                "stars": cells if self.suppression else 0,
                "suppressed_tuples": rows if self.suppression else 0,
                "recoded_cells": cells,
                "recoded_tuples": rows,
                "why": sentence(self.bound.why),
                "why_fact": self.bound.why.to_dict(),
                **self._least(),
            },
            "optimal": self.optimal,
        }

    def _least(self) -> LeastKeys:
        """Return the bound on the loss, the relative gap to it, and the basis of the bound."""
        if self.least is None:
            return {}
        # Rounding may put the loss slightly below the bound.
        gap = max(self.gcp - self.least.gcp, 0.0) / self.gcp if self.gcp > 0 else 0.0
        why = self.least.why
        return {
            "gcp": self.least.gcp,
            "gcp_gap": gap,
            "gcp_nodes": list(self.nodes),
            "gcp_why": sentence(why),
            "gcp_why_fact": why.to_dict(),
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(HasCard):
    """The full, private certificate of a release. It contains no cell of the input.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release.certificate.algorithm, release.certificate.achieved["k"]
    ('cluster', 2)
    """

    version: str
    """The version of shoal."""
    algorithm: str
    """Name of the algorithm that ran."""
    reason: Fact
    """The reason for choosing this algorithm."""
    parameters: Mapping[str, Any]
    """The parameters of the algorithm, and the recoding."""
    seed: int | None
    """The requested seed; None if the randomness came from the operating system."""
    input: Mapping[str, Any]
    """Rows, roles and hash of the input."""
    requested: Sequence[Mapping[str, Any]]
    """The privacy models as requested."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells."""
    risk: Mapping[str, Mapping[str, Any]]
    """Re-identification risk `before`, of the original values of the published rows, and `after`, of the published
    cells; see `shoal.disclosure_risk.Reidentification`. Empty if there is no quasi-identifier."""
    warnings: Sequence[Remark] = ()
    """Concerns that a privacy officer would raise, each with advice."""
    cost: Cost
    """The information loss, with lower bounds for any release."""
    guarantee: Guarantee
    """Approximation ratios that the algorithm proves for this run; at least 1, or None without a proof."""
    seconds: Mapping[str, float]
    """Wall time of each step."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Facts that the algorithm reports about its run: counts and names, never a cell."""
    for_readers: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that readers need, as requested, independent of the table."""
    persons: Sequence[Mapping[str, Any]] = ()
    """Figures about each protected kind of unit, such as persons; see `PersonFigures`."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """The engine: its `name`, the number of `parts` of the table and, for engines that count, the number of `cells`
    and the limit of `memory` in bytes."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    @property
    def columns(self) -> dict[str, list[str]]:
        """The roles of the published columns."""
        return {role: list(self.input[role]) for role in ("quasi_identifiers", "sensitive", "insensitive")}

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of the private `certificate.json`."""
        persons: PersonKeys = {"persons": [dict(figures) for figures in self.persons]} if self.persons else {}
        file: CertificateFile = {
            "$schema": SCHEMA,
            "format": FORMAT,
            "shoal": self.version,
            "private": PRIVATE,
            "algorithm": self.algorithm,
            "reason": sentence(self.reason),
            "reason_fact": self.reason.to_dict(),
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "randomness": "the operating system" if self.seed is None else "reproducible from the seed",
            "input": dict(self.input),
            "columns": self.columns,
            "requested": [dict(model) for model in self.requested],
            "achieved": dict(self.achieved),
            "risk": {when: dict(figures) for when, figures in self.risk.items()},
            **persons,
            "warnings": [remark.to_dict() for remark in self.warnings],
            "cost": self.cost.to_dict(),
            "guarantee": self._guarantee(),
            "details": dict(self.details),
            "engine": dict(self.engine),
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "output": {"files": dict(self.files)},
        }
        return {**file}

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def public(self, *, text: str, reservations: Sequence[str], proof: bool = False) -> PublicCertificate:
        """Build the public certificate.

        Parameters
        ----------
        text : str
            The promise of the models, in words that do not depend on the table.
        reservations : sequence of str
            The limits of that promise.
        proof : bool
            Whether to add the bounds and costs, which depend on the original table.
        """
        # Everything that depends on the original table is left out: costs, bounds, times, and the risk before.
        return PublicCertificate(
            version=self.version,
            requested=self.requested,
            achieved=self.achieved,
            risk={when: figures for when, figures in self.risk.items() if when == "after"},
            warnings=[remark.for_readers() for remark in self.warnings if remark.kind.public],
            parameters=self.for_readers,
            columns=self.columns,
            text=text,
            reservations=reservations,
            proof=self._proof() if proof else None,
            files=self.files,
        )

    def _proof(self) -> dict[str, Any]:
        """Return the entry `proof` of the public certificate, without the loss against the table before coarsening."""
        return {
            **_told("proof", _PROOF),
            "algorithm": self.algorithm,
            "input": {name: self.input[name] for name in ("sha256", "keyed")},
            "cost": _without_loss({**self.cost.to_dict()}),
            "guarantee": self._guarantee(),
        }

    def _guarantee(self) -> dict[str, Any]:
        """Return the approximation guarantee: the better of the algorithm's and the lower bound's ratio."""
        # The theorem holds for every run; the ratio to the lower bound holds for this run and may be smaller.
        bound = self.cost.bound
        tuples = _tighter(self.guarantee.tuples_ratio, self.cost.recoded_tuples, bound.suppressed_tuples)
        cells = _tighter(self.guarantee.stars_ratio, self.cost.recoded_cells, bound.stars)
        return {
            **_told("algorithm", self.guarantee.promise),
            "recoded_tuples_ratio": tuples,
            "recoded_cells_ratio": cells,
            "phase": self.guarantee.phase,
        }

    def _card(self) -> Card:
        """Make the card, which is for the publisher only."""
        return card_of_certificate(self.to_dict())

    def __repr__(self) -> str:
        return f"Certificate(algorithm={self.algorithm!r}, stars={self.cost.stars}, optimal={self.cost.optimal})"


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicCertificate(HasCard):
    """The public certificate: identical for all originals that lead to the same published table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release.public_certificate.achieved["k"]
    2
    """

    version: str
    """The version of shoal."""
    requested: Sequence[Mapping[str, Any]]
    """The privacy models as requested."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells; readers can verify it."""
    risk: Mapping[str, Mapping[str, Any]]
    """Re-identification risk `after` anonymization, in the published cells; readers can verify it."""
    warnings: Sequence[Mapping[str, Any]] = ()
    """Concerns that are visible in the published table."""
    parameters: Mapping[str, Any]
    """The requested parameters that readers need to interpret the cells."""
    columns: Mapping[str, Sequence[str]]
    """The roles of the published columns."""
    text: str
    """The promise of the models."""
    reservations: Sequence[str]
    """The limits of that promise."""
    proof: Mapping[str, Any] | None = None
    """Bounds and costs, which depend on the original; None unless the publisher adds them."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of the public `certificate.json`."""
        given = dict(self.proof or {})
        ratios = given.pop("guarantee", {})
        proof = cast("ProofKeys", given)
        file: PublicCertificateFile = {
            "$schema": SCHEMA,
            "format": FORMAT,
            "shoal": self.version,
            "requested": [dict(model) for model in self.requested],
            "achieved": dict(self.achieved),
            "risk": {when: dict(figures) for when, figures in self.risk.items()},
            "warnings": [dict(one) for one in self.warnings],
            "parameters": dict(self.parameters),
            "columns": self.columns,
            "guarantee": {"text": self.text, "reservations": list(self.reservations), **ratios},
            **proof,
            "output": {"files": dict(self.files)},
        }
        return {**file}

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def _card(self) -> Card:
        """Make the public card."""
        return card_of_public_certificate(self.to_dict())

    def __repr__(self) -> str:
        return f"PublicCertificate(models={len(self.requested)}, proof={self.proof is not None})"


def _told(key: str, fact: Fact) -> dict[str, Any]:
    """Convert a fact to the entries of a certificate: a sentence, and a code with arguments."""
    return {key: sentence(fact), f"{key}_fact": fact.to_dict()}


def _without_loss(cost: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the loss from a `cost`, because exact values of the original might be derived from it."""
    bound = {name: value for name, value in cost["lower_bound"].items() if not name.startswith("gcp")}
    return {name: value for name, value in cost.items() if name != "gcp"} | {"lower_bound": bound}


def _tighter(promised: Fraction | int | None, cost: int, bound: int) -> float | None:
    """Return the smaller of a promised and a proven ratio, rounded up to four decimals."""
    ratios = [] if promised is None else [Fraction(promised)]
    if bound > 0:
        ratios.append(Fraction(cost, bound))
    elif cost == 0:
        ratios.append(Fraction(1))
    if not ratios:
        return None
    scaled = min(ratios) * 10_000
    return -(-scaled.numerator // scaled.denominator) / 10_000


def coarsenings_for_readers(coarsen: Mapping[str | tuple[str, ...], Coarsening]) -> dict[str, dict[str, Any]]:
    """Describe the coarsenings as requested, without details that depend on the table and without a seed."""
    return {
        key if isinstance(key, str) else ",".join(key): {
            name: value for name, value in coarsening.to_dict().items() if name != "seed"
        }
        for key, coarsening in coarsen.items()
    }
