"""Two tables, persons and their rows, joined by a key into the one table that the pipeline publishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal._messages import Suggestion
from shoal.errors import ColumnError, DataError, near_matches
from shoal.pipeline.input import JoinedTables, OpenedData
from shoal.pipeline.kept_rows import encode_owners, find_missing_owners


def join_tables(persons: OpenedData, rows: OpenedData, key: Sequence[str]) -> OpenedData:
    """Join a table of persons with the table of their rows.

    Parameters
    ----------
    persons : OpenedData
        One row for each person.
    rows : OpenedData
        Any number of rows for each person.
    key : sequence of str
        The columns of both tables that identify a person. Text is compared in its normalized form.

    Returns
    -------
    OpenedData
        The rows with the columns of their persons; persons without rows are counted and left out.

    Raises
    ------
    ColumnError
        If a column of the key is missing, or both tables have another column of the same name.
    DataError
        If keys are missing, are repeated in the table of persons, or have no person. The message counts them.
    """
    left, right = persons.frame, rows.frame
    _check_columns(left, right, key)
    # Number the keys of both tables together.
    both = _stack_keys(left, right, key)
    missing = int(np.count_nonzero(find_missing_owners(both, [key])))
    if missing:
        raise DataError(f"{missing} record(s) of the two tables have no key ({', '.join(key)}). Leave them out.")
    numbers = encode_owners(both, key).codes.astype(np.int64)
    of_persons, of_rows = numbers[: left.height], numbers[left.height :]
    times = np.bincount(of_persons, minlength=int(numbers.max(initial=-1)) + 1)
    if times.max(initial=0) > 1:
        raise DataError(
            f"{np.count_nonzero(times > 1)} key(s) occur more than once in the table of persons, which "
            "has one record of each person. The table of their records is named with ",
            Suggestion("rows"),
            ".",
        )
    alone = int(np.count_nonzero(times[of_rows] == 0))
    if alone:
        raise DataError(
            f"{alone} record(s) of the second table have a key that the table of persons does not have. Add "
            "their persons, or leave these records out."
        )
    # Each row with the columns of its person.
    place = np.empty(len(times), dtype=np.int64)
    place[of_persons] = np.arange(left.height)
    own = [column for column in right if column.name not in key]
    frame = pl.DataFrame([*left[place[of_rows]], *own])
    return replace(
        persons,
        frame=frame,
        counts=np.ones(frame.height, dtype=np.int64),
        restore=persons.restore.joined_with(rows.restore),
        codebook={**rows.codebook, **persons.codebook},
        joined=JoinedTables(personal=tuple(left.columns), without_rows=left.height - len(np.unique(of_rows))),
    )


def _check_columns(left: pl.DataFrame, right: pl.DataFrame, key: Sequence[str]) -> None:
    """Check that both tables have the key and no other common column."""
    for name in key:
        for columns, what in ((left.columns, "table of persons"), (right.columns, "table of their records")):
            if name not in columns:
                raise ColumnError(f"The {what} has no column '{name}' (key). {near_matches(name, columns)}")
    common = [name for name in left.columns if name in right.columns and name not in key]
    if common:
        raise ColumnError(
            f"Both tables have a column {', '.join(map(repr, common))}. Rename it in one of them, or leave "
            "it out of one, so that it is clear which is meant."
        )


def _stack_keys(left: pl.DataFrame, right: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Stack the keys of both tables: numbers as numbers, integers and everything else that differ in type as text."""
    stacked = []
    for name in key:
        columns = [frame.get_column(name) for frame in (left, right)]
        if columns[0].dtype != columns[1].dtype:
            # Floats would make large integers of two persons equal.
            whole = all(column.dtype.is_integer() for column in columns)
            plain = not whole and all(column.dtype.is_numeric() for column in columns)
            columns = [column.cast(pl.Float64 if plain else pl.String) for column in columns]
        stacked.append(pl.concat(columns))
    return pl.DataFrame(stacked)
