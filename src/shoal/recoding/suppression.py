"""Suppression: a value that varies within a group becomes a star, a symbol that no value of the column equals."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.recoding.extents_kernel import group_extents
from shoal.recoding.recoded import RecodedColumn, SubDomains
from shoal.table import Column
from shoal.table.text import dictionary_text


def check_star(column: Column, text: pl.Series, star: str) -> None:
    """Check that the star symbol is not a value of a column.

    Raises
    ------
    ParameterError
        If readers could mistake a value for a star.
    """
    if (text == star).any():
        raise ParameterError(
            f"The star symbol is a value of the column '{column.name}', so readers could not tell the "
            "two apart. Choose another symbol with ",
            Suggestion("star"),
            ".",
        )


def suppress(
    column: Column, groups: NDArray[np.int32], count: int, star: str, least: NDArray[np.int32] | None = None
) -> RecodedColumn:
    """Recode one quasi-identifier by suppression.

    If all rows of a group lack the value, its cells stay missing. If only some rows lack it, the group publishes stars.
    A group whose least level is above 0 publishes stars in any case.

    Raises
    ------
    ParameterError
        If the star symbol is a value of the column.
    """
    text = dictionary_text(column.dictionary)
    check_star(column, text, star)
    low, high = group_extents(column.codes.astype(np.int32), groups, count)
    kept = low == high
    if least is not None:
        kept &= least == 0
    if kept.all():
        return keep_column(column, low)
    # Labels: the kept values in the order of their codes, then the star.
    used = np.zeros(column.size, dtype=np.bool_)
    used[low[kept]] = True
    values = np.flatnonzero(used).astype(np.int32)
    label_of_code = np.cumsum(used, dtype=np.int32) - 1
    return RecodedColumn(
        name=column.name,
        labels=pl.concat([text.filter(pl.Series(used)), pl.Series([star], dtype=pl.String)], rechunk=True).alias(
            column.name
        ),
        group_codes=np.where(kept, label_of_code[low], np.int32(len(values))).astype(np.int32),
        kept=kept,
        stars=~kept,
        penalty=np.where(kept, 0.0, 1.0),
        sub_domains=SubDomains(
            starts=np.arange(len(values) + 2),
            first=np.append(values, np.int32(0)),
            last=np.append(values, np.int32(column.size - 1)),
        ),
    )


def keep_column(column: Column, codes: NDArray[np.int32]) -> RecodedColumn:
    """Create the recoding of a column without recoded cells, which keeps its type, from the value of each group."""
    values = np.arange(column.size, dtype=np.int32)
    return RecodedColumn(
        name=column.name,
        labels=column.dictionary.alias(column.name),
        group_codes=codes,
        kept=np.ones(len(codes), dtype=np.bool_),
        stars=np.zeros(len(codes), dtype=np.bool_),
        penalty=np.zeros(len(codes), dtype=np.float64),
        sub_domains=SubDomains(starts=np.arange(column.size + 1), first=values, last=values),
    )
