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

from shoal._background import beside
from shoal._validation import Optional, parameter, validate_declared
from shoal.algorithms.base import Guarantee, Partition, monotone_only
from shoal.algorithms.cells import drawn_groups, usual_moves
from shoal.algorithms.hilbert.hilbert import Hilbert
from shoal.algorithms.local_search.from_cells import FromCells
from shoal.algorithms.local_search.groups import ALL_DONE, CUT_SHORT, EFFORT, EFFORTS, WorkingPartition
from shoal.algorithms.local_search.sabre import Sabre
from shoal.algorithms.mondrian.mondrian import Mondrian
from shoal.algorithms.tp.three_phase import ThreePhase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal._progress import Progress
    from shoal.algorithms.base import Algorithm, Problem
    from shoal.models import Requirement

__all__ = ["Cluster"]

_NEAR = 16
"""Near classes of each class, in small tables."""
_NEAR_OF_MANY = 8
"""The same in large ones."""
_MANY = 100_000
"""Classes of a large table."""
_SEARCHED_IF_DRAWN = 100_000
"""In tables of more rows groups that were drawn are not searched further: hardly anything came of it."""
_WHOLE_SABRE = 100_000
"""In tables of up to so many rows SABRE's usual search comes first where no groups can be drawn (decision 104)."""
_SEARCHED = 20_000
"""Where more rows need something the search is shorter: finding neighbours takes the time."""
_LEAST = 500
"""Smaller tables are searched as long as one of this many rows, and at higher temperatures."""
_DEFAULT = 100
"""The effort unless told otherwise, in small tables, and what the limits of work are said for."""
_MOVES = 136_000
"""Moves that a search makes by default in tables of up to `_SEARCHED` rows that need something, or `_DEFAULT` a row."""
_LEAST_DEFAULT, _MOST_OF_MANY = 10, 30
"""The least default, and the largest where more rows need something."""
_MORE_OF_MANY = 0.85
"""The default of large tables grows with this power of the rows, of which fewer are searched then. The five figures
were chosen for Adult and for 600,000 rows drawn from it (`python -m benchmarks rows`)."""
_ROUNDS = 6
"""Rounds of moves and of new groups, at the usual effort; larger tables get fewer."""
_TEMPERATURES = 0.03, 0.001
"""The first and the last, in losses of one attribute of one row."""
_TEMPERATURES_OF_FEW = 0.3, 0.001
"""The same for tables of few rows, where more may be tried."""
_SWAPS = 4
"""Where a row more may break a group, rows can hardly do anything but trade places: swaps are this many times more."""
_TEMPERATURES_OF_SWAPS = 0.1, 0.001
"""The same where a row more may break a group, so that rows mostly trade places."""
_BROKEN = 1, 2
"""Groups that may be broken up for a new one, in turns."""
_WORK_OF_GROWING = 10_000_000_000
"""Codes that growing may look at: many times what tables of the usual width need."""
_WORK_OF_SEARCH = 2_000_000_000
"""Codes and counts that the search may look at, at the usual effort."""
_EFFORT_FOR_CELLS = 200
"""Effort from which a start from cells of the hierarchies is worth its time, twice that of all else together."""
_SURELY_BETTER = 0.9
"""Where a search from cells loses less than this part of what the best other start loses, that is not searched from:
searches from other starts were never so far ahead of those from cells."""
_FEW, _LITTLE = 5_000, 0.04
"""Tables of up to so many rows, and those where drawn groups lose no more than this, are searched from SABRE's groups,
too; elsewhere drawn groups always lost less, in a part of the time (decision 96)."""
_LARGEST_GROWN = 256
"""Groups that must have more rows are not grown row by row."""


