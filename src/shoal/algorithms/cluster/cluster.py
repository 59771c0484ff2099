"""Clustering: groups of near rows, improved for the least loss under local recoding.

References
----------
.. [1] J.-W. Byun, A. Kamra, E. Bertino, N. Li: Efficient k-anonymization using clustering techniques. DASFAA 2007,
   pages 188-200. https://doi.org/10.1007/978-3-540-71703-4_18
.. [2] J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. W.-C. Fu: Utility-based anonymization using local recoding. KDD 2006,
   pages 785-790. https://doi.org/10.1145/1150402.1150504
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal._core.threads import beside
from shoal._core.validation import Optional, parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition
from shoal.algorithms.cluster.from_cells import FromCells
from shoal.algorithms.hilbert.hilbert import Hilbert
from shoal.algorithms.lattice import draw_groups_of_rows, usual_moves
from shoal.algorithms.local_search.groups import EFFORT, EFFORTS, SearchEnd, WorkingPartition
from shoal.algorithms.mondrian.mondrian import Mondrian
from shoal.algorithms.sabre.sabre import Sabre
from shoal.algorithms.tp.three_phase import ThreePhase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal._core.progress import Progress
    from shoal.algorithms.base import Problem

__all__ = ["Cluster"]

_NEAR = 16
"""Number of near classes of each class, in small tables."""
_NEAR_OF_MANY = 8
"""The same in large tables."""
_MANY = 100_000
"""Number of classes of a large table."""
_SEARCHED_IF_DRAWN = 100_000
"""Largest number of rows for which drawn groups are refined by a search: above it the gain was negligible."""
_WHOLE_SABRE = 100_000
"""Largest number of rows for which SABRE's usual search comes first if no groups can be drawn."""
_SEARCHED = 20_000
"""Number of rows to search above which the search is shorter, because finding neighbours takes the time."""
_LEAST = 500
"""Tables with fewer rows are searched as long as one of this many rows, and at higher temperatures."""
_DEFAULT = 100
"""Default effort in small tables; the limits of work refer to it."""
_MOVES = 136_000
"""Default number of moves in tables of up to `_SEARCHED` rows to search, but at most `_DEFAULT` a row."""
_LEAST_DEFAULT, _MOST_OF_MANY = 10, 30
"""The least default effort, and the largest if more rows are searched."""
_MORE_OF_MANY = 0.85
"""The default of large tables grows with this power of the rows, of which fewer are searched then. The five figures
were chosen for Adult and for 600,000 rows drawn from it (`python -m benchmarks rows`)."""
_ROUNDS = 6
"""Rounds of moves and of new groups, at the usual effort; larger tables get fewer rounds."""
_TEMPERATURES = 0.03, 0.001
"""The first and the last temperature, in losses of one attribute of one row."""
_TEMPERATURES_OF_FEW = 0.3, 0.001
"""The same for tables of few rows, for which more may be tried."""
_SWAPS = 4
"""Factor on the number of swaps if a further row may break a group: then rows can do little but swap places."""
_TEMPERATURES_OF_SWAPS = 0.1, 0.001
"""Temperatures if a further row may break a group, so that rows mostly swap places."""
_BROKEN = 1, 2
"""Numbers of groups that may be dissolved for a new group, used in turn."""
_WORK_OF_GROWING = 10_000_000_000
"""Number of codes that growing may scan: many times the need of tables of the usual width."""
_WORK_OF_SEARCH = 2_000_000_000
"""Number of codes and counts that the search may scan, at the usual effort."""
_EFFORT_FOR_CELLS = 200
"""Smallest effort for which a start from cells of the hierarchies is worth its time, twice that of all others."""
_SURELY_BETTER = 0.9
"""Where a search from cells loses less than this part of what the best other start loses, that is not searched from:
searches from other starts were never so far ahead of those from cells."""
_FEW, _LITTLE = 5_000, 0.04
"""Tables of up to so many rows, and those where drawn groups lose no more than this, are searched from SABRE's groups,
too; elsewhere drawn groups always lost less, in a part of the time (decision 96)."""
_LARGEST_GROWN = 256
"""Groups with a larger smallest size are not grown row by row."""


