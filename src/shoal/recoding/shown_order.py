"""The order of what a column publishes: a function of what readers see of it and of what was asked for.

The values of a column of text are in the order of numbers only where all of them are numbers, suppressed ones included;
a hierarchy that is made of a table names nodes that reach as far as its values do; text that became dates is written
again as it came. What such columns publish is sorted by how it reads. Anything else stays in the order that its type,
its coarsening or the hierarchy that was given says, whichever values a table has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.io import as_written
from shoal.table.natural_order import natural_order

if TYPE_CHECKING:
    from collections.abc import Container

    from numpy.typing import NDArray

    from shoal.io import Forms
    from shoal.recoding.recoded import RecodedColumn
    from shoal.table import Column

__all__ = ["shown_order", "written_order"]


def shown_order(
    column: Column, recoded: RecodedColumn, *, forms: Forms, automatic: Container[str], star: str
) -> NDArray[np.intp] | None:
    """Return the order in which the labels of a recoded column are published; None where it is theirs already.

    Missing values come last, and stars behind them.

    Parameters
    ----------
    column : Column
        The values that were recoded.
    recoded : RecodedColumn
        What became of them.
    forms : mapping
        How columns were written whose text became dates or numbers.
    automatic : container of str
        The columns whose hierarchies were made of the table.
    star : str
        The symbol of a suppressed value.
    """
    labels = recoded.labels
    climbs = recoded.levels is not None
    if climbs and column.name not in automatic:
        return None  # nodes are in the order of the hierarchy that was given
    told = labels.is_not_null()
    if labels.dtype == pl.String:
        told &= labels != star
    places = told.arg_true().to_numpy()
    cells = labels.gather(places)
    written = _written(cells, column.name, forms, star)
    joined = recoded.sub_domains.sizes[places] > 1
    within: NDArray[np.intp] | None = None
    if written is not None:
        within = natural_order(written)
    elif labels.dtype == pl.String and climbs:
        within = _nodes(cells, recoded, places) if joined.any() and _of_sets(column) else natural_order(cells)
    elif column.dictionary.dtype == pl.String and not column.ordered and not joined.any():
        within = natural_order(cells)
    if within is None:
        return None
    return np.concatenate((places[within], np.delete(np.arange(len(labels)), places)))


def written_order(column: Column, forms: Forms) -> NDArray[np.intp] | None:
    """Return the order in which the values of a column that is published untouched are published; None for theirs."""
    values = column.dictionary.drop_nulls()
    written = _written(values, column.name, forms, star="")
    if written is None:
        return None
    return np.concatenate((natural_order(written), np.arange(len(values), column.size)))


def _written(cells: pl.Series, name: str, forms: Forms, star: str) -> pl.Series | None:
    """Return cells as readers will see them, where that is another text."""
    if name not in forms:
        return None
    written = as_written(cells.alias(name).to_frame(), {name: forms[name]}, star=star).to_series()
    return None if written.equals(cells, check_dtypes=True) else written


def _of_sets(column: Column) -> bool:
    """Return whether the nodes that are made for a column are sets: neither bins of numbers nor parts of dates."""
    dated = column.ordered and isinstance(column.dictionary.dtype, pl.Date | pl.Datetime | pl.String)
    return column.numbers is None and not dated


def _nodes(cells: pl.Series, recoded: RecodedColumn, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the order of sets of values by their first and last members, those last that do not name their members."""
    domains = recoded.sub_domains
    first, last = domains.first[domains.starts[places]], domains.last[domains.starts[places + 1] - 1]
    sizes = domains.sizes[places]
    numbered = (sizes > 1) & ~cells.str.starts_with("{").to_numpy()
    by_name = np.empty(len(cells), dtype=np.intp)
    by_name[natural_order(cells)] = np.arange(len(cells))
    named = ~numbered
    return np.lexsort((sizes * named, last * named, first * named, by_name * numbered, numbered))
