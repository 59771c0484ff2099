"""Information loss of a published table when the original is not there: what an audit can still say. Lower is better.

A missing value is a value of its own: two cells that miss it look alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "published_class_sizes",
    "published_range_counts",
    "published_star_counts",
]

_RANGE = r"^(?:[\[(\]].*,.*[\])\[]|\{.*\})$"
"""An interval or a set, as releases write them."""


def published_class_sizes(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], times: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the sizes of the equivalence classes of a published table, ascending.

    Rows are in one class when all their quasi-identifier cells are equal; a cell is compared as it stands, so a star
    equals a star. Without quasi-identifiers all rows are one class. `times` says how often each row stands in the
    table, where that is not once.
    """
    if frame.height == 0:
        return np.zeros(0, dtype=np.int64)
    if not quasi_identifiers:
        return np.array([frame.height if times is None else times.sum()], dtype=np.int64)
    # Numbered, because a name may collide with that of the sizes, or read like a pattern.
    cells = pl.DataFrame([_cells(frame[name]).alias(str(at)) for at, name in enumerate(quasi_identifiers)])
    by = cells.columns
    if times is None:
        counted = cells.group_by(by).len(name="rows")
    else:
        counted = cells.with_columns(pl.Series("rows", times)).group_by(by).agg(pl.col("rows").sum())
    return np.sort(counted.get_column("rows").cast(pl.Int64).to_numpy())


def _cells(column: pl.Series) -> pl.Series:
    return column.fill_nan(None) if column.dtype.is_float() else column


def published_star_counts(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], star: str = "*", times: NDArray[np.int64] | None = None
) -> tuple[dict[str, int], int]:
    """Count the cells of each quasi-identifier that are the star symbol, and the rows with at least one of them.

    `times` says how often each row stands in the table, where that is not once.
    """

    def counted(which: pl.Series) -> int:
        return int(which.sum()) if times is None else int(times[which.to_numpy()].sum())

    counts: dict[str, int] = {}
    rows = pl.repeat(value=False, n=frame.height, eager=True)
    for name in quasi_identifiers:
        starred = _starred(frame[name], star)
        counts[name] = counted(starred)
        rows = rows | starred if counts[name] else rows
    return counts, counted(rows)


def published_range_counts(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], times: NDArray[np.int64] | None = None
) -> dict[str, int]:
    """Return how many cells of each quasi-identifier read like an interval or a set: `[21, 25]`, `{a, b}`.

    Nodes of hierarchies have names of their own, and are not among them. `times` says how often each row stands in the
    table, where that is not once.
    """
    counts = {}
    for name in quasi_identifiers:
        column = frame[name]
        text = column.dtype in (pl.String, pl.Categorical) or isinstance(column.dtype, pl.Enum)
        which = column.cast(pl.String).str.contains(_RANGE).fill_null(value=False) if text else None
        if which is None:
            counts[name] = 0
        else:
            counts[name] = int(which.sum()) if times is None else int(times[which.to_numpy()].sum())
    return counts


def _starred(column: pl.Series, star: str) -> pl.Series:
    """Return which cells of a column are the star symbol: none where it can hold no text."""
    kind = column.dtype
    if isinstance(kind, pl.Enum) and star in kind.categories:
        return (column == star).fill_null(value=False)
    if kind in (pl.String, pl.Categorical):
        return (column.cast(pl.String) == star).fill_null(value=False)
    return pl.repeat(value=False, n=len(column), eager=True)
