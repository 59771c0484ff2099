"""Clustering: groups of near rows, improved for the least loss under local recoding.

References
----------
.. [1] J.-W. Byun, A. Kamra, E. Bertino, N. Li: Efficient k-anonymization using clustering techniques. DASFAA 2007,
   pages 188-200. https://doi.org/10.1007/978-3-540-71703-4_18
.. [2] J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. W.-C. Fu: Utility-based anonymization using local recoding. KDD 2006,
   pages 785-790. https://doi.org/10.1145/1150402.1150504
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress
from shoal._core.threads import run_alongside
from shoal._core.validation import Optional, parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.hilbert.hilbert import Hilbert
from shoal.algorithms.lattice import (
    LatticeCells,
    PricedCells,
    anneal_cells,
    draw_groups_of_rows,
    price,
    round_bound_down,
    usual_moves,
)
from shoal.algorithms.local_search.groups import EFFORT, EFFORTS, SearchEnd, WorkingPartition
from shoal.algorithms.mondrian.mondrian import Mondrian
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.tp.three_phase import ThreePhase
from shoal.table.compressed import entries_of_rows

_STEPS_PER_ROW = 100
"""Annealing steps per row outside acceptable classes, times the square root of the effort; chosen on Adult."""
_MIN_STEPS, _MAX_STEPS = 100_000, 100_000_000
"""Limits on the number of annealing steps."""


class CellStart:
    """Priced lattice cells of a table.

    Parameters
    ----------
    problem : Problem
    work : WorkingPartition
        Working partition of the same table.
    cells : LatticeCells
    """

    def __init__(self, problem: Problem, work: WorkingPartition, cells: LatticeCells) -> None:
        self._problem, self._work, self._cells = problem, work, cells
        self._all_cells = work.rows * work.table.attributes
        self._priced: PricedCells = price(cells, progress=problem.progress)

    @classmethod
    def of(cls, problem: Problem, work: WorkingPartition) -> CellStart | None:
        """Price the cells of a table; None if no row needs a group, or if there are no cells or too many of them."""
        if not len(work.active) or not work.may_always_join:
            return None
        cells = LatticeCells.of(problem, work.smallest)
        # In a table with counts, cells count persons; rows could not be assigned to them one by one.
        if cells is None or not len(cells) or int(cells.sizes.sum()) != work.rows:
            return None
        return cls(problem, work, cells)

    @property
    def loss_bound(self) -> float:
        """Lower bound on the average loss of a cell of the table in any release."""
        return round_bound_down(self._priced.bound) / self._all_cells

    def groups(self, effort: int) -> tuple[NDArray[np.int32], int]:
        """Anneal the assignment of rows to cells, and keep the acceptable groups.

        Parameters
        ----------
        effort : int
            See `Cluster`.

        Returns
        -------
        groups : int32 array
            Acceptable group of each row of the working partition, -1 if it has none.
        count : int
            Number of groups.
        """
        steps = _STEPS_PER_ROW * len(self._work.active) * isqrt(effort)
        steps = min(max(steps, _MIN_STEPS), _MAX_STEPS)
        followed = anneal_cells(self._cells, self._priced, steps=steps, progress=self._problem.progress)
        return self._work.free_failing(followed.astype(np.int32))


_MAX_SEARCHED_ROWS = 750_000
"""Number of rows that the search sees at most, if classes have as many as that above `_MIN_SEARCHED_GROUPS` times k."""
_MIN_SEARCHED_GROUPS = 4
"""Least rows of a large class that the search sees, as a multiple of k: all but k of them may join other groups. At
5,000,000 rows drawn from Adult (`python -m benchmarks rows`) the loss is the same to 0.05 % from 4 to 32 times k."""


@dataclass(frozen=True)
class SearchedRows:
    """The rows of a large table that a search sees; the others are rows of large classes."""

    problem: Problem
    """The problem with the rows to search."""
    rows: NDArray[np.int32]
    """Their numbers in the whole table."""
    class_of: NDArray[np.int64]
    """The class of each row of the whole table."""

    @classmethod
    def of(cls, problem: Problem) -> SearchedRows | None:
        """Choose the rows to search; None if these are all.

        The rows of a class that the search does not see are at least k: they are acceptable by themselves, and lose
        nothing.

        Parameters
        ----------
        problem : Problem
        """
        table, form = problem.table, problem.requirement.frequency_form()
        if form is None or form.l > 1 or table.sensitive or problem.requirement.table_models:
            return None
        classes = table.classes
        sizes = classes.class_sizes
        searched = _rows_to_search(sizes, form.k)
        if searched.sum() == table.rows:
            return None
        starts = classes.cell_starts[classes.class_starts][:-1]
        rows = classes.order[entries_of_rows(starts, starts + searched)]
        return cls(replace(problem, table=table.entries(rows, None)), rows, classes.of_rows)

    def complete(self, groups: NDArray[np.int32]) -> NDArray[np.int32]:
        """Extend the groups of the searched rows by a group for the other rows of each large class."""
        labels = self.class_of + int(groups.max(initial=-1)) + 1
        labels[self.rows] = groups
        # Number the groups without gaps.
        used = np.zeros(int(labels.max(initial=-1)) + 1, dtype=np.int32)
        used[labels] = 1
        return (np.cumsum(used, dtype=np.int32) - 1)[labels]

    def scale(self, details: dict[str, Any]) -> dict[str, Any]:
        """Convert losses of the searched rows to losses of the whole table."""
        share = len(self.rows) / len(self.class_of)
        return {key: value * share if isinstance(value, float) else value for key, value in details.items()}


def _rows_to_search(sizes: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Choose how many rows of each class to search: all, or as many of each large class as the limit allows."""
    low, high = _MIN_SEARCHED_GROUPS * k, int(sizes.max(initial=0))
    while low < high:
        most = (low + high + 1) // 2
        if int(np.minimum(sizes, most).sum()) <= _MAX_SEARCHED_ROWS:
            low = most
        else:
            high = most - 1
    # What is left of a class is acceptable by itself.
    return np.where(sizes >= low + k, low, sizes)