@dataclass(frozen=True)
class Cluster(Algorithm):
    """Keep the acceptable classes, group the other rows by nearest neighbours, then move rows as long as that pays.

    Parameters
    ----------
    effort : int, optional
        Length of the search: moves of rows to try for each row outside acceptable classes, fewer in large tables, and
        trials of new groups in proportion; from 0, which leaves the groups as they were grown, to 1,000,000. By default
        100 if few rows need grouping, and 10 to 30 if many do, so that the search takes seconds; the certificate states
        the value (`details`). A larger effort lowers the loss.

    Notes
    -----
    The paper grows a group of k rows from the row farthest from the group before, by adding the row that increases the
    loss least, and adds what is left over to the groups that lose least by it. What is different here:

    * Rows of an equivalence class that is acceptable, or of what is left of it when the most frequent sensitive values
      give rows away, are kept together, as TP's first phase does; they may help others later.
    * Any monotone requirement is served: a group grows until the compiled predicate accepts it, and takes rows with
      sensitive values that it lacks once it has rows enough.
    * Candidates are the rows of the nearest classes, which an exact search in the loss's own distance finds (cut short
      where a class has very many near ones). Rows in dense parts choose first. What finds no group in one round grows
      groups among itself in the next.
    * The loss is that of the recoding: stars, intervals and sets, and nodes of hierarchies, mixed as the columns are.
    * The search is ours, and shorter where more than 20,000 rows need something: rows change places or groups as
      simulated annealing has it; new groups are founded around rows, and groups that are not acceptable without what
      was taken are broken up, their rows going where they lose least; groups are dissolved in the same way; groups that
      publish the same become one. All groups stay acceptable.
    * The search starts from Mondrian's or Hilbert's groups where these lose less than those that were grown, from those
      of TP+ where it serves the requirement and values become stars, and from SABRE's where groups must be like the
      table: never is more lost than by these. SABRE has its own default effort, unless one is given here, groups are
      drawn (below), or the table has more than 100,000 rows.
    * For t-closeness by the equal distance, with hierarchies for all attributes, groups are drawn from cells of the
      lattice of hierarchies: at one vector of levels after another, cheapest first, the largest selection of each
      cell's rows that is like the table. Then rows follow other drawn groups, as simulated annealing has it, where a
      group that is too far from the table costs the more the longer the search has gone on; what fails in the end is
      mended. The search goes on from there; it is made from SABRE's groups, too, where a table has few rows, where
      other models are asked for, and where little is lost.
    * With hierarchies for all attributes and an effort of 200 or more, k-anonymity and models that it never breaks to
      add a row to a group (distinct values, ranges) have another start: which cell of the lattice of hierarchies each
      row follows is annealed among the cells that the prices of a Lagrangian relaxation leave, and what finds no cell
      grows groups as above. The search goes on from there; unless it is far ahead it is made from the other start, too,
      and the better one counts. The prices prove a bound on the loss of any release.
    * Looks at codes and counts are counted, in growing and in the search: where very many are needed (hundreds of
      attributes, groups of thousands of rows) it ends with the best groups so far, on any machine with the same, and
      the certificate says so.
    * The random numbers of the search are the same for every table.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(divisible=True, bytes_per_row=200, stand_in=Mondrian())
    """Capabilities of the algorithm."""

    effort: int | None = field(default=None, metadata=parameter(Optional(EFFORTS), **EFFORT))

    name: ClassVar[str] = "cluster"
    """Name of the algorithm in requests and certificates."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        groups, details, shortened, proven = self._clustered(problem)
        guarantee = Guarantee(promise=Fact("clustering"), loss_bound=proven)
        facts = {"search": SearchEnd.of(shortened=shortened)}
        return Partition.of(groups, guarantee, details=details, facts=facts)

    def _clustered(self, problem: Problem) -> tuple[NDArray[np.int32], dict[str, Any], bool, float | None]:
        """Run the starts and the search; return groups, details, whether the search was cut short, and a bound.

        The bound is on the average loss of a cell of the table in any release; None if none was proven.
        """
        # Drawn groups, for t-closeness; in large tables they are the only start.
        work = WorkingPartition(problem)
        effort = _usual_effort(problem, len(work.active)) if self.effort is None else self.effort
        drawn = _drawn(problem, work, effort)
        alone = drawn is not None and work.rows > _FEW and work.only_close and drawn[0] > _LITTLE
        if drawn is not None and alone:
            told = {"drawing_loss": drawn[0], "started_from": "drawing", "effort": effort}
            if work.rows <= _SEARCHED_IF_DRAWN:
                _look_around(problem, work)
                drawn = _searched(problem, work, drawn, effort)
            return drawn[1], {**told, "loss": drawn[0]}, work.shortened, None
        # The usual starts: grown groups, and the groups of quick algorithms.
        starts: dict[str, tuple[float, NDArray[np.int32]]] = {}
        if problem.requirement.compares_with_table:
            _look_around(problem, work)
            work.keep_classes()
            whole = self.effort is None and drawn is None and work.rows <= _WHOLE_SABRE
            sabre = Sabre() if whole else Sabre(effort=2 * effort)
            others = _partitions((sabre,), problem, problem.progress)
        else:
            with beside(partial(_partitions, _others(problem), problem)) as found:
                _look_around(problem, work)
                if work.smallest <= _LARGEST_GROWN:
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
        cells = FromCells.of(problem, work) if effort >= _EFFORT_FOR_CELLS else None
        if cells is not None:
            followed = _complete(work, *cells.groups(effort))
            details["cells_loss"] = followed[0]
            candidates["cells"] = _searched(problem, work, followed, effort)
        if drawn is not None:
            details["drawing_loss"] = drawn[0]
            candidates["drawing"] = _searched(problem, work, drawn, effort)
        if "cells" not in candidates or candidates["cells"][0] > _SURELY_BETTER * least:
            candidates[chosen] = _searched(problem, work, (least, best), effort)
        # Search from the candidates, and publish the best result.
        name = min(candidates, key=lambda name: candidates[name][0])
        loss, best = candidates[name]
        details |= {"started_from": name, "loss": loss, "effort": effort}
        proven = None if cells is None else cells.loss_bound
        return best, details, shortened or work.shortened, proven


