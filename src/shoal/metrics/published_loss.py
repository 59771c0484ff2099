"""Information loss of a published table without its original, as an audit sees it. Lower is better.

A missing value is treated as a value: two cells are equal if both are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.counts import multiplicities

_RANGE = r"^(?:[\[(\]].*,.*[\])\[]|\{.*\}|[<>≤≥].+)$"
"""Pattern of an interval or a set in a release."""


def published_class_sizes(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], times: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Compute the sizes of the equivalence classes of a published table, in ascending order.

    Two rows belong to one class if all their quasi-identifier cells are equal. Cells are compared literally, so that a
    star equals a star. Without quasi-identifiers all rows form one class.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table.
    quasi_identifiers : sequence of str
        Columns to compare.
    times : int64 array, optional
        Multiplicity of each row, 1 by default.

    Examples
    --------
    >>> published_class_sizes(pl.DataFrame({"age": ["*", "*", "31"]}), ["age"]).tolist()
    [1, 2]
    """
    if frame.height == 0:
        return np.zeros(0, dtype=np.int64)
    if not quasi_identifiers:
        return np.array([multiplicities(frame.height, times).sum()], dtype=np.int64)
    # Columns are renamed to numbers, because a name may collide with "rows" or be parsed as a pattern.
    cells = pl.DataFrame([_cells(frame[name]).alias(str(at)) for at, name in enumerate(quasi_identifiers)])
    by, each = cells.columns, pl.Series("rows", multiplicities(frame.height, times))
    counted = cells.with_columns(each).group_by(by).agg(pl.col("rows").sum())
    return np.sort(counted.get_column("rows").to_numpy())


def _cells(column: pl.Series) -> pl.Series:
    # NaN and null both denote a missing value.
    return column.fill_nan(None) if column.dtype.is_float() else column


def published_star_counts(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], star: str = "*", times: NDArray[np.int64] | None = None
) -> tuple[dict[str, int], int]:
    """Count the stars of each quasi-identifier, and the rows with at least one star.

    Parameters
    ----------
    frame : polars.DataFrame
        The published table.
    quasi_identifiers : sequence of str
        Columns to count.
    star : str
        The symbol of a suppressed cell.
    times : int64 array, optional
        Multiplicity of each row, 1 by default.
    """
    each = multiplicities(frame.height, times)
    counts: dict[str, int] = {}
    # Rows with a star in any column so far.
    rows = np.zeros(frame.height, dtype=np.bool_)
    for name in quasi_identifiers:
        starred = _mark_stars(frame[name], star)
        counts[name] = _sum_marked(starred, each)
        rows |= starred
    return counts, _sum_marked(rows, each)


def published_range_counts(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], times: NDArray[np.int64] | None = None
) -> dict[str, int]:
    """Count the cells of each quasi-identifier that are intervals or sets, such as `[21, 25]`, `>=90` and `{a, b}`.

    Nodes of hierarchies have names of their own and are not counted. `times` is the multiplicity of each row, 1 by
    default.
    """
    counts, each = {}, multiplicities(frame.height, times)
    for name in quasi_identifiers:
        column = frame[name]
        # Only text columns can contain intervals or sets.
        text = column.dtype in (pl.String, pl.Categorical) or isinstance(column.dtype, pl.Enum)
        which = column.cast(pl.String).str.contains(_RANGE).fill_null(value=False) if text else None
        counts[name] = 0 if which is None else _sum_marked(which.to_numpy(), each)
    return counts


def _sum_marked(which: NDArray[np.bool_], each: NDArray[np.int64]) -> int:
    """Sum the multiplicities of the marked rows."""
    return int(each[which].sum())


def _mark_stars(column: pl.Series, star: str) -> NDArray[np.bool_]:
    """Mark the cells of a column that are the star symbol; none if the column cannot contain text."""
    kind = column.dtype
    if kind not in (pl.String, pl.Categorical) and not (isinstance(kind, pl.Enum) and star in kind.categories):
        return np.zeros(len(column), dtype=np.bool_)
    stars = (column.cast(pl.String) if kind == pl.Categorical else column) == star
    return (stars.fill_null(value=False) if stars.null_count() else stars).to_numpy()
