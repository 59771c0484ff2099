"""l-diversity that also holds for an adversary who knows the algorithm, all quasi-identifiers and the release.

References
----------
X. Xiao, Y. Tao and N. Koudas: Transparent anonymization: thwarting adversaries who know the algorithm. ACM TODS 35(2),
2010, for the question. The algorithm and its proof are ours: `docs/transparent.md`.
X. Xiao and Y. Tao: Anatomy: simple and effective privacy preservation. VLDB 2006, for the groups drawn by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.hilbert.hilbert import curve_ranks
from shoal.algorithms.transparent.pairing import group_colors
from shoal.algorithms.transparent.values import chance_groups, choose_colors, split_counts
from shoal.models import Requirement


@dataclass(frozen=True)
class Transparent(Algorithm):
    """Group rows so that exchanging sensitive values within a group would have led to the same groups.

    An adversary who knows this algorithm, the quasi-identifiers of all rows and the release, but not the random
    numbers, believes in no sensitive value of a row with more than 1/l: every way to distribute the values of a group
    over its rows that the proof pairs up is equally likely.

    Notes
    -----
    * The frequencies of the values decide their colors: a power of two of them, at least l, with equally many rows.
      Rows that do not fit are drawn by chance, and grouped by chance.
    * Rows of different colors that are neighbors on a Hilbert curve are paired. Pairs of one color are paired again as
      wholes, until all are paired; whose pairs differ is all that this reveals, and an exchange within a pair of
      blocks changes nothing of it. Pairs are combined to groups of all colors in the same way.
    * Values must not depend on the quasi-identifiers in the adversary's mind beforehand; see the page for what else
      is not promised.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, algorithm=shoal.Transparent()
    ... )
    >>> release.certificate.achieved["l"]["frequency"] >= 2
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(resists_minimality=True)
    """Capabilities of the algorithm."""
    name: ClassVar[str] = "transparent"
    """Name of the algorithm in requests and certificates."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why the algorithm cannot serve a requirement; see `Algorithm.unsupported`."""
        form = requirement.frequency_form()
        return None if form is not None else "it serves k-anonymity and l-diversity by frequency on one attribute"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        problem.progress(self.name, 0, 2)
        table, form = problem.table, problem.frequency_form
        # Rows along the curve; rows of one point in random order, since only their values differ.
        places, points = _order_along_curve(problem)
        problem.progress(self.name, 1, 2)
        if form.l > 1:
            values = table.sensitive[form.sensitive or 0].codes[places].astype(np.int64)
            groups = _group_values(values, points, ceil(form.l), form.k, problem.rng)
        else:  # without values to protect: rows along the curve
            groups = list(np.arange(table.rows)[:, None])
        # Groups of too few rows are joined with the next ones along the curve.
        of_place = _number_groups(groups, form.k, table.rows)
        labels = np.empty(table.rows, dtype=np.int32)
        labels[places] = of_place
        problem.progress(self.name, 2, 2)
        return Partition.of(labels, Guarantee(promise=Fact("transparent", l=ceil(form.l))))


def _order_along_curve(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order all rows along the Hilbert curve through the quasi-identifiers, ties by chance; return their points."""
    # A row of each class stands for it on the curve.
    classes = problem.table.classes
    firsts = classes.order[classes.cell_starts[classes.class_starts[:-1]]]
    ranks = curve_ranks(problem.table, firsts, True, problem.levels if problem.hierarchies else ())
    of_rows = ranks[classes.of_rows].astype(np.int64)
    order = np.lexsort((problem.rng.permutation(problem.table.rows), of_rows))
    return order, of_rows[order]


def _group_values(
    values: NDArray[np.int64],
    points: NDArray[np.int64],
    l: int,
    k: int,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Group rows, numbered along the curve, by their sensitive values and points."""
    rows, counts = len(values), np.bincount(values)
    if int(counts.max()) * l > rows:
        return [np.arange(rows)]  # only with a fraction l: all rows are one group
    # The number of colors is the least power of two that allows groups of k rows, else of l.
    number = next((n for n in (_power_of_two(max(l, k)), _power_of_two(l)) if int(counts.max()) * n <= rows), 0)
    left = counts if not number else split_counts(counts, (colors := choose_colors(counts, number)), number, l)
    by_chance = _draw(values, left, rng)
    groups = _deal_by_chance(values, by_chance, l)
    # All others are grouped by colors.
    others = np.setdiff1d(np.arange(rows), by_chance)
    if len(others):
        groups += list(group_colors(others[:, None], points, colors[values[others]], number.bit_length() - 1, rng))
    return groups


def _power_of_two(number: int) -> int:
    """Return the least power of two that is at least a number."""
    return 1 << (number - 1).bit_length()


def _draw(values: NDArray[np.int64], times: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a number of rows of each value, in random order within a value."""
    in_order = np.argsort(values, kind="stable")
    starts = np.searchsorted(values[in_order], np.arange(len(times) + 1))
    drawn = [
        rng.permutation(in_order[starts[value] : starts[value + 1]])[: times[value]] for value in np.flatnonzero(times)
    ]
    return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)


def _deal_by_chance(values: NDArray[np.int64], rows: NDArray[np.int64], l: int) -> list[NDArray[np.int64]]:
    """Group rows in random order: their values decide the form of the groups, and the order which rows fill it."""
    if not len(rows):
        return []
    of_value = {int(value): iter(rows[values[rows] == value].tolist()) for value in np.unique(values[rows])}
    forms = chance_groups(np.bincount(values[rows]), l)
    return [np.array([next(of_value[value]) for value in form]) for form in forms]


def _number_groups(groups: list[NDArray[np.int64]], k: int, rows: int) -> NDArray[np.int32]:
    """Give groups their numbers along the curve; each takes the next ones until it has k rows."""
    of_row, number, size = np.empty(rows, dtype=np.int32), 0, 0
    for group in sorted(groups, key=lambda one: int(one.min())):
        # The last group is never too small: its rows join the group before.
        if size >= k:
            number, size = number + 1, 0
        of_row[group] = number
        size += len(group)
    if size < k and number:
        of_row[of_row == number] = number - 1
    return of_row
