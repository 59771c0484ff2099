"""SABRE: groups that hold every bucket of sensitive values in proportion (Cao, Karras, Kalnis, Tan 2011).

References
----------
.. [1] J. Cao, P. Karras, P. Kalnis, K.-L. Tan: SABRE: a Sensitive Attribute Bucketization and REdistribution framework
   for t-closeness. The VLDB Journal 20(1), pages 59-81, 2011. https://doi.org/10.1007/s00778-010-0191-9
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.local_search.groups import EFFORT, EFFORTS, SearchEnd, WorkingPartition
from shoal.algorithms.mondrian.mondrian import Mondrian

_ROUNDS_RANGE = (12, 60)
"""Number of rounds of the search, each at its own temperature: in the smallest tables, and at most."""
_ROUNDS_PER_CUT = 6
"""Rounds of moves between two attempts to split groups in two."""
_DEALT_SIZE_FACTOR = 1.5
"""Dealt groups are larger than necessary by this factor, so that rows can be exchanged before groups are split."""
_MAX_FAILED_SHARE = 0.01
"""Largest share of dealt groups that may fail; failed groups are merged with the next group."""
_MOVES_PER_TRIAL_MOVE = 10
"""A trial search tries the moves of the full search, divided by this."""
_MIN_ROWS_OF_MOVES = 100
"""Smaller tables get as many moves as a table with this many rows."""
_MAX_ROWS_OF_FULL_EFFORT = 40_000
"""Number of rows above which further rows add fewer moves."""
_DISCOUNT_IF_LARGE = 32
"""Each further row adds the moves of a row, divided by this."""
_MAX_WORK = 10_000_000_000
"""Number of codes and counts that the search may scan, at the default effort: 600,000 rows with seven attributes need
3 % of it."""
_MAX_WORK_OF_MOVES = 2_000_000_000
"""Largest number of moves times attributes: tables with hundreds of attributes get fewer moves."""
_DEFAULT_EFFORT = 200
"""Default effort."""


@dataclass(frozen=True, kw_only=True)
class _Schedule:
    """Annealing schedule of the search."""

    temperatures: tuple[float, float]
    """First and last temperature, as multiples of the loss of one attribute of one row."""
    power: float
    """First power of the smoothed loss; it falls linearly to 0 (the loss itself) over four fifths of the search."""

    def at(self, done: float) -> tuple[float, float]:
        """Compute the temperature and the power if a share `done` of the search is over."""
        first, last = self.temperatures
        return first * (last / first) ** done, max(0.0, self.power * (1 - done / 0.8))


@dataclass(frozen=True, kw_only=True, repr=False)
class _Start:
    """A start of the search."""

    name: str
    schedule: _Schedule
    loss: float
    groups: NDArray[np.int32]
    """Group of each row of the table."""


_AFTER_DEALING = _Schedule(temperatures=(0.5, 0.03), power=0.7)
"""A hot schedule, because dealt groups are far from a good partition."""
_AFTER_CUTTING = _Schedule(temperatures=(0.3, 0.01), power=0.0)
"""A cooler schedule, because Mondrian's groups are good already."""