def _look_around(problem: Problem, work: WorkingPartition) -> None:
    """Find near classes of each class."""
    width = _NEAR if work.classes.count < _MANY else _NEAR_OF_MANY
    work.look_around(
        min(width, max(work.classes.count - 1, 1)),
        lambda done, total: problem.progress("nearest neighbours", done, total),
    )


def _others(problem: Problem) -> tuple[Algorithm, ...]:
    """List the quick algorithms whose groups are alternative starts of the search."""
    if problem.recoding == "suppression" and problem.requirement.frequency_form() is not None:
        return Mondrian(), Hilbert(), ThreePhase()
    return Mondrian(), Hilbert()


def _partitions(others: Sequence[Algorithm], problem: Problem, told: Progress) -> dict[str, Partition]:
    """Run algorithms on a problem; return their partitions by name."""
    told_of = replace(problem, progress=told)
    return {other.name: other.partition(told_of) for other in others}


def _drawn(problem: Problem, work: WorkingPartition, effort: int) -> tuple[float, NDArray[np.int32]] | None:
    """Draw groups from cells; return their loss and the group of each row; None if no groups can be drawn."""
    if not problem.requirement.compares_with_table:
        return None
    # They grow with the root of the effort.
    times = isqrt(10_000 * effort // _usual_effort(problem, work.rows))
    groups = draw_groups_of_rows(problem, usual_moves(work.rows) * times // 100)
    return None if groups is None else (work.set_groups_of_rows(groups), groups)


def _usual_effort(problem: Problem, rows: int) -> int:
    """Choose the effort for a number of rows to search."""
    if rows <= _SEARCHED:
        usual = min(max(_MOVES // max(rows, 1), _LEAST_DEFAULT), _DEFAULT)
    else:
        usual = min(int(_LEAST_DEFAULT * (rows / _SEARCHED) ** _MORE_OF_MANY), _MOST_OF_MANY)
    # SABRE searches beforehand, in large tables for twice as long: together they take the time of one.
    return usual // 2 if problem.requirement.compares_with_table else usual


def _grow(work: WorkingPartition) -> float:
    """Grow groups from the rows outside acceptable classes; return the loss."""
    labels, count = work.keep_classes()
    return _grow_free(work, labels, count)


def _grow_free(work: WorkingPartition, labels: NDArray[np.int32], count: int) -> float:
    """Grow groups from the rows without a group (-1); return the loss."""
    free = np.flatnonzero(labels < 0).astype(np.int32)
    near, lost = (work.near, work.near_losses) if len(free) == len(work.active) else work.near_free(free)
    work.allow(_WORK_OF_GROWING)
    while len(free) >= work.smallest and not work.spent:
        # Rows in dense parts choose first: those that find what they need near by.
        needed = min(max(work.smallest - 2, 0), near.shape[1] - 1)
        of_rows = work.classes.of_rows[free]
        seeds = free[np.argsort(lost[of_rows, needed], kind="stable")]
        before, count = count, work.grow(seeds, near, labels, count)
        if count == before:
            break
        free = np.flatnonzero(labels < 0).astype(np.int32)
        near, lost = work.near_free(free)
    work.allow(_WORK_OF_SEARCH)
    return work.place_rest(labels, count)


def _complete(work: WorkingPartition, labels: NDArray[np.int32], count: int) -> tuple[float, NDArray[np.int32]]:
    """Find groups for the rows that are in none (-1), new ones or those that there are, whichever loses less."""
    work.allow(_WORK_OF_SEARCH)
    placed = work.place_rest(labels.copy(), count), work.groups_of_rows()
    grown = _grow_free(work, labels, count), work.groups_of_rows()
    return min(placed, grown, key=lambda one: one[0])


def _searched(
    problem: Problem, work: WorkingPartition, start: tuple[float, NDArray[np.int32]], effort: int
) -> tuple[float, NDArray[np.int32]]:
    """Search from some groups; return what is lost, never more than at the start, and the group of each row."""
    work.restart()
    work.set_groups_of_rows(start[1])
    return min(start, _search(problem, work, effort), key=lambda one: one[0])


def _search(problem: Problem, work: WorkingPartition, effort: int) -> tuple[float, NDArray[np.int32]]:
    """Improve the groups; return what is lost then, and the group of each row."""
    rows = len(work.active)
    searched = max(rows if rows <= _SEARCHED else int(_SEARCHED * (_SEARCHED / rows) ** 0.5), _LEAST)
    rounds = min(effort, max(_ROUNDS * searched // max(rows, 1), 1), _ROUNDS) if rows and work.count > 1 else 0
    moves = effort * searched * (1 if work.may_always_join or rows > _SEARCHED else _SWAPS)
    temperatures = _TEMPERATURES if work.may_always_join else _TEMPERATURES_OF_SWAPS
    if rows <= _LEAST:
        temperatures = _TEMPERATURES_OF_FEW
    seeds, marks = work.active, work.marks()
    work.allow(_WORK_OF_SEARCH * max(effort, _DEFAULT) // _DEFAULT)
    shuffle = np.random.default_rng(0)
    for number in range(rounds):
        if work.spent:
            break
        problem.progress("cluster", number, rounds)
        done = number / (rounds - 1) if rounds > 1 else 1.0
        first, last = temperatures
        work.exchange(-(-moves // rounds), first * (last / first) ** done)
        if number:
            seeds = work.stirred(marks)
        marks = work.marks()
        work.merge()
        chosen = shuffle.permutation(seeds)[: effort * _ROUNDS * searched // (_DEFAULT * rounds)]
        for begin in range(0, len(chosen), _SEEDS):
            work.found(chosen[begin : begin + _SEEDS], _BROKEN[number % len(_BROKEN)])
            problem.progress("cluster", number, rounds)
        work.dissolve()
        work.merge()
    problem.progress("cluster", max(rounds, 1), max(rounds, 1))
    return work.loss(), work.groups_of_rows()


_SEEDS = 100_000
"""Rows around which new groups are founded between two reports of progress."""
