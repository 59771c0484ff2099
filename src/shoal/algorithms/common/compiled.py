"""Compilation of a requirement into arrays for the predicate `shoal.algorithms.common.predicate_kernel.acceptable`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.common.predicate_kernel import SHARE_SCALE, Predicate
from shoal.errors import InternalError
from shoal.models.base import ReleaseRule, Rule, RuleKind
from shoal.models.domain import Domain
from shoal.models.population import Population
from shoal.models.requirement import Requirement
from shoal.table import Column, Table
from shoal.table.counts import rows_by_code

_MOST_ROWS = 2**31
"""Populations have fewer rows: products of two counts fit into 62 bits."""
_CHEAPEST_FIRST = (
    RuleKind.SIZE,
    RuleKind.DISTINCT,
    RuleKind.HEIGHT,
    RuleKind.FREQUENCY,
    RuleKind.SPREAD,
    RuleKind.SHARE,
    RuleKind.PRESENCE,
    RuleKind.CLOSE,
    RuleKind.RECURSIVE,
    RuleKind.ENTROPY,
    RuleKind.CLOSE_ORDERED,
    RuleKind.CLOSE_HIERARCHICAL,
    RuleKind.CLOSE_METRIC,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class CompiledRequirement:
    """Arguments of `acceptable` that do not depend on the group: clauses, their bounds, and the numbering of codes."""

    codes: NDArray[np.int32]
    """Sensitive codes of each row, shape (n, q), in one numbering: code `v` of attribute `j` is `starts[j] + v`.
    One column of zeros if there is no sensitive attribute."""
    starts: NDArray[np.int64]
    """Start of each attribute's codes, shape (q + 1,); the last entry is the total number of codes."""
    rules: NDArray[np.int64]
    """The clauses, cheapest first, shape (r, 6): kind, attribute, a, b, c, offset into `bounds`."""
    bounds: NDArray[np.int64]
    """The bounds of all clauses with bounds, one after another."""
    release: tuple[ReleaseRule, ...]
    """Clauses on the release as a whole."""
    smallest: int
    """A lower bound on the rows of any acceptable group, at least 1: smaller groups need not be tested."""

    @property
    def predicate(self) -> Predicate:
        """The requirement without the rows, in the form of the kernels."""
        return Predicate(self.starts, self.rules, self.bounds, self.smallest)


def populations_of(table: Table) -> tuple[Population, ...]:
    """Count the rows of each value of a table's sensitive attributes.

    If there is no sensitive attribute, the result is one population with a single value, so that models without
    sensitive values can be evaluated all the same.

    Parameters
    ----------
    table : Table
        Encoded microdata with at least one row. If it is a part of a larger table, the larger table is counted.

    Returns
    -------
    tuple of Population
        One per sensitive attribute, or a single one.
    """
    # The counts of a larger table, if this is a part of it.
    totals = table.totals
    if not table.sensitive:
        return (Population(totals=np.array([table.people], dtype=np.int64) if totals is None else totals[0]),)
    if totals is None:
        totals = tuple(rows_by_code(column.codes, column.size, table.counts) for column in table.sensitive)
    return tuple(_population(column, whole) for column, whole in zip(table.sensitive, totals, strict=True))


def compile_requirement(table: Table, requirement: Requirement) -> CompiledRequirement:
    """Lay a requirement out as arrays for the compiled predicate.

    Parameters
    ----------
    table : Table
        Encoded microdata with at least one row and fewer than 2**31.
    requirement : Requirement
        Requirement for each group; its sensitive attributes are those of the table.

    Returns
    -------
    CompiledRequirement
        A predicate that is never laxer than the requirement.

    Raises
    ------
    ParameterError
        If a sensitive attribute has a type that a model cannot use.
    """
    # One numbering for the codes of all sensitive attributes.
    populations = populations_of(table)
    if max(population.rows for population in populations) >= _MOST_ROWS:
        raise InternalError("compiled clauses count the rows of a table in 31 bits")
    starts = np.concatenate(([0], np.cumsum([len(population.totals) for population in populations]))).astype(np.int64)
    codes = np.zeros((table.rows, len(populations)), dtype=np.int32)
    for position, column in enumerate(table.sensitive):
        codes[:, position] = column.codes.astype(np.int32) + np.int32(starts[position])
    # Cheap clauses first: most groups fail one of them.
    clauses = sorted(requirement.rules(populations), key=lambda clause: _CHEAPEST_FIRST.index(clause[1].kind))
    rows, bounds, offset = [], [np.empty(0, dtype=np.int64)], 0
    for position, rule in clauses:
        # Bounds of a clause start at its offset.
        rows.append((int(rule.kind), position, rule.a, rule.b, rule.c, offset))
        if rule.bounds is not None:
            bounds.append(rule.bounds.astype(np.int64))
            offset += len(rule.bounds)
    smallest = max([1, *(_smallest(rule, len(populations[position].totals), table.rows) for position, rule in clauses)])
    return CompiledRequirement(
        codes=codes,
        starts=starts,
        rules=np.array(rows, dtype=np.int64).reshape(-1, 6),
        bounds=np.concatenate(bounds),
        release=requirement.release_rules(populations),
        smallest=smallest,
    )


def _population(column: Column, totals: NDArray[np.int64]) -> Population:
    domain = Domain(
        read_labels=lambda: _labels(column), read_numbers=lambda: _numbers(column), read_ranks=lambda: _ranks(column)
    )
    return Population(totals=totals, domain=domain)


def _labels(column: Column) -> tuple[Any, ...]:
    # A number is known by its size however it is stored, text by how it is written.
    numeric = column.dictionary.dtype.is_numeric()
    return (_numbers(column) if numeric else None) or tuple(column.dictionary.to_list())


def _numbers(column: Column) -> tuple[Fraction | None, ...] | None:
    missing = (None,) if column.has_missing else ()
    return None if column.numbers is None else (*column.numbers, *missing)


def _ranks(column: Column) -> NDArray[np.int64] | None:
    if not column.ordered:
        return None
    # The dictionary is in the order of the values, a missing one last.
    ranks = np.arange(column.size, dtype=np.int64)
    ranks[column.size - column.has_missing :] = -1
    return ranks


def _smallest(rule: Rule, values: int, rows: int) -> int:
    """Compute a lower bound on the rows of a group that satisfies one clause."""
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
    return rule.smallest
