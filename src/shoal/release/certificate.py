"""The certificates of a release: what was asked, achieved and guaranteed, and how far from the best possible it is.

There are two. The full one is the publisher's: its costs, bounds and times depend on the original table. The public one
holds what the request and the published table tell, and no more.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shoal._core.facts import Fact
from shoal.errors import InternalError
from shoal.wording import english

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.algorithms import Guarantee, LossBound, LowerBound
    from shoal.findings import Remark
    from shoal.hierarchy import Coarsening
    from shoal.recoding import Recoding

__all__ = ["FORMAT", "PRIVATE", "Certificate", "Cost", "PublicCertificate", "coarsenings_for_readers"]

FORMAT = 1
"""Version of the certificate's form. Keys are only ever added to a form."""
PRIVATE = (
    "This certificate depends on the original table and tells more than the published one. Keep it; the public one is "
    "the certificate.json beside the published table."
)
"""What the full certificate says of itself."""
_ROUNDING = 1e-9
"""Losses are sums of floating-point numbers in different orders: they may differ by far less than that."""
_PROOF = Fact("proof_tells_more")
"""What a public certificate with a proof says of it."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a release lost."""

    stars: int
    """Suppressed cells: those published as a star."""
    suppressed_tuples: int
    """Rows with at least one star."""
    recoded_cells: int
    """Cells published less precisely than they were: stars, intervals and sets."""
    recoded_tuples: int
    """Rows with at least one such cell."""
    bound: LowerBound
    """What any release with the same requirement loses at least: cells and rows that cannot keep their values."""
    suppression: bool
    """Whether stars are the only way to recode a cell, so that the bound counts stars."""
    gcp: float
    """Global certainty penalty: what a cell lost on average, from 0 to 1, coarsening beforehand included."""
    rows: int
    """Rows of the release."""
    least: LossBound | None = None
    """What any release with the same requirement loses at least by the same recoding; None where it is not known:
    after coarsening, and for a release that was recoded in parts."""

    @classmethod
    def of(cls, recoding: Recoding, bound: LowerBound, *, gcp: float, least: LossBound | None = None) -> Cost:
        """Count what a recoding lost, beside the bounds.

        Raises
        ------
        InternalError
            The bound on the loss exceeds it.
        """
        if least is not None and least.gcp > gcp * (1 + _ROUNDING) + _ROUNDING:
            raise InternalError("a lower bound exceeds what a release loses")
        return cls(
            stars=recoding.stars,
            suppressed_tuples=recoding.suppressed_tuples,
            recoded_cells=recoding.recoded_cells,
            recoded_tuples=recoding.recoded_tuples,
            bound=bound,
            suppression=recoding.method == "suppression",
            gcp=gcp,
            rows=recoding.rows,
            least=least,
        )

    @classmethod
    def merged(cls, parts: Sequence[Cost], bound: LowerBound) -> Cost:
        """Return what a release lost whose groups were recoded in parts; the counts are exact.

        Parameters
        ----------
        parts : sequence of Cost
            At least one. All have the same columns, and losses measured against the domain of the whole table.
        bound : LowerBound
            What any release of the whole table loses. Bounds of parts say nothing of it: its groups may take rows of
            several.
        """
        rows = sum(one.rows for one in parts)
        return cls(
            stars=sum(one.stars for one in parts),
            suppressed_tuples=sum(one.suppressed_tuples for one in parts),
            recoded_cells=sum(one.recoded_cells for one in parts),
            recoded_tuples=sum(one.recoded_tuples for one in parts),
            bound=bound,
            suppression=all(one.suppression for one in parts),
            gcp=math.fsum(one.gcp * one.rows for one in parts) / max(rows, 1),
            rows=rows,
        )

    @property
    def optimal(self) -> bool:
        """Whether no release with this requirement has fewer recoded cells; only True when the bound proves it."""
        return self.recoded_cells == self.bound.stars

    def to_dict(self) -> dict[str, Any]:
        """Return the `cost` of the certificate."""
        cells, rows = self.bound.stars, self.bound.suppressed_tuples
        in_stars = (
            {"stars": cells, "suppressed_tuples": rows} if self.suppression else {"stars": 0, "suppressed_tuples": 0}
        )
        return {
            "stars": self.stars,
            "suppressed_tuples": self.suppressed_tuples,
            "recoded_cells": self.recoded_cells,
            "recoded_tuples": self.recoded_tuples,
            "gcp": self.gcp,
            "lower_bound": {
                **in_stars,
                "recoded_cells": cells,
                "recoded_tuples": rows,
                **_told("why", self.bound.why),
                **self._least(),
            },
            "optimal": self.optimal,
        }

    def _least(self) -> dict[str, Any]:
        """Return the bound on the loss, the gap to it in relation to the loss, and what it rests on."""
        if self.least is None:
            return {}
        gap = max(self.gcp - self.least.gcp, 0.0) / self.gcp if self.gcp > 0 else 0.0
        return {"gcp": self.least.gcp, "gcp_gap": gap, **_told("gcp_why", self.least.why)}


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """Everything that is known of one release; it holds no cell of the input. It is the publisher's.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release.certificate.algorithm, release.certificate.achieved["k"]
    ('tp+', 2)
    """

    version: str
    """shoal's version."""
    algorithm: str
    """Name of the algorithm that ran."""
    reason: Fact
    """Why that one."""
    parameters: Mapping[str, Any]
    """Its parameters, and how the table was recoded."""
    seed: int | None
    """The seed that was asked for; None: randomness came from the operating system."""
    input: Mapping[str, Any]
    """Rows, roles and hash of the input."""
    requested: Sequence[Mapping[str, Any]]
    """The privacy models as requested."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells."""
    risk: Mapping[str, Mapping[str, Any]]
    """How easily people were found `before`, in the rows to be published as they came, and are found `after`, in the
    published cells: `shoal.disclosure_risk.Reidentification`. Empty where there is no quasi-identifier."""
    warnings: Sequence[Remark] = ()
    """What a privacy officer would raise, and what to do next."""
    cost: Cost
    """What was lost: counts of cells and rows, and the least that any release must lose."""
    guarantee: Guarantee
    """What the algorithm proves of this very run, as ratios to the least; at least 1, or None where it proves
    nothing."""
    seconds: Mapping[str, float]
    """Wall time of each step."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the algorithm tells of its run: counts and names, never a cell."""
    for_readers: Mapping[str, Any] = field(default_factory=dict)
    """What of the parameters readers need, as it was asked for: nothing of it depends on the table."""
    persons: Sequence[Mapping[str, Any]] = ()
    """What was measured of each kind of unit that is protected, such as persons: `PersonFigures`."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """What found the groups: the engine's `name`, in how many `parts` of the table, and for those that work on cells
    with counts how many `cells` there were, and the `memory` in bytes that they were allowed."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    @property
    def columns(self) -> dict[str, list[str]]:
        """The roles of the published columns."""
        return {role: list(self.input[role]) for role in ("quasi_identifiers", "sensitive", "insensitive")}

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of the private `certificate.json`."""
        return {
            "format": FORMAT,
            "shoal": self.version,
            "private": PRIVATE,
            "algorithm": self.algorithm,
            **_told("reason", self.reason),
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "randomness": "the operating system" if self.seed is None else "reproducible from the seed",
            "input": dict(self.input),
            "columns": self.columns,
            "requested": [dict(model) for model in self.requested],
            "achieved": dict(self.achieved),
            "risk": {when: dict(figures) for when, figures in self.risk.items()},
            **({"persons": [dict(figures) for figures in self.persons]} if self.persons else {}),
            "warnings": [remark.to_dict() for remark in self.warnings],
            "cost": self.cost.to_dict(),
            "guarantee": self._guarantee(),
            "details": dict(self.details),
            "engine": dict(self.engine),
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "output": {"files": {name: dict(facts) for name, facts in self.files.items()}},
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def public(self, *, text: str, reservations: Sequence[str], proof: bool = False) -> PublicCertificate:
        """Return the certificate that may be published.

        Parameters
        ----------
        text : str
            What the models promise, in words that do not depend on the table.
        reservations : sequence of str
            What they do not.
        proof : bool
            Whether to add the bounds and costs, which depend on the original table.
        """
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
        """Return what a proof adds to the public certificate: not the loss against the table before coarsening."""
        ratios = self._guarantee()
        return {
            **_told("proof", _PROOF),
            "algorithm": self.algorithm,
            "input": {name: self.input[name] for name in ("sha256", "keyed")},
            "cost": _without_loss(self.cost.to_dict()),
            "guarantee": {"algorithm": ratios.pop("text"), "algorithm_fact": ratios.pop("text_fact"), **ratios},
        }

    def _guarantee(self) -> dict[str, Any]:
        """Return the guarantee; what the lower bound proves of this run counts as well as the algorithm's theorem."""
        bound = self.cost.bound
        tuples = _tighter(self.guarantee.tuples_ratio, self.cost.recoded_tuples, bound.suppressed_tuples)
        cells = _tighter(self.guarantee.stars_ratio, self.cost.recoded_cells, bound.stars)
        return {
            **_told("text", self.guarantee.promise),
            "recoded_tuples_ratio": tuples,
            "recoded_cells_ratio": cells,
            "phase": self.guarantee.phase,
        }

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it, for the publisher."""
        from shoal.report.notebook import card_of_certificate

        return card_of_certificate(self.to_dict())

    def __repr__(self) -> str:
        return f"Certificate(algorithm={self.algorithm!r}, stars={self.cost.stars}, optimal={self.cost.optimal})"


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicCertificate:
    """What may be published beside a release: the same for every original that gives the same published table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release.public_certificate.achieved["k"]
    2
    """

    version: str
    """shoal's version."""
    requested: Sequence[Mapping[str, Any]]
    """The privacy models as requested."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells, as anybody can recount it."""
    risk: Mapping[str, Mapping[str, Any]]
    """How easily people are found `after` it all: in the published cells, as anybody can recount it."""
    warnings: Sequence[Mapping[str, Any]] = ()
    """What is odd about the published table, as anybody can see in it."""
    parameters: Mapping[str, Any]
    """What readers need to understand the cells, as it was asked for."""
    columns: Mapping[str, Sequence[str]]
    """The roles of the published columns."""
    text: str
    """What the models promise."""
    reservations: Sequence[str]
    """What they do not."""
    proof: Mapping[str, Any] | None = None
    """Bounds and costs, which depend on the original, where the publisher adds them; None: there is none."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of the public `certificate.json`."""
        proof = dict(self.proof or {})
        return {
            "format": FORMAT,
            "shoal": self.version,
            "requested": [dict(model) for model in self.requested],
            "achieved": dict(self.achieved),
            "risk": {when: dict(figures) for when, figures in self.risk.items()},
            "warnings": [dict(one) for one in self.warnings],
            "parameters": dict(self.parameters),
            "columns": {role: list(names) for role, names in self.columns.items()},
            "guarantee": {"text": self.text, "reservations": list(self.reservations), **proof.pop("guarantee", {})},
            **proof,
            "output": {"files": {name: dict(facts) for name, facts in self.files.items()}},
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it."""
        from shoal.report.notebook import card_of_public_certificate

        return card_of_public_certificate(self.to_dict())

    def __repr__(self) -> str:
        return f"PublicCertificate(models={len(self.requested)}, proof={self.proof is not None})"


def _told(key: str, fact: Fact) -> dict[str, Any]:
    """Return a fact as certificates hold it: in a sentence, and as a code with arguments."""
    return {key: english(fact), f"{key}_fact": fact.to_dict()}


def _without_loss(cost: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `cost` without what it says of the loss, from which exact values of the original may be read off."""
    bound = {name: value for name, value in cost["lower_bound"].items() if not name.startswith("gcp")}
    return {name: value for name, value in cost.items() if name != "gcp"} | {"lower_bound": bound}


def _tighter(promised: Fraction | int | None, cost: int, bound: int) -> float | None:
    """Return the smaller of a promised and a proven ratio, rounded up in the fourth decimal."""
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
    """Return coarsenings as they were asked for: without what became of them on a table, and without a seed."""
    return {
        key if isinstance(key, str) else ",".join(key): {
            name: value for name, value in coarsening.to_dict().items() if name != "seed"
        }
        for key, coarsening in coarsen.items()
    }
