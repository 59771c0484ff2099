"""Number the owners of a published table's rows, such as persons, from the columns of the input.

The encoding of tables is not used here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ReleaseUnsafeError

_ROW = "row"


def find_owners(rows: pl.DataFrame, kinds: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Assign numbers to the owners that the rows of a table belong to.

    Parameters
    ----------
    rows : polars.DataFrame
        The row of the input that each published row was made of, with the columns that identify owners.
    kinds : sequence of sequence of str
        These columns, for each kind of owner.

    Returns
    -------
    polars.DataFrame
        A column for each kind of owner, with equal numbers for the rows of one owner. A row with a missing value in
        such a column is an owner of its own.

    Examples
    --------
    >>> rows = pl.DataFrame({"id": ["a", "b", "a ", None, None]})
    >>> find_owners(rows, [("id",)])["id"].to_list()
    [0, 1, 0, -4, -5]
    """
    return pl.DataFrame([_numbers(rows, names).alias(" + ".join(names)) for names in kinds])


def check_rows_per_owner(owners: pl.Series, times: NDArray[np.int64] | None, most: int) -> None:
    """Check that no owner has more rows than allowed in a release.

    Parameters
    ----------
    owners : polars.Series
        The owner of each distinct row.
    times : int64 array, optional
        How often each distinct row is published; once by default.
    most : int

    Raises
    ------
    ReleaseUnsafeError
        Some owner has more.
    """
    each = np.ones(len(owners), dtype=np.int64) if times is None else times
    rows = pl.DataFrame({"unit": owners, "rows": each}).group_by("unit").agg(pl.col("rows").sum())
    over = rows.filter(pl.col("rows") > most).height
    if over:
        raise ReleaseUnsafeError(f"{over} persons have more than {most} row(s) in the release. Nothing was published.")


def _numbers(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    # By number, because Polars takes the name "*" for all columns.
    keys = [str(number) for number in range(len(names))]
    named = pl.DataFrame([rows.get_column(name).alias(key) for name, key in zip(names, keys, strict=True)])
    # Two forms of one text are one owner, and text without a character is missing.
    text = pl.selectors.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    plain = named.with_columns(text.str.normalize("NFC").str.strip_chars(), pl.selectors.float().fill_nan(None))
    plain = plain.with_columns(pl.col(pl.String).replace("", None))
    plain = plain.with_row_index(_ROW).with_columns(pl.col(_ROW).cast(pl.Int64))
    # An owner is numbered by its first row; rows with missing values get distinct negative numbers.
    first = plain.group_by(keys).agg(pl.col(_ROW).min().alias("first"))
    found = plain.join(first, on=keys, how="left", nulls_equal=True, maintain_order="left")
    missing = pl.any_horizontal(pl.col(key).is_null() for key in keys)
    return found.select(pl.when(missing).then(-1 - pl.col(_ROW)).otherwise("first")).to_series()
