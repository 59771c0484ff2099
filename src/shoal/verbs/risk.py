"""Entry point `risk`: compute every measure of disclosure risk of a table in one call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from numbers import Real
from os import PathLike
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import disclosure_risk as measures
from shoal._core.progress import Clock, Progress
from shoal._core.validation import Integer, NotBlank, OneOf, Optional, RationalIn, exact_fraction, validate
from shoal._messages import Suggestion
from shoal.disclosure_risk import LOG_LINEAR_MODELS, Frequencies, LogLinear, SpecialUniques
from shoal.disclosure_risk.confidence import disclosure_to_persons, most_common
from shoal.disclosure_risk.frequencies import EachRow, PersonRows
from shoal.disclosure_risk.individual import (
    household_risk,
    household_risks,
    individual_risk,
    individual_risks,
    sum_weights,
)
from shoal.disclosure_risk.suda import compute_dis_suda_scores
from shoal.errors import ColumnError, DataError, NoRowsError, ParameterError, near_matches
from shoal.findings import persons_beside
from shoal.hierarchy import Hierarchy
from shoal.io import understand
from shoal.models.column_sets import ColumnSet
from shoal.models.counting import counting_stated
from shoal.models.unique_estimates import SampleHistogram
from shoal.pipeline.input import OpenedData, open_assessed, open_data, open_population
from shoal.request.request import trees_of
from shoal.table import Column, Schema, encode, roles
from shoal.table.text import spell_like
from shoal.verbs.evaluate.proposed_roles import roles_to_choose_from
from shoal.verbs.risk_result import Risk
from shoal.verbs.survey_columns import read_households, read_weights
from shoal.verification import Meaning, MeasuredTable, collect_meanings, find_owners
from shoal.verification.meaning import parameters_of

_CLASS_SIZES = (2, 3, 5, 10, 20)
"""The values of k in `Risk.small_classes`."""
_STEPS = ("read", "count", "estimate", "special uniques", "log-linear", "columns")


def risk(
    data: Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    population: Any = None,
    sampling_fraction: Real | float | None = None,
    weights: str | None = None,
    household: str | None = None,
    person: str | Sequence[str] | None = None,
    units: Sequence[str | Sequence[str]] = (),
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
    qi_sets: Sequence[str | Sequence[str]] = (),
    knows: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    replace_values: Mapping[str, Mapping[str, str | None]] | None = None,
    derive: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Measure and estimate the disclosure risk of a table.

    The measures depend on the available knowledge: a population, a sampling fraction, or survey weights. The risk does
    not depend on the order of the rows, on an index, or on the representation of missing values.

    Parameters
    ----------
    data : frame, path, or Release
        Any table, regardless of its origin: original, generalized, suppressed or synthetic. As for `anonymize`, or the
        folder of a release. Each row is assumed to belong to a different person unless `person` is named. Columns
        without a role are searched for possible identifiers.
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
    person : str or sequence of str, optional
        The column, or several together, that identifies persons with several rows, in an original or in a copy of a
        release that has it. All figures count persons then: a class has the size of its distinct persons, and a person
        has the highest risk of any of that person's rows. A row without a person is one of its own. If the population
        has the columns, it may have several rows of a person, too.
    units : sequence of str or of sequences of str, optional
        Further kinds of units, as for `anonymize`; the risk by each of them is in `Risk.further`.
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
    qi_sets, knows
        Sets of quasi-identifiers that different adversaries know, as for `anonymize`: for `known_sets`. By default as
        the certificate of a release declares.
    delimiter, encoding : str, optional
        Of CSV files; detected by default.
    sheet : str, optional
        Of a workbook with the table; required if it has several.
    header_row, dates, decimal, replace_values, derive
        As for `anonymize`. Weights are read with this decimal sign. If formats are given and a star is a value of its
        own, the quasi-identifiers are compared as the dates and numbers that they are.
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
    validate("risk", {"knows": knows}, {"knows": Optional(Integer(low=1))})
    as_text: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    propose = partial(roles_to_choose_from, **as_text)
    judge = open_assessed(data, quasi_identifiers, sensitive, star, qi_sets, knows, propose=propose)
    pseudonym = counting_stated(judge.certificate).pseudonym
    if person is None and pseudonym is not None:
        raise ParameterError(
            "The rows of this release are linked, and measures of single rows would understate the risk of persons. "
            "`audit` measures the bundles of persons; to measure rows all the same, name their pseudonyms with ",
            Suggestion("person", pseudonym),
            ".",
        )
    options = _RiskOptions.of(
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
        opened = open_data(judge.data, **as_text, replace_values=replace_values, derive=derive)
        schema = _roles_in(opened.frame, roles(judge.quasi_identifiers, judge.sensitive, person=person, units=units))
        if (dates or decimal) and options.stars == "own":
            read = understand(opened.frame, schema.quasi_identifiers, dates=dates, decimal=decimal)
            opened = replace(opened, frame=read.frame)
        kinds = [find_owners(opened.frame[list(kind)], [kind]) for kind in schema.kinds]
        others = None if population is None else open_data(population, delimiter=delimiter, encoding=encoding).frame
        meanings = _meanings(schema, judge.certificate, hierarchies, cells, options)
        weight = None if weights is None else read_weights(opened.frame, weights, decimal=decimal)
        homes = None if household is None else read_households(opened.frame, household)
    # Without a column of persons each record is one of a different person, and all kinds are further ones.
    each: list[pl.DataFrame | None] = [*([] if person else [None]), *kinds]
    by_unit = [
        _measure(_Input(opened, schema, owners, others, meanings, judge.sets, weight, homes), options, clock)
        for owners in each
    ]
    return replace(by_unit[0], further=tuple(replace(one, of="units") for one in by_unit[1:]))


@dataclass(frozen=True)
class _Input:
    """What the risk of a table is computed from."""

    opened: OpenedData
    schema: Schema
    owners: pl.DataFrame | None
    """The person of each row, in a column named after the columns that identify persons; None: another one each."""
    population: pl.DataFrame | None
    meanings: Mapping[str, Meaning]
    sets: Sequence[ColumnSet]
    weights: NDArray[np.float64] | None
    homes: tuple[NDArray[np.int64], int] | None

    def open_population(self) -> tuple[pl.DataFrame, int] | None:
        """Return the quasi-identifiers of the population, one row for each person and combination, and its persons."""
        if self.population is None:
            return None
        names = self.schema.quasi_identifiers
        found = open_population(self.population, names)
        found = found.with_columns(spell_like(found[name], self.opened.frame[name]) for name in names)
        kind = [] if self.owners is None else self.owners.columns[0].split(" + ")
        if not kind or not set(kind) <= set(self.population.columns):
            return found, found.height
        owners = find_owners(self.population[kind], [kind]).to_series()
        entries = PersonRows.of(encode(found, Schema(quasi_identifiers=names)).quasi_identifiers, owners)
        return found[entries.first_rows], entries.persons


def _measure(given: _Input, options: _RiskOptions, clock: Clock) -> Risk:
    """Compute all figures, counting rows or one kind of owners."""
    opened, schema, weight = given.opened, given.schema, given.weights
    frame = opened.frame[list(schema.published)]
    table = encode(frame, replace(schema, kinds=()))
    columns = table.quasi_identifiers
    owners = None if given.owners is None else given.owners.to_series()
    persons = EachRow(table.rows) if owners is None else PersonRows.of(columns, owners)
    # From here on, a table of entries: one row for each person and combination of quasi-identifiers.
    columns = tuple(column.gather(persons.first_rows) for column in columns)
    weight = None if weight is None else persons.smallest_of_entries(weight)
    if options.stars == "wildcard" and weight is not None and persons.repeated:
        raise ParameterError(
            "Weights cannot be added up over wildcards if persons have several combinations of quasi-identifiers: ",
            "give ",
            Suggestion("stars", "own"),
            ".",
        )
    with clock.step("count"):
        cells, population = frame[persons.first_rows], given.open_population()
        frequencies = _frequencies(cells, columns, population, given.meanings, options, clock.progress)
        frequencies = persons.count_distinct(frequencies)
        figures = _counted(frequencies, persons, options)
        if given.owners is None:
            figures["attribute_disclosure"] = {
                column.name: measures.attribute_disclosure(
                    most_common(frequencies, column), frequencies.sample, frequencies.rows_of, Fraction(1, options.l)
                )
                for column in table.sensitive
            }
        else:
            counted = MeasuredTable(frame, schema.quasi_identifiers, schema.sensitive, owners=given.owners)
            figures["attribute_disclosure"] = disclosure_to_persons(counted, Fraction(1, options.l))
    with clock.step("estimate"):
        figures |= _by_fraction(frequencies, persons, options)
        by_weights, of_rows = _by_weights(frequencies, persons, weight, given.homes)
        figures |= by_weights
    with clock.step("special uniques"):
        special, scores = _special(columns, frequencies, persons, weight, options, clock.progress)
        figures["suda"], of_rows = special, of_rows | scores
    with clock.step("log-linear"):
        figures["log_linear"] = _log_linear(columns, frequencies, persons, options, clock.progress)
    with clock.step("columns"):
        figures["quasi_identifiers"] = measures.rank_combinations(
            columns, frequencies=frequencies, size=options.combinations, progress=clock.progress
        )
        named = given.owners is not None
        figures["persons"] = () if named else persons_beside(opened.frame, schema.published)
        figures["identifiers"] = measures.detect_identifiers(opened.frame.drop(schema.owner_columns))
    class_of = frequencies.class_of[persons.entry_of]
    # The risk of each row is computed on demand only, and never leaves the object by itself.
    return Risk(
        **figures,
        columns=schema.quasi_identifiers,
        stars=options.stars,
        rows=table.rows,
        unit=None if given.owners is None else given.owners.columns[0],
        units=None if given.owners is None else persons.persons,
        largest_share=persons.largest_share,
        known_sets=measures.measure_known_sets(columns, given.sets, options.threshold, owners=persons.person_of)
        if given.sets
        else None,
        further=(),
        of=None,
        by_row=lambda: opened.restore(_records(frequencies, class_of, of_rows)),
    )


@dataclass(frozen=True, kw_only=True)
class _RiskOptions:
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
    def of(cls, *, weights: str | None, household: str | None, **options: Any) -> _RiskOptions:
        """Validate the options and convert them."""
        # Each option by itself, then the combinations.
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
        # Shares are exact from here on.
        exact = ("sampling_fraction", "threshold", "significance")
        found = {name: None if options[name] is None else exact_fraction(options[name]) for name in exact}
        if found["significance"] == 1:
            raise ParameterError.refusing("risk", "significance", "below 1", got="1")
        return cls(**{**options, **found})


def _counted(frequencies: Frequencies, persons: EachRow | PersonRows, options: _RiskOptions) -> dict[str, Any]:
    """Compute the figures that need counts only."""
    # `sample` has the frequency of each class, `rows_of` its number of rows; they differ with wildcards.
    found = persons.at_risk(frequencies, frequencies.sample)
    sample, rows_of = found.sample, found.rows_of
    known = frequencies.population is not None
    estimated = options.sampling_fraction is not None
    among = found if frequencies.population is None else persons.at_risk(frequencies, frequencies.population)
    return {
        "classes": frequencies.classes,
        "smallest_class": int(sample.min()),
        "prosecutor": measures.prosecutor_risk(sample, rows_of, options.threshold),
        "journalist": measures.journalist_risk(among, options.threshold) if known else None,
        "marketer": measures.marketer_risk(among) if known else None,
        "sample_uniques": measures.sample_uniques(sample, rows_of),
        "small_classes": measures.small_classes(sample, rows_of, _CLASS_SIZES),
        "k_map": measures.k_map(frequencies, options.sampling_fraction, options.significance)
        if known or estimated
        else None,
        "delta_presence": measures.delta_presence(frequencies) if known else None,
    }


def _by_fraction(frequencies: Frequencies, persons: EachRow | PersonRows, options: _RiskOptions) -> dict[str, Any]:
    """Estimate figures from the sampling fraction; the estimators require classes that do not overlap."""
    # With wildcards, or persons in several classes, classes overlap, and the estimators do not apply.
    overlapping = persons.repeated or not np.array_equal(frequencies.sample, frequencies.rows_of)
    if options.sampling_fraction is None or overlapping:
        return {"population_uniques": None}
    histogram = SampleHistogram.of(frequencies.sample)
    return {"population_uniques": measures.population_uniques(histogram, options.sampling_fraction)}


def _by_weights(
    frequencies: Frequencies,
    persons: EachRow | PersonRows,
    weights: NDArray[np.float64] | None,
    homes: tuple[NDArray[np.int64], int] | None,
) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Estimate the risk from survey weights: return the figures, and the risk of each row."""
    if weights is None:
        return {"individual": None, "household": None}, {}
    risks = individual_risks(frequencies.sample, sum_weights(frequencies, weights))
    found = persons.at_risk(frequencies, -risks)
    figures: dict[str, Any] = {"individual": individual_risk(risks, found.rows_of), "household": None}
    of_rows = {"individual": risks[frequencies.class_of[persons.entry_of]]}
    if homes is not None:
        home_of, count = homes
        # Each person once in a household, with the highest risk of her rows.
        members, homes_of_members = persons.members_of(home_of)
        of_homes = household_risks(risks, found.class_of[members], homes_of_members, count)
        # A person of several households has the highest of their risks.
        order = np.lexsort((-of_homes[homes_of_members], members))
        homes_of_members = homes_of_members[order[np.flatnonzero(np.diff(members[order], prepend=-1))]]
        figures["household"] = household_risk(of_homes, homes_of_members)
        of_rows["household"] = of_homes[home_of]
    return figures, of_rows


