"""Slow oracle of top-down specialization: every candidate is tried on all rows, at every step."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product

__all__ = ["UNIT", "acceptable_cuts", "cut_groups", "nodes_of", "specialization_gain", "top_down_specialization"]

UNIT = 1 << 24
"""Gains are sums of logarithms, each rounded to a whole number of 1 / UNIT nats, so that none depends on an order."""

Node = frozenset[Hashable]
"""The values that a node stands for."""
Paths = Mapping[Hashable, Sequence[Hashable]]
"""For each value of a column its nodes in the hierarchy, from the value itself to the root."""
Cut = list[set[Node]]
"""For each column the nodes that are published: every value is in one."""


def nodes_of(paths: Paths) -> dict[Node, list[Node]]:
    """List the nodes of a column's tree, as sets of the values that occur, with their children."""
    sets: set[Node] = set()
    for level in range(len(next(iter(paths.values())))):
        below = defaultdict(set)
        for value, path in paths.items():
            below[path[level]].add(value)
        sets |= {frozenset(values) for values in below.values()}
    inside = {node: [other for other in sets if other < node] for node in sets}
    return {
        node: [other for other in smaller if not any(other < third for third in smaller)]
        for node, smaller in inside.items()
    }


def cut_groups(rows: Sequence[Sequence[Hashable]], cut: Cut) -> dict[tuple[Node, ...], list[int]]:
    """Group the rows that publish the same nodes."""
    groups = defaultdict(list)
    for number, row in enumerate(rows):
        groups[
            tuple(next(node for node in nodes if value in node) for value, nodes in zip(row, cut, strict=True))
        ].append(number)
    return dict(groups)


def _information(rows: Sequence[Sequence[Hashable]], sensitive: Sequence[Hashable], cut: Cut) -> int:
    """Sum n(g, s) log n(g, s) over groups and sensitive values, minus the cost of uniform sub-domains."""
    total = 0
    for nodes, members in cut_groups(rows, cut).items():
        for count in Counter(sensitive[row] for row in members).values():
            total += round(count * math.log(count) * UNIT)
        total -= len(members) * sum(round(math.log(len(node)) * UNIT) for node in nodes)
    return total


def specialization_gain(rows: Sequence[Sequence[Hashable]], sensitive: Sequence[Hashable], cut: Cut, finer: Cut) -> int:
    """Compute the number of rows times the decrease of the KL-divergence from a cut to a finer cut, in units."""
    return _information(rows, sensitive, finer) - _information(rows, sensitive, cut)


def top_down_specialization(
    rows: Sequence[Sequence[Hashable]],
    sensitive: Sequence[Hashable],
    paths: Sequence[Paths],
    order: Sequence[Mapping[Hashable, int]],
    acceptable: Callable[[list[int]], bool],
) -> Cut:
    """Run top-down specialization (Fung, Wang, Yu 2005); return its cut.

    Parameters
    ----------
    rows : sequence of rows
        Quasi-identifiers; at least one row.
    sensitive : sequence
        A sensitive value, or a combination of them, for each row.
    paths : sequence of mappings
        The tree of each column.
    order : sequence of mappings
        Rank of each value of a column, which breaks ties of scores.
    acceptable : callable
        Test if the rows with given numbers are an acceptable group.
    """
    trees = [nodes_of(column) for column in paths]
    cut: Cut = [{frozenset(column)} for column in paths]
    while True:
        smallest = min(map(len, cut_groups(rows, cut).values()))
        found = []
        for place, nodes in enumerate(cut):
            for node in filter(trees[place].get, nodes):
                finer = [*cut[:place], (nodes - {node}) | set(trees[place][node]), *cut[place + 1 :]]
                groups = cut_groups(rows, finer).values()
                if not all(map(acceptable, groups)):
                    continue
                loss = smallest - min(map(len, groups))
                score = specialization_gain(rows, sensitive, cut, finer) / (loss + 1)
                found.append((-score, place, min(order[place][value] for value in node), finer))
        if not found:
            return cut
        cut = min(found, key=lambda one: one[:3])[-1]


def acceptable_cuts(
    rows: Sequence[Sequence[Hashable]], paths: Sequence[Paths], acceptable: Callable[[list[int]], bool]
) -> list[Cut]:
    """List every cut through all trees with acceptable groups."""
    choices = []
    for column in paths:
        tree = nodes_of(column)

        def cuts(node: Node, tree: dict[Node, list[Node]] = tree) -> list[set[Node]]:
            finer = [set[Node]().union(*parts) for parts in product(*map(cuts, tree[node]))] if tree[node] else []
            return [{node}, *finer]

        choices.append(cuts(frozenset(column)))
    return [list(cut) for cut in product(*choices) if all(map(acceptable, cut_groups(rows, list(cut)).values()))]
