"""A requirement as arrays, for the compiled predicate `shoal.kernels.predicate.acceptable`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.predicate import SHARE_SCALE
from shoal.models.base import GroupCounts, Rule, RuleKind

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from shoal.models import Requirement
    from shoal.table import Column, Table

__all__ = ["CompiledRequirement", "compile_requirement", "table_counts"]

_CHEAPEST_FIRST = (
    RuleKind.SIZE,
    RuleKind.DISTINCT,
    RuleKind.HEIGHT,
    RuleKind.FREQUENCY,
    RuleKind.SPREAD,
    RuleKind.SHARE,
    RuleKind.PRESENCE,
    RuleKind.RECURSIVE,
    RuleKind.ENTROPY,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class CompiledRequirement:
    """What `acceptable(size, touched, distinct, counts, starts, rules, bounds)` needs besides the group itself."""

    codes: NDArray[np.int32]
    """Sensitive codes of each row, shape (n, q), in one numbering: code `v` of attribute `j` is `starts[j] + v`.
    One column of zeros where there is no sensitive attribute."""
    starts: NDArray[np.int64]
    """Where each attribute's codes start, shape (q + 1,); the last entry is the number of codes in all."""
    rules: NDArray[np.int64]
    """The clauses, cheapest first, shape (r, 6): kind, attribute, a, b, c, offset into `bounds`."""
    bounds: NDArray[np.int64]
    """The bounds of all clauses that have some, one after another."""
    smallest: int
    """A lower bound on the rows of any acceptable group, at least 1: smaller ones need not be asked about."""

    def __repr__(self) -> str:
        return (
            f"CompiledRequirement(rows={len(self.codes)}, attributes={len(self.starts) - 1}, "
            f"rules={len(self.rules)}, smallest={self.smallest})"
        )


def table_counts(table: Table, *, numbers: bool = True) -> tuple[GroupCounts, ...]:
    """Return for each sensitive attribute the whole table as one group.

    Where there is no sensitive attribute, there is one entry with the table's size and a single value, so that models
    that ask nothing of sensitive values can be asked all the same.

    Parameters
    ----------
    table : Table
        Encoded microdata with at least one row.
    numbers : bool, default True
        Whether to give the sensitive values as numbers too, which takes a moment where there are many.

    Returns
    -------
    tuple of GroupCounts
        One per sensitive attribute, or one in all.
    """
    if not table.sensitive:
        return (_one_group(np.array([table.rows], dtype=np.int64), None),)
    return tuple(_column_counts(column, numbers) for column in table.sensitive)


def compile_requirement(table: Table, requirement: Requirement) -> CompiledRequirement:
    """Lay a requirement out as arrays for the compiled predicate.

    Parameters
    ----------
    table : Table
        Encoded microdata with at least one row and fewer than 2**31.
    requirement : Requirement
        What each group must satisfy; its sensitive attributes are those of the table.

    Returns
    -------
    CompiledRequirement
        A predicate that is never laxer than the requirement.

    Raises
    ------
    ParameterError
        Where a model needs numbers and the sensitive attribute has none.
    """
    counts = table_counts(table, numbers=any(model.needs_numbers for model in requirement.models))
    starts = np.concatenate(([0], np.cumsum([len(group.totals) for group in counts]))).astype(np.int64)
    codes = np.zeros((table.rows, len(counts)), dtype=np.int32)
    for position, column in enumerate(table.sensitive):
        codes[:, position] = column.codes.astype(np.int32) + np.int32(starts[position])
    clauses = sorted(requirement.rules(counts), key=lambda clause: _CHEAPEST_FIRST.index(clause[1].kind))
    rows, bounds, offset = [], [np.empty(0, dtype=np.int64)], 0
    for position, rule in clauses:
        rows.append((int(rule.kind), position, rule.a, rule.b, rule.c, offset))
        if rule.bounds is not None:
            bounds.append(rule.bounds.astype(np.int64))
            offset += len(rule.bounds)
    smallest = max([1, *(_smallest(rule, len(counts[position].totals), table.rows) for position, rule in clauses)])
    return CompiledRequirement(
        codes=codes,
        starts=starts,
        rules=np.array(rows, dtype=np.int64).reshape(-1, 6),
        bounds=np.concatenate(bounds),
        smallest=smallest,
    )


def _column_counts(column: Column, numbers: bool) -> GroupCounts:
    totals = np.bincount(column.codes, minlength=column.size).astype(np.int64)
    exact = column.numbers if numbers else None
    missing = (None,) if column.has_missing else ()
    return _one_group(totals, None if exact is None else (*exact, *missing))


def _one_group(totals: NDArray[np.int64], numbers: tuple[Fraction | None, ...] | None) -> GroupCounts:
    return GroupCounts(
        sizes=np.array([totals.sum()], dtype=np.int64),
        starts=np.array([0, len(totals)], dtype=np.int64),
        values=np.arange(len(totals), dtype=np.int64),
        counts=totals,
        totals=totals,
        numbers=numbers,
    )


def _smallest(rule: Rule, values: int, rows: int) -> int:
    """Return a lower bound on the rows of a group that meets one clause."""
    if rule.kind in (RuleKind.SIZE, RuleKind.DISTINCT):
        return rule.a
    if rule.kind in (RuleKind.FREQUENCY, RuleKind.ENTROPY):
        return -(-rule.a // rule.b) if rule.b else rows + 1
    if rule.kind is RuleKind.RECURSIVE:
        # r_1 < (a / b) * (m - l + 1) * r_1 must hold, so there are more than l - 1 + b / a values.
        return rule.c + rule.b // rule.a
    if rule.kind is RuleKind.PRESENCE:
        return values
    if rule.kind is RuleKind.SHARE and rule.bounds is not None:
        return rows + 1 if rule.bounds.max() < 1 else -(-SHARE_SCALE // int(rule.bounds.max()))
    return 1
