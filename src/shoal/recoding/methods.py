"""From a partition to a recoding, by any of the methods."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal._core.validation import Integer, OneOf, validate
from shoal.errors import ParameterError
from shoal.recoding.ancestors import generalize_by
from shoal.recoding.generalization import generalize_column
from shoal.recoding.penalty import LARGEST_SET
from shoal.recoding.recoded import RecodedColumn, Recoding
from shoal.recoding.suppression import suppress
from shoal.table.counts import rows_by_code

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from numpy.typing import NDArray

    from shoal.hierarchy import Hierarchy
    from shoal.table import Table

__all__ = ["METHODS", "recode"]

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
    coarse: Container[str] = (),
) -> Recoding:
    """Decide what every group of a partition publishes.

    Parameters
    ----------
    table : Table
        The encoded microdata.
    groups : int32 array of shape (rows,)
        Group of each row, 0 <= group < count; every group occurs.
    count : int
        Number of groups.
    method : {"suppression", "generalization"}
        What becomes of a value that the rows of a group do not share: a star, or the smallest interval or set that
        covers them.
    star : str
        The symbol of a suppressed value; no value of a quasi-identifier may read like it.
    hierarchies : mapping of column to Hierarchy
        For generalization: columns whose values become the lowest common ancestor of a group's values instead.
    least : int32 array of shape (count, quasi-identifiers), optional
        The least level at which each group publishes each attribute, whatever its rows share: what an algorithm asks
        for that recodes the whole table alike, or promises a shape of its own. By default 0, as specific as may be; a
        column without a hierarchy has stars above that.
    spell_out : bool
        Whether generalization writes a sub-domain that is the whole domain as an interval or a set, not as a star.
    largest_set : int
        Generalization publishes a star where a set would have more values than this.
    shared_by : int
        For generalization without a hierarchy: no end of an interval and no member of a set is an exact value that
        fewer records of the table have. 1: they are as they come.
    coarse : container of str
        Columns whose values are not those of records but what a coarsening made of them: their ends are as they come.

    Returns
    -------
    Recoding

    Raises
    ------
    ParameterError
        Where the method is unknown, or the star symbol is empty or a value of the data.
    DataError
        Where a value of the data reads like an interval or a set of the release, or a hierarchy misses values.
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
    by_default = METHODS[method]
    if method == "generalization":
        by_default = partial(generalize_column, spell_out=spell_out, largest_set=largest_set)
    by_column = {name: partial(generalize_by, tree) for name, tree in hierarchies.items()}
    if method == "generalization" and shared_by > 1:
        for column in table.quasi_identifiers:
            if column.name not in coarse and column.name not in by_column:
                counts = rows_by_code(column.codes, column.size, table.counts)
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
