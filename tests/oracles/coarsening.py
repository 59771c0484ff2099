"""Meaning of the cells of a release of a coarsened table in the original table, by definition."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from tests.oracles.oracles import STAR, Interval, Row

__all__ = ["in_original_values"]


def in_original_values(
    rows: Sequence[Row],
    coarse: Sequence[Row],
    release: Sequence[Sequence[Any]],
    domains: Sequence[Collection[Any]],
) -> list[tuple[Any, ...]]:
    """Translate a release of a coarsened table to values of the original table.

    Parameters
    ----------
    rows, coarse : sequences of rows
        Quasi-identifiers before and after coarsening, of the same rows in the same order.
    release : sequence of sequences
        Published rows; a cell is a coarse value, `STAR`, an `Interval` or a frozenset of coarse values.
    domains : sequence of collections
        The coarse values of each column.

    Returns
    -------
    list of tuple
        For each row and column, `STAR` or the frozenset of the original values whose coarse value the published cell
        covers.
    """
    told = []
    for cells in release:
        columns = zip(cells, zip(*rows, strict=True), zip(*coarse, strict=True), domains, strict=True)
        told.append(tuple(_values(cell, before, after, domain) for cell, before, after, domain in columns))
    return told


def _values(cell: Any, before: Sequence[Hashable], after: Sequence[Any], domain: Collection[Any]) -> Any:
    if cell is STAR:
        return STAR
    if isinstance(cell, Interval):
        inside = {value for value in domain if value is not None and cell.low <= value <= cell.high}
    else:
        inside = set(cell) if isinstance(cell, frozenset) else {cell}
    return frozenset(value for value, became in zip(before, after, strict=True) if became in inside)