_NEAR_CLASSES = 16
"""Number of near classes to find for each class, in tables with fewer than `_MIN_LARGE_CLASSES` classes."""
_NEAR_CLASSES_IF_LARGE = 8
"""Number of near classes to find for each class, in larger tables."""
_MIN_LARGE_CLASSES = 100_000
"""Number of classes from which a table counts as large."""
_MAX_ROWS_TO_REFINE_DRAWN = 100_000
"""Largest number of rows for which drawn groups are refined: above it the gain was below 0.1 % of the loss."""
_MAX_ROWS_OF_FULL_SABRE = 100_000
"""Largest number of rows for which SABRE runs at its own default effort if no groups can be drawn."""
_FULL_SEARCH_ROWS = 20_000
"""Largest number of rows to search at full length: above it the search is shorter because neighbours take the time."""
_MIN_SEARCH_ROWS = 500
"""Tables with fewer rows are searched as long as a table with this many rows, and at higher temperatures."""
_SEARCHES_PER_ROW = 10
"""But each row is searched at most so many times as long: the groups of six rows are soon known."""
_DEFAULT_EFFORT = 100
"""Default effort in small tables; the limits of work refer to it."""
_DEFAULT_MOVES = 136_000
"""Default number of moves in small tables: at most `_DEFAULT_EFFORT` per row, and at least `_MIN_EFFORT`."""
_MIN_EFFORT = 36
"""Smallest default effort. The four figures were chosen on Adult and on 600,000 rows sampled from it (`python -m
benchmarks rows`)."""
_MAX_ROUNDS = 6
"""Rounds of moves and of new groups, at the default effort; larger tables get fewer rounds."""
_TEMPERATURES = 0.03, 0.001
"""First and last temperature of the annealing, as multiples of the loss of one attribute of one row."""
_TEMPERATURES_IF_FEW_ROWS = 0.3, 0.001
"""First and last temperature in tables with at most `_MIN_SEARCH_ROWS` rows to search."""
_SWAP_FACTOR = 4
"""Factor on the number of moves if a further row may break a group, because rows can then do little but swap places."""
_TEMPERATURES_OF_SWAPS = 0.1, 0.001
"""First and last temperature if a further row may break a group."""
_MAX_DISSOLVED = 1, 2
"""Number of groups that may be dissolved for a new group, alternating between rounds."""
_MAX_WORK_OF_GROWING = 10_000_000_000
"""Number of codes that growing may scan: many times the need of tables of the usual width."""
_MAX_WORK_OF_SEARCH = 2_000_000_000
"""Number of codes and counts that the search may scan, at the default effort."""
_MIN_EFFORT_FOR_CELLS = 200
"""Smallest effort for which a start from cells of the hierarchies is tried; it takes twice as long as the others."""
_LOSS_RATIO_OF_CELLS = 0.9
"""The best other start is skipped if the search from cells loses less than this share of its loss: in our benchmarks no
search ever made up so large a difference."""
_COMPARED_ROWS, _COMPARED_LOSS = 5_000, 0.04
"""SABRE's groups are searched as well in tables with at most this many rows, or if drawn groups lose at most this much.
Otherwise drawn groups always lost less, in a fraction of the time."""
_MAX_SIZE_TO_GROW = 256
"""Largest minimum group size for which groups are grown row by row."""


