"""The order of a column's published labels, which depends only on public information.

The order of a column may depend on hidden facts in three cases: text is ordered numerically only if all values are
numbers, including suppressed ones; a hierarchy derived from a table has nodes that depend on its values; and text that
was parsed as dates is published in its original format. Labels of such columns are sorted by their text. All other
labels keep the order given by the type, the coarsening or the supplied hierarchy, which does not depend on the values
of the table.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.io import Forms, format_as_input
from shoal.recoding.recoded import RecodedColumn
from shoal.table import Column
from shoal.table.natural_order import natural_order


def shown_order(
    column: Column, recoded: RecodedColumn, *, forms: Forms, automatic: Container[str], star: str
) -> NDArray[np.intp] | None:
    """Compute the order in which the labels of a recoded column are published; None if they are in order.

    Missing values come last, followed by stars.

    Parameters
    ----------
    column : Column
        The original values.
    recoded : RecodedColumn
        The recoded column.
    forms : mapping
        Original text formats of columns that were parsed as dates or numbers.
    automatic : container of str
        Columns whose hierarchies were derived from the table.
    star : str
        Symbol of a suppressed value.
    """
    labels = recoded.labels
    climbs = recoded.levels is not None
    if climbs and column.name not in automatic:
        return None  # nodes are in the order of the hierarchy that was given
    # Only labels that are neither missing nor stars are sorted.
    visible = labels.is_not_null()
    if labels.dtype == pl.String:
        visible &= labels != star
    places = visible.arg_true().to_numpy()
    cells = labels.gather(places)
    written = _format_cells(cells, column.name, forms, star)
    joined = recoded.sub_domains.sizes[places] > 1
    # By the published text, by nodes of sets, or by the text of values.
    within: NDArray[np.intp] | None = None
    if written is not None:
        within = natural_order(written)
    elif labels.dtype == pl.String and climbs:
        within = _sort_sets(cells, recoded, places) if joined.any() and _of_sets(column) else natural_order(cells)
    elif column.dictionary.dtype == pl.String and not column.ordered and not joined.any():
        within = natural_order(cells)
    if within is None:
        return None
    return np.concatenate((places[within], np.delete(np.arange(len(labels)), places)))


def written_order(column: Column, forms: Forms) -> NDArray[np.intp] | None:
    """Compute the order in which the values of an unmodified column are published; None if they are in order."""
    values = column.dictionary.drop_nulls()
    written = _format_cells(values, column.name, forms, star="")
    if written is None:
        return None
    return np.concatenate((natural_order(written), np.arange(len(values), column.size)))


def _format_cells(cells: pl.Series, name: str, forms: Forms, star: str) -> pl.Series | None:
    """Format cells as readers see them, or return None if the format is unchanged."""
    if name not in forms:
        return None
    written = format_as_input(cells.alias(name).to_frame(), {name: forms[name]}, star=star).to_series()
    return None if written.equals(cells, check_dtypes=True) else written


def _of_sets(column: Column) -> bool:
    """Test if the nodes of a column's automatic hierarchy are sets, rather than bins of numbers or parts of dates."""
    dated = column.ordered and isinstance(column.dictionary.dtype, pl.Date | pl.Datetime | pl.String)
    return column.numbers is None and not dated


def _sort_sets(cells: pl.Series, recoded: RecodedColumn, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Order sets of values by their first and last members; numbered nodes come last."""
    domains = recoded.sub_domains
    first, last = domains.first[domains.starts[places]], domains.last[domains.starts[places + 1] - 1]
    sizes = domains.sizes[places]
    # A node with too many members for its name has a number.
    numbered = (sizes > 1) & ~cells.str.starts_with("{").to_numpy()
    by_name = np.empty(len(cells), dtype=np.intp)
    by_name[natural_order(cells)] = np.arange(len(cells))
    named = ~numbered
    # Keys from the least to the most significant one.
    return np.lexsort((sizes * named, last * named, first * named, by_name * numbered, numbered))
