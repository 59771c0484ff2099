"""Entry point `risk`: compute every measure of disclosure risk of a table in one call."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal import disclosure_risk as measures
from shoal._core.progress import Clock, Progress
from shoal._core.validation import Integer, NotBlank, OneOf, Optional, RationalIn, exact_fraction, validate
from shoal._messages import Suggestion
from shoal.disclosure_risk import LOG_LINEAR_MODELS, MEASURES, Frequencies, Measure, Threshold
from shoal.disclosure_risk.attribute import most_common
from shoal.disclosure_risk.figures import as_json
from shoal.disclosure_risk.individual import (
    household_risk,
    household_risks,
    individual_risk,
    individual_risks,
    sum_weights,
)
from shoal.disclosure_risk.suda import dis_suda_scores
from shoal.errors import ColumnError, DataError, NoRowsError, ParameterError, near_matches
from shoal.findings import persons_beside
from shoal.models.unique_estimates import SampleHistogram
from shoal.pipeline.input import judged, open_data, open_population
from shoal.request.hierarchies import trees_of
from shoal.table import Schema, encode, roles
from shoal.verification import collect_meanings
from shoal.verification.meaning import parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    import polars as pl
    from numpy.typing import NDArray

    from shoal.disclosure_risk import (
        Combination,
        Household,
        Individual,
        KMapFigures,
        LogLinear,
        Marketer,
        PersonEvidence,
        PopulationUniques,
        PossibleIdentifier,
        PresenceFigures,
        SpecialUniques,
    )
    from shoal.hierarchy import Hierarchy
    from shoal.table import Column, Table
    from shoal.verification import Meaning

__all__ = ["Risk", "risk"]

_CLASS_SIZES = (2, 3, 5, 10, 20)
"""The values of k in `Risk.small_classes`."""
_STEPS = ("read", "count", "estimate", "special uniques", "log-linear", "columns")
_LARGEST_WEIGHT = 1_000_000_000_000
_SHOWN_ROWS = 20
"""Row numbers that an error message lists at most."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Risk:
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
    """Columns without a role that identify persons with several rows, the most likely first; all figures count rows."""
    identifiers: tuple[PossibleIdentifier, ...]
    """Columns of the table that look like identifiers. The list may be incomplete."""
    by_row: Callable[[], Any]
    """Private: computes `records`."""

    @cached_property
    def records(self) -> Any:
        """For the publisher only: a frame with the risk of each row, in the order of the table.

        Columns: `row` (from 0), `prosecutor`, those requested of `individual`, `household`, `suda`, `dis_suda` (null if
        the sampling fraction is unknown), and `journalist`.
        """
        return self.by_row()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON."""
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self) if field.name != "by_row"}

    def to_json(self) -> str:
        """Return the figures as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def sentences(self) -> list[str]:
        """Return the figures as plain sentences."""
        facts = self.to_dict()
        sentences = (measure.sentence(facts) for measure in MEASURES)
        return [sentence for sentence in sentences if sentence is not None]

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

    def _repr_html_(self) -> str:
        """Return the HTML summary for notebooks, which contains no cell."""
        from shoal.report.notebook import card_of_risk

        return card_of_risk(self.to_dict(), self.sentences())

    def __repr__(self) -> str:
        return (
            f"Risk(rows={self.rows}, classes={self.classes}, highest={self.prosecutor.highest:.4g}, "
            f"average={self.prosecutor.average:.4g}, sample_uniques={self.sample_uniques:.4g})"
        )


