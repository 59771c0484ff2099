"""Recoding of a partition by any of the methods."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import Integer, OneOf, validate
from shoal.errors import ParameterError
from shoal.hierarchy import Hierarchy
from shoal.recoding.ancestors import generalize_by
from shoal.recoding.generalization import generalize_column
from shoal.recoding.penalty import LARGEST_SET
from shoal.recoding.recoded import RecodedColumn, Recoding
from shoal.recoding.suppression import suppress
from shoal.table import Table
from shoal.table.counts import rows_by_code

METHODS: Mapping[str, Callable[..., RecodedColumn]] = {"suppression": suppress, "generalization": generalize_column}

_NONE: Mapping[str, Hierarchy] = MappingProxyType({})


def recode(
    table: Table,
    groups: NDArray[np.int32],
    count: int,
    *,
    method: Literal["suppression", "generalization"] = "suppression",
    star: str = "*",
    hierarchies: Mapping[str, Hierarchy] = _NONE,
    spell_out: bool = False,
    least: NDArray[np.int32] | None = None,
    largest_set: int = LARGEST_SET,
    shared_by: int = 1,
    counted: NDArray[np.bool_] | None = None,
    coarse: Container[str] = (),
) -> Recoding:
    """Compute the published cells of every group of a partition.

    Parameters
    ----------
    table : Table
        The encoded microdata.
    groups : int32 array of shape (rows,)
        Group of each row, 0 <= group < count; every group occurs.
    count : int
        Number of groups.
    method : {"suppression", "generalization"}
        Replacement of a value that varies within a group: a star, or the smallest interval or set that covers the
        values.
    star : str
        Symbol of a suppressed value, different from all values of quasi-identifiers.
    hierarchies : mapping of column to Hierarchy
        For generalization: columns that are recoded to the lowest common ancestor of a group's values.
    least : int32 array of shape (count, quasi-identifiers), optional
        Lowest level at which each group may publish each attribute, even if its rows share a value. Algorithms use it
        for full-domain recodings and for groups of a prescribed shape. It is 0 by default, which is as specific as
        possible. In a column without a hierarchy, levels above 0 are stars.
    spell_out : bool
        Whether generalization publishes a sub-domain that is the whole domain as an interval or a set, not as a star.
    largest_set : int
        Largest number of values of a set; larger sets become stars.
    shared_by : int
        For generalization without a hierarchy: ends of intervals and members of sets are never exact values that fewer
        records of the table have. If 1, they are not restricted.
    counted : bool array of shape (rows,), optional
        Rows that count once for `shared_by`, such as one row of each person; by default all rows count.
    coarse : container of str
        Columns whose values result from a coarsening and are not values of records; `shared_by` does not apply to them.

    Returns
    -------
    Recoding

    Raises
    ------
    ParameterError
        If the method is unknown, or if the star symbol is empty or a value of the data.
    DataError
        If a value of the data equals an interval or a set of the release, or if a hierarchy lacks values.
    """
    if hierarchies and method != "generalization":
        raise ParameterError("Hierarchies need recoding='generalization': suppression publishes values and stars only.")
    validate(
        "recode",
        {"recoding": method, "largest_set": largest_set, "shared_by": shared_by},
        {"recoding": OneOf(tuple(METHODS)), "largest_set": Integer(low=1), "shared_by": Integer(low=1)},
    )
    symbol: object = star
    if not isinstance(symbol, str) or not symbol:
        raise ParameterError.refusing("recode", "star", "a text of at least one character", got=repr(symbol))
    groups = np.ascontiguousarray(groups, dtype=np.int32)
    # The recoding of each column: by hierarchy, with protected ends, or by the method itself.
    by_default = METHODS[method]
    if method == "generalization":
        by_default = partial(generalize_column, spell_out=spell_out, largest_set=largest_set)
    by_column = {name: partial(generalize_by, tree) for name, tree in hierarchies.items()}
    if method == "generalization" and shared_by > 1:
        for column in table.quasi_identifiers:
            if column.name not in coarse and column.name not in by_column:
                weights = table.counts if counted is None else counted.astype(np.int64)
                counts = rows_by_code(column.codes, column.size, weights)
                by_column[column.name] = partial(by_default, shared_by=shared_by, counts=counts)
    return Recoding(
        method=method,
        star=star,
        largest_set=largest_set,
        columns=tuple(
            by_column.get(column.name, by_default)(
                column, groups, count, star, least=None if least is None else least[:, a]
            )
            for a, column in enumerate(table.quasi_identifiers)
        ),
        sizes=np.bincount(groups, minlength=count),
    )