@dataclass(frozen=True)
class Cluster(Algorithm):
    """Keep acceptable classes, cluster the other rows by nearest neighbours, then improve by local search.

    Parameters
    ----------
    effort : int, optional
        Length of the search: the number of moves tried for each row outside acceptable classes, and a proportional
        number of new groups, from 0 (no search) to 1,000,000. Large tables get fewer moves per row. The default is 100
        if few rows need grouping, and 36 if many do, so that the search takes seconds; the certificate states
        the value (`details`). A larger effort lowers the loss.

    Notes
    -----
    The paper grows each group of k rows from the row farthest from the previous group, always adding the row that
    increases the loss least. Remaining rows join the groups whose loss they increase least. This implementation differs
    in the following points:

    * Acceptable equivalence classes are kept together, as in the first phase of TP. If a class is not acceptable, it
      first gives away rows of its most frequent sensitive values. Kept rows may still move later.
    * Any monotone requirement is served: a group grows until the compiled predicate accepts it. Once it has enough
      rows, it adds only rows with sensitive values that it lacks.
    * Candidates are the rows of the nearest classes, found by an exact search in the metric of the loss (cut short if
      a class has very many near ones). Rows in dense regions choose first. Rows that find no group in one round form
      groups among themselves in the next.
    * The loss is that of the recoding: stars, intervals, sets or nodes of hierarchies, depending on the column.
    * The local search is ours; it is shorter if more than 20,000 rows need grouping. Rows swap places or change groups
      by simulated annealing. New groups form around rows; if that makes another group unacceptable, its remaining rows
      move to the groups whose loss they increase least. Whole groups are dissolved in the same way, and groups that
      publish the same cells are merged. All groups stay acceptable.
    * The search starts from the groups of Mondrian or Hilbert if they lose less than the clusters, from those of TP+ if
      it serves the requirement and values are suppressed, and from those of SABRE if groups must be like the table. The
      result therefore never loses more than any of these. SABRE uses its own default effort unless an effort is given,
      groups are drawn (see below), or the table has more than 100,000 rows.
    * For t-closeness with the equal distance, if all attributes have hierarchies, groups are drawn from cells of the
      lattice of hierarchies. For one vector of levels after another, cheapest first, the largest subset of each cell
      that is like the table becomes a group. Simulated annealing then moves rows between drawn groups; the penalty of a
      group that is too far from the table grows during the search, and groups that fail in the end are repaired. The
      local search continues from there. It is repeated from SABRE's groups if the table has few rows, if other models
      are requested, or if little is lost.
    * If all attributes have hierarchies and the effort is 200 or more, k-anonymity and models that no additional row
      can break (such as distinct values and ranges) have another start. Simulated annealing assigns each row to a cell
      of the lattice of hierarchies, among the cells that the prices of a Lagrangian relaxation do not exclude; rows
      without a cell grow groups as above. The local search continues from there. Unless its result is far ahead, it is
      repeated from the other start, and the better result counts. The prices prove a lower bound on the loss of any
      release.
    * The number of codes and counts that may be scanned is limited, so that the same search ends at the same point on
      any machine. If the limit is reached (such as with hundreds of attributes, or groups of thousands of rows), the
      best groups so far are the result, and the certificate states that the search was cut short.
    * The random numbers of the search are the same for every table.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": [30, 31, 47, 48], "zip": ["A", "A", "B", "B"]})
    >>> release = shoal.anonymize(
    ...     table, quasi_identifiers=["age", "zip"], k=2,
    ...     algorithm=shoal.algorithms.Cluster(effort=10), recoding="suppression"
    ... )
    >>> release.certificate
    Certificate(algorithm='cluster', stars=4, optimal=True)
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        divisible=True, sums_columns=True, bytes_per_row=200, stand_in=Mondrian()
    )
    """Capabilities of the algorithm."""

    effort: int | None = field(default=None, metadata=parameter(Optional(EFFORTS), **EFFORT))

    name: ClassVar[str] = "cluster"
    """Name of the algorithm in requests and certificates."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        searched = SearchedRows.of(problem) if (self.effort or 0) < _MIN_EFFORT_FOR_CELLS else None
        groups, details, shortened, proven = self._cluster_rows(problem if searched is None else searched.problem)
        if searched is not None:
            groups, details = searched.complete(groups), searched.scale(details)
        guarantee = Guarantee(promise=Fact("clustering"), loss_bound=proven)
        facts = {"search": SearchEnd.of(shortened=shortened)}
        return Partition.of(groups, guarantee, details=details, facts=facts)

    def _cluster_rows(self, problem: Problem) -> tuple[NDArray[np.int32], dict[str, Any], bool, float | None]:
        """Find groups from the best starts by local search.

        Returns
        -------
        groups : int32 array
            Group of each row.
        details : dict
            Loss of each start, and the start that was best.
        shortened : bool
            Whether a budget of work cut the search short.
        bound : float or None
            Lower bound on the average loss of a cell in any release; None if none was proven.
        """
        # Drawn groups, for t-closeness; in large tables they are the only start.
        work = WorkingPartition(problem)
        effort = _usual_effort(problem, len(work.active)) if self.effort is None else self.effort
        drawn = _draw_groups(problem, work, effort)
        alone = drawn is not None and work.rows > _COMPARED_ROWS and work.only_close and drawn[0] > _COMPARED_LOSS
        if drawn is not None and alone:
            started = {"drawing_loss": drawn[0], "started_from": "drawing", "effort": effort}
            if work.rows <= _MAX_ROWS_TO_REFINE_DRAWN:
                _find_near_classes(problem, work)
                drawn = _search_from(problem, work, drawn, effort)
            return drawn[1], {**started, "loss": drawn[0]}, work.shortened, None
        # The usual starts: grown groups, and the groups of quick algorithms.
        starts: dict[str, tuple[float, NDArray[np.int32]]] = {}
        if problem.requirement.compares_with_table:
            _find_near_classes(problem, work)
            work.keep_classes()
            whole = self.effort is None and drawn is None and work.rows <= _MAX_ROWS_OF_FULL_SABRE
            sabre = Sabre() if whole else Sabre(effort=2 * effort)
            others = _partition_with((sabre,), problem, problem.progress)
        else:
            with run_alongside(partial(_partition_with, _quick_algorithms(problem), problem)) as found:
                _find_near_classes(problem, work)
                if work.smallest <= _MAX_SIZE_TO_GROW:
                    starts["growing"] = _grow(work), work.groups_of_rows()
                else:
                    work.keep_classes()
                others = found()
        # Choose the best start by its loss.
        for name, start in others.items():
            starts[name] = work.set_groups_of_rows(start.groups), start.groups
        shortened = any(start.facts.get("search") == SearchEnd.CUT_SHORT for start in others.values())
        chosen = min(starts, key=lambda name: starts[name][0])
        least, best = starts[chosen]
        details: dict[str, Any] = {f"{name}_loss": lost for name, (lost, _) in starts.items()}
        candidates: dict[str, tuple[float, NDArray[np.int32]]] = {}
        # A start from cells of the hierarchies, if the effort is large.
        cells = CellStart.of(problem, work) if effort >= _MIN_EFFORT_FOR_CELLS else None
        if cells is not None:
            followed = _complete(work, *cells.groups(effort))
            details["cells_loss"] = followed[0]
            candidates["cells"] = _search_from(problem, work, followed, effort)
        if drawn is not None:
            details["drawing_loss"] = drawn[0]
            candidates["drawing"] = _search_from(problem, work, drawn, effort)
        if "cells" not in candidates or candidates["cells"][0] > _LOSS_RATIO_OF_CELLS * least:
            candidates[chosen] = _search_from(problem, work, (least, best), effort)
        # Search from the candidates, and publish the best result.
        name = min(candidates, key=lambda name: candidates[name][0])
        loss, best = candidates[name]
        details |= {"started_from": name, "loss": loss, "effort": effort}
        proven = None if cells is None else cells.loss_bound
        return best, details, shortened or work.shortened, proven


