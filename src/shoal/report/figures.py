"""The figures of a release or an audit that are about what it counts: records, persons, or persons of bundles.

Everything that is said of a certificate or of an audit takes its noun and its figures from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class CountedFigures:
    """What a release or an audit counts, with its figures of privacy."""

    of: Literal["records", "persons", "bundles"]
    """What is counted; "bundles" are of persons whose records are linked."""
    kinds: tuple[Mapping[str, Any], ...]
    """The figures of each kind that is counted, such as persons and households; the first one is that of `risk`."""
    risk: Mapping[str, Mapping[str, Any]]
    """Figures of the risk of re-identification "before" and "after", as far as they are known."""
    confidence: float | None
    """The largest confidence in a sensitive value; None if it was not measured."""
    surest: Mapping[str, Any] | None = None
    """Where persons have several records: the confidence in the column that all records of a person make most
    likely, with the "units" and how many of them are above a limit; None if no limit was counted."""
    several: bool = False
    """Whether persons have several records, or may have, so that shares of groups and risks are about one of them."""
    harmless: tuple[str, ...] = ()
    """The sensitive values that the confidence leaves out, because they need no protection."""

    @property
    def noun(self) -> str:
        """The noun for one of what is counted."""
        return "record" if self.of == "records" else "person"

    @property
    def about(self) -> str:
        """What shares of groups are about: `of`, or "one" of the records of a person who may have several."""
        return "one" if self.of == "records" and self.several else self.of

    @property
    def after(self) -> Mapping[str, Any]:
        """The risk of the published table; empty if it was not measured."""
        return self.risk.get("after", {})

    @property
    def persons(self) -> int | None:
        """How many of the first kind there are; None if records are counted."""
        return self.kinds[0].get("units")

    @property
    def k(self) -> int:
        """The k of the first kind."""
        return int(self.kinds[0]["k"])

    @property
    def smallest(self) -> int:
        """How many of the first kind the smallest group has."""
        return int(self.kinds[0].get("least_in_group", self.k))


def read_figures(facts: Mapping[str, Any]) -> CountedFigures:
    """Read the figures of a certificate or of an audit.

    The persons of a release whose rows are not linked are known to the publisher only; a public certificate then has
    the figures of records. Bundles follow from the published table: a person is one of b with a probability of 1 / b.

    Parameters
    ----------
    facts : mapping
        A certificate as a dictionary, public or private, or `shoal.results.Audit.to_dict()`.

    Examples
    --------
    >>> facts = {"achieved": {"linked": {"units": 10, "bundles": 2, "k": 4, "l": {"disease": 2.0}}}}
    >>> figures = read_figures(facts)
    >>> figures.of, figures.risk, figures.confidence
    ('bundles', {'after': {'highest': 0.25, 'average': 0.2}}, 0.5)
    """
    achieved, risk, kinds = facts["achieved"], facts.get("risk") or {}, tuple(facts.get("persons") or ())
    # Units that are not persons are further figures; each record is assumed to belong to a different person.
    asked = facts.get("requested") or ()
    persons, further = [tuple(one for one in kinds if ("of" in one) == other) for other in (False, True)]
    bundles, alpha = achieved.get("linked"), achieved.get("alpha")
    # An audit has the figures of the table alone, and of what it counts.
    if risk and "unique_rows" in facts:
        risk = {"after": risk}
    elif bundles:
        risk = {"after": {"highest": 1 / bundles["k"], "average": bundles["bundles"] / bundles["units"]}}
    elif risk and persons:
        risk = {"before": persons[0]["risk_before"], "after": persons[0]["risk"]}
    # All records of a person tell something of the person, and single values of lists more than whole lists.
    of_persons = [one["largest"] for kind in persons for one in kind["confidence"].values()]
    of_values = [1 / l for l in (bundles or achieved.get("lists") or {"l": {}})["l"].values()]
    # An audit asks for nothing of its own, but its certificate may state what was counted.
    several = bool({"persons", "records"} & {*(model.get("of") for model in asked), *facts.get("stated", ())})
    if persons:
        several = any(kind["most_records"] > 1 for kind in persons)
    counted = [{**kind, **one} for kind in persons for one in kind["confidence"].values() if several and "limit" in one]
    shares = of_persons or of_values or ([] if alpha is None else [alpha])
    # The figures of persons leave harmless values out, all others count them.
    harmless = [value for model in asked for value in model.get("harmless", ()) if of_persons]
    return CountedFigures(
        of="bundles" if bundles else "persons" if persons else "records",
        kinds=(bundles,) if bundles else persons or (achieved, *further),
        risk=risk,
        confidence=max(map(float, shares), default=None),
        surest=max(counted, key=lambda one: (one["largest"], one["units_above"]), default=None),
        several=several,
        harmless=tuple(dict.fromkeys(harmless)),
    )
