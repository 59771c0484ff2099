"""Groups like the table, for t-closeness: drawn from cells of the hierarchies, then improved row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Problem
from shoal.algorithms.common.compiled import CompiledRequirement, compile_requirement
from shoal.algorithms.lattice.drawing_kernel import LARGEST_KEY, Climbing, Histogram, draw_groups, list_fitting
from shoal.algorithms.lattice.following_kernel import Following, fill_last, follow, leave_failing, measure
from shoal.algorithms.lattice.lattice_cells import COST_UNIT
from shoal.algorithms.lattice.likeness_kernel import Likeness
from shoal.models.base import RuleKind
from shoal.recoding import Levels

_WORK = 30_000_000
"""Classes of equal rows to visit, over all vectors of levels."""
_FEWEST_VECTORS = 64
"""Smallest number of vectors to visit."""
_ENUMERATED = 100_000
"""Largest number of vectors to enumerate; of larger lattices this many are sampled."""
_MOST_VALUES = 256
"""Largest number of sensitive values for which groups are drawn: each move scans all of them."""
_MOST_PAIRS = 40_000_000
"""Largest number of pairs of a class and a group that it fits: limits the memory."""
_SCHEDULE = ((6.0, 0.3), (8.0, 0.2), (10.0, 0.1), (14.0, 0.07), (20.0, 0.05), (40.0, 0.02), (1000.0, 0.01))
"""Prices of a row by which a group is too far from the table, and temperatures, in stars: chosen on Adult."""
_MOVES, _MOVES_PER_ROW, _MOST_MOVES_PER_ROW = 6_000_000, 10, 400
"""Moves of rows between groups at the usual effort: a base, additional moves per row, and a limit per row."""
_LARGE, _TABLE_OVER_LARGE = 25, 200
"""Groups are drawn a second time with at least the first number of rows, fewer if the table has less than the second
number times as many: the drawing with the smaller loss is used."""
_SEED = 0x9E3779B97F4A7C15

_Climbed = list[tuple["NDArray[np.int32]", "NDArray[np.int64]"]]
"""Nodes and whole costs of each level of an attribute that differs from the level below."""


def usual_moves(rows: int) -> int:
    """Compute a number of moves that takes about a second in tables of some ten thousand rows, less in smaller ones."""
    return min(_MOVES + _MOVES_PER_ROW * rows, _MOST_MOVES_PER_ROW * rows)


def draw_groups_of_rows(problem: Problem, moves: int) -> NDArray[np.int32] | None:
    """Assign each row to a group, all groups acceptable.

    Parameters
    ----------
    problem : Problem
    moves : int
        Number of moves of rows to try, >= 0.

    Returns
    -------
    int32 array of shape (n,) or None
        None if the requirement has no t-closeness by the equal distance of the only sensitive attribute, if some
        attribute has no hierarchy, or if the table has counts of rows, too many sensitive values, or is a part that is
        not acceptable as a whole.
    """
    table = problem.table
    columns = [
        (column.codes, _climbed(levels))
        for column, levels in zip(table.quasi_identifiers, problem.levels, strict=True)
        if column.size > 1
    ]
    # Conditions of the method.
    climbs = all(levels.hierarchical for levels in problem.levels) and problem.recoding == "generalization"
    if not climbs or not columns or table.classes.weights is not None or len(table.sensitive) != 1:
        return None
    compiled = compile_requirement(table, problem.requirement)
    like = _likeness(compiled)
    if like is None or like.totals.size > _MOST_VALUES:
        return None
    # Draw with each smallest size, and keep the drawing of less loss.
    sizes = {like.smallest, max(like.smallest, min(_LARGE, table.rows // _TABLE_OVER_LARGE))}
    searches = [_Search.of(problem, columns, like._replace(smallest=size)) for size in sorted(sizes)]
    found = [search for search in searches if search is not None]
    if not found:
        return None
    search = min(found, key=lambda one: one.loss)
    measure(search.state, like)
    # Annealing: the price rises while the temperature falls.
    random = np.array([_SEED], dtype=np.uint64)
    for number, (price, temperature) in enumerate(_SCHEDULE if moves else ()):
        problem.progress("drawing", number, len(_SCHEDULE))
        stage = -(-moves // len(_SCHEDULE))
        follow(search.state, like, price * COST_UNIT, temperature * COST_UNIT, stage, random)
    problem.progress("drawing", len(_SCHEDULE), len(_SCHEDULE))
    if not search.repair(compiled, like):
        return None
    _, numbers = np.unique(search.groups, return_inverse=True)
    groups = np.empty(table.rows, dtype=np.int32)
    groups[table.classes.order] = numbers
    return groups


def _likeness(compiled: CompiledRequirement) -> Likeness | None:
    """Find the clause of closeness; None if there is none, or several."""
    close = compiled.rules[compiled.rules[:, 0] == int(RuleKind.CLOSE)]
    if len(close) != 1:
        return None
    a, b, c, offset = (int(number) for number in close[0, 2:])
    values = int(compiled.starts[-1])
    return Likeness(
        rows=int(compiled.bounds[offset]),
        totals=compiled.bounds[offset + 1 : offset + 1 + values].copy(),
        a=a,
        b=b,
        c=c,
        smallest=compiled.smallest,
    )


def _climbed(levels: Levels) -> _Climbed:
    """Collect nodes and whole costs of the levels that differ from the level below."""
    kept: _Climbed = []
    for nodes, penalty in zip(levels.nodes, levels.penalty, strict=True):
        costs = np.rint(penalty * COST_UNIT).astype(np.int64)
        if not kept or not (np.array_equal(nodes, kept[-1][0]) and np.array_equal(costs, kept[-1][1])):
            kept.append((nodes, costs))
    return kept


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Search:
    """Drawn groups, and the group that each row follows."""

    state: Following
    last: int
    """The group of stars, which every row fits."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        columns: Sequence[tuple[NDArray[Any], _Climbed]],
        like: Likeness,
    ) -> _Search | None:
        """Draw groups; None if too many pairs fit."""
        classes = problem.table.classes
        rows = problem.table.rows
        climbing = _climbing(columns, classes.first_rows[classes.class_starts[:-1]], classes.class_sizes)
        histogram = Histogram(
            starts=classes.class_starts.astype(np.int64),
            values=classes.cell_values.astype(np.int32),
            begins=classes.cell_starts.astype(np.int64),
        )
        # Draw, then add the group of stars unless it was drawn.
        drawn = np.empty(rows, dtype=np.int32)
        keys, vectors = np.empty(rows + 1, dtype=np.int64), np.empty(rows + 1, dtype=np.int64)
        count = int(draw_groups(climbing, histogram, like, drawn, keys, vectors))
        top = len(climbing.vectors) - 1
        if not count or vectors[count - 1] != top:
            keys[count], vectors[count] = _key_of_stars(climbing), top
            count += 1
        last = count - 1
        # Rows without a group start in the group of stars.
        drawn[drawn < 0] = last
        climbing = climbing._replace(vectors=climbing.vectors[np.unique(vectors[:count])])
        # Count the pairs first, because they may need too much memory.
        starts = np.empty(classes.count + 1, dtype=np.int64)
        none = np.empty(0, dtype=np.int32)
        pairs = int(list_fitting(climbing, keys[:count], starts, none, none))
        if pairs > _MOST_PAIRS:
            return None
        groups, costs = np.empty(pairs, dtype=np.int32), np.empty(pairs, dtype=np.int32)
        list_fitting(climbing, keys[:count], starts, groups, costs)
        # Histograms of the groups as drawn.
        class_of = np.repeat(
            np.arange(classes.count, dtype=np.int32), np.diff(classes.cell_starts[classes.class_starts])
        )
        values = np.repeat(histogram.values, np.diff(histogram.begins))
        keyed = np.bincount(drawn.astype(np.int64) * like.totals.size + values, minlength=count * like.totals.size)
        counts: NDArray[np.int32] = keyed.reshape(count, -1).astype(np.int32)
        sizes = counts.sum(axis=1, dtype=np.int64)
        state = Following(
            class_of=class_of,
            values=values,
            pair_of=_pairs_of(class_of, drawn, starts, groups),
            starts=starts,
            groups=groups,
            costs=costs,
            counts=counts,
            sizes=sizes,
            far=np.empty(count),
        )
        return cls(state=state, last=last)

    @property
    def loss(self) -> int:
        """Loss of all rows together, before the repair."""
        return int(self.state.costs[self.state.pair_of].sum(dtype=np.int64))

    @property
    def groups(self) -> NDArray[np.int32]:
        """The group of each row, in the canonical order."""
        return self.state.groups[self.state.pair_of]

    def repair(self, compiled: CompiledRequirement, like: Likeness) -> bool:
        """Make all groups acceptable; return whether that succeeded."""
        state = self.state
        leave_failing(state, like, compiled.predicate, self.last)
        # The additional loss of each row as a star.
        lost = state.costs[state.starts[state.class_of + 1] - 1] - state.costs[state.pair_of].astype(np.int64)
        groups = self.groups
        by_group = np.argsort(groups, kind="stable")
        by_group = by_group[groups[by_group] != self.last]
        found, firsts = np.unique(groups[by_group], return_index=True)
        # Groups with the smallest additional loss as stars are dissolved first.
        dear = np.bincount(groups, weights=lost.astype(np.float64), minlength=len(state.sizes))[found]
        order = np.argsort(dear, kind="stable")
        ends = np.append(firsts[1:], len(by_group))
        rows = [by_group[firsts[i] : ends[i]] for i in order.tolist()]
        return bool(
            fill_last(
                state,
                like,
                compiled.predicate,
                self.last,
                np.argsort(lost, kind="stable"),
                np.concatenate([np.empty(0, dtype=np.int64), *rows]),
                np.cumsum([0, *(len(one) for one in rows)]).astype(np.int64),
            )
        )