def _special(
    columns: Sequence[Column],
    frequencies: Frequencies,
    persons: EachRow | PersonRows,
    weights: NDArray[np.float64] | None,
    options: _RiskOptions,
    progress: Progress,
) -> tuple[SpecialUniques | None, dict[str, NDArray[np.float64]]]:
    """Find the special uniques: return their figures, and the scores of each row."""
    if options.suda is None:
        return None, {}
    owners, p = persons.person_of, options.sampling_fraction
    found = measures.find_minimal_uniques(columns, options.suda, owners=owners, progress=progress)
    # Without a given sampling fraction, the population or the weights determine it.
    if p is None and frequencies.people is not None:
        p = Fraction(persons.persons, frequencies.people)
    elif p is None and weights is not None:
        p = frequencies.rows / exact_fraction(math.fsum(weights.tolist()))
    special = measures.summarize_special_uniques(found, columns, frequencies, p, owners=owners)
    uniques = int((frequencies.rows_of == 1).sum())
    unknown = np.full(frequencies.rows, np.nan)  # NaN becomes null
    dis = unknown if special.dis is None else compute_dis_suda_scores(found.scores, uniques, special.dis, len(columns))
    return special, {"suda": found.scores[persons.entry_of], "dis_suda": dis[persons.entry_of]}


