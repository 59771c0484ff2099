"""The columns of a table after coarsening and encoding, from which a release is prepared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal._messages import Subject
from shoal.algorithms.common.compiled import populations_of
from shoal.errors import InfeasibleError, ParameterError
from shoal.hierarchy import Coarsening, Hierarchy, automatic_hierarchy, coarsen_columns, drop_coarsened_levels
from shoal.hierarchy.distinct_values import encode_values
from shoal.models.population import Population
from shoal.models.requirement import Infeasible, Requirement
from shoal.pipeline.kept_rows import mark_first_rows
from shoal.recoding import check_coverage, widen_classes
from shoal.request.request import Request
from shoal.table import Column, Schema, Table, check_distinguishable, encode, split_lists
from shoal.table.text import dictionary_text


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class EncodedTable:
    """A table with coarsened and encoded columns, in the order of the input, and its hierarchies."""

    table: Table
    """The columns as algorithms see them."""
    before: Mapping[str, Column] = field(default_factory=dict)
    """The coarsened columns before coarsening; the loss of a release is measured against them."""
    trees: Mapping[str, Hierarchy]
    """The hierarchies of quasi-identifiers, over the values after coarsening."""
    automatic: frozenset[str]
    """Quasi-identifiers whose hierarchy was built automatically."""
    coarsened: Mapping[str, Any]
    """The coarsenings as a certificate describes them."""
    classes: Mapping[str, Mapping[str, Sequence[str]]]
    """For each column whose values became names of classes: the values that each name represents."""
    pictures: Mapping[str, Callable[[], str]]
    """Functions that draw the coarsenings."""

    def check(
        self,
        requirement: Requirement,
        people: int | None = None,
        *,
        may_normalize: bool = True,
        explain: Callable[[Infeasible, Sequence[Population]], InfeasibleError] | None = None,
    ) -> None:
        """Check that the hierarchies cover all values, and that some release can satisfy a requirement.

        Parameters
        ----------
        requirement : Requirement
        people : int, optional
            Size of the population that models refer to.
        may_normalize : bool
            Whether the caller accepts `normalize`, so that a message may suggest it.
        explain : callable, optional
            Makes the error of a model that is not feasible; by default the error of the model.

        Raises
        ------
        UsageError
            If a hierarchy lacks values, or a model does not apply to a sensitive attribute.
        InfeasibleError
            If no release can satisfy the models.
        """
        for column in self.table.quasi_identifiers:
            if column.name in self.trees:
                check_coverage(column, self.trees[column.name])
        # The values of a list are checked one by one, like single values.
        separators = requirement.counting.separators
        sensitive = (
            (column.name, split_lists(column.dictionary, separators[column.name])[1].unique())
            if column.name in separators
            else (column.name, column.dictionary)
            for column in self.table.sensitive
        )
        check_distinguishable(sensitive, may_normalize=may_normalize)
        tables = populations_of(self.table.with_attributes(requirement.attributes))
        for one in requirement.find_infeasible(tables, people):
            raise one.error if explain is None else explain(one, tables)

    def cover_people(self, people: pl.DataFrame, request: Request) -> EncodedTable:
        """Let hierarchies cover the values that only other people of a population have: "<2" is read of them, too.

        Raises
        ------
        DataError
            If a hierarchy of the request lacks values of the population; the message gives their number.
        """
        lacking = []
        for column in self.table.quasi_identifiers:
            tree = self.trees.get(column.name)
            other = None if tree is None else encode_values(people.get_column(column.name).unique())
            if tree is None or other is None:
                continue
            if column.name not in self.automatic:
                check_coverage(other, tree, people=True)
            elif column.ordered:  # a set of other values fits no other row
                unknown = other.dictionary.filter(~dictionary_text(other.dictionary).is_in(tree.values))
                both = (column.dictionary.gather(column.codes).to_frame(), unknown.alias(column.name).to_frame())
                lacking += [pl.concat(both, how="vertical_relaxed").to_series()] if unknown.drop_nulls().len() else []
        return replace(self, trees={**self.trees, **_build_automatic_trees(lacking, None, request)})

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> EncodedTable:
        """Select rows (repeats allowed), each with a new count."""
        before = {name: column.gather(rows) for name, column in self.before.items()}
        return replace(self, table=self.table.entries(rows, counts), before=before)

    def replace_columns(self, columns: EncodedTable) -> EncodedTable:
        """Replace some quasi-identifiers by coarser ones."""
        changed = {column.name: column for column in columns.table.quasi_identifiers}
        classes = {name: named for name, named in self.classes.items() if name not in changed}
        # A column that was coarsened before keeps its original version.
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


def encode_table(
    frame: pl.DataFrame, counts: NDArray[np.int64], request: Request, clock: Clock, *, owners: tuple[Column, ...] = ()
) -> EncodedTable:
    """Coarsen and encode the rows to publish.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows.
    counts : int64 array
        Number of rows of the input that each row represents.
    request : Request
    clock : Clock
        Measures the steps "coarsen" and "encode".
    owners : tuple of Column
        The owner of each row, for each protected kind of owner.
    """
    sensitive = frame.get_column(request.schema.sensitive[0]) if request.schema.sensitive else None
    encoded = encode_columns(frame, request.schema, request, sensitive, clock, owners=owners)
    with clock.step("encode"):
        # The original columns are kept only if they were coarsened.
        table = replace(encoded.table, counts=counts, owners=owners)
        return replace(
            encoded, table=table, before=_encode_before_coarsening(frame, request.coarsenings, encoded.before)
        )


def encode_columns(
    frame: pl.DataFrame,
    schema: Schema,
    request: Request,
    sensitive: pl.Series | None,
    clock: Clock,
    *,
    owners: tuple[Column, ...] = (),
) -> EncodedTable:
    """Coarsen and encode columns, and build the hierarchies that they need.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns.
    schema : Schema
        Their roles.
    request : Request
        Its coarsenings and hierarchies apply to the columns that they name.
    sensitive : series, optional
        The (first) sensitive attribute, for hierarchies that are built automatically.
    clock : Clock
        Measures the steps "coarsen" and "encode".
    owners : tuple of Column
        The owner of each row, for each protected kind of owner.
    """
    names = schema.quasi_identifiers
    with clock.step("coarsen"):
        coarsened = coarsen_columns(frame, request.coarsenings, names)
        coarse = _widen_ends(coarsened.frame, frame, request, owners)
        # Hierarchies lose the levels below the coarsening, and the nodes that a limit forbids.
        lowest = {name: low for name, (low, _) in request.preferences.limits.items()}
        trees = {
            name: _keep_limit(
                drop_coarsened_levels(tree, request.coarsenings.get(name)), lowest.get(name, 0), coarse[name]
            )
            for name, tree in request.trees.items()
            if name in names
        }
    with clock.step("encode"):
        table = encode(coarse, schema, of_intervals=coarsened.of_intervals)
        # Columns without a hierarchy get one if groups are generalized.
        bare = [coarse.get_column(name) for name in names if name not in trees] if request.climbs else []
        made = _build_automatic_trees(bare, sensitive, request)
        return EncodedTable(
            table=table,
            before=coarsened.encoded,
            trees=trees | made,
            automatic=frozenset(made),
            coarsened=coarsened.described,
            classes=coarsened.classes,
            pictures=coarsened.pictures,
        )


def _widen_ends(
    coarse: pl.DataFrame, frame: pl.DataFrame, request: Request, owners: tuple[Column, ...]
) -> pl.DataFrame:
    """Widen the intervals of coarsenings that end at values of records, unless exact ends are requested."""
    if request.shared_by == 1:
        return coarse
    keys = [key for key, coarsening in request.coarsenings.items() if coarsening.ends_at_values]
    names = [name for key in keys for name in ((key,) if isinstance(key, str) else key) if name in frame.columns]
    counted = mark_first_rows([unit.codes for unit in owners], np.arange(frame.height)) if owners else None
    return coarse.with_columns(
        widen_classes(frame[name], coarse[name], request.shared_by, counted=counted) for name in names
    )


def _keep_limit(tree: Hierarchy, low: int, column: pl.Series) -> Hierarchy:
    """Return the hierarchy of a column whose lowest level is limited: no node from there on is a single value.

    Raises
    ------
    ParameterError
        If it has such a node directly below the root, so that nothing but stars would be left of the level.
    """
    if not 0 < low < tree.height:
        return tree
    _check_missing(tree, low, column)
    kept = tree.without_lone_nodes(low)
    if len(kept.labels[low]) == 1 < len(tree.labels[low]):
        raise ParameterError(
            Subject("anonymize", "limits"),
            f" of '{column.name}' would publish a value exactly: level {low} of its hierarchy has a node of one "
            "value with no node above it but the root. Join it with another node in the hierarchy "
            "(shoal.hierarchy.join_nodes).",
        )
    return kept


def _check_missing(tree: Hierarchy, low: int, column: pl.Series) -> None:
    """Check that no missing value is left as it is by a lowest level: without a line in the hierarchy it has no node.

    Raises
    ------
    ParameterError
        If one is.
    """
    if 0 < low < tree.height and column.null_count() and "" not in tree.values:
        raise ParameterError(
            Subject("anonymize", "limits"),
            f" of '{column.name}' would publish missing values exactly: level {low} of its hierarchy has no node for "
            "them. Give a hierarchy with a line for the empty value, which says what they become, or replace them.",
        )


def _build_automatic_trees(
    columns: Iterable[pl.Series], sensitive: pl.Series | None, request: Request
) -> dict[str, Hierarchy]:
    """Build a hierarchy for each quasi-identifier that has a value.

    Parameters
    ----------
    columns : iterable of series
        The quasi-identifiers without a hierarchy, as they will be partitioned.
    sensitive : series, optional
        The (first) sensitive attribute.
    request : Request
        No node has more than its largest set, nor a single value from the lowest level that may be published.
    """
    made = {}
    for column in columns:
        if column.null_count() < len(column):
            low, _ = request.preferences.limits.get(column.name, (0, 0))
            tree = automatic_hierarchy(column, sensitive, lone=not low, largest=request.largest_set)
            _check_missing(tree, low, column)
            made[column.name] = tree.without_lone_nodes(low) if low else tree
    return made


def _encode_before_coarsening(
    frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening], known: Mapping[str, Column]
) -> dict[str, Column]:
    """Encode the coarsened columns as they were before, because the loss of a release is measured against them."""
    names = [name for key in coarsen for name in ((key,) if isinstance(key, str) else key)]
    others = tuple(name for name in names if name not in known)
    table = encode(frame.select(others), Schema(quasi_identifiers=others))
    return {**known, **{column.name: column for column in table.quasi_identifiers}}
