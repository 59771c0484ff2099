"""SABRE: groups that draw from every bucket of sensitive values in proportion (Cao, Karras, Kalnis, Tan 2011).

References
----------
.. [1] J. Cao, P. Karras, P. Kalnis, K.-L. Tan: SABRE: a Sensitive Attribute Bucketization and REdistribution framework
   for t-closeness. The VLDB Journal 20(1), pages 59-81, 2011. https://doi.org/10.1007/s00778-010-0191-9
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal._core.validation import parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition
from shoal.algorithms.local_search.groups import EFFORT, EFFORTS, SearchEnd, WorkingPartition
from shoal.algorithms.mondrian.mondrian import Mondrian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem

__all__ = ["Sabre"]

_ROUNDS = (12, 60)
"""Temperatures of the search: in the smallest tables, and at most."""
_ROUNDS_PER_CUT = 6
"""Rounds of moves between two attempts to cut groups in two."""
_START = 1.5
"""The first groups are larger than they must be by this factor, so that rows can be exchanged before they are cut."""
_FAILURES = 0.01
"""Share of dealt groups that may fail, and be joined."""
_TRIAL = 10
"""A trial makes one in this many of the moves of the search."""
_LEAST_EFFORT = 100
"""Smaller tables get the moves of a table of this many rows."""
_FULL_EFFORT = 40_000
"""Rows beyond this number add less to the moves."""
_LESS = 32
"""Each of them adds one in this many of what a row within it adds."""
_WORK = 10_000_000_000
"""Codes and counts that the search may look at, at the usual effort: 600,000 rows with seven attributes need three in
a hundred."""
_WORK_OF_MOVES = 2_000_000_000
"""Moves times attributes: rows of hundreds of attributes are moved less often."""
_DEFAULT = 200
"""The effort unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class _Schedule:
    """How the search goes from taking chances to taking none."""

    temperatures: tuple[float, float]
    """The first and the last, in losses of one attribute of one row."""
    power: float
    """The first power of the smoothed loss; it falls to 0, the loss itself, over four fifths of the search."""

    def at(self, done: float) -> tuple[float, float]:
        """Return the temperature and the power when a share of the search is done."""
        first, last = self.temperatures
        return first * (last / first) ** done, max(0.0, self.power * (1 - done / 0.8))


@dataclass(frozen=True, kw_only=True, repr=False)
class _Start:
    """Groups that a search may start from."""

    name: str
    schedule: _Schedule
    loss: float
    groups: NDArray[np.int32]
    """Group of each row of the table."""


_AFTER_DEALING = _Schedule(temperatures=(0.5, 0.03), power=0.7)
"""Hot at first, for dealt groups are far from a good partition."""
_AFTER_CUTTING = _Schedule(temperatures=(0.3, 0.01), power=0.0)
"""Cooler, for groups that Mondrian cut are good already."""


