"""What a setting loses: the table is coarsened, partitioned and recoded, and measured against what it was before."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal._validation import OneOf, validate
from shoal.algorithms import Problem
from shoal.errors import InfeasibleError, UsageError
from shoal.hierarchy import coarsen_columns, tree_after
from shoal.metrics import METRICS, gcp, kl_divergence, non_uniform_entropy
from shoal.publish import automatic_trees, columns_before, drawn_order
from shoal.recoding import LARGEST_SET, Recoding, compose, recode
from shoal.table import Schema, encode
from shoal.tuning.result import Setting

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithms import Algorithm
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import Requirement
    from shoal.table import Column, Table
    from shoal.tuning.ladders import Ladder, Rung
    from shoal.tuning.search import Node

__all__ = ["LOSSES", "Evaluator", "check_loss", "loss_of_recoding"]

LOSSES = tuple(name for name, metric in METRICS.items() if metric.tunable)
"""The metrics that can be minimized."""


def check_loss(owner: str, loss: str | None) -> str:
    """Return the loss that is asked for; the global certainty penalty where none is."""
    if loss is None:
        return "gcp"
    validate(owner, {"loss": loss}, {"loss": OneOf(LOSSES)})
    return loss


def loss_of_recoding(loss: str, original: Table, composed: Recoding, groups: NDArray[np.int32]) -> float:
    """Return a loss of a recoding that is said in the values of the original table.

    Raises
    ------
    UsageError
        Where it would take too long.
    """
    if loss == "gcp":
        return gcp(composed)
    if loss == "non_uniform_entropy":
        return non_uniform_entropy(original, composed)
    divergence = kl_divergence(original, composed, groups)
    if divergence.value is None:
        raise UsageError(
            "The KL-divergence of this release takes too long to compute. Tune with another loss (gcp, "
            "non_uniform_entropy), or on a sample of the rows."
        )
    return divergence.value


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Prepared:
    """The columns of one rung, encoded, with the hierarchies that they have under generalization."""

    columns: Mapping[str, Column]
    trees: Mapping[str, Hierarchy]


@dataclass(kw_only=True, repr=False, eq=False)
class Evaluator:
    """Evaluates settings of a table: a pure function of the setting, with the parts of settings kept."""

    frame: pl.DataFrame
    """The rows to publish, before any coarsening."""
    schema: Schema
    requirement: Requirement
    algorithm: Algorithm
    recoding: Literal["suppression", "generalization"]
    star: str
    keep_order: bool
    loss: str
    seed: int
    ladders: Sequence[Ladder]
    trees: Mapping[str, Hierarchy]
    """The given hierarchies, for generalization."""
    largest_set: int = LARGEST_SET
    """Sets of more values are stars."""
    always: Mapping[str | tuple[str, ...], Coarsening] = field(default_factory=dict)
    """Coarsenings that every setting has."""

    def __post_init__(self) -> None:
        names = self.schema.quasi_identifiers
        coarse, _, _ = coarsen_columns(self.frame, self.always, names)
        self.table = encode(coarse, self.schema)
        """The table of the untouched setting."""
        self._told = coarse.get_column(self.schema.sensitive[0]) if self.schema.sensitive else None
        self._before = columns_before(self.frame, self.always)
        trees = {name: tree_after(tree, self.always.get(name)) for name, tree in self.trees.items()}
        self._untouched = trees | self._automatic(coarse.select(names).get_columns(), known=trees)
        self._rungs: dict[tuple[tuple[str, ...], int], _Prepared] = {}

    def _automatic(self, columns: Sequence[pl.Series], known: Mapping[str, Hierarchy]) -> dict[str, Hierarchy]:
        if self.recoding != "generalization" or not getattr(self.algorithm, "hierarchical", False):
            return {}
        return automatic_trees(columns, self._told, known=known)

    def _prepared(self, ladder: Ladder, step: int) -> _Prepared:
        """Return what the columns of a ladder are at one of its rungs."""
        key = (ladder.columns, step)
        if key not in self._rungs:
            coarsening = ladder.rungs[step - 1].coarsening
            coarse, _, _ = coarsen_columns(self.frame.select(ladder.columns), {ladder.key: coarsening}, ladder.columns)
            table = encode(coarse, Schema(quasi_identifiers=ladder.columns))
            given = {name: tree_after(self.trees[name], coarsening) for name in ladder.columns if name in self.trees}
            self._rungs[key] = _Prepared(
                columns={column.name: column for column in table.quasi_identifiers},
                trees=given | self._automatic(coarse.get_columns(), known=given),
            )
        return self._rungs[key]

    def rungs_of(self, node: Node) -> dict[str | tuple[str, ...], Rung]:
        """Return the rung of each ladder that a setting climbs."""
        return {ladder.key: ladder.rungs[step - 1] for ladder, step in zip(self.ladders, node, strict=True) if step > 0}

    def evaluate(self, node: Node, algorithm: Algorithm | None = None) -> Setting:
        """Return what a setting loses, or why it cannot be published; with another algorithm where one is given.

        Raises
        ------
        UsageError
            Where a coarsening does not fit its column.
        """
        start = time.perf_counter()
        rungs = self.rungs_of(node)
        prepared = [self._prepared(ladder, step) for ladder, step in zip(self.ladders, node, strict=True) if step > 0]
        try:
            measured = self._measured(prepared, algorithm or self.algorithm)
        except (InfeasibleError, UsageError) as error:
            return Setting(rungs=rungs, error=error, seconds=time.perf_counter() - start)
        return Setting(rungs=rungs, seconds=time.perf_counter() - start, **measured)

    def _measured(self, prepared: Sequence[_Prepared], algorithm: Algorithm) -> dict[str, Any]:
        columns = {name: column for one in prepared for name, column in one.columns.items()}
        trees = dict(self._untouched)
        for one in prepared:
            trees |= one.trees
        table = self.table.with_quasi_identifiers(columns)
        before = {column.name: column for column in self.table.quasi_identifiers if column.name in columns}
        before |= self._before
        rng = np.random.default_rng(self.seed)
        order = drawn_order(table, rng, keep_order=self.keep_order)
        if order is not None:
            table, before = table.gather(order), {name: column.gather(order) for name, column in before.items()}
        original = table.with_quasi_identifiers(before)
        problem = Problem(
            table=table,
            requirement=self.requirement,
            rng=rng,
            recoding=self.recoding,
            hierarchies=trees,
            largest_set=self.largest_set,
        )
        partition = algorithm.partition(problem)
        recoded = recode(
            table,
            partition.groups,
            partition.count,
            method=self.recoding,
            star=self.star,
            hierarchies=trees,
            least=partition.least,
            largest_set=self.largest_set,
        )
        composed = compose(original, table, recoded)
        cells = max(recoded.rows * len(recoded.columns), 1)
        return {
            "loss": loss_of_recoding(self.loss, original, composed, partition.groups),
            "loss_of_coarsening": self._loss_of_coarsening(original, table) if before else 0.0,
            "kept_share": 1 - composed.recoded_cells / cells,
            "stars": recoded.stars,
            "stars_share": recoded.stars / cells,
            "suppressed_tuples": recoded.suppressed_tuples,
            "groups": recoded.classes.count,
        }

    def _loss_of_coarsening(self, original: Table, coarse: Table) -> float:
        """Return what the coarsening loses alone: as if the coarse table were published as it is."""
        classes = coarse.classes
        rows_of_class = np.diff(classes.cell_starts[classes.class_starts])
        groups = np.empty(coarse.rows, dtype=np.int32)
        groups[classes.order] = np.repeat(np.arange(classes.count, dtype=np.int32), rows_of_class)
        composed = compose(original, coarse, recode(coarse, groups, classes.count, star=self.star))
        return loss_of_recoding(self.loss, original, composed, groups)

    def __repr__(self) -> str:
        return f"Evaluator(rows={self.frame.height}, ladders={len(self.ladders)})"
