"""Full-domain generalization by its definition, by trying every node of the lattice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from tests.oracles.oracles import STAR, kl_divergence

__all__ = ["FullDomainNode", "every_node", "loss_of_node", "people_of_groups"]

Cells = tuple[Any, ...]
"""What a row publishes."""

Ways = Mapping[Any, Sequence[str]]
"""The values of a hierarchy, each with its ancestors up to the root; a missing value (None) is not among them."""


@dataclass(frozen=True, kw_only=True)
class FullDomainNode:
    """A feasible node of the lattice."""

    levels: tuple[int, ...]
    """The level of each attribute."""
    cells: tuple[tuple[Any, ...], ...]
    """What each row publishes: a label, None where the value is missing, or `STAR`."""
    suppressed: tuple[int, ...]
    """The rows of stars."""
    steps: tuple[tuple[int, ...], ...]
    """How many steps up each cell is."""


def every_node(
    rows: Sequence[Sequence[Any]],
    ways: Sequence[Ways],
    accepts: Callable[[Sequence[int]], bool],
    limit: Fraction,
    satisfied: Callable[[Sequence[tuple[Cells, int]]], bool] = bool,
    *,
    fitting: Callable[[Cells, int], bool] = lambda *_: True,
    judged: Callable[[Sequence[tuple[Cells, int]]], bool] = bool,
) -> tuple[list[FullDomainNode], int]:
    """Find every feasible node, and the fewest rows that any node suppresses before other rows join them.

    Parameters
    ----------
    rows : sequence of sequences
        Quasi-identifiers, with None for a missing value.
    ways : sequence of mapping
        Hierarchy of each attribute; if there is none, each value and a star above it.
    accepts : callable
        Test if a group, given by row numbers, satisfies the requirement; the whole table does.
    limit : Fraction
        Largest share of suppressed rows.
    satisfied : callable
        Test if a release, given by the cells and the size of each group, satisfies the models of the whole release.
    fitting : callable
        Test if the matching people allow a group, given its cells and its size; used for groups that show a value.
    judged : callable
        The same test for models that more suppressed rows may help or harm.

    Returns
    -------
    nodes : list of FullDomainNode
    fewest : int
    """
    most = limit * len(rows)
    stars = (STAR,) * len(ways)
    columns = [[row[a] for row in rows] for a in range(len(ways))]
    nodes, fewest = [], len(rows)
    for levels in product(*(_levels_that_count(way) for way in ways)):
        published = [_published(*each) for each in zip(columns, ways, levels, strict=True)]
        cells = list(zip(*(labels for labels, _ in published), strict=True)) or [()] * len(rows)
        steps = list(zip(*(up for _, up in published), strict=True)) or [()] * len(rows)
        classes: dict[tuple[Any, ...], list[int]] = {}
        for row, shown in enumerate(cells):
            classes.setdefault(shown, []).append(row)

        def shown_by(
            groups: Sequence[Sequence[int]], suppressed: Sequence[int], cells: Sequence[Cells] = cells
        ) -> list[tuple[Cells, int]]:
            found = [(cells[group[0]], len(group)) for group in groups]
            return [*found, (stars, len(suppressed))] if suppressed else found

        def publishable(groups: Sequence[Sequence[int]], suppressed: Sequence[int]) -> bool:
            if suppressed and not accepts(suppressed):
                return False
            shown = shown_by(groups, suppressed)
            return satisfied(shown) and judged(shown)

        def acceptable(shown: Cells, members: Sequence[int]) -> bool:
            return accepts(members) and (shown == stars or fitting(shown, len(members)))

        refused = [row for shown, members in classes.items() if not acceptable(shown, members) for row in members]
        hidden = len(rows) if levels and all(cell is STAR for cell in cells[0]) else 0
        fewest = min(fewest, max(len(refused), hidden))
        able = [members for shown, members in classes.items() if acceptable(shown, members)]
        able.sort(key=lambda members: (len(members), _place(cells[members[0]], cells, columns)))
        while len(refused) <= most and not publishable(able, refused) and able:
            refused += able.pop(0)
        if max(len(refused), hidden) > most or not publishable(able, refused):
            continue
        gone = set(refused)
        heights = [len(next(iter(way.values()))) - 1 for way in ways]
        nodes.append(
            FullDomainNode(
                levels=levels,
                cells=tuple(stars if row in gone else shown for row, shown in enumerate(cells)),
                suppressed=tuple(sorted(gone)),
                steps=tuple(tuple(heights) if row in gone else up for row, up in enumerate(steps)),
            )
        )
    return nodes, fewest


def people_of_groups(
    shown: Sequence[tuple[Cells, int]], people: Sequence[Sequence[Any]], ways: Sequence[Ways]
) -> tuple[list[int], int, bool]:
    """Compute F of each group, the number of people who match no group, and if anyone matches several.

    Groups with only stars match the people who match no other group.
    """
    fits = [
        [not all(cell is STAR for cell in cells) and all(map(_fits, cells, person, ways)) for cells, _ in shown]
        for person in people
    ]
    none = sum(not any(one) for one in fits)
    stars = [all(cell is STAR for cell in cells) for cells, _ in shown]
    found = [none if starred else sum(one[g] for one in fits) for g, starred in enumerate(stars)]
    return found, 0 if any(stars) else none, any(sum(one) > 1 for one in fits)


def _fits(cell: Any, value: Any, way: Ways) -> bool:
    if cell is STAR:
        return True
    if value is None or cell is None:
        return value is None and cell is None
    return cell in way.get(value, (value,))


def _levels_that_count(way: Ways) -> list[int]:
    """List the levels up to the first one whose only node is the root."""
    height = len(next(iter(way.values()))) - 1
    return [level for level in range(height) if len({path[level] for path in way.values()}) > 1 or level == 0] + [
        height
    ]


def _published(column: Sequence[Any], way: Ways, level: int) -> tuple[list[Any], list[int]]:
    """Map each value of a column to its node at a level, and to the number of steps up."""
    height = len(next(iter(way.values()))) - 1
    labels: list[Any] = []
    steps: list[int] = []
    for value in column:
        if level == height:
            labels.append(STAR)
            steps.append(height)
        elif value is None:
            labels.append(None)
            steps.append(0)
        else:
            name = way[value][level]
            labels.append(name)
            steps.append(min(up for up in range(level + 1) if way[value][up] == name))
    return labels, steps


def _place(shown: Sequence[Any], cells: Sequence[Sequence[Any]], columns: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Compute the sort key of a class: the rank of the first value that each of its labels covers."""
    place = []
    for a, label in enumerate(shown):
        values = [column_value for column_value, other in zip(columns[a], cells, strict=True) if other[a] == label]
        present = [value for value in values if value is not None]
        place.append((0, min(present)) if present else (1, ""))
    return tuple(place)


