"""Evaluation of settings: coarsen, partition and recode a table, and measure the loss against the original."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.compiling.notices import Stopwatch, listening
from shoal._core.progress import Clock
from shoal._core.quoting import listed_names
from shoal.algorithms.base import Algorithm
from shoal.engines import InMemory
from shoal.errors import InfeasibleError, UsageError
from shoal.hierarchy import Coarsening
from shoal.metrics import gcp, kl_divergence, ncp, non_uniform_entropy
from shoal.models import KAnonymity
from shoal.pipeline.encoded import EncodedTable, encode_columns, encode_table
from shoal.pipeline.input import OpenedData, open_data
from shoal.pipeline.prepare import PreparedTable, interpret, shuffle_rows
from shoal.pipeline.run import STEPS, partition_and_recode
from shoal.recoding import Recoding, compose, recode
from shoal.request.request import Request
from shoal.table import Schema, Table
from shoal.verbs.explore.candidate import Candidate
from shoal.verbs.explore.ladders import Ladder, Rung
from shoal.verbs.explore.lattice import Node


def loss_of_recoding(loss: str, original: Table, composed: Recoding, groups: NDArray[np.int32]) -> float:
    """Compute a loss of a recoding that is expressed in the values of the original table.

    Raises
    ------
    UsageError
        If the computation would take too long.
    """
    if loss == "gcp":
        return gcp(composed)
    if loss == "non_uniform_entropy":
        return non_uniform_entropy(original, composed)
    divergence = kl_divergence(original, composed, groups)
    # The divergence of large tables takes too long to compute exactly.
    if divergence.value is None:
        raise UsageError(
            "The KL-divergence of this release takes too long to compute. Search with another loss (gcp, "
            "non_uniform_entropy), or on a sample of the rows."
        )
    return divergence.value


@dataclass(kw_only=True, repr=False, eq=False)
class Evaluator:
    """Evaluator of settings of one table: a pure function of the setting, with encoded columns cached."""

    opened: OpenedData
    """The table."""
    frame: pl.DataFrame
    """The rows to publish, before any coarsening."""
    rows: NDArray[np.int32]
    """Their row numbers in the table."""
    request: Request
    """The request; its coarsenings are part of every setting."""
    loss: str
    ladders: Sequence[Ladder]

    def __post_init__(self) -> None:
        request = self.request
        self._sensitive = self.frame.get_column(request.schema.sensitive[0]) if request.schema.sensitive else None
        self.untouched = encode_table(
            self.frame,
            self.opened.publishable_counts[self.rows],
            request,
            Clock(STEPS),
            owners=self.opened.owners_of(self.rows),
        )
        """The encoded columns of the untouched setting."""
        self._rungs: dict[tuple[tuple[str, ...], int], EncodedTable] = {}

    def _encoded(self, ladder: Ladder, step: int) -> EncodedTable:
        """Encode the columns of a ladder at one of its rungs."""
        # Each rung is encoded once and reused by every setting with it.
        key = (ladder.columns, step)
        if key not in self._rungs:
            request = replace(self.request, coarsen={ladder.key: ladder.rungs[step - 1].coarsening})
            columns = self.frame.select(ladder.columns)
            schema = Schema(quasi_identifiers=ladder.columns)
            self._rungs[key] = encode_columns(columns, schema, request, self._sensitive, Clock(STEPS))
        return self._rungs[key]

    def rungs_of(self, node: Node) -> dict[str | tuple[str, ...], Rung]:
        """Return the rung of each ladder that a setting uses."""
        return {ladder.key: ladder.rungs[step - 1] for ladder, step in zip(self.ladders, node, strict=True) if step > 0}

    def evaluate(self, node: Node, algorithm: Algorithm | None = None) -> Candidate:
        """Measure the loss of a setting, or the error if it cannot be published; optionally with another algorithm.

        Raises
        ------
        UsageError
            If a coarsening does not suit its column.
        """
        # A setting may be infeasible; the search then continues with others. Compilation is not counted.
        start, rungs = time.perf_counter(), self.rungs_of(node)
        encoded = [self._encoded(ladder, step) for ladder, step in zip(self.ladders, node, strict=True) if step > 0]
        asked = self.request.algorithm if algorithm is None else algorithm
        found: dict[str, Any] = {}
        with listening(compiling := Stopwatch()):
            try:
                found["measured"] = self._measured(encoded, algorithm)
            except (InfeasibleError, UsageError) as error:
                found["error"] = error
        return Candidate(
            text=" ".join(f"{listed_names(key)}={rung.text}" for key, rung in rungs.items()) or "untouched",
            algorithm=asked if isinstance(asked, str) else asked.name,
            rungs=rungs,
            metric=self.loss,
            seconds=time.perf_counter() - start - compiling.spent,
            **found,
        )

    def _measured(self, rungs: Sequence[EncodedTable], algorithm: Algorithm | None) -> dict[str, Any]:
        encoded = self.untouched
        # Replace the coarsened columns, then run the pipeline as for a release, without writing one.
        for one in rungs:
            encoded = encoded.replace_columns(one)
        request = self.request if algorithm is None else replace(self.request, algorithm=algorithm)
        prepared = shuffle_rows(encoded, request, self.opened, self.rows)
        recoded = partition_and_recode(prepared, InMemory(opened=self.opened), Clock(STEPS))
        recoding = recoded.recoding
        # Shares refer to all cells of quasi-identifiers.
        cells = max(recoding.rows * len(recoding.columns), 1)
        return {
            self.loss: loss_of_recoding(self.loss, prepared.original, recoded.composed, recoded.partition.groups),
            "loss_of_coarsening": self._loss_of_coarsening(prepared) if encoded.before else 0.0,
            "kept_share": 1 - recoded.composed.recoded_cells / cells,
            "stars": recoding.stars,
            "stars_share": recoding.stars / cells,
            "suppressed_tuples": recoding.suppressed_tuples,
            "groups": recoding.classes.count,
        }

    def _loss_of_coarsening(self, prepared: PreparedTable) -> float:
        """Compute the loss of the coarsening alone, as if the coarse table were published unchanged."""
        composed, groups = _only_coarsened(prepared)
        return loss_of_recoding(self.loss, prepared.original, composed, groups)

    def __repr__(self) -> str:
        return f"Evaluator(rows={len(self.rows)}, ladders={len(self.ladders)})"


def _only_coarsened(prepared: PreparedTable) -> tuple[Recoding, NDArray[np.int32]]:
    """Recode the coarse table without further generalization, in the values of the original."""
    # Each class of equal rows becomes a group of its own.
    coarse = prepared.table
    classes = coarse.classes
    rows_of_class = np.diff(classes.cell_starts[classes.class_starts])
    groups = np.empty(coarse.rows, dtype=np.int32)
    groups[classes.order] = np.repeat(np.arange(classes.count, dtype=np.int32), rows_of_class)
    recoded = recode(coarse, groups, classes.count, star=prepared.request.star)
    return compose(prepared.original, coarse, recoded), groups


def coarsening_losses(frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening]) -> dict[str, float]:
    """Measure the loss of coarsenings alone, before a table is anonymized.

    Parameters
    ----------
    frame : polars.DataFrame
        The quasi-identifiers.
    coarsen : mapping
        As for `shoal.anonymize`.

    Returns
    -------
    dict of str to float
        The normalized certainty penalty of each quasi-identifier, from 0 (unchanged) to 1 (all information lost): the
        value of `release.metrics.ncp` if the coarse table were published unchanged.

    Raises
    ------
    UsageError
        The call or the data is invalid; the message names the remedy.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal import Bins
    >>> table = pl.DataFrame({"age": [20, 25, 30, 40], "sex": ["f", "m", "f", "m"]})
    >>> coarsening_losses(table, {"age": Bins(10)})
    {'age': 0.125, 'sex': 0.0}
    """
    request = Request(quasi_identifiers=frame.columns, coarsen=coarsen, privacy=KAnonymity(1))
    opened = interpret(open_data(frame), request, dates=None, decimal=None)
    frame, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    # Coarsen without grouping, and measure the certainty penalty of the coarse cells.
    encoded = encode_table(frame, opened.counts[rows], request, Clock(STEPS))
    prepared = shuffle_rows(encoded, replace(request, seed=0), opened, rows)
    return ncp(_only_coarsened(prepared)[0])