def _log_linear(
    columns: Sequence[Column],
    frequencies: Frequencies,
    persons: EachRow | PersonRows,
    options: _RiskOptions,
    progress: Progress,
) -> LogLinear | None:
    if options.log_linear is None or options.sampling_fraction is None:
        return None
    if persons.repeated:
        raise DataError(
            "A log-linear model counts each person in one class, and some persons have rows with different "
            "quasi-identifiers. Give a table with one row of each person."
        )
    return measures.log_linear_risk(
        columns, frequencies, options.sampling_fraction, model=options.log_linear, progress=progress
    )


def _records(
    frequencies: Frequencies, class_of: NDArray[np.int64], of_rows: Mapping[str, NDArray[np.float64]]
) -> pl.DataFrame:
    """Build the frame with the risk of each row, in the order of the table; `class_of` is the class of each row."""
    columns = {"row": np.arange(len(class_of)), "prosecutor": 1 / frequencies.sample[class_of]}
    columns |= {name: of_rows[name] for name in ("individual", "household", "suda", "dis_suda") if name in of_rows}
    if frequencies.population is not None:
        columns["journalist"] = 1 / frequencies.population[class_of]
    return pl.DataFrame(columns, nan_to_null=True)


def _roles_in(frame: pl.DataFrame, schema: Schema) -> Schema:
    """Check that the columns of a schema can be measured."""
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
    options: _RiskOptions,
) -> dict[str, Meaning]:
    """Return the declared meaning of the cells of each column."""
    if options.stars == "own" and (hierarchies or cells):
        raise ParameterError(
            "The meaning of cells matters only if a star matches any of its values: give ",
            Suggestion("stars", "wildcard"),
            ", or leave it out.",
        )
    # Meanings are declared by the certificate, by hierarchies and by the caller.
    names = schema.quasi_identifiers
    for name in cells or {}:
        if name not in names:
            raise ColumnError(f"The column '{name}' of cells is not a quasi-identifier. {near_matches(name, names)}")
    declared = parameters_of(certificate)
    return collect_meanings(names, declared, trees=trees_of(hierarchies or {}, names), cells=cells)