def _find_near_classes(problem: Problem, work: WorkingPartition) -> None:
    """Find near classes of each class."""
    width = _NEAR_CLASSES if work.classes.count < _MIN_LARGE_CLASSES else _NEAR_CLASSES_IF_LARGE
    work.look_around(
        min(width, max(work.classes.count - 1, 1)),
        lambda done, total: problem.progress("nearest neighbours", done, total),
    )


def _quick_algorithms(problem: Problem) -> tuple[Algorithm, ...]:
    """List the quick algorithms whose groups are alternative starts of the search."""
    if problem.recoding == "suppression" and problem.requirement.frequency_form() is not None:
        return Mondrian(), Hilbert(), ThreePhase()
    return Mondrian(), Hilbert()


def _partition_with(others: Sequence[Algorithm], problem: Problem, progress: Progress) -> dict[str, Partition]:
    """Partition the rows with each algorithm; return the partitions by name."""
    reporting = replace(problem, progress=progress)
    return {other.name: other.partition(reporting) for other in others}


def _draw_groups(problem: Problem, work: WorkingPartition, effort: int) -> tuple[float, NDArray[np.int32]] | None:
    """Draw groups from cells; return their loss and the group of each row, or None if no groups can be drawn."""
    if not problem.requirement.compares_with_table:
        return None
    # The number of moves grows with the square root of the effort.
    times = isqrt(10_000 * effort // _usual_effort(problem, work.rows))
    groups = draw_groups_of_rows(problem, usual_moves(work.rows) * times // 100)
    return None if groups is None else (work.set_groups_of_rows(groups), groups)


def _usual_effort(problem: Problem, rows: int) -> int:
    """Choose the effort for a number of rows to search."""
    usual = min(max(_DEFAULT_MOVES // max(rows, 1), _MIN_EFFORT), _DEFAULT_EFFORT)
    # SABRE searches before, so each search gets half the time.
    return usual // 2 if problem.requirement.compares_with_table else usual


def _grow(work: WorkingPartition) -> float:
    """Grow groups from the rows outside acceptable classes; return the loss."""
    labels, count = work.keep_classes()
    return _grow_from_free(work, labels, count)


def _grow_from_free(work: WorkingPartition, labels: NDArray[np.int32], count: int) -> float:
    """Grow groups from the rows without a group (-1); return the loss."""
    free = np.flatnonzero(labels < 0).astype(np.int32)
    near, lost = (work.near, work.near_losses) if len(free) == len(work.active) else work.near_free(free)
    work.allow(_MAX_WORK_OF_GROWING)
    while len(free) >= work.smallest and not work.spent:
        # Rows in dense regions choose first, by the distance of their last necessary neighbour.
        needed = min(max(work.smallest - 2, 0), near.shape[1] - 1)
        of_rows = work.classes.of_rows[free]
        seeds = free[np.argsort(lost[of_rows, needed], kind="stable")]
        before, count = count, work.grow(seeds, near, labels, count)
        if count == before:
            break
        # Rows without a group form groups among themselves in the next round.
        free = np.flatnonzero(labels < 0).astype(np.int32)
        near, lost = work.near_free(free)
    # The last rows join the groups whose loss they increase least.
    work.allow(_MAX_WORK_OF_SEARCH)
    return work.place_rest(labels, count)


def _complete(work: WorkingPartition, labels: NDArray[np.int32], count: int) -> tuple[float, NDArray[np.int32]]:
    """Assign the rows without a group (-1) to existing groups or to new ones, whichever loses less."""
    work.allow(_MAX_WORK_OF_SEARCH)
    placed = work.place_rest(labels.copy(), count), work.groups_of_rows()
    grown = _grow_from_free(work, labels, count), work.groups_of_rows()
    return min(placed, grown, key=lambda one: one[0])


def _search_from(
    problem: Problem, work: WorkingPartition, start: tuple[float, NDArray[np.int32]], effort: int
) -> tuple[float, NDArray[np.int32]]:
    """Improve a start by local search; return the loss (never above that of the start) and the group of each row."""
    work.restart()
    work.set_groups_of_rows(start[1])
    return min(start, _improve(problem, work, effort), key=lambda one: one[0])


def _improve(problem: Problem, work: WorkingPartition, effort: int) -> tuple[float, NDArray[np.int32]]:
    """Improve the current groups by local search; return the loss and the group of each row."""
    # Length and temperatures of the search by the number of rows.
    rows = len(work.active)
    searched = rows if rows <= _FULL_SEARCH_ROWS else int(_FULL_SEARCH_ROWS * (_FULL_SEARCH_ROWS / rows) ** 0.5)
    searched = max(searched, min(_MIN_SEARCH_ROWS, _SEARCHES_PER_ROW * rows))
    rounds = min(effort, max(_MAX_ROUNDS * searched // max(rows, 1), 1), _MAX_ROUNDS) if rows and work.count > 1 else 0
    moves = effort * searched * (1 if work.may_always_join or rows > _FULL_SEARCH_ROWS else _SWAP_FACTOR)
    temperatures = _TEMPERATURES if work.may_always_join else _TEMPERATURES_OF_SWAPS
    if rows <= _MIN_SEARCH_ROWS:
        temperatures = _TEMPERATURES_IF_FEW_ROWS
    # The budget of work and the random order of the seeds are the same on every machine.
    seeds, marks = work.active, work.marks()
    work.allow(_MAX_WORK_OF_SEARCH * max(effort, _DEFAULT_EFFORT) // _DEFAULT_EFFORT)
    shuffle = np.random.default_rng(0)
    for number in range(rounds):
        if work.spent:
            break
        problem.progress("cluster", number, rounds)
        # Moves of single rows, at a temperature that falls geometrically.
        done = number / (rounds - 1) if rounds > 1 else 1.0
        first, last = temperatures
        work.exchange(-(-moves // rounds), first * (last / first) ** done)
        # New groups, from the second round on only near groups that changed since the last round.
        if number:
            seeds = work.stirred(marks)
        marks = work.marks()
        work.merge()
        chosen = shuffle.permutation(seeds)[: effort * _MAX_ROUNDS * searched // (_DEFAULT_EFFORT * rounds)]
        for begin in range(0, len(chosen), _SEEDS_PER_REPORT):
            work.found(chosen[begin : begin + _SEEDS_PER_REPORT], _MAX_DISSOLVED[number % len(_MAX_DISSOLVED)])
            problem.progress("cluster", number, rounds)
        # Dissolve expensive groups, and merge groups that publish the same cells.
        work.dissolve()
        work.merge()
    problem.progress("cluster", max(rounds, 1), max(rounds, 1))
    return work.loss(), work.groups_of_rows()


_SEEDS_PER_REPORT = 100_000
"""Number of rows around which new groups are formed between two progress reports."""
