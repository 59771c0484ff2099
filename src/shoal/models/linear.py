"""Models as linear inequalities on the counts of one group, for programs that prove an optimum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

__all__ = ["LinearForm", "LinearRow", "transported"]

Number: TypeAlias = int | Fraction


@dataclass(frozen=True, kw_only=True)
class LinearRow:
    """`sum of coefficient * variable >= constant`, or equal to it; all numbers are exact."""

    coefficients: Mapping[int, Number]
    """By variable; see `LinearForm` for their numbers."""
    constant: int = 0
    """At least 0."""
    equal: bool = False
    """Whether the sum must be equal to the constant."""


@dataclass(frozen=True, kw_only=True)
class LinearForm:
    """A predicate on one group as inequalities: it holds if and only if some auxiliary variables meet all rows.

    With m sensitive values, variable `v < m` is the number of rows with the value `v`, variable `m` is the number of
    all rows, and those from `m + 1` on are auxiliary. A group without rows, all of its variables 0, meets the rows once
    their constants are 0 too: a program multiplies them by an indicator of "this group has rows".
    """

    auxiliaries: int = 0
    """Number of auxiliary variables; each is at least 0."""
    binary: bool = False
    """Whether the auxiliary variables are 0 or 1."""
    rows: tuple[LinearRow, ...]

    def __repr__(self) -> str:
        return f"LinearForm(auxiliaries={self.auxiliaries}, rows={len(self.rows)})"


def transported(
    shares: Mapping[int, Fraction], arcs: Iterable[tuple[int, int, Number]], nodes: int, values: int, t: Fraction
) -> LinearForm:
    """Return the form of "a group's distribution can be carried to the table's along arcs at a cost of at most t".

    Parameters
    ----------
    shares : mapping of int to Fraction
        The share in the table of the value at each node that has one; node `v` is the value `v`.
    arcs : iterable of (from node, to node, cost)
        What mass can be carried along, at a cost of at least 0 for each unit; one way only.
    nodes : int
        Nodes, at least `values`; those from `values` on hold nothing themselves.
    values : int
        Sensitive values.
    t : Fraction
        The largest cost allowed, for one unit of mass in all.
    """
    listed = list(arcs)
    balance: list[dict[int, Number]] = [{} for _ in range(nodes)]
    for number, (source, target, _) in enumerate(listed, start=values + 1):
        balance[source][number] = -1
        balance[target][number] = 1
    rows = []
    for node, flows in enumerate(balance):
        # What a node has, and what comes in, less what goes out, is what the table has there.
        held: dict[int, Number] = {node: 1, values: -shares.get(node, Fraction(0))} if node < values else {}
        if held or flows:
            rows.append(LinearRow(coefficients={**held, **flows}, equal=True))
    cost: dict[int, Number] = {number: -price for number, (_, _, price) in enumerate(listed, start=values + 1)}
    rows.append(LinearRow(coefficients={values: t, **cost}))
    return LinearForm(auxiliaries=len(listed), rows=tuple(rows))
