"""Units of protection: whose each row of an input is, as numbers; the values that identify them go no further."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal._messages import Suggestion
from shoal.errors import DataError
from shoal.recoding.order import rank
from shoal.table import Column, Schema, encode, normalize_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.pipeline.input import OpenedData

__all__ = ["missing_units", "with_units"]


def with_units(opened: OpenedData, units: Sequence[Sequence[str]], missing_person: str) -> OpenedData:
    """Assign numbers to the units of an input if some are protected.

    Parameters
    ----------
    opened : OpenedData
    units : sequence of sequence of str
        The columns that identify each kind of unit.
    missing_person : {"error", "own"}
        What a row is whose unit is missing: an error, or a unit of its own.

    Returns
    -------
    OpenedData
        The same rows with `OpenedData.units`. Rows that were counted together and miss their unit stand alone then.

    Raises
    ------
    DataError
        Units are missing, and that is an error.
    """
    if not units:
        return opened
    without = missing_units(opened.frame, units)
    count = int(opened.counts[without].sum())
    if count and missing_person == "error":
        raise DataError(
            f"{count} row(s) do not show whose they are. Choose how to treat them: ",
            Suggestion("missing_person", "own"),
            " takes each for a person of its own.",
        )
    if (opened.counts[without] > 1).any():
        times = np.where(without, opened.counts, 1)
        rows = np.repeat(np.arange(opened.frame.height), times)
        opened = opened.entries(rows, np.where(without, 1, opened.counts)[rows])
    return replace(opened, units=tuple(_encode(opened.frame, kind) for kind in units))


def missing_units(frame: pl.DataFrame, units: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Find the rows that miss a value of some column that identifies a unit: null, NaN, or text without a character."""
    without = np.zeros(frame.height, dtype=np.bool_)
    for column in _plain(frame, tuple(dict.fromkeys(name for kind in units for name in kind))):
        found = column.fill_nan(None) if column.dtype.is_float() else column
        without |= found.is_null().to_numpy()
    return without


def _encode(frame: pl.DataFrame, names: Sequence[str]) -> Column:
    """Assign numbers to the units of one kind; a row that misses a value of one is a unit of its own.

    Text is compared in its normalized form: two forms of one name are one person, which is the safe side.
    """
    import polars as pl

    columns = encode(_plain(frame, names), Schema(quasi_identifiers=tuple(names))).quasi_identifiers
    without = missing_units(frame, [names])
    numbers, count = rank([(column.codes, column.size) for column in columns], frame.height)
    if without.any():
        # Units that are there are numbered without a gap, then those of one row each.
        numbers, count = rank([(np.where(without, count, numbers), count + 1)], frame.height)
        alone = int(np.count_nonzero(without))
        numbers = np.array(numbers)
        numbers[without] = count - 1 + np.arange(alone)
        count += alone - 1
    kind = np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32
    return Column(
        name=" + ".join(names),
        codes=numbers.astype(kind),
        dictionary=pl.Series(np.arange(count)),
        ordered=False,
        numbers=None,
    )


def _plain(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the columns that identify units with normalized text."""
    import polars as pl

    named = pl.DataFrame([frame.get_column(name) for name in names])
    return normalize_columns(named.lazy(), names).collect()
