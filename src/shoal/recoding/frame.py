"""The published table: recoded quasi-identifiers, followed by unchanged sensitive and insensitive columns.

The order of a column's labels depends only on public information. It may depend on hidden facts in three cases: text is
ordered numerically only if all values are numbers, including suppressed ones; a hierarchy derived from a table has
nodes that depend on its values; and text that was parsed as dates is published in its original format. Labels of such
columns are sorted by their text. All other labels keep the order given by the type, the coarsening or the supplied
hierarchy, which does not depend on the values of the table.
"""

from __future__ import annotations

from collections.abc import Container
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.io import Forms, format_as_input
from shoal.recoding.order import rank, sort
from shoal.recoding.recoded import RecodedColumn, Recoding
from shoal.table import Column, Table
from shoal.table.natural_order import natural_order
from shoal.table.text import rank_text


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


_NO_FORMS: Forms = MappingProxyType({})


def publish_frame(
    table: Table,
    recoding: Recoding,
    groups: NDArray[np.int32],
    *,
    keep_order: bool = False,
    compact: bool = False,
    forms: Forms = _NO_FORMS,
    automatic: Container[str] = (),
) -> tuple[pl.DataFrame, NDArray[np.int32]]:
    """Create the published table of a recoding.

    The rows are sorted by their published cells: quasi-identifiers (in their `shown_order`), then sensitive values,
    then insensitive columns. Tied rows are identical, so that the published table depends on the set of published rows
    and on the request alone. Its order and its types are the same for all microdata that yield the same rows.

    Parameters
    ----------
    table : Table
        The encoded microdata.
    recoding : Recoding
        Published cells of every group.
    groups : int32 array of shape (rows,)
        Group of each row: the partition that was recoded.
    keep_order : bool
        Whether to keep the row order of the table instead.
    compact : bool
        Whether quasi-identifiers that are published as text have the type `polars.Enum`, which takes a tenth of the
        memory.
    forms : mapping of column to form
        Original text formats of columns that were parsed as dates or numbers; readers see this format again.
    automatic : container of str
        Columns whose hierarchies were derived from the table itself.

    Returns
    -------
    frame : polars.DataFrame
        Quasi-identifiers, sensitive columns and insensitive columns, in this order. Its types have no declared
        categories that do not occur.
    rows : int32 array of shape (rows,)
        The original row of each published row. Private: it must not be published.

    Raises
    ------
    DataError
        If an insensitive column has a type that cannot be sorted.
    """
    # Labels in the order in which they are shown, with the codes of groups.
    recoded = [
        _reorder(
            column.labels,
            column.group_codes,
            shown_order(values, column, forms=forms, automatic=automatic, star=recoding.star),
        )
        for values, column in zip(table.quasi_identifiers, recoding.columns, strict=True)
    ]
    sensitive = [
        _reorder(column.dictionary.alias(column.name), column.codes, written_order(column, forms))
        for column in table.sensitive
    ]
    if keep_order:
        rows = np.arange(table.rows, dtype=np.int32)
        cells = [(labels, codes[groups]) for labels, codes in recoded]
    else:
        # Sort classes first, because there are far fewer classes than rows.
        classes = recoding.classes
        class_columns = [(codes[classes.representatives], len(labels)) for labels, codes in recoded]
        number = rank(class_columns, classes.count)[0]
        by_class = np.argsort(number)
        columns: list[tuple[NDArray[Any], int]] = [(number[classes.of_group][groups], classes.count)]
        rows = _sort_rows(table, columns + [(codes, len(labels)) for labels, codes in sensitive])
        cells = [
            (labels, np.repeat(codes[by_class], classes.sizes[by_class]))
            for (labels, _), (codes, _) in zip(recoded, class_columns, strict=True)
        ]
    # Sensitive columns follow row by row.
    cells += [(labels, codes[rows]) for labels, codes in sensitive]
    cells = [(_drop_absent_categories(labels, labels), codes) for labels, codes in cells]
    if compact:
        many = len(recoding.columns)
        cells[:many] = [
            (labels.cast(pl.Enum(labels.drop_nulls())) if labels.dtype == pl.String else labels, codes)
            for labels, codes in cells[:many]
        ]
    # One chunk: gathering from several is many times slower.
    published = [labels.rechunk().gather(pl.Series(codes.astype(np.uint32))) for labels, codes in cells]
    # Insensitive columns are gathered as they are.
    index = pl.Series(rows.astype(np.uint32))
    for column in table.insensitive.get_columns():
        shown = _drop_absent_categories(column, column.unique() if column.dtype == pl.Enum else column)
        if shown.dtype.is_nested():  # declared categories within are not looked for
            shown = shown.cast(_replace_by_text(shown.dtype, pl.Enum))
        published.append(_copy_text(shown if keep_order else shown.gather(index)))
    return pl.DataFrame(published) if published else pl.DataFrame(height=table.rows), rows


