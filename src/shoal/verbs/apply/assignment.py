"""Assignment of the published forms of a plan to the rows of another table, and recoding with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.recoding import (
    RecodedColumn,
    Recoding,
    SubDomains,
    build_sub_domains,
    group_extents,
    keep_column,
    rank,
    sub_domain_penalty,
)
from shoal.release.plan import ReleasePlan, categories_of
from shoal.table import Column, Table, dictionary_text
from shoal.table.compressed import entries_of_rows
from shoal.verification import find_covered_values

UNKNOWN = -1
"""Marks rows that no form of the plan covers."""
_AT_ONCE = 1 << 24
"""Pairs of a class and a form that are compared at once, which bounds the memory."""


def assigned_forms(
    plan: ReleasePlan, table: Table, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Assign a form to each row of a table, or `UNKNOWN`, and mark the rows whose quasi-identifiers the plan knows.

    Rows of a known class are divided among its forms in the plan's proportions, at random and regardless of sensitive
    values. Rows of another class get the most informative form that covers their values: the one with the fewest stars,
    then the one with the fewest combinations of values, then the most frequent one.

    Parameters
    ----------
    plan : ReleasePlan
    table : Table
        The rows, before any coarsening.
    rng : numpy.random.Generator
    """
    # Number the distinct combinations of quasi-identifiers, with one example row of each.
    class_of_row, count = rank([(one.codes, one.size) for one in table.quasi_identifiers], table.rows)
    rows_of_class = np.bincount(class_of_row, minlength=count)
    example = np.empty(count, dtype=np.int64)
    example[class_of_row] = np.arange(table.rows)
    known = _known_classes(plan, table, example)
    # Known classes are divided among their forms; unknown ones get the best covering form.
    pairs, pair_class = _pairs_of(plan, known)
    dealt = quotas(rows_of_class, pair_class, plan.rows_of[pairs])
    unknown = np.flatnonzero(known < 0)
    chosen = _covering(plan, table, example[unknown])
    # Sort by class and form; a random permutation decides the order of the rows within a class.
    classes = np.concatenate((pair_class, unknown))
    forms = np.concatenate((plan.form_of[pairs], chosen))
    times = np.concatenate((dealt, rows_of_class[unknown]))
    in_order = np.lexsort((np.arange(len(classes)), classes))
    order = rng.permutation(table.rows)
    order = order[np.argsort(class_of_row[order], kind="stable")]
    found = np.empty(table.rows, dtype=np.int64)
    found[order] = np.repeat(forms[in_order], times[in_order])
    return found, (known >= 0)[class_of_row]