def risk(
    data: Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    population: Any = None,
    sampling_fraction: Real | float | None = None,
    weights: str | None = None,
    household: str | None = None,
    stars: Literal["own", "wildcard"] = "own",
    star: str | None = None,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
    cells: Mapping[str, object] | None = None,
    threshold: Real | float = 0.2,
    l: int = 2,
    significance: Real | float = 0.01,
    suda: int | None = None,
    log_linear: Literal["independence", "two-way"] | None = None,
    combinations: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Measure and estimate the disclosure risk of a table.

    The measures depend on the available knowledge: a population, a sampling fraction, or survey weights. The risk does
    not depend on the order of the rows, on an index, or on the representation of missing values.

    Parameters
    ----------
    data : frame, path, or Release
        Any table, regardless of its origin: original, generalized, suppressed or synthetic. As for `anonymize`, or the
        folder of a release. One row per person. Columns without a role are searched for possible identifiers.
    quasi_identifiers : sequence of str, optional
        Columns that an adversary knows. By default, columns have the roles stated in the certificate of a release. A
        missing value is a value of its own.
    sensitive : str or sequence of str, optional
        Columns that must not be linked to a person, for `attribute_disclosure`.
    population : frame or path, optional
        A table of the population, including the people of the table, with the same quasi-identifiers: for `journalist`,
        `marketer`, `k_map` and `delta_presence`.
    sampling_fraction : number, optional
        The share of the population that is in the table, above 0 and at most 1: for `population_uniques`, the estimated
        `k_map`, `log_linear` and `dis_suda`.
    weights : str, optional
        Column of survey weights, at least 1 each: the number of population members that a row represents.
    household : str, optional
        Column that identifies the household of each person; requires `weights`.
    stars : {"own", "wildcard"}
        If "own", a star (an interval, a set) is a value of its own, as the table shows it. If "wildcard", it matches
        any of its values, as in a join of tables, and f counts the rows that are compatible with a row.
    star : str, optional
        The symbol of a suppressed cell. By default that of the release's certificate, or `*`.
    hierarchies : mapping of column to Hierarchy or path, optional
        With wildcards, hierarchies of columns whose cells are nodes of a hierarchy.
    cells : mapping of column to object, optional
        With wildcards, the meaning of the cells of other columns if they are ambiguous: "values" as they stand, a
        coarsening (`shoal.Prefix(3)`), or all values in their order.
    threshold : number
        The acceptable risk of re-identification, above 0 and at most 1.
    l : int
        The acceptable confidence in a sensitive value is 1 / l.
    significance : number
        The error probability allowed for a class by the estimated k-map, above 0 and below 1.
    suda : int, optional
        The maximum number of columns of special uniques.
    log_linear : {"independence", "two-way"}, optional
        The log-linear model to fit: main effects, or also all interactions of two columns. Requires a sampling
        fraction.
    combinations : int, optional
        The maximum number of columns of ranked combinations; 3 by default, fewer if there are very many columns.
    delimiter, encoding : str, optional
        Of CSV files; detected by default.
    sheet : str, optional
        Of a workbook with the table; required if it has several.
    progress : callable, optional
        Called regularly with (step, done, total).

    Returns
    -------
    Risk

    Raises
    ------
    UsageError
        The call or the data is invalid; the message names the column and the remedy.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"sex": list("FFFMM"), "state": ["CA", "CA", "TX", "NY", "CA"]})
    >>> found = risk(table, quasi_identifiers=["sex", "state"])
    >>> found.classes, found.prosecutor.highest, found.sample_uniques
    (4, 1.0, 0.6)
    """
    # Validate the options before the table is read.
    judge = judged(data, quasi_identifiers, sensitive, star)
    asked = _Asked.of(
        sampling_fraction=sampling_fraction,
        stars=stars,
        star=judge.star,
        threshold=threshold,
        l=l,
        significance=significance,
        suda=suda,
        log_linear=log_linear,
        combinations=combinations,
        weights=weights,
        household=household,
    )
    clock = Clock(_STEPS, progress)
    with clock.step("read"):
        opened = open_data(judge.data, delimiter=delimiter, encoding=encoding, sheet=sheet)
        schema = _roles_in(opened.frame, judge.quasi_identifiers, judge.sensitive)
        table = encode(opened.frame[list(schema.published)], schema)
        others = (
            None if population is None else open_population(population, schema.quasi_identifiers, delimiter, encoding)
        )
        meanings = _meanings(schema, judge.certificate, hierarchies, cells, asked)
        weight = None if weights is None else _weights(opened.frame, weights)
        homes = None if household is None else _households(opened.frame, household)
    with clock.step("count"):
        frequencies = _frequencies(opened.frame, table, others, meanings, asked, clock.progress)
        figures = _counted(frequencies, table, asked)
    with clock.step("estimate"):
        figures |= _by_fraction(frequencies, asked)
        by_weights, of_rows = _by_weights(frequencies, weight, homes)
        figures |= by_weights
    with clock.step("special uniques"):
        special, scores = _special(table.quasi_identifiers, frequencies, weight, asked, clock.progress)
        figures["suda"], of_rows = special, of_rows | scores
    with clock.step("log-linear"):
        figures["log_linear"] = _log_linear(table.quasi_identifiers, frequencies, asked, clock.progress)
    with clock.step("columns"):
        figures["quasi_identifiers"] = measures.rank_combinations(
            table.quasi_identifiers, frequencies=frequencies, size=asked.combinations, progress=clock.progress
        )
        figures["persons"] = persons_beside(opened.frame, schema.published)
        figures["identifiers"] = measures.detect_identifiers(opened.frame)
    # The risk of each row is computed on demand only, and never leaves the object by itself.
    return Risk(**figures, by_row=lambda: opened.restore(_records(frequencies, of_rows)))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The validated options of a call, with exact fractions."""

    sampling_fraction: Fraction | None
    stars: str
    star: str
    threshold: Fraction
    l: int
    significance: Fraction
    suda: int | None
    log_linear: str | None
    combinations: int | None

    @classmethod
    def of(cls, *, weights: str | None, household: str | None, **options: Any) -> _Asked:
        """Validate the options and convert them."""
        share = RationalIn(low=Fraction(0), high=Fraction(1), low_included=False)
        validate(
            "risk",
            options,
            {
                "sampling_fraction": Optional(share),
                "stars": OneOf(("own", "wildcard")),
                "star": NotBlank(),
                "threshold": share,
                "l": Integer(low=1),
                "significance": share,
                "suda": Optional(Integer(low=1)),
                "log_linear": Optional(OneOf(LOG_LINEAR_MODELS)),
                "combinations": Optional(Integer(low=1)),
            },
        )
        if options["log_linear"] is not None and options["sampling_fraction"] is None:
            raise ParameterError(
                "A log-linear model needs the share of the population that is in the table: give ",
                Suggestion("sampling_fraction"),
                ".",
            )
        if household is not None and weights is None:
            raise ParameterError(
                "The risk of households is computed from individual risks: name the survey weights with ",
                Suggestion("weights"),
                ".",
            )
        exact = ("sampling_fraction", "threshold", "significance")
        found = {name: None if options[name] is None else exact_fraction(options[name]) for name in exact}
        if found["significance"] == 1:
            raise ParameterError.refusing("risk", "significance", "below 1", got="1")
        return cls(**{**options, **found})