@dataclass(frozen=True)
class Sabre(Algorithm):
    """Deal the rows out so that every group gets its share of all sensitive values, then exchange what fits better.

    Parameters
    ----------
    effort : int, default 200
        Moves of rows that are tried for each row, fewer in tables of more than 40,000 rows; from 0, which leaves the
        groups as they were dealt, to 1,000,000.

    Notes
    -----
    The paper's plan, as far as its abstract and what others wrote of it tell (its text was not at hand): bucketization
    puts sensitive values that are near one another into buckets, so that a group that draws from all buckets in
    proportion is close to the table whichever values it draws; redistribution decides how many rows each group draws
    from each bucket, by halving the table's bucket sizes over and over, and fills the groups with near rows.
    What is different here:

    * No part of t is set aside for the buckets. A bucket is a value, or a few rare ones that are next to one another in
      the order of the ground distance (ranks, leaves of a hierarchy, nearest neighbours in a metric); shares are
      rounded so that what a group lacks of a bucket it has of the next. The compiled predicate decides, for every
      group, whether that is close enough, and the smallest size at which hardly a dealt group fails is taken; those
      few are joined with the next. So any monotone requirement can be served, not closeness alone.
    * Like rows are dealt to the same group along the order that loses least: a Hilbert curve, or the order by some
      attributes before others, those first that lose most when they differ.
    * What t allows beyond dealing is used up by a search, which is ours: rows change groups or places, as simulated
      annealing has it, while every group stays acceptable; the loss is the one of the recoding (certainty penalty or
      stars), smoothed at first so that groups become nearly pure and then pure. Groups are dealt out in two as soon as
      both halves are acceptable.
    * The search starts from dealt groups or from Mondrian's, whichever a short search made more of: never is more lost
      than by Mondrian.
    * Looks at codes and counts are counted, as by clustering: a spent budget ends the search with the best so far.
    * The random numbers of the search are the same for every table.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(divisible=True, bytes_per_row=400, stand_in=Mondrian())
    """What it can do."""

    effort: int = field(default=_DEFAULT, metadata=parameter(EFFORTS, **EFFORT))

    name: ClassVar[str] = "sabre"
    """What users and certificates call it."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        work = WorkingPartition(problem)
        groups, details = self._search(problem, work)
        guarantee = Guarantee(promise=Fact("heuristic", algorithm="SABRE"))
        facts = {"search": SearchEnd.of(shortened=work.shortened)}
        return Partition.of(groups, guarantee, details=details, facts=facts)

    def _search(self, problem: Problem, work: WorkingPartition) -> tuple[NDArray[np.int32], dict[str, Any]]:
        problem.progress(self.name, 0, 1)
        work.allow(_WORK * max(self.effort, _DEFAULT) // _DEFAULT)
        size, count = _dealt_size(work)
        # Redistribution: like rows to the same group, by the order that loses least.
        losses = [work.deal(count, order) for order in range(work.orders)]
        starts = [
            _Start(
                name="dealing",
                schedule=_AFTER_DEALING,
                loss=work.deal(count, int(np.argmin(losses))),
                groups=work.groups_of_rows(),
            )
        ]
        cut = Mondrian().partition(problem).groups
        starts.append(_Start(name="mondrian", schedule=_AFTER_CUTTING, loss=work.set_groups_of_rows(cut), groups=cut))
        details: dict[str, Any] = {"smallest_dealt_size": size}
        details |= {f"{start.name}_loss": start.loss for start in starts}
        # A short search from each start tells which one is worth a long one.
        trials = [self._exchange(problem, work, start, self.effort // _TRIAL) for start in starts]
        chosen = starts[int(np.argmin([loss for loss, _ in trials]))]
        found = [*trials, self._exchange(problem, work, chosen, self.effort)]
        loss, best = min(found, key=lambda one: one[0])
        return best, {**details, "started_from": chosen.name, "loss": loss}

    def _exchange(
        self, problem: Problem, work: WorkingPartition, start: _Start, effort: int
    ) -> tuple[float, NDArray[np.int32]]:
        """Search from some groups; return what is lost, never more than at the start, and the group of each row."""
        work.set_groups_of_rows(start.groups)
        n = work.rows
        rounds = min(max(n // 8, _ROUNDS[0]), _ROUNDS[1]) if effort else 0
        moves = effort * max(min(n, _FULL_EFFORT) + max(n - _FULL_EFFORT, 0) // _LESS, _LEAST_EFFORT)
        most = _WORK_OF_MOVES * max(effort, _DEFAULT) // _DEFAULT
        if moves * work.table.width > most:
            moves = most // work.table.width
            work.shorten()
        for number in range(rounds):
            problem.progress(self.name, number, rounds)
            if number % _ROUNDS_PER_CUT == _ROUNDS_PER_CUT - 1:
                work.cut(number // _ROUNDS_PER_CUT)
            temperature, power = start.schedule.at(number / (rounds - 1))
            work.exchange(-(-moves // rounds), temperature, power)
        while work.cut(0):
            pass
        problem.progress(self.name, max(rounds, 1), max(rounds, 1))
        loss = work.loss()
        return (loss, work.groups_of_rows()) if loss < start.loss else (start.loss, start.groups)


def _dealt_size(work: WorkingPartition) -> tuple[int, int]:
    """Return how small dealt groups may be so that hardly one fails, and how many to deal."""
    size = min(work.smallest, work.rows)
    while size < work.rows and not work.may_be_dealt(work.rows // size, _FAILURES):
        size = max(size + 1, size * 21 // 20)
    return size, max(1, int(work.rows / (_START * size)))