def _drop_absent_categories(column: pl.Series, occurring: pl.Series) -> pl.Series:
    """Remove declared categories that do not occur, because they may have been suppressed."""
    if column.dtype != pl.Enum:
        return column
    return column.cast(pl.Enum(occurring.drop_nulls().sort().cast(pl.String)))


def _replace_by_text(kind: Any, *others: type[pl.DataType]) -> Any:
    """Replace element types of lists, arrays and structures by text."""
    if isinstance(kind, pl.List):
        return pl.List(_replace_by_text(kind.inner, *others))
    if isinstance(kind, pl.Array):
        return pl.Array(_replace_by_text(kind.inner, *others), kind.size)
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _replace_by_text(field.dtype, *others) for field in kind.fields})
    return pl.String if kind in others else kind


def _copy_text(column: pl.Series) -> pl.Series:
    """Copy text to memory of its own, because gathered text shares buffers with rows that are not published."""
    if column.dtype.is_nested() or column.dtype in (pl.String, pl.Binary):
        return pl.Series(column.name, column.to_arrow(), dtype=column.dtype)
    return column


def canonical_order(table: Table) -> NDArray[np.int32]:
    """Sort the rows of a table by their cells, so that the order does not depend on the input order.

    Tied rows are identical.
    """
    columns = (*table.quasi_identifiers, *table.sensitive, *table.owners)
    return _sort_rows(table, [(column.codes, column.size) for column in columns])


def _reorder(labels: pl.Series, codes: NDArray[Any], order: NDArray[np.intp] | None) -> tuple[pl.Series, NDArray[Any]]:
    """Reorder labels, and renumber their codes accordingly."""
    if order is None:
        return labels, codes
    place = np.empty(len(order), dtype=codes.dtype)
    place[order] = np.arange(len(order))
    return labels.gather(pl.Series(order)), place[codes]


def _sort_rows(table: Table, columns: list[tuple[NDArray[Any], int]]) -> NDArray[np.int32]:
    """Sort rows by columns of codes, and by insensitive columns as long as there are ties."""
    for column in table.insensitive.get_columns():
        if column.dtype == pl.Object:
            raise DataError(
                f"The insensitive column '{column.name}' holds Python objects, which have no order. Turn it into text."
            )
    for column in table.insensitive.get_columns():
        ranks, count = rank(columns, table.rows)
        columns = [(ranks, count)]
        if count == table.rows:  # ranking text takes long, and no rows tie any more
            break
        columns += _ranks(column)
    return sort(columns, table.rows)[1]


def _ranks(column: pl.Series) -> list[tuple[NDArray[np.uint32], int]]:
    """Rank each value among the distinct values, missing values first; also return the number of ranks."""
    ranked = rank_text(column) if column.dtype == pl.String else column.rank("dense")
    ranks = ranked.fill_null(0).cast(pl.UInt32).to_numpy()
    # Distinct values that compare equal, such as 0.0 and -0.0, get a second column of ranks.
    result = [(ranks, int(ranks.max(initial=0)) + 1)]
    if column.dtype.is_float():  # -0.0 and 0.0 rank alike but do not read alike
        result.append((np.signbit(column.to_numpy()).astype(np.uint32), 2))
    elif column.dtype.is_nested():  # the same of floats within
        ranked = column.cast(_replace_by_text(column.dtype, pl.Float32, pl.Float64)).rank("dense").fill_null(0)
        places = ranked.cast(pl.UInt32).to_numpy()
        result.append((places, int(places.max(initial=0)) + 1))
    return result
