"""Linear inequalities on the counts of one group, for programs that prove optimality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | Fraction


@dataclass(frozen=True, kw_only=True)
class LinearRow:
    """An inequality `sum of coefficient * variable >= constant`, or the equation; all numbers are exact."""

    coefficients: Mapping[int, Number]
    """Coefficients by variable; see `LinearForm` for the numbering."""
    constant: int = 0
    """Right-hand side, at least 0."""
    equal: bool = False
    """Whether the row is an equation."""


@dataclass(frozen=True, kw_only=True)
class LinearForm:
    """A predicate on one group as linear rows: it holds if and only if some auxiliary variables satisfy all rows.

    With m sensitive values, variable `v < m` is the number of rows with the value `v`, variable `m` is the number of
    all rows, and variables from `m + 1` on are auxiliary. An empty group, with all variables 0, satisfies the rows if
    their constants are replaced by 0; programs multiply the constants by an indicator of "this group has rows".
    """

    auxiliaries: int = 0
    """Number of auxiliary variables, each at least 0."""
    binary: bool = False
    """Whether the auxiliary variables are binary."""
    rows: tuple[LinearRow, ...]

    def __repr__(self) -> str:
        return f"LinearForm(auxiliaries={self.auxiliaries}, rows={len(self.rows)})"


def transport_form(
    shares: Mapping[int, Fraction], arcs: Iterable[tuple[int, int, Number]], nodes: int, values: int, t: Fraction
) -> LinearForm:
    """Express "the group's distribution can be transported to the table's along arcs at cost at most t".

    Parameters
    ----------
    shares : mapping of int to Fraction
        Share in the table of the value at each node that has one; node `v` is the value `v`.
    arcs : iterable of (from node, to node, cost)
        Directed arcs along which mass may flow, with a cost per unit of at least 0.
    nodes : int
        Number of nodes, at least `values`; nodes from `values` on hold no mass themselves.
    values : int
        Number of sensitive values.
    t : Fraction
        Largest allowed cost for one unit of mass in total.
    """
    listed = list(arcs)
    balance: list[dict[int, Number]] = [{} for _ in range(nodes)]
    for number, (source, target, _) in enumerate(listed, start=values + 1):
        balance[source][number] = -1
        balance[target][number] = 1
    rows = []
    for node, flows in enumerate(balance):
        # Flow conservation: the group's mass plus inflow minus outflow equals the table's mass.
        held: dict[int, Number] = {node: 1, values: -shares.get(node, Fraction(0))} if node < values else {}
        if held or flows:
            rows.append(LinearRow(coefficients={**held, **flows}, equal=True))
    # The total cost of the flow is at most t |G|.
    cost: dict[int, Number] = {number: -price for number, (_, _, price) in enumerate(listed, start=values + 1)}
    rows.append(LinearRow(coefficients={values: t, **cost}))
    return LinearForm(auxiliaries=len(listed), rows=tuple(rows))
