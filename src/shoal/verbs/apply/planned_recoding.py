"""Recoding of a table with the published forms of a plan."""

from __future__ import annotations

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
    sub_domain_penalty,
)
from shoal.release.plan import ReleasePlan, categories_of
from shoal.table import Column, Table, dictionary_text
from shoal.verification import find_covered_values

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
