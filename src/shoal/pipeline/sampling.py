"""Sampling for differential privacy: the levels of hierarchies, the records that stay, and the large classes."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import exact_fraction
from shoal.algorithms.safepub import LeveledColumn, draw_levels, score_levels, sensitivity_of
from shoal.errors import InfeasibleError
from shoal.hierarchy import Hierarchy, Level, coarsen_columns
from shoal.models import DifferentialPrivacy
from shoal.models.sampling import SAMPLING_SCALE
from shoal.pipeline.input import KeptRows, OpenedData
from shoal.request.request import Request
from shoal.table import dictionary_text, encode

_ROWS_AT_ONCE = 1 << 22
"""Number of rows that are drawn at once; it bounds the memory."""


class _DrawnLevel(Level):
    """A level of a hierarchy that was drawn, not requested."""

    def to_dict(self) -> dict[str, Any]:
        """Serialize the level as in a certificate."""
        return {**super().to_dict(), "drawn": True}


def sample(opened: OpenedData, request: Request, model: DifferentialPrivacy) -> tuple[OpenedData, Request]:
    """Draw the levels of hierarchies and the records that stay, and leave out those of small classes.

    Returns
    -------
    opened : OpenedData
        The same rows with `OpenedData.kept`.
    request : Request
        The request with the levels that were drawn.

    Raises
    ------
    InfeasibleError
        If no class is large enough.
    """
    frame, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    request = fix_levels(frame, opened.publishable_counts[rows], request, model)
    opened = sample_rows(opened, rows, model.threshold)
    # Only the rows that stay are encoded, so that no value is left that only the others have.
    drawn, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    return keep_large_classes(drawn, opened, rows, request), request


def fix_levels(frame: pl.DataFrame, counts: NDArray[np.int64], request: Request, model: DifferentialPrivacy) -> Request:
    """Draw the level of each column with a hierarchy, and return a request that fixes them.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that may be published, before the records that stay are drawn.
    counts : int64 array
        Number of rows of the input that each row represents.
    request : Request
    model : DifferentialPrivacy
    """
    if not request.trees:
        return request
    # Columns without a hierarchy are part of the classes as they will be published.
    names = request.schema.quasi_identifiers
    fixed = coarsen_columns(frame, request.coarsenings, names).frame
    columns = []
    for column in encode(fixed, request.schema).quasi_identifiers:
        tree = request.trees.get(column.name)
        if tree is None:
            columns.append(LeveledColumn.fixed(column.codes, column.size))
        else:
            positions = tree.positions(dictionary_text(column.dictionary).to_list(), column=column.name)
            columns.append(LeveledColumn.of_hierarchy(column.codes, tree, positions))
    scores = score_levels(columns, counts, Fraction(model.k * SAMPLING_SCALE, model.threshold))
    drawn = draw_levels(scores, exact_fraction(model.level_epsilon) / sensitivity_of(columns))
    levels = np.unravel_index(drawn, [len(column.nodes) for column in columns])
    chosen = dict(zip(names, map(int, levels), strict=True))
    coarsen = dict(request.coarsen or {})
    for name, tree in request.trees.items():
        coarsen[name] = _DrawnLevel(_name_roots(tree, request.star), chosen[name])
    return replace(request, coarsen=coarsen, hierarchies=None)


def _name_roots(tree: Hierarchy, star: str) -> Hierarchy:
    """Name the nodes "any" that are named like a star, because the values of a release may not be stars."""
    if all(star not in labels for labels in tree.labels):
        return tree
    return Hierarchy.from_rows([tuple("any" if node == star else node for node in row) for row in tree.rows()])


def sample_rows(opened: OpenedData, rows: NDArray[np.int32], threshold: int) -> OpenedData:
    """Draw the rows that stay, each for itself.

    Parameters
    ----------
    opened : OpenedData
    rows : int32 array
        Indices of the rows that may be published.
    threshold : int
        A row stays if its random integer below 2^64 is below this number.

    Returns
    -------
    OpenedData
        The same rows with `OpenedData.kept`.
    """
    kept = np.zeros(opened.frame.height, dtype=np.int64)
    kept[rows] = draw_counts(opened.publishable_counts[rows], threshold)
    return replace(opened, kept=KeptRows(counts=kept))


def draw_counts(counts: NDArray[np.int64], threshold: int) -> NDArray[np.int64]:
    """Draw how many of some equal rows stay, with one random integer of the operating system for each row.

    Parameters
    ----------
    counts : int64 array
        Number of rows of each kind.
    threshold : int
        See `sample_rows`.
    """
    # Row r belongs to the first kind whose end is above r.
    ends = np.cumsum(counts)
    kept, rows = np.zeros(len(counts), dtype=np.int64), int(ends[-1])
    for begin in range(0, rows, _ROWS_AT_ONCE):
        drawn = np.frombuffer(os.urandom(8 * min(_ROWS_AT_ONCE, rows - begin)), dtype="<u8")
        stays = begin + np.flatnonzero(drawn < np.uint64(threshold))
        kept += np.bincount(np.searchsorted(ends, stays, side="right"), minlength=len(counts))
    return kept


def keep_large_classes(
    frame: pl.DataFrame, opened: OpenedData, rows: NDArray[np.int32], request: Request
) -> OpenedData:
    """Leave out the rows of classes that are smaller than the request allows, as if they had not been drawn.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that were drawn.
    opened : OpenedData
    rows : int32 array
        Index in the input of each of these rows.
    request : Request

    Raises
    ------
    InfeasibleError
        If no class is large enough.
    """
    # Sizes of classes of all published columns, after coarsening.
    coarse = coarsen_columns(frame, request.coarsenings, request.schema.quasi_identifiers).frame
    classes = replace(encode(coarse, request.schema), counts=opened.publishable_counts[rows]).classes
    stays = rows[classes.class_sizes[classes.of_rows] >= request.requirement.k]
    if not len(stays):
        raise InfeasibleError(
            f"No {request.requirement.k} of the records that were drawn publish the same cells, so that nothing would "
            "be left. Make columns coarser, leave columns out, or allow a larger epsilon or delta."
        )
    kept = np.zeros_like(opened.publishable_counts)
    kept[stays] = opened.publishable_counts[stays]
    return replace(opened, kept=KeptRows(counts=kept))