def _frequencies(
    frame: pl.DataFrame,
    columns: Sequence[Column],
    population: tuple[pl.DataFrame, int] | None,
    meanings: Mapping[str, Meaning],
    options: _RiskOptions,
    progress: Progress,
) -> Frequencies:
    """Count the classes of the table, in the requested interpretation of stars."""
    # Ordinary values: classes of equal rows, in the table and in the population.
    names = [column.name for column in columns]
    others = None if population is None else population[0]
    if options.stars == "own":
        coded = None if others is None else encode(others, Schema(quasi_identifiers=tuple(names))).quasi_identifiers
        found = measures.count_frequencies(columns, coded)
        return found if population is None else replace(found, people=population[1])
    if population is not None and population[1] < population[0].height:
        raise DataError(
            "Some persons of the population have rows with different quasi-identifiers, which cannot be compared with "
            "wildcards. Give one row of each person."
        )
    cells = frame[names]
    # Special uniques and log-linear models require exact values.
    if options.suda is not None or options.log_linear is not None:
        coarse = measures.generalized_columns(cells, star=options.star, meanings=meanings)
        if coarse:
            raise DataError(
                f"Special uniques and log-linear models need exact values, and {len(coarse)} column(s) have "
                f"cells that represent several: {', '.join(repr(name) for name in coarse)}. Give the original table, "
                "or count such cells as values of their own: ",
                Suggestion("stars", "own"),
                ".",
            )
    # Wildcards: each class counts the rows that are compatible with its cells.
    classes = measures.count_frequencies(columns)
    return measures.count_compatible(cells, classes, others, star=options.star, meanings=meanings, progress=progress)