@dataclass(frozen=True)
class Sabre(Algorithm):
    """Deal rows so that every group gets its share of all sensitive values, then improve the groups by local search.

    Parameters
    ----------
    effort : int, default 200
        Number of moves tried for each row, from 0 (no search) to 1,000,000. If the table has more than 40,000 rows,
        further rows add fewer moves.

    Notes
    -----
    The text of the paper was not available to us; this is its plan according to its abstract and to later papers.
    *Bucketization* puts similar sensitive values into buckets, so that a group with rows of all buckets in proportion
    is close to the table, with any values of these buckets. *Redistribution* determines how many rows of each
    bucket every group gets, by halving the bucket sizes of the table repeatedly, and fills the groups with similar
    rows. This implementation differs in the following points:

    * No part of t is reserved for the buckets. A bucket is one value, or a few rare values that are adjacent in the
      order of the ground distance (ranks, leaves of a hierarchy, nearest neighbours in a metric). Shares are rounded so
      that a group that lacks rows of one bucket has more of the next. The compiled predicate decides whether a group is
      close enough. The group size is the smallest at which hardly any dealt group fails; failed groups are merged with
      the next group. Any monotone requirement can therefore be served.
    * Similar rows are dealt to the same group along the order that loses least: a Hilbert curve, or a lexicographic
      order of the attributes, starting with those that lose most if their values differ.
    * The local search is ours and uses the distance that t allows beyond dealing. Rows change groups or swap places by
      simulated annealing, while every group stays acceptable. The loss is that of the recoding (certainty penalty or
      stars). It is smoothed at first, so that groups become nearly uniform before they become uniform. Groups are split
      in two as soon as both halves are acceptable.
    * The search starts from dealt groups or from Mondrian's groups, whichever lose less after a short search. The
      result never loses more than Mondrian's.
    * The number of codes and counts that may be scanned is limited, as in `Cluster`; if the limit is reached, the
      result is the best partition so far.
    * The random numbers of the search are the same for every table.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.census(500, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     table, quasi_identifiers=["age", "gender"], sensitive="income", t=0.5,
    ...     algorithm=shoal.algorithms.Sabre(effort=10)
    ... )
    >>> release.certificate.algorithm
    'sabre'
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        divisible=True, sums_columns=True, bytes_per_row=400, stand_in=Mondrian()
    )
    """Capabilities of the algorithm."""

    effort: int = field(default=_DEFAULT_EFFORT, metadata=parameter(EFFORTS, **EFFORT))

    name: ClassVar[str] = "sabre"
    """Name of the algorithm in requests and certificates."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        work = WorkingPartition(problem)
        groups, details = self._search(problem, work)
        guarantee = Guarantee(promise=Fact("heuristic", algorithm="SABRE"))
        facts = {"search": SearchEnd.of(shortened=work.shortened)}
        return Partition.of(groups, guarantee, details=details, facts=facts)

    def _search(self, problem: Problem, work: WorkingPartition) -> tuple[NDArray[np.int32], dict[str, Any]]:
        problem.progress(self.name, 0, 1)
        work.allow(_MAX_WORK * max(self.effort, _DEFAULT_EFFORT) // _DEFAULT_EFFORT)
        size, count = _smallest_dealt_size(work)
        # Redistribution: similar rows to the same group, along the order that loses least.
        losses = [work.deal(count, order) for order in range(work.orders)]
        starts = [
            _Start(
                name="dealing",
                schedule=_AFTER_DEALING,
                loss=work.deal(count, int(np.argmin(losses))),
                groups=work.groups_of_rows(),
            )
        ]
        # Mondrian's groups are the other start.
        cut = Mondrian().partition(problem).groups
        starts.append(_Start(name="mondrian", schedule=_AFTER_CUTTING, loss=work.set_groups_of_rows(cut), groups=cut))
        details: dict[str, Any] = {"smallest_dealt_size": size}
        details |= {f"{start.name}_loss": start.loss for start in starts}
        # A short search from each start shows which start is worth the full search.
        trials = [self._exchange(problem, work, start, self.effort // _MOVES_PER_TRIAL_MOVE) for start in starts]
        chosen = starts[int(np.argmin([loss for loss, _ in trials]))]
        # The result is the best partition of all searches.
        found = [*trials, self._exchange(problem, work, chosen, self.effort)]
        loss, best = min(found, key=lambda one: one[0])
        return best, {**details, "started_from": chosen.name, "loss": loss}

    def _exchange(
        self, problem: Problem, work: WorkingPartition, start: _Start, effort: int
    ) -> tuple[float, NDArray[np.int32]]:
        """Improve a start by local search; return the loss (at most that of the start) and the group of each row."""
        work.set_groups_of_rows(start.groups)
        # The number of moves grows with the rows, within a budget for wide tables.
        n = work.rows
        rounds = min(max(n // 8, _ROUNDS_RANGE[0]), _ROUNDS_RANGE[1]) if effort else 0
        moves = effort * max(
            min(n, _MAX_ROWS_OF_FULL_EFFORT) + max(n - _MAX_ROWS_OF_FULL_EFFORT, 0) // _DISCOUNT_IF_LARGE,
            _MIN_ROWS_OF_MOVES,
        )
        most = _MAX_WORK_OF_MOVES * max(effort, _DEFAULT_EFFORT) // _DEFAULT_EFFORT
        if moves * work.table.width > most:
            moves = most // work.table.width
            work.shorten()
        # Rounds of moves at falling temperatures, with splits in between.
        for number in range(rounds):
            problem.progress(self.name, number, rounds)
            if number % _ROUNDS_PER_CUT == _ROUNDS_PER_CUT - 1:
                work.cut(number // _ROUNDS_PER_CUT)
            temperature, power = start.schedule.at(number / (rounds - 1))
            work.exchange(-(-moves // rounds), temperature, power)
        # Split groups until no half is acceptable.
        while work.cut(0):
            pass
        problem.progress(self.name, max(rounds, 1), max(rounds, 1))
        loss = work.loss()
        return (loss, work.groups_of_rows()) if loss < start.loss else (start.loss, start.groups)


def _smallest_dealt_size(work: WorkingPartition) -> tuple[int, int]:
    """Find the smallest size at which hardly any dealt group fails; return it and the number of groups to deal."""
    # Larger sizes deviate less from the table's shares; steps of 5 % suffice.
    size = min(work.smallest, work.rows)
    while size < work.rows and not work.may_be_dealt(work.rows // size, _MAX_FAILED_SHARE):
        size = max(size + 1, size * 21 // 20)
    return size, max(1, int(work.rows / (_DEALT_SIZE_FACTOR * size)))
