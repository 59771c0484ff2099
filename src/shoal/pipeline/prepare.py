"""Prepare a table for an algorithm: select rows, convert text, coarsen, encode, and check the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal._messages import Suggestion
from shoal.algorithms.base import PeopleOfNodes, Problem
from shoal.disclosure_risk import make_people_counter
from shoal.errors import InfeasibleError, ParameterError
from shoal.hierarchy import coarsen_columns
from shoal.hierarchy.distinct_values import of_rows
from shoal.io import Forms
from shoal.models.population import Population
from shoal.models.requirement import Infeasible
from shoal.pipeline.encoded import EncodedTable, encode_table
from shoal.pipeline.goals import explain_goal
from shoal.pipeline.input import FinerColumns, OpenedData, convert_text
from shoal.pipeline.kept_rows import keep_rows, make_generator
from shoal.pipeline.population import find_people_of_nodes, load_population
from shoal.pipeline.sampling import sample
from shoal.recoding import canonical_order
from shoal.request.request import Request
from shoal.table import Column, Schema, Table
from shoal.verification import Fitting, Meaning, collect_meanings


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PreparedTable:
    """A table that is ready to be partitioned; the order of its rows reveals nothing about their order in the input."""

    request: Request
    opened: OpenedData
    """The input, before rows were left out."""
    rows: NDArray[np.int32]
    """Index in the input of each row of `table`."""
    encoded: EncodedTable
    """The encoded columns, in the order of `table`."""
    coded: Sequence[Column]
    """The quasi-identifiers before any coarsening, in the order of the input."""
    rng: np.random.Generator
    """Source of every random choice."""
    people: pl.DataFrame | None = None
    """The quasi-identifiers of the population that models refer to, or None if no model does."""
    detailed: PreparedTable | None = None
    """The table with the columns that no model reads, if they were dropped: each row of this table is a class of it."""

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """For each quasi-identifier: the values that each published cell can represent, for the verification."""
        return self._collect_meanings({})

    def _collect_meanings(self, forms: Forms) -> dict[str, Meaning]:
        encoded, names = self.encoded, self.request.schema.quasi_identifiers
        parameters = {"coarsen": encoded.coarsened, "read_as": {name: form.to_dict() for name, form in forms.items()}}
        return collect_meanings(names, parameters, classes=encoded.classes, trees=encoded.trees)

    def make_people_counter(self, forms: Forms | None = None) -> Fitting | None:
        """Create a counter of matching population members, or return None if no model needs one.

        Parameters
        ----------
        forms : mapping, optional
            Written forms of dates and numbers, if the cells are in these forms.
        """
        if self.people is None:
            return None
        return make_people_counter(
            self.people,
            star=self.request.star,
            meanings=self._collect_meanings(forms) if forms else self.meanings,
            several_groups=bool(self.request.counting.kinds),
        )

    @property
    def table(self) -> Table:
        """The table as algorithms see it: its distinct rows with counts."""
        return self.encoded.table

    @cached_property
    def problem_table(self) -> Table:
        """The table to partition: `table` with the owners and sensitive attributes that the requirement refers to."""
        return self.table.with_attributes(self.request.requirement.attributes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of the input that each row of `table` represents."""
        return self.table.multiplicities

    @cached_property
    def original(self) -> Table:
        """The same rows before any coarsening; the loss of a release is measured against them."""
        return self.table.with_quasi_identifiers(self.encoded.before)

    @property
    def coarse(self) -> frozenset[str]:
        """The quasi-identifiers whose published cells never show original values."""
        return frozenset(name for name, meaning in self.meanings.items() if not meaning.shows_values)

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> PreparedTable:
        """Select rows (repeats allowed), each with a new count."""
        # All rows with their counts: nothing changes.
        if np.array_equal(rows, np.arange(self.table.rows)) and np.array_equal(counts, self.counts):
            return self
        return replace(
            self,
            opened=self.opened.entries(self.rows[rows], counts),
            rows=np.arange(len(rows), dtype=np.int32),
            encoded=self.encoded.entries(rows, counts),
            coded=[column.gather(rows) for column in self.original.quasi_identifiers],
        )

    def problem(self, clock: Clock) -> Problem:
        """Formulate the problem for the algorithm: the table, the requirement, and how the groups will be recoded."""
        return Problem(
            table=self.problem_table,
            requirement=self.request.requirement,
            rng=self.rng,
            progress=clock.progress,
            recoding=self.request.recoding,
            hierarchies=self.encoded.trees,
            largest_set=self.request.largest_set,
            people=self.people_of_nodes,
            preferences=self.request.preferences,
        )

    @cached_property
    def people_of_nodes(self) -> PeopleOfNodes | None:
        """The hierarchy nodes that each member of the population matches; None if no model needs them."""
        if self.people is None:
            return None
        return find_people_of_nodes(
            self.table,
            self.people,
            meanings=self.meanings,
            trees=self.encoded.trees,
            recoding=self.request.recoding,
            star=self.request.star,
        )

    def __repr__(self) -> str:
        return f"PreparedTable(rows={len(self.rows)}, algorithm={self.request.chosen.name!r})"