def _counted(frequencies: Frequencies, table: Table, asked: _Asked) -> dict[str, Any]:
    """Compute the figures that need counts only."""
    # `sample` has the frequency of each class, `rows_of` its number of rows; they differ with wildcards.
    sample, rows_of = frequencies.sample, frequencies.rows_of
    known = frequencies.population is not None
    estimated = asked.sampling_fraction is not None
    return {
        "columns": table.schema.quasi_identifiers,
        "stars": asked.stars,
        "rows": frequencies.rows,
        "classes": frequencies.classes,
        "smallest_class": int(sample.min()),
        "prosecutor": measures.prosecutor_risk(sample, rows_of, asked.threshold),
        "journalist": measures.journalist_risk(frequencies, asked.threshold) if known else None,
        "marketer": measures.marketer_risk(frequencies) if known else None,
        "sample_uniques": measures.sample_uniques(sample, rows_of),
        "small_classes": measures.small_classes(sample, rows_of, _CLASS_SIZES),
        "k_map": measures.k_map(frequencies, asked.sampling_fraction, asked.significance)
        if known or estimated
        else None,
        "delta_presence": measures.delta_presence(frequencies) if known else None,
        "attribute_disclosure": {
            column.name: measures.attribute_disclosure(
                most_common(frequencies, column), sample, rows_of, Fraction(1, asked.l)
            )
            for column in table.sensitive
        },
    }


def _by_fraction(frequencies: Frequencies, asked: _Asked) -> dict[str, Any]:
    """Estimate figures from the sampling fraction; the estimators require classes that do not overlap."""
    # With wildcards classes overlap, and the estimators do not apply.
    if asked.sampling_fraction is None or not np.array_equal(frequencies.sample, frequencies.rows_of):
        return {"population_uniques": None}
    histogram = SampleHistogram.of(frequencies.sample)
    return {"population_uniques": measures.population_uniques(histogram, asked.sampling_fraction)}


