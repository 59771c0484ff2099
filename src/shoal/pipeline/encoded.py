"""The columns of a table after coarsening and encoding: what a release is prepared from."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithms import populations_of
from shoal.hierarchy import automatic_hierarchy, coarsen_columns, drop_coarsened_levels
from shoal.pipeline.units import first_rows_of_units
from shoal.recoding import check_coverage, widen_classes
from shoal.table import Schema, check_distinguishable, encode

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import Requirement
    from shoal.request.request import Request
    from shoal.table import Column, Table

__all__ = ["Encoded", "encoded_columns", "encoded_table"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Encoded:
    """Columns after coarsening, encoded, in the order of the input, and what became of them on the way."""

    table: Table
    """The columns as algorithms see them."""
    before: Mapping[str, Column] = field(default_factory=dict)
    """Those that were coarsened, as they were: what a release loses is measured against them."""
    trees: Mapping[str, Hierarchy]
    """The hierarchies of quasi-identifiers, over the values after coarsening."""
    automatic: frozenset[str]
    """Those whose hierarchy was built automatically."""
    coarsened: Mapping[str, Any]
    """The coarsenings as a certificate describes them."""
    classes: Mapping[str, Mapping[str, Sequence[str]]]
    """For each column whose values are names of classes now: the values that each name stands for."""
    pictures: Mapping[str, Callable[[], str]]
    """What draws them."""

    def check(self, requirement: Requirement, people: int | None = None, *, may_normalize: bool = True) -> None:
        """Check that the hierarchies have all values, and that some release can satisfy a requirement.

        Parameters
        ----------
        requirement : Requirement
        people : int, optional
            People of the population that models ask about.
        may_normalize : bool
            Whether the caller takes `normalize`: a message suggests it then.

        Raises
        ------
        UsageError
            A hierarchy lacks values, or a model cannot be asked of a sensitive attribute.
        InfeasibleError
            No release can satisfy the models.
        """
        for column in self.table.quasi_identifiers:
            if column.name in self.trees:
                check_coverage(column, self.trees[column.name])
        told = ((column.name, column.dictionary) for column in self.table.sensitive)
        check_distinguishable(told, may_normalize=may_normalize)
        requirement.check_feasible(populations_of(self.table.with_attributes(requirement.attributes)), people)

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> Encoded:
        """Return some rows, which may be named several times and stand for so many rows of the input each."""
        before = {name: column.gather(rows) for name, column in self.before.items()}
        return replace(self, table=self.table.entries(rows, counts), before=before)

    def coarser(self, columns: Encoded) -> Encoded:
        """Return the same with some quasi-identifiers exchanged for coarser ones."""
        changed = {column.name: column for column in columns.table.quasi_identifiers}
        classes = {name: named for name, named in self.classes.items() if name not in changed}
        finer = {column.name: column for column in self.table.quasi_identifiers if column.name in changed}
        return replace(
            self,
            table=self.table.with_quasi_identifiers(changed),
            before={**finer, **self.before},
            trees={**self.trees, **columns.trees},
            automatic=(self.automatic - frozenset(changed)) | columns.automatic,
            coarsened={**self.coarsened, **columns.coarsened},
            classes={**classes, **columns.classes},
            pictures={**self.pictures, **columns.pictures},
        )


def encoded_table(
    frame: pl.DataFrame, counts: NDArray[np.int64], request: Request, clock: Clock, *, units: tuple[Column, ...] = ()
) -> Encoded:
    """Coarsen and encode the rows to publish, each of which stands for so many rows of the input.

    Parameters
    ----------
    frame, counts, request, clock
        The rows, and how many rows of the input each of them stands for.
    units : tuple of Column
        Whose they are, for each kind of unit that is protected.
    """
    told = frame.get_column(request.schema.sensitive[0]) if request.schema.sensitive else None
    encoded = encoded_columns(frame, request.schema, request, told, clock, units=units)
    with clock.step("encode"):
        table = replace(encoded.table, counts=counts, units=units)
        return replace(encoded, table=table, before=_columns_before(frame, request.coarsenings))


def encoded_columns(
    frame: pl.DataFrame,
    schema: Schema,
    request: Request,
    told: pl.Series | None,
    clock: Clock,
    *,
    units: tuple[Column, ...] = (),
) -> Encoded:
    """Coarsen and encode columns, with the hierarchies that they need.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns.
    schema : Schema
        Their roles.
    request : Request
        What of its coarsenings and hierarchies concerns these columns is done.
    told : series, optional
        The (first) sensitive attribute, for hierarchies that are built automatically.
    clock : Clock
        Measures the steps "coarsen" and "encode".
    units : tuple of Column
        Whose the rows are, for each kind of unit that is protected.
    """
    names = schema.quasi_identifiers
    with clock.step("coarsen"):
        coarsened = coarsen_columns(frame, request.coarsenings, names)
        coarse = _with_shared_ends(coarsened.frame, frame, request, units)
        trees = {
            name: drop_coarsened_levels(tree, request.coarsenings.get(name))
            for name, tree in request.trees.items()
            if name in names
        }
    with clock.step("encode"):
        table = encode(coarse, schema, of_intervals=coarsened.of_intervals)
        made = _automatic_trees(coarse.select(names), told, known=trees) if request.climbs else {}
        return Encoded(
            table=table,
            trees=trees | made,
            automatic=frozenset(made),
            coarsened=coarsened.described,
            classes=coarsened.classes,
            pictures=coarsened.pictures,
        )


def _with_shared_ends(
    coarse: pl.DataFrame, frame: pl.DataFrame, request: Request, units: tuple[Column, ...]
) -> pl.DataFrame:
    """Widen the intervals of coarsenings that end at values of records, unless exact ends are requested."""
    if request.shared_by == 1:
        return coarse
    keys = [key for key, coarsening in request.coarsenings.items() if coarsening.ends_at_values]
    names = [name for key in keys for name in ((key,) if isinstance(key, str) else key) if name in frame.columns]
    counted = first_rows_of_units([unit.codes for unit in units], np.arange(frame.height)) if units else None
    return coarse.with_columns(
        widen_classes(frame[name], coarse[name], request.shared_by, counted=counted) for name in names
    )


def _automatic_trees(
    columns: Iterable[pl.Series], told: pl.Series | None, *, known: Container[str] = ()
) -> dict[str, Hierarchy]:
    """Return a hierarchy for each quasi-identifier that has none, and has a value.

    Parameters
    ----------
    columns : iterable of series
        The quasi-identifiers as they will be partitioned.
    told : series, optional
        The (first) sensitive attribute.
    known : container of str
        The names of those that have one.
    """
    return {
        column.name: automatic_hierarchy(column, told)
        for column in columns
        if column.name not in known and column.null_count() < len(column)
    }


def _columns_before(frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening]) -> dict[str, Column]:
    """Return the columns that are coarsened as they were before: what a release loses is measured against them."""
    names = [name for key in coarsen for name in ((key,) if isinstance(key, str) else key)]
    if not names:
        return {}
    table = encode(frame.select(names), Schema(quasi_identifiers=tuple(names)))
    return {column.name: column for column in table.quasi_identifiers}
