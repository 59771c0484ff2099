"""Mondrian in plain Python, without and with hierarchies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

__all__ = ["SlowMondrian", "SlowTreeMondrian"]

Row = tuple[int, ...]
Part = list[Row]

TIE = 1e-9
"""An attribute is better than another where it saves more by this share."""


class SlowMondrian:
    """Mondrian over rows that are tuples of quasi-identifier codes and a sensitive code.

    Parameters
    ----------
    rows : sequence of tuples
    text : sequence of bool
        If True, the width of an attribute is the number of its values.
    acceptable : callable
        Test if a list of rows may be a group.
    relaxed : bool
        If True, equal rows may be separated.
    """

    def __init__(
        self, rows: Sequence[Row], text: Sequence[bool], acceptable: Callable[[Part], bool], relaxed: bool
    ) -> None:
        self.rows, self.text, self.acceptable, self.relaxed = rows, text, acceptable, relaxed
        self.domains = [sorted({row[a] for row in rows}) for a in range(len(text))]

    def run(self) -> list[Part]:
        """Return the groups, as lists of rows."""
        waiting, groups = [sorted(self.rows)], []
        while waiting:
            part = waiting.pop()
            sides = self.sides(part)
            if sides:
                waiting.extend(sides)
            else:
                groups.append(part)
        return groups

    def sides(self, part: Part) -> list[Part]:
        """Cut a part; return its sides, or nothing if no cut is allowed."""
        return list(next(self.cuts(part), ()))

    def span(self, part: Part, a: int) -> float:
        """Compute the normalised width of an attribute."""
        values, domain = sorted({row[a] for row in part}), self.domains[a]
        if self.text[a]:
            return (len(values) - 1) / max(len(domain) - 1, 1)
        return (values[-1] - values[0]) / max(domain[-1] - domain[0], 1)

    def cuts(self, part: Part) -> Iterator[tuple[Part, ...]]:
        """List the allowed cuts, the best first."""
        for position, a in enumerate(self.widest(part)):
            alike = len({row[a] for row in part}) == 1
            if not alike or (self.relaxed and position == 0):
                yield from self.cuts_of(part, a)

    def widest(self, part: Part) -> list[int]:
        """List the attributes, the widest first."""
        return sorted(range(len(self.text)), key=lambda a: -self.span(part, a))

    def cuts_of(self, part: Part, a: int) -> Iterator[tuple[Part, ...]]:
        """List the allowed cuts of an attribute, the nearest to the median first."""
        median = sorted(row[a] for row in part)[(len(part) - 1) // 2]
        candidates = list(self.halves(part, a, median)) if self.relaxed else []
        values = sorted({row[a] for row in part})
        between = [([r for r in part if r[a] <= v], [r for r in part if r[a] > v]) for v in values[:-1]]
        candidates += sorted(between, key=lambda sides: (-min(map(len, sides)), len(sides[0])))
        for left, right in candidates:
            if left and right and self.acceptable(left) and self.acceptable(right):
                yield left, right

    def halves(self, part: Part, a: int, median: int) -> Iterator[tuple[Part, Part]]:
        """Halve a part: the first rows with the median value go left, or evenly spread rows."""
        equal = [row for row in part if row[a] == median]
        below = sum(row[a] < median for row in part)
        wanted = len(part) // 2 - below
        for spread in (False, True):
            left: Part = []
            right: Part = []
            seen = 0
            for row in part:
                goes_left = row[a] < median
                if row[a] == median:
                    goes_left = seen < wanted
                    if spread:
                        goes_left = (seen + 1) * wanted // len(equal) > seen * wanted // len(equal)
                    seen += 1
                (left if goes_left else right).append(row)
            yield left, right


class SlowTreeMondrian(SlowMondrian):
    """Mondrian with hierarchies for some attributes.

    Parameters
    ----------
    paths : sequence
        For each attribute, None or the path of each code: its value and ancestors up to the root. The path of a missing
        value, which has the largest code, is None.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        text: Sequence[bool],
        acceptable: Callable[[Part], bool],
        relaxed: bool,
        *,
        paths: Sequence[Sequence[Sequence[str] | None] | None],
    ) -> None:
        super().__init__(rows, text, acceptable, relaxed)
        self.paths = paths
        self.below = cache(self._below)
        # Values below a node get places side by side: nodes in the order of their smallest codes, the root's first.
        self.places = []
        for a, tree in enumerate(paths):
            order = list(self.domains[a])
            if tree is not None:
                order.sort(key=lambda code, a=a: [min(self.below(a, up, code)) for up in range(self.height(a), -1, -1)])  # type: ignore[misc]
            self.places.append({code: place for place, code in enumerate(order)})
        self.codes = [{place: code for code, place in of.items()} for of in self.places]

    def run(self) -> list[Part]:
        """Return the groups, as lists of rows."""
        walked = {}
        for row in sorted(self.rows):
            walked[row] = tuple(places[code] for places, code in zip(self.places, row, strict=False)) + row[-1:]
        back = {moved: row for row, moved in walked.items()}
        waiting, groups = [[walked[row] for row in sorted(self.rows)]], []
        while waiting:
            part = waiting.pop()
            sides = self.sides(part)
            if sides:
                waiting.extend(sides)
            else:
                groups.append([back[row] for row in part])
        return groups

    def height(self, a: int) -> int:
        """Count the steps from a value to the root."""
        tree = self.paths[a]
        assert tree is not None
        return max(len(path) for path in tree if path is not None) - 1

    def node(self, a: int, level: int, code: int) -> Any:
        """Return the key of the node of a code at a level."""
        tree = self.paths[a]
        assert tree is not None
        path = tree[code]
        if level == self.height(a):
            return "root"
        return (level, None if path is None else path[level])

    def _below(self, a: int, level: int, code: int) -> frozenset[int]:
        node = self.node(a, level, code)
        return frozenset(other for other in self.domains[a] if self.node(a, level, other) == node)

    def met(self, part: Part, a: int) -> int:
        """Compute the level of the lowest common ancestor."""
        codes = {self.codes[a][row[a]] for row in part}
        return min(up for up in range(self.height(a) + 1) if len({self.node(a, up, code) for code in codes}) == 1)

    def span(self, part: Part, a: int) -> float:
        """Compute the width of an attribute: the penalty of the lowest common ancestor."""
        tree = self.paths[a]
        if tree is None:
            return super().span(part, a)
        level = self.met(part, a)
        if level == 0:
            return 0.0
        present = [code for code in self.domains[a] if tree[code] is not None]
        nodes = {path[level] for path in tree if path is not None}
        if level == self.height(a) or len(nodes) == 1:
            return 1.0
        return (len(self.below(a, level, self.codes[a][part[0][a]])) - 1) / max(len(present) - 1, 1)

    def sides(self, part: Part) -> list[Part]:
        """Cut a part by the cut that saves most per bit, or else by any allowed cut."""
        best: tuple[float, list[Part]] = (0.0, [])
        widest = self.widest(part)
        for a in widest:
            if len({row[a] for row in part}) == 1:
                continue
            sides = list(next(self.cuts_of(part, a), ())) if self.paths[a] is None else self.children(part, a)
            if sides:
                saved = len(part) * self.span(part, a) - sum(len(side) * self.span(side, a) for side in sides)
                worth = saved / -sum(len(side) * math.log2(len(side) / len(part)) for side in sides)
                if not best[1] or worth > best[0] * (1 + TIE):
                    best = (worth, sides)
        if best[1]:
            return best[1]
        for position, a in enumerate(widest):
            alike = len({row[a] for row in part}) == 1
            if (self.paths[a] is not None and not alike) or (self.relaxed and position == 0):
                for cut in self.cuts_of(part, a):
                    return list(cut)
        return []

    def children(self, part: Part, a: int) -> list[Part]:
        """Return a side for each acceptable child of the common ancestor, and one side for the others."""
        level = self.met(part, a) - 1
        found: dict[Any, Part] = {}
        for row in part:
            found.setdefault(self.node(a, level, self.codes[a][row[a]]), []).append(row)
        children = list(found.values())
        alone = [self.acceptable(child) for child in children]
        for number in sorted(range(len(children)), key=lambda one: len(children[one])):
            others = [row for child, one in zip(children, alone, strict=True) if not one for row in child]
            if not others or self.acceptable(others):
                break
            alone[number] = False
        rest_nodes = {node for node, one in zip(found, alone, strict=True) if not one}
        rest = [row for row in part if self.node(a, level, self.codes[a][row[a]]) in rest_nodes]
        sides = ([rest] if rest else []) + [child for child, one in zip(children, alone, strict=True) if one]
        return sides if len(sides) > 1 else []