def _by_weights(
    frequencies: Frequencies,
    weights: NDArray[np.float64] | None,
    homes: tuple[NDArray[np.int64], int] | None,
) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Estimate the risk from survey weights: return the figures, and the risk of each row."""
    if weights is None:
        return {"individual": None, "household": None}, {}
    risks = individual_risks(frequencies.sample, sum_weights(frequencies, weights))
    figures: dict[str, Any] = {"individual": individual_risk(risks, frequencies.rows_of), "household": None}
    of_rows = {"individual": risks[frequencies.class_of]}
    if homes is not None:
        of_homes = household_risks(risks, frequencies.class_of, *homes)
        figures["household"] = household_risk(of_homes, homes[0])
        of_rows["household"] = of_homes[homes[0]]
    return figures, of_rows


def _special(
    columns: Sequence[Column],
    frequencies: Frequencies,
    weights: NDArray[np.float64] | None,
    asked: _Asked,
    progress: Progress,
) -> tuple[SpecialUniques | None, dict[str, NDArray[np.float64]]]:
    """Find the special uniques: return their figures, and the scores of each row."""
    if asked.suda is None:
        return None, {}
    found = measures.minimal_uniques(columns, asked.suda, progress=progress)
    # Without a given sampling fraction, the population or the weights determine it.
    p = asked.sampling_fraction
    if p is None and frequencies.people is not None:
        p = Fraction(frequencies.rows, frequencies.people)
    elif p is None and weights is not None:
        p = frequencies.rows / exact_fraction(math.fsum(weights.tolist()))
    special = measures.special_uniques(found, columns, frequencies, p)
    uniques = int((frequencies.rows_of == 1).sum())
    unknown = np.full(frequencies.rows, np.nan)  # NaN becomes null
    dis = unknown if special.dis is None else dis_suda_scores(found.scores, uniques, special.dis, len(columns))
    return special, {"suda": found.scores, "dis_suda": dis}


def _log_linear(
    columns: Sequence[Column], frequencies: Frequencies, asked: _Asked, progress: Progress
) -> LogLinear | None:
    if asked.log_linear is None or asked.sampling_fraction is None:
        return None
    return measures.log_linear_risk(
        columns, frequencies, asked.sampling_fraction, model=asked.log_linear, progress=progress
    )


def _records(frequencies: Frequencies, of_rows: Mapping[str, NDArray[np.float64]]) -> pl.DataFrame:
    """Build the frame with the risk of each row, in the order of the table."""
    import polars as pl

    columns = {"row": np.arange(frequencies.rows), "prosecutor": 1 / frequencies.sample[frequencies.class_of]}
    columns |= {name: of_rows[name] for name in ("individual", "household", "suda", "dis_suda") if name in of_rows}
    if frequencies.population is not None:
        columns["journalist"] = 1 / frequencies.population[frequencies.class_of]
    return pl.DataFrame(columns, nan_to_null=True)


def _roles_in(frame: pl.DataFrame, quasi_identifiers: Sequence[str], sensitive: str | Sequence[str] | None) -> Schema:
    schema = roles(quasi_identifiers, sensitive)
    schema.check_known(frame.columns)
    if not schema.quasi_identifiers:
        raise ColumnError("Name at least one quasi-identifier: columns that an adversary may know.")
    if frame.height == 0:
        raise NoRowsError("The table has no rows: there is no risk to measure.")
    return schema


def _meanings(
    schema: Schema,
    certificate: Mapping[str, Any],
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None,
    cells: Mapping[str, object] | None,
    asked: _Asked,
) -> dict[str, Meaning]:
    """Return the declared meaning of the cells of each column."""
    if asked.stars == "own" and (hierarchies or cells):
        raise ParameterError(
            "The meaning of cells matters only if a star matches any of its values: give ",
            Suggestion("stars", "wildcard"),
            ", or leave it out.",
        )
    names = schema.quasi_identifiers
    for name in cells or {}:
        if name not in names:
            raise ColumnError(f"The column '{name}' of cells is not a quasi-identifier. {near_matches(name, names)}")
    declared = parameters_of(certificate)
    return collect_meanings(names, declared, trees=trees_of(hierarchies or {}, names), cells=cells)


def _frequencies(
    frame: pl.DataFrame,
    table: Table,
    population: pl.DataFrame | None,
    meanings: Mapping[str, Meaning],
    asked: _Asked,
    progress: Progress,
) -> Frequencies:
    """Count the classes of the table, in the requested interpretation of stars."""
    # Ordinary values: classes of equal rows, in the table and in the population.
    names = table.schema.quasi_identifiers
    if asked.stars == "own":
        others = None
        if population is not None:
            others = encode(population, Schema(quasi_identifiers=names)).quasi_identifiers
        return measures.count_frequencies(table.quasi_identifiers, others)
    cells = frame[list(names)]
    # Special uniques and log-linear models require exact values.
    if asked.suda is not None or asked.log_linear is not None:
        coarse = measures.generalized_columns(cells, star=asked.star, meanings=meanings)
        if coarse:
            raise DataError(
                f"Special uniques and log-linear models need exact values, and {len(coarse)} column(s) have "
                f"cells that represent several: {', '.join(repr(name) for name in coarse)}. Give the original table, "
                "or count such cells as values of their own: ",
                Suggestion("stars", "own"),
                ".",
            )
    # Wildcards: each class counts the rows that are compatible with its cells.
    classes = measures.count_frequencies(table.quasi_identifiers)
    return measures.count_compatible(cells, classes, population, star=asked.star, meanings=meanings, progress=progress)


def _weights(frame: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """Return the survey weights, each of which must be at least 1."""
    import polars as pl

    column = _column(frame, name, "survey weights")
    given = column.fill_nan(None) if column.dtype.is_float() else column
    _refuse(given.is_null(), f"The column '{name}' (survey weights) has no weight", "Fill it, or drop the row.")
    numbers = given.cast(pl.Float64, strict=False) if given.dtype != pl.Boolean else pl.Series([None] * len(given))
    _refuse(
        numbers.is_null() | numbers.is_infinite().fill_null(value=False),
        f"The column '{name}' (survey weights) has no finite number",
        "Write weights as plain numbers with a decimal point.",
    )
    _refuse(
        numbers < 1,
        f"The column '{name}' (survey weights) has a weight below 1",
        "A weight is the number of population members that a row represents, including itself: scale the weights so "
        "that they add up to the population.",
    )
    _refuse(
        numbers > _LARGEST_WEIGHT,
        f"The column '{name}' (survey weights) has a weight above {_LARGEST_WEIGHT:,}",
        "No population is that large: check that the column contains weights.",
    )
    return numbers.to_numpy()


def _households(frame: pl.DataFrame, name: str) -> tuple[NDArray[np.int64], int]:
    """Return the household number of each row, and the number of households."""
    column = _column(frame, name, "households")
    given = column.fill_nan(None) if column.dtype.is_float() else column
    _refuse(
        given.is_null(),
        f"The column '{name}' (households) has no value",
        "Give every person a household, including those who live alone.",
    )
    coded = encode(given.to_frame(), Schema(quasi_identifiers=(name,))).quasi_identifiers[0]
    return coded.codes.astype(np.int64), coded.size


def _column(frame: pl.DataFrame, name: str, role: str) -> pl.Series:
    if not isinstance(name, str):
        raise ParameterError(f"The {role} must be named by a column. Got {type(name).__name__}.")
    if name not in frame.columns:
        raise ColumnError(f"There is no column '{name}' ({role}). {near_matches(name, frame.columns)}")
    return frame.get_column(name)


def _refuse(wrong: pl.Series, what: str, advice: str) -> None:
    """Raise DataError with the row numbers if any row is invalid."""
    rows = wrong.arg_true().to_list()
    if rows:
        shown = ", ".join(map(str, rows[:_SHOWN_ROWS])) + (", ..." if len(rows) > _SHOWN_ROWS else "")
        raise DataError(f"{what} in {len(rows):,} row(s): {shown} (counted from 0). {advice}")