def _climbing(
    columns: Sequence[tuple[NDArray[Any], _Climbed]],
    firsts: NDArray[np.integer],
    sizes: NDArray[np.int64],
) -> Climbing:
    """Lay the classes out, with the vectors of levels to visit, cheapest first; the last vector is stars only."""
    random = np.random.default_rng(0)
    heights = [len(climbed) for _, climbed in columns]
    offsets = np.zeros((len(columns), max(heights)), dtype=np.int64)
    marks: list[NDArray[np.int64]] = []
    costs: list[NDArray[np.int64]] = []
    means = np.zeros(offsets.shape, dtype=np.int64)
    total = 0
    # One random mark for each node, and the mean loss of each level.
    for place, (codes, climbed) in enumerate(columns):
        of_codes = np.bincount(codes[firsts], weights=sizes, minlength=len(climbed[0][0])).astype(np.int64)
        for level, (nodes, lost) in enumerate(climbed):
            offsets[place, level] = total
            total += len(nodes)
            marks.append(random.integers(0, 1 << 62, int(nodes.max()) + 1, np.int64)[nodes])
            costs.append(lost)
            means[place, level] = np.dot(of_codes, lost)
    # Sort the vectors by mean loss, and thin them out if there are too many.
    vectors = _vectors(heights, random)
    mean = means[np.arange(len(columns)), vectors].sum(axis=1)
    vectors = vectors[np.argsort(mean, kind="stable")]
    most = max(_WORK // max(len(firsts), 1), _FEWEST_VECTORS)
    if len(vectors) > most:
        vectors = vectors[np.linspace(0, len(vectors) - 1, most).astype(np.int64)]
    return Climbing(
        codes=np.stack([codes[firsts] for codes, _ in columns], axis=1).astype(np.int32),
        offsets=offsets,
        marks=np.concatenate(marks),
        costs=np.concatenate(costs),
        vectors=vectors,
    )


def _vectors(heights: list[int], random: np.random.Generator) -> NDArray[np.int64]:
    """List vectors of levels, all of them unless there are too many, the highest last."""
    if prod(heights) <= _ENUMERATED:
        return np.array(list(product(*map(range, heights))), dtype=np.int64)
    # A random sample, without duplicates, and with the top.
    some = random.integers(0, heights, (_ENUMERATED, len(heights)))
    top = np.array(heights, dtype=np.int64) - 1
    some = np.unique(some, axis=0)
    return np.vstack([some[(some != top).any(axis=1)], top])


def _key_of_stars(climbing: Climbing) -> int:
    """Compute the key of the cell at the last vector, which contains all rows."""
    places = climbing.offsets[np.arange(climbing.codes.shape[1]), climbing.vectors[-1]] + climbing.codes[0]
    return int(sum(climbing.marks[places].tolist()) & int(LARGEST_KEY))


def _pairs_of(
    class_of: NDArray[np.int32], drawn: NDArray[np.int32], starts: NDArray[np.int64], groups: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Find the place of each row's group in the list of groups that fit its class."""
    count = int(groups.max()) + 1
    listed = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * count + groups
    order = np.argsort(listed, kind="stable")
    return order[np.searchsorted(listed, class_of.astype(np.int64) * count + drawn, sorter=order)].astype(np.int32)