def interpret(
    opened: OpenedData, request: Request, *, dates: Mapping[str, str] | None = None, decimal: str | None = None
) -> OpenedData:
    """Convert text columns to dates and numbers if the publishable rows show that they are dates or numbers.

    Sensitive and insensitive columns are coarsened first, if requested.

    Parameters
    ----------
    opened : OpenedData
    request : Request
    dates, decimal
        See `shoal.anonymize`.
    """
    opened = coarsen_attributes(opened, request) if request.attribute_coarsenings else opened
    opened = keep_rows(opened, request)
    _, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    # Relative dates and coarser attributes have no dates any more.
    done = {name for names in (*request.since_first, request.attribute_coarsenings) for name in names}
    return convert_text(
        opened,
        request.schema,
        request.requirement,
        dates={name: form for name, form in (dates or {}).items() if name not in done},
        decimal=decimal,
        coarsen=request.coarsenings,
        hierarchies=request.trees,
        rows=rows,
    )


def coarsen_attributes(opened: OpenedData, request: Request) -> OpenedData:
    """Coarsen the sensitive and insensitive columns of an input, as requested; the result replaces the input.

    Only publishable rows determine the written form of a column and the frequencies of its values.

    Raises
    ------
    ParameterError
        If a coarsening shows values of records, needs persons, or concerns lists.
    """
    given = request.attribute_coarsenings
    names = [str(name) for name in given]
    for name, one in zip(names, given.values(), strict=True):
        # Ends of intervals are checked for quasi-identifiers only.
        if one.ends_at_values or one.per_person or name in request.counting.separators:
            raise ParameterError(
                f"The coarsening of '{name}' needs a quasi-identifier without lists of values. Name cuts, steps or the "
                "level of a hierarchy instead, with ",
                Suggestion("coarsen"),
                ".",
            )
    # Dates and numbers are parsed, and text that takes no part stays as it is.
    _, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    dates = {name: form for name, form in (request.dates or {}).items() if name in given}
    schema = Schema(quasi_identifiers=tuple(names))
    parsed = convert_text(opened, schema, None, dates=dates, decimal=request.decimal, coarsen=given, rows=rows)
    finer = pl.DataFrame([parsed.frame[name] for name in names])
    coarser = coarsen_columns(finer[rows], given, names)
    # Rows that are not published stay without a value.
    places = pl.Series(range(len(rows)), dtype=pl.UInt32)
    at = pl.Series([None] * opened.frame.height, dtype=pl.UInt32).scatter(rows, places)
    columns = [coarser.frame[name].gather(at) for name in names]
    return replace(
        opened,
        frame=opened.frame.with_columns(columns),
        finer=FinerColumns(
            frame=finer,
            unconverted=pl.DataFrame([opened.frame[name] for name in names]),
            described=coarser.described,
            classes=coarser.classes,
        ),
    )


def prepare(opened: OpenedData, request: Request, clock: Clock) -> PreparedTable:
    """Prepare an input for the algorithm of a request: select rows, coarsen, encode, and check the request.

    Parameters
    ----------
    opened : OpenedData
        The input, with all columns of the request.
    request : Request
    clock : Clock
        Measures the steps "coarsen" and "encode".

    Raises
    ------
    UsageError
        If the data does not fit the request.
    InfeasibleError
        If no release can satisfy it.
    """
    sampling = request.requirement.sampling
    if sampling is not None:
        with clock.step("coarsen"):
            opened, request = sample(opened, request, sampling)
    # Coarsen and encode the rows that may be published.
    frame, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    with of_rows(rows, opened.counts):
        encoded = encode_table(frame, opened.publishable_counts[rows], request, clock, owners=opened.owners_of(rows))
        with clock.step("encode"):
            return _validate_and_shuffle(encoded, request, opened, rows)


def _validate_and_shuffle(
    encoded: EncodedTable, request: Request, opened: OpenedData, rows: NDArray[np.int32]
) -> PreparedTable:
    """Check a request against encoded columns, and order the rows for the algorithm; see `prepare`."""
    trees = encoded.trees
    request.preferences.check_heights(
        {name: trees[name].height if name in trees else 1 for name in request.schema.quasi_identifiers}
    )
    # The models may refer to a population, which is opened before they are checked.
    people = load_population(request.requirement, opened, encoded.table, request.coarsenings)
    if people is not None:
        encoded = encoded.cover_people(people, request)
    finer = None if opened.finer is None else opened.finer.frame[rows]

    def explain(refused: Infeasible, tables: Sequence[Population]) -> InfeasibleError:
        goal = explain_goal(refused.model, refused, request.requirement, tables, request, finer)
        return goal.error or refused.error

    encoded.check(request.requirement, None if people is None else people.height, explain=explain)
    return replace(shuffle_rows(encoded, request, opened, rows), people=people)


def shuffle_rows(encoded: EncodedTable, request: Request, opened: OpenedData, rows: NDArray[np.int32]) -> PreparedTable:
    """Order encoded rows so that the order reveals nothing about the input, if it matters.

    Rows that an algorithm cannot distinguish may still differ in columns that it does not see. In that case a random
    order decides between them, not the order of the input.

    Parameters
    ----------
    encoded : EncodedTable
        The columns, in the order of the input.
    request : Request
    opened : OpenedData
        The input.
    rows : int32 array
        Index in the input of each row.
    """
    rng, table = make_generator(request.seed), encoded.table
    coded = table.with_quasi_identifiers(encoded.before).quasi_identifiers
    # Start from an order that is the same for any order of the input, so that a seed gives one result.
    if table.has_unit_counts and (request.keep_order or table.rows_may_differ):
        order = rng.permutation(canonical_order(table))
        before = {name: column.gather(order) for name, column in encoded.before.items()}
        encoded, rows = replace(encoded, table=table.gather(order), before=before), rows[order]
    return PreparedTable(request=request, opened=opened, rows=rows, encoded=encoded, coded=coded, rng=rng)