@dataclass(frozen=True)
class Cluster:
    """Keep the rows that need nothing, group the others by nearest neighbours, then move rows as long as that pays.

    Parameters
    ----------
    effort : int, optional
        How long the search goes on: moves of rows that are tried for each row that needs something, fewer in large
        tables, and trials of new groups in proportion; from 0, which leaves the groups as they were grown, to
        1,000,000. By default 100 where few rows need something, and 10 to 30 where many do, so that the search takes
        seconds; the certificate says which (`details`), and more buys less loss.

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

    divisible: ClassVar[bool] = True
    """Parts of a table may be solved one after another, where it does not fit into memory."""
    bytes_per_row: ClassVar[int] = 200
    """Memory that a row takes meanwhile, in bytes, > 0."""

    effort: int | None = field(default=None, metadata=parameter(Optional(EFFORTS), **EFFORT))

    name: ClassVar[str] = "cluster"
    """What users and certificates call it."""
    stand_in: ClassVar[Algorithm] = Mondrian()
    """A quick algorithm that serves the same requirements."""

    def __post_init__(self) -> None:
        validate_declared(self.name, self)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {"effort": self.effort}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why a requirement cannot be served, in words that follow "because"."""
        return monotone_only(requirement)

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows; see `Algorithm.partition`."""
        table = problem.table
        groups = np.zeros(table.rows, dtype=np.int32)
        details: dict[str, Any] = {}
        shortened, proven = False, None
        if table.rows and table.quasi_identifiers:
            groups, details, shortened, proven = self._clustered(problem)
        return Partition(
            groups=groups,
            count=int(groups.max(initial=-1)) + 1,
            guarantee=Guarantee(
                text="Clustering is a heuristic: nothing is promised about the cost.", loss_bound=proven
            ),
            details=details,
            facts={"search": CUT_SHORT if shortened else ALL_DONE},
        )

    def _clustered(self, problem: Problem) -> tuple[NDArray[np.int32], dict[str, Any], bool, float | None]:
        """Return the group of each row, what is worth knowing of the run, whether it was cut short, and a bound.

        The bound is on what a cell of the table loses on average in any release; None where none was proven.
        """
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
        for name, start in others.items():
            starts[name] = work.set_groups_of_rows(start.groups), start.groups
        shortened = any(start.facts.get("search") == CUT_SHORT for start in others.values())
        chosen = min(starts, key=lambda name: starts[name][0])
        least, best = starts[chosen]
        details: dict[str, Any] = {f"{name}_loss": lost for name, (lost, _) in starts.items()}
        candidates: dict[str, tuple[float, NDArray[np.int32]]] = {}
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
    """Return the quick algorithms whose groups a search may start from, beside those that are grown."""
    if problem.recoding == "suppression" and problem.requirement.frequency_form() is not None:
        return Mondrian(), Hilbert(), ThreePhase()
    return Mondrian(), Hilbert()


def _partitions(others: Sequence[Algorithm], problem: Problem, told: Progress) -> dict[str, Partition]:
    """Return the partition of each of some algorithms by its name."""
    told_of = replace(problem, progress=told)
    return {other.name: other.partition(told_of) for other in others}


def _drawn(problem: Problem, work: WorkingPartition, effort: int) -> tuple[float, NDArray[np.int32]] | None:
    """Return what groups lose that are drawn from cells, and the group of each row; None where none can be drawn."""
    if not problem.requirement.compares_with_table:
        return None
    # They grow with the root of the effort.
    times = isqrt(10_000 * effort // _usual_effort(problem, work.rows))
    groups = drawn_groups(problem, usual_moves(work.rows) * times // 100)
    return None if groups is None else (work.set_groups_of_rows(groups), groups)


def _usual_effort(problem: Problem, rows: int) -> int:
    """Return the effort for so many rows that need something."""
    if rows <= _SEARCHED:
        usual = min(max(_MOVES // max(rows, 1), _LEAST_DEFAULT), _DEFAULT)
    else:
        usual = min(int(_LEAST_DEFAULT * (rows / _SEARCHED) ** _MORE_OF_MANY), _MOST_OF_MANY)
    # SABRE searches beforehand, in large tables for twice as long: together they take the time of one.
    return usual // 2 if problem.requirement.compares_with_table else usual


def _grow(work: WorkingPartition) -> float:
    """Grow groups from the rows that need something; return what is lost then."""
    labels, count = work.keep_classes()
    return _grow_free(work, labels, count)


def _grow_free(work: WorkingPartition, labels: NDArray[np.int32], count: int) -> float:
    """Grow groups from the rows that are in none (-1); return what is lost then."""
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
