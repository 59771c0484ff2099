"""Prepare a table for an algorithm: leave rows out, read dates and numbers, coarsen, encode, check what is asked."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal._messages import Suggestion
from shoal.algorithms import Problem
from shoal.disclosure_risk import make_people_counter
from shoal.errors import ColumnError, DataError, near_matches
from shoal.pipeline.encoded import Encoded, encoded_table
from shoal.pipeline.input import understood
from shoal.pipeline.linking import link_rows
from shoal.pipeline.population import people_of_nodes, population_of
from shoal.pipeline.units import keep_rows, with_units
from shoal.recoding import canonical_order
from shoal.verification import collect_meanings

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.algorithms.base import PeopleOfNodes
    from shoal.io import Forms
    from shoal.pipeline.input import OpenedData
    from shoal.request.request import Request
    from shoal.table import Column, Schema, Table
    from shoal.verification import Meaning
    from shoal.verification.counting import Fitting

__all__ = ["Prepared", "drawn", "interpret", "prepare", "ready", "rows_to_publish", "with_persons"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prepared:
    """A table that is ready to be partitioned: its rows are in an order that tells nothing of how they came in."""

    request: Request
    opened: OpenedData
    """The input, before rows were left out."""
    rows: NDArray[np.int32]
    """The number in the input of each row of `table`."""
    encoded: Encoded
    """The columns; its tables are these, in the same order."""
    coded: Sequence[Column]
    """The quasi-identifiers before any coarsening, in the order of the input."""
    rng: np.random.Generator
    """Source of every random choice."""
    people: pl.DataFrame | None = None
    """The quasi-identifiers of the population that models ask about; None where none does."""
    detailed: Prepared | None = None
    """The table with the columns that no model reads, if they were dropped: each row here is a class of it."""

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """What the published cells of each quasi-identifier stand for, as they are verified."""
        return self._meanings({})

    def _meanings(self, forms: Forms) -> dict[str, Meaning]:
        encoded, names = self.encoded, self.request.schema.quasi_identifiers
        said = {"coarsen": encoded.coarsened, "read_as": {name: form.to_dict() for name, form in forms.items()}}
        return collect_meanings(names, said, classes=encoded.classes, trees=encoded.trees)

    def fitting(self, forms: Forms | None = None) -> Fitting | None:
        """Return what counts the people who fit cells, as they are or written in some forms; None: no model asks."""
        if self.people is None:
            return None
        return make_people_counter(
            self.people, star=self.request.star, meanings=self._meanings(forms) if forms else self.meanings
        )

    @property
    def table(self) -> Table:
        """The table as algorithms see it: its different rows with counts."""
        return self.encoded.table

    @cached_property
    def asked(self) -> Table:
        """The table with the units and sensitive attributes that the requirement concerns: what is partitioned."""
        return self.table.with_attributes(self.request.requirement.attributes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows of the input each row of `table` stands for."""
        return np.asarray(self.table.counts)

    @cached_property
    def original(self) -> Table:
        """The same rows before any coarsening: what a release loses is measured against them."""
        return self.table.with_quasi_identifiers(self.encoded.before)

    @property
    def coarse(self) -> frozenset[str]:
        """The quasi-identifiers of which no cell shows the values that records have, but what was made of these."""
        return frozenset(name for name, meaning in self.meanings.items() if not meaning.shows_values)

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> Prepared:
        """Return some rows, which may be named several times and stand for so many rows of the input each."""
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
        """Return the table, what its release must satisfy, and how it will be recoded."""
        return Problem(
            table=self.asked,
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
        """Which nodes the people of a population fit, for algorithms; None where no model asks for that."""
        if self.people is None:
            return None
        return people_of_nodes(
            self.table,
            self.people,
            meanings=self.meanings,
            trees=self.encoded.trees,
            recoding=self.request.recoding,
            star=self.request.star,
        )

    def __repr__(self) -> str:
        return f"Prepared(rows={len(self.rows)}, algorithm={self.request.chosen.name!r})"


def interpret(
    opened: OpenedData, request: Request, *, dates: Mapping[str, str] | None = None, decimal: str | None = None
) -> OpenedData:
    """Replace the text of columns by the dates and numbers that it stands for, as the published rows show it.

    Parameters
    ----------
    opened : OpenedData
    request : Request
    dates, decimal
        As for `shoal.anonymize`.
    """
    opened = with_persons(opened, request)
    _, rows = rows_to_publish(opened, request.schema, request.missing_sensitive)
    return understood(
        opened,
        request.schema,
        request.requirement,
        dates=dates,
        decimal=decimal,
        coarsen=request.coarsenings,
        hierarchies=request.trees,
        rows=rows,
    )


def with_persons(opened: OpenedData, request: Request) -> OpenedData:
    """Find out whose the rows are, and which of them stay if only some of each person are published.

    Parameters
    ----------
    opened : OpenedData
    request : Request

    Raises
    ------
    ColumnError
        If there is no such column as `request.order`.
    DataError
        If persons are missing, and that is an error.
    """
    if request.order is not None and request.order not in opened.frame.columns:
        near = near_matches(request.order, opened.frame.columns)
        raise ColumnError(f"There is no column '{request.order}' (order). {near}")
    opened = with_units(opened, request.schema.units, request.missing_person)
    if request.rows_per_person is None and not request.link:
        return opened
    _, rows = rows_to_publish(opened, request.schema, request.missing_sensitive)
    if request.link:
        return link_rows(opened, rows, request, generator(request.seed))
    return keep_rows(opened, rows, request, generator(request.seed))


def prepare(opened: OpenedData, request: Request, clock: Clock) -> Prepared:
    """Make an input ready for the algorithm of a request: leave rows out, coarsen, encode, and check what is asked.

    Parameters
    ----------
    opened : OpenedData
        The input; it has the columns that the request speaks of.
    request : Request
    clock : Clock
        Measures the steps "coarsen" and "encode".

    Raises
    ------
    UsageError
        The data does not fit the request.
    InfeasibleError
        No release can satisfy it.
    """
    frame, rows = rows_to_publish(opened, request.schema, request.missing_sensitive)
    encoded = encoded_table(frame, opened.publishable[rows], request, clock, units=opened.units_of(rows))
    with clock.step("encode"):
        return ready(encoded, request, opened, rows)


def ready(encoded: Encoded, request: Request, opened: OpenedData, rows: NDArray[np.int32]) -> Prepared:
    """Check what is asked of encoded columns, and bring them into the order in which they are partitioned.

    Parameters
    ----------
    encoded, request, opened, rows
        As for `drawn`.

    Raises
    ------
    UsageError
        The data does not fit the request.
    InfeasibleError
        No release can satisfy it.
    """
    trees = encoded.trees
    request.preferences.check_heights(
        {name: trees[name].height if name in trees else 1 for name in request.schema.quasi_identifiers}
    )
    people = population_of(request.requirement, opened, encoded.table, request.coarsenings)
    encoded.check(request.requirement, None if people is None else people.height)
    return replace(drawn(encoded, request, opened, rows), people=people)


def drawn(encoded: Encoded, request: Request, opened: OpenedData, rows: NDArray[np.int32]) -> Prepared:
    """Bring encoded rows into an order that tells nothing of how they came in, where theirs matters.

    Rows that an algorithm takes for equal differ to a reader where there are columns that it does not see: chance
    decides between them then, not the order that they came in.

    Parameters
    ----------
    encoded : Encoded
        The columns, in the order of the input.
    request : Request
    opened : OpenedData
        The input.
    rows : int32 array
        The number in the input of each row.
    """
    rng, table = generator(request.seed), encoded.table
    coded = table.with_quasi_identifiers(encoded.before).quasi_identifiers
    if table.has_unit_counts and (request.keep_order or table.rows_may_differ):
        order = rng.permutation(canonical_order(table))
        before = {name: column.gather(order) for name, column in encoded.before.items()}
        encoded, rows = replace(encoded, table=table.gather(order), before=before), rows[order]
    return Prepared(request=request, opened=opened, rows=rows, encoded=encoded, coded=coded, rng=rng)


def generator(seed: int | None) -> np.random.Generator:
    """Return a source of random choices: the operating system's randomness unless a seed is given."""
    return np.random.default_rng(secrets.randbits(256) if seed is None else seed)


def rows_to_publish(
    opened: OpenedData, schema: Schema, missing_sensitive: str
) -> tuple[pl.DataFrame, NDArray[np.int32]]:
    """Return the rows whose sensitive values are there (or may be missing), and their numbers."""
    frame = opened.frame
    rows = np.arange(frame.height, dtype=np.int32)
    if frame.height == 0:
        raise DataError("The table has no rows: there is nothing to publish.")
    if opened.kept is not None:  # rows that miss a value, and are left out, are among the others
        rows = rows[opened.kept > 0]
        return frame[rows], rows
    if missing_sensitive == "value" or not schema.sensitive:
        return frame, rows
    absent = rows_without(frame, schema.sensitive)
    count = int(np.count_nonzero(absent))
    if count == 0:
        return frame, rows
    if missing_sensitive == "error":
        rows_missing = int(opened.counts[absent].sum())
        raise DataError(
            f"{rows_missing} row(s) miss a sensitive value. Say what that means: ",
            Suggestion("missing_sensitive", "value"),
            " makes it a value like any other, ",
            Suggestion("missing_sensitive", "drop"),
            " leaves the rows out.",
        )
    if count == frame.height:
        raise DataError("Every row misses a sensitive value: there is nothing to publish.")
    return frame.filter(~absent), rows[~absent]


def rows_without(frame: pl.DataFrame, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows miss a value of some column: null or NaN."""
    absent = np.zeros(frame.height, dtype=np.bool_)
    for name in names:
        column = frame.get_column(name)
        absent |= (column.fill_nan(None) if column.dtype.is_float() else column).is_null().to_numpy()
    return absent