def loss_of_node(
    node: FullDomainNode,
    rows: Sequence[Sequence[Any]],
    sensitive: Sequence[Any],
    ways: Sequence[Ways],
    metric: str,
    k: int = 1,
    *,
    weights: Sequence[Fraction | int] | None = None,
) -> Fraction | float:
    """Compute a metric of the release of a node by its definition; lower is better (one minus the precision).

    `k` is the smallest class size of the request, for the average class size. `weights` are those of the attributes,
    for metrics that are sums over cells.
    """
    n, d = len(rows), len(ways)
    weight = [Fraction(1)] * d if weights is None else [Fraction(each) for each in weights]
    sizes = Counter(node.cells).values()
    if metric == "stars":
        starred = [w for cells in node.cells for cell, w in zip(cells, weight, strict=True) if cell is STAR]
        return sum(starred, Fraction(0))
    if metric == "suppressed_tuples":
        return Fraction(sum(STAR in cells for cells in node.cells))
    if metric == "discernability":
        return Fraction(sum(size * size for size in sizes))
    if metric == "average_class_size":
        return Fraction(n, len(sizes) * k)
    if metric == "precision":
        heights = [max(len(next(iter(way.values()))) - 1, 1) for way in ways]
        gone = [
            w * (Fraction(1) if cell is STAR else Fraction(step, height))
            for cells, steps in zip(node.cells, node.steps, strict=True)
            for cell, step, height, w in zip(cells, steps, heights, weight, strict=True)
        ]
        return sum(gone, Fraction(0)) / (n * sum(weight)) if gone else Fraction(0)
    columns = [[row[a] for row in rows] for a in range(d)]
    covered = [
        [_below(cells[a], columns[a], ways[a], node.levels[a], row[a]) for a in range(d)]
        for cells, row in zip(node.cells, rows, strict=True)
    ]
    if metric == "gcp":
        cells_lost = [
            weight[a] * (Fraction(1) if node.cells[row][a] is STAR else _penalty(covered[row][a], columns[a]))
            for row in range(n)
            for a in range(d)
        ]
        return sum(cells_lost, Fraction(0)) / (n * sum(weight)) if cells_lost else Fraction(0)
    if metric == "non_uniform_entropy":
        return _entropy(columns, covered, weight)
    if metric == "kl_divergence":
        release = [
            tuple(STAR if cell is STAR else inside for cell, inside in zip(cells, each, strict=True))
            for cells, each in zip(node.cells, covered, strict=True)
        ]
        return kl_divergence(rows, sensitive, release, [set(column) for column in columns])
    raise ValueError(metric)


def _below(cell: Any, column: Sequence[Any], way: Ways, level: int, value: Any) -> frozenset[Any]:
    """List the values of a column that a cell covers."""
    if cell is STAR:
        return frozenset(column)
    if value is None:
        return frozenset({None})
    return frozenset(other for other in column if other is not None and way[other][level] == cell)


def _penalty(inside: Collection[Any], column: Sequence[Any]) -> Fraction:
    values = len({value for value in column if value is not None})
    return Fraction(len(inside) - 1, values - 1) if len(inside) > 1 else Fraction(0)


def _entropy(
    columns: Sequence[Sequence[Any]], covered: Sequence[Sequence[Collection[Any]]], weights: Sequence[Fraction]
) -> float:
    lost, most = [], []
    for a, column in enumerate(columns):
        counts = Counter(column)
        for row, value in enumerate(column):
            inside = sum(counts[other] for other in covered[row][a])
            lost.append(float(weights[a]) * math.log2(inside / counts[value]))
            most.append(float(weights[a]) * math.log2(len(column) / counts[value]))
    return math.fsum(lost) / math.fsum(most) if math.fsum(most) > 0 else 0.0
