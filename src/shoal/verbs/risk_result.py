"""The result of `risk`: figures of the disclosure risk of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from shoal.disclosure_risk import (
    MEASURES,
    Combination,
    Household,
    Individual,
    KMapFigures,
    KnownSets,
    LogLinear,
    Marketer,
    Measure,
    PersonEvidence,
    PopulationUniques,
    PossibleIdentifier,
    PresenceFigures,
    SpecialUniques,
    Threshold,
)
from shoal.disclosure_risk.figures import as_json
from shoal.errors import ParameterError, near_matches
from shoal.report.card import Card, HasCard
from shoal.report.notebook import card_of_risk


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Risk(HasCard):
    """The disclosure risk of a table: figures named as in JSON, without any cell.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": [20, 20, 35], "disease": ["flu", "ulcer", "flu"]})
    >>> shoal.risk(table, quasi_identifiers=["age"])
    Risk(rows=3, classes=2, highest=1, average=0.6667, sample_uniques=0.3333)
    """

    columns: tuple[str, ...]
    """The quasi-identifiers."""
    stars: str
    """"own": stars, intervals and sets are ordinary values. "wildcard": they match any of their values."""
    rows: int
    """Rows of the table."""
    unit: str | None
    """The columns that identify persons, if the figures count persons: shares are of the persons then, the size of a
    class is its number of distinct persons, and a person has the highest risk of any of that person's rows. None if
    each row is assumed to belong to a different person."""
    units: int | None
    """Number of persons; None if rows are counted."""
    largest_share: float | None
    """Largest share that one person has of the rows of a class: a row that is known to be in a class is that person's
    with this probability. None if rows are counted."""
    classes: int
    """Classes of rows with equal quasi-identifiers."""
    smallest_class: int
    """Size of the smallest class; with wildcards, the fewest rows that match the cells of a row."""
    prosecutor: Threshold
    """Prosecutor risk: the probability of finding the row of a person who is known to be in the table."""
    journalist: Threshold | None
    """Journalist risk: the probability of identifying the person of a row in the population; None without a population.
    """
    marketer: Marketer | None
    """Marketer risk: the expected share of rows matched correctly with the population; None without a population."""
    sample_uniques: float
    """Share of the rows that are unique in their quasi-identifiers."""
    known_sets: KnownSets | None
    """Rows, or persons, that are unique in sets of quasi-identifiers; None if no sets are named."""
    small_classes: dict[int, float]
    """For several k, the share of the rows in classes of fewer than k rows."""
    k_map: KMapFigures | None
    """Population members who match a row; None without a population and a sampling fraction."""
    delta_presence: PresenceFigures | None
    """The certainty that a person is in the table; None without a population, or if people match several classes."""
    population_uniques: PopulationUniques | None
    """Estimated shares of population uniques; None without a sampling fraction, or if rows match several classes."""
    individual: Individual | None
    """Individual risk estimated from survey weights; None without weights."""
    household: Household | None
    """Household risk; None without weights and households."""
    log_linear: LogLinear | None
    """Risk of the sample uniques by a log-linear model; None if not requested."""
    suda: SpecialUniques | None
    """Special uniques; None if not requested."""
    attribute_disclosure: dict[str, Threshold]
    """The confidence of an adversary in each sensitive attribute."""
    quasi_identifiers: tuple[Combination, ...]
    """Combinations of columns, ranked by the number of rows that they tell apart."""
    persons: tuple[PersonEvidence, ...]
    """Columns without a role that identify persons with several rows, the most likely first; all figures count rows.
    Empty if persons are counted."""
    identifiers: tuple[PossibleIdentifier, ...]
    """Columns of the table that look like identifiers. The list may be incomplete."""
    further: tuple[Risk, ...]
    """The risk counted by each further kind of unit."""
    of: str | None
    """"units" if these are the figures of a further kind, such as households; else None."""
    by_row: Callable[[], Any]
    """Private: computes `records`."""

    @cached_property
    def records(self) -> Any:
        """For the publisher only: a frame with the risk of each row, in the order of the table.

        Columns: `row` (from 0), `prosecutor`, those requested of `individual`, `household`, `suda`, `dis_suda` (null if
        the sampling fraction is unknown), and `journalist`. If persons are counted, the risk of a row counts the
        persons of its class, and a person has the highest risk of any of that person's rows.
        """
        return self.by_row()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON."""
        left_out = {"by_row", "further", *(["of"] if self.of is None else [])}
        figures = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
        return {**as_json(figures), "further": [one.to_dict() for one in self.further]}

    def to_json(self) -> str:
        """Return the figures as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def sentences(self) -> list[str]:
        """Return the figures as plain sentences."""
        facts = self.to_dict()
        said = (measure.sentence(one) for one in (facts, *facts["further"]) for measure in MEASURES)
        return [sentence for sentence in said if sentence is not None]

    @staticmethod
    def explain(name: str) -> Measure:
        """Return the meaning of a measure, with its assumptions, formula and reference.

        Parameters
        ----------
        name : str
            The name of the measure, such as "prosecutor" or "population_uniques".
        """
        known = {measure.name: measure for measure in MEASURES}
        if name not in known:
            raise ParameterError(f"There is no measure '{name}'. {near_matches(name, known)}")
        return known[name]

    def _card(self) -> Card:
        """Make the card, which contains no cell."""
        return card_of_risk(self.to_dict(), self.sentences())

    def __repr__(self) -> str:
        return (
            f"Risk(rows={self.rows}, classes={self.classes}, highest={self.prosecutor.highest:.4g}, "
            f"average={self.prosecutor.average:.4g}, sample_uniques={self.sample_uniques:.4g})"
        )