def quotas(
    rows_of_class: NDArray[np.int64], pair_class: NDArray[np.int64], pair_rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Divide the rows of each class among its forms in proportion, by largest remainders with ties to the first.

    Parameters
    ----------
    rows_of_class : int64 array
        The rows of each class.
    pair_class : int64 array
        The class of each pair of a class and a form.
    pair_rows : int64 array
        The weight of each pair, at least 1.

    Examples
    --------
    >>> quotas(np.array([5, 2]), np.array([0, 0, 1]), np.array([2, 1, 9])).tolist()
    [3, 2, 2]
    """
    # Whole shares first, then one row for each of the largest remainders of a class.
    whole = np.bincount(pair_class, weights=pair_rows, minlength=len(rows_of_class)).astype(np.int64)
    shares = rows_of_class[pair_class] * pair_rows
    dealt, remainders = np.divmod(shares, whole[pair_class])
    left = rows_of_class - np.bincount(pair_class, weights=dealt, minlength=len(rows_of_class)).astype(np.int64)
    order = np.lexsort((np.arange(len(pair_class)), -remainders, pair_class))
    firsts = np.searchsorted(pair_class[order], pair_class[order])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - firsts
    return np.asarray(dealt + (place < left[pair_class]))


def _known_classes(plan: ReleasePlan, table: Table, example: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the plan's number of each class of a table, or -1 if the plan does not know the class."""
    # Compare classes by the text of their values, as plans store them.
    values = {
        one.name: dictionary_text(one.dictionary).gather(pl.Series(one.codes[example].astype(np.uint32)))
        for one in table.quasi_identifiers
    }
    names = list(values)
    numbered = plan.values.cast(pl.String).with_row_index("\0class")
    joined = pl.DataFrame(values).join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
    return np.asarray(joined["\0class"].cast(pl.Int64).fill_null(-1).to_numpy())


def _pairs_of(plan: ReleasePlan, known: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the plan's pairs of the classes in the table, and the table's class of each pair."""
    # The pairs of a class are consecutive in the plan.
    here = np.flatnonzero(known >= 0)
    starts = np.searchsorted(plan.class_of, known[here])
    stops = np.searchsorted(plan.class_of, known[here], side="right")
    return entries_of_rows(starts, stops), np.repeat(here, stops - starts)


def _covering(plan: ReleasePlan, table: Table, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the best form that covers the values of each given row, or `UNKNOWN` if there is none."""
    found = np.full(len(rows), UNKNOWN, dtype=np.int64)
    if not len(rows):
        return found
    # For each column, the values that each form covers, and the number of covered combinations.
    covers: list[tuple[NDArray[np.bool_], NDArray[Any]]] = []
    stars = plan.starred.sum(axis=1)
    reach = np.zeros(plan.cells.height, dtype=np.float64)
    for column in table.quasi_identifiers:
        # Number the distinct cells of the column, and mark the values that each covers.
        shown = plan.cells[column.name].cast(pl.String)
        labels = shown.unique(maintain_order=True)
        numbered = pl.DataFrame({"cell": labels}).with_row_index("at")
        joined = pl.DataFrame({"cell": shown}).join(
            numbered, on="cell", how="left", nulls_equal=True, maintain_order="left"
        )
        place = joined["at"].to_numpy()
        matrix = find_covered_values(
            labels.to_list(), column.dictionary, meaning=plan.meanings[column.name], star=plan.star
        )
        covers.append((matrix[place], column.codes[rows]))
        reach += np.log(np.maximum(matrix.sum(axis=1), 1))[place]
    # Take the first covering form in the order of preference, for a batch of rows at a time.
    best_first = np.lexsort((np.arange(len(stars)), -plan.rows, reach, stars))
    step = max(_AT_ONCE // max(len(stars), 1), 1)
    for start in range(0, len(rows), step):
        fits = np.ones((len(stars), min(step, len(rows) - start)), dtype=np.bool_)
        for matrix, codes in covers:
            fits &= matrix[:, codes[start : start + step]]
        fits = fits[best_first]
        found[start : start + step] = np.where(fits.any(axis=0), best_first[fits.argmax(axis=0)], UNKNOWN)
    return found


_TYPES = {str(kind): kind for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float64, pl.Date)}
"""The column types that coarsenings produce."""


def recoded_by(
    plan: ReleasePlan,
    table: Table,
    groups: NDArray[np.int32],
    forms: NDArray[np.int64],
    starred: NDArray[np.bool_],
    *,
    largest_set: int,
) -> Recoding:
    """Recode every group with its form, in the values of the original table.

    The order of published values is that of the plan, and their types follow from the published cells. Neither depends
    on values that are not shown.

    Parameters
    ----------
    plan : ReleasePlan
    table : Table
        The rows, before any coarsening.
    groups : int32 array of shape (rows,)
        Group of each row; every group occurs.
    forms : int64 array
        The form of each group; arbitrary if all of its cells are stars.
    starred : bool array of shape (groups, quasi-identifiers)
        Marks the starred cells.
    largest_set : int
        Sets with more values than this cost as much as a star.
    """
    columns = tuple(
        _column(plan, column, groups, forms, starred[:, place], largest_set)
        for place, column in enumerate(table.quasi_identifiers)
    )
    return Recoding(
        method=plan.parameters["recoding"],
        star=plan.star,
        columns=columns,
        sizes=np.bincount(groups, minlength=len(forms)),
        largest_set=largest_set,
    )


def _column(
    plan: ReleasePlan,
    column: Column,
    groups: NDArray[np.int32],
    forms: NDArray[np.int64],
    stars: NDArray[np.bool_],
    largest: int,
) -> RecodedColumn:
    # Columns whose cells are exact values keep their type.
    low, high = group_extents(column.codes.astype(np.int32), groups, len(forms))
    meaning, typed = plan.meanings[column.name], column.name in plan.types and not stars.any()
    if typed and meaning.kind == "values" and meaning.tree is None:
        return keep_column(column, low)
    # Types follow from the published cells, so that they reveal nothing else.
    cells = plan.cells[column.name]
    named = categories_of(cells)
    # The labels in use, in the plan's order; a missing value after the others, and a star last.
    places = np.append(cells.to_physical().cast(pl.Int64).fill_null(len(named)).to_numpy(), 0)[forms]
    used, codes = np.unique(np.where(stars, len(named) + 1, places), return_inverse=True)
    labels = pl.Series(column.name, [*named, None, plan.star], dtype=pl.String).gather(pl.Series(used))
    domains = _domains(find_covered_values(labels.to_list(), column.dictionary, meaning=meaning, star=plan.star))
    numbered = pl.DataFrame({"label": dictionary_text(column.dictionary)}).with_row_index("code")
    # A cell is kept if its label is the one value of the group.
    itself = labels.to_frame("label").join(numbered, on="label", how="left", nulls_equal=True, maintain_order="left")
    code = itself["code"].cast(pl.Int64).fill_null(-1).to_numpy()[codes]
    kept = (low == high) & (low == code) & ~stars
    shows_sets = meaning.kind == "values" and meaning.tree is None and not column.ordered
    climbs = meaning.tree is not None
    penalty = sub_domain_penalty(column, domains, tree=climbs, largest_set=largest if shows_sets else None)
    if typed:
        kind = _TYPES.get(plan.types[column.name], pl.String)
        labels = labels.str.to_date("%Y-%m-%d") if kind == pl.Date else labels.cast(kind)
    return RecodedColumn(
        name=column.name,
        labels=labels,
        group_codes=codes.astype(np.int32),
        kept=kept,
        stars=stars,
        penalty=np.where(stars, 1.0, np.where(kept, 0.0, penalty[codes])),
        sub_domains=domains,
        levels=np.where(kept, 0, 1).astype(np.int32),
    )


def _domains(covered: NDArray[np.bool_]) -> SubDomains:
    """Return the values that each label covers, as runs of codes."""
    starts = np.concatenate(([0], np.cumsum(covered.sum(axis=1)))).astype(np.int64)
    return build_sub_domains(starts, np.nonzero(covered)[1].astype(np.int32))
