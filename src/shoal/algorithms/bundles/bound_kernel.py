# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Cells that persons lose at least in any bundle: compare the values of persons, then share the cost of bundles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import kernel, kernel_step
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["WidePersons", "least_losses_of_persons", "raise_charges"]

MAX_GRID = 8_192
"""Largest grid of losses by column; above this size several columns share an axis. More did not raise any bound of the
benchmark `linked`."""


class WidePersons(NamedTuple):
    """Values of persons with several rows, person by person; the order of the rows of a person does not matter."""

    starts: NDArray[np.int64]
    """First row of each person; one more than there are persons."""
    personal: NDArray[np.int32]
    """Codes of the columns that are constant within every person, shape (persons, columns)."""
    varying: NDArray[np.int32]
    """Codes of the other columns, shape (columns, rows); each column is sorted within each person."""
    together: NDArray[np.int32]
    """Code of each row in all varying columns together, shape (1, rows), sorted within each person."""


@kernel_step
def _count_shared(codes, j, begin, end, other, other_end):
    """Count the common entries of two sorted runs of the codes of column j, with their multiplicities."""
    shared = np.int64(0)
    while begin < end and other < other_end:
        if codes[j, begin] == codes[j, other]:
            shared += 1
            begin += 1
            other += 1
        elif codes[j, begin] < codes[j, other]:
            begin += 1
        else:
            other += 1
    return shared


@kernel_step
def _count_shared_values(persons, u, w, shared):
    """Count the values that two persons have in common: in each column, the personal ones first, then in whole rows."""
    begin, end = persons.starts[u], persons.starts[u + 1]
    other, other_end = persons.starts[w], persons.starts[w + 1]
    personal, varying = persons.personal.shape[1], persons.varying.shape[0]
    for j in range(personal):
        shared[j] = min(end - begin, other_end - other) if persons.personal[u, j] == persons.personal[w, j] else 0
    for j in range(varying):
        shared[personal + j] = _count_shared(persons.varying, j, begin, end, other, other_end)
    shared[personal + varying] = _count_shared(persons.together, ZERO, begin, end, other, other_end)


@kernel_step
def _losses_of_pair(shared, length, personal, losses):
    """Bound the cells of `length` published rows of a person that differ if another person publishes the same rows.

    `losses` receives a bound for each column. The bound for all columns is returned.
    """
    # A column keeps at most the values that both persons have.
    columns = losses.size
    total, apart = np.int64(0), np.int64(0)
    for j in range(columns):
        losses[j] = max(length - shared[j], 0)
        total += losses[j]
        if j < personal:
            apart += losses[j]
    # A row that only one of them has loses at least one cell, apart from the personal ones.
    return max(total, apart + max(length - shared[columns], 0))


@kernel_step
def _lay_out_grid(personal, columns, length, sizes, steps):
    """Choose the axes of a grid of losses: one for each column, but several share the last one if there are too many.

    `sizes` and `steps` receive the points of each axis, and the loss from one to the next. Returns the number of axes.
    """
    # Try the fewest columns on the last axis first.
    for axes in range(columns, 0, -1):
        points = np.int64(1)
        for axis in range(axes):
            whole = axis < personal and (axis < axes - 1 or axes == columns)
            steps[axis] = length if whole else 1
            many = 1 if axis < axes - 1 else columns - axes + 1
            sizes[axis] = 2 if whole else length * many + 1
            points *= sizes[axis]
            if points > MAX_GRID:
                break
        if points <= MAX_GRID:
            break
    return max(axes, 1)


@kernel_step
def _cheapest_point(counts, costs, sizes, steps, axes, k, highest):
    """Find the smallest loss of a grid's point that bounds the losses of k - 1 persons; `highest` if none is less.

    `counts` has the number of persons at each point; it changes. `costs` is scratch of the same size: 0.
    """
    # Add up the counts along each axis.
    stride = np.int64(1)
    for axis in range(axes):
        block = stride * sizes[axis]
        for begin in range(0, counts.size, block):
            for p in range(begin + stride, begin + block):
                counts[p] += counts[p - stride]
                costs[p] = costs[p - stride] + steps[axis]
        # The loss along earlier axes is part of it: the first points of the block have it already.
        stride = block
    best = highest
    for p in range(counts.size):
        if counts[p] >= k - 1 and costs[p] < best:
            best = costs[p]
    return best


@kernel
def least_losses_of_persons(persons, k, may_leave_out, found):
    """Compute the cells that each person loses at least in any bundle.

    A bundle that keeps the values of a person in all but some cells of each column has k - 1 other persons that differ
    in no more cells of any column. The cheapest such numbers of cells bound the loss, and so does the (k - 1)-th
    smallest loss with another person.

    Parameters
    ----------
    persons : WidePersons
    k : int
        Fewest persons of a bundle, at least 2.
    may_leave_out : bool
        Whether persons may publish fewer rows than they have; all cells of the other rows are lost. Otherwise the
        persons of a bundle have equally many rows.
    found : int64[n]
        Receives the number of cells for each person.
    """
    personal = persons.personal.shape[1]
    columns = personal + persons.varying.shape[0]
    losses = np.zeros(columns, dtype=np.int64)
    sizes = np.ones(columns, dtype=np.int64)
    steps = np.ones(columns, dtype=np.int64)
    shared = np.zeros((found.size, columns + 1), dtype=np.int64)
    for u in range(found.size):
        own = persons.starts[u + 1] - persons.starts[u]
        for w in range(found.size):
            rows = persons.starts[w + 1] - persons.starts[w]
            if w != u and (rows == own or may_leave_out):
                _count_shared_values(persons, u, w, shared[w])
        best = own * columns
        # Publish all rows, then fewer, while the rows that are left out do not cost too much alone.
        length = own
        while length > 0 and (own - length) * columns < best:
            left = (own - length) * columns
            axes = _lay_out_grid(personal, columns, length, sizes, steps)
            points = np.int64(1)
            for axis in range(axes):
                points *= sizes[axis]
            counts, costs = np.zeros(points, dtype=np.int64), np.zeros(points, dtype=np.int64)
            by_loss = np.zeros(best - left, dtype=np.int64)
            # Other persons that can publish as many rows, at a loss below the best one so far.
            for w in range(found.size):
                rows = persons.starts[w + 1] - persons.starts[w]
                if w == u or rows < length or (rows > own and not may_leave_out):
                    continue
                loss = _losses_of_pair(shared[w], length, personal, losses)
                if left + loss >= best:
                    continue
                by_loss[loss] += 1
                point, stride = np.int64(0), np.int64(1)
                for axis in range(axes):
                    along = losses[axis]
                    if axis == axes - 1:
                        for j in range(axes, columns):
                            along += losses[j]
                    point += stride * (along // steps[axis])
                    stride *= sizes[axis]
                counts[point] += 1
            # The (k - 1)-th nearest person; no bundle is better than the best so far if there are fewer.
            nearest, within = np.int64(0), np.int64(0)
            while nearest < by_loss.size:
                within += by_loss[nearest]
                if within >= k - 1:
                    break
                nearest += 1
            cheapest = _cheapest_point(counts, costs, sizes, steps, axes, k, best - left)
            best = min(best, left + max(nearest, cheapest))
            if not may_leave_out:
                break
            length -= 1
        found[u] = best


@kernel
def raise_charges(persons, k, losses, order, charges):
    """Charge persons more than they lose themselves, if their bundles cost other persons more than these must lose.

    All persons of a bundle publish the same rows, hence the same number of stars: that of the person that loses most.
    The charges of the persons of every possible bundle add up to no more than its stars: a dual solution of the program
    over all bundles, whose sum is a bound.

    Parameters
    ----------
    persons : WidePersons
        Persons with equally many rows.
    k : int
        Fewest persons of a bundle, at least 2.
    losses : int64[n]
        Cells that each person loses at least.
    order : int64[n]
        Persons in the order in which their charges are raised.
    charges : int64[n]
        Charges that no bundle exceeds, such as `losses`. They rise.
    """
    n = losses.size
    personal = persons.personal.shape[1]
    columns = personal + persons.varying.shape[0]
    length = persons.starts[1] - persons.starts[0]
    scratch = np.zeros(columns, dtype=np.int64)
    shared = np.zeros(columns + 1, dtype=np.int64)
    heads = np.empty(length * columns + 1, dtype=np.int64)
    following = np.empty(n, dtype=np.int64)
    highest = np.empty(n, dtype=np.int64)
    for place in range(order.size):
        u = order[place]
        # List the other persons by the stars of a row-for-row equal bundle with them.
        heads[:] = -1
        for w in range(n):
            if w != u:
                _count_shared_values(persons, u, w, shared)
                stars = max(_losses_of_pair(shared, length, personal, scratch), losses[u], losses[w])
                following[w] = heads[stars]
                heads[stars] = w
        # For each number of stars, the bundle whose other persons are charged most leaves the least for this one.
        best = k * heads.size
        filled = 0
        for stars in range(losses[u], heads.size):
            w = heads[stars]
            while w >= 0:
                charge = charges[w]
                w = following[w]
                # Neither among the k - 1 highest, nor above the stars of this or any later number: never chosen.
                if filled >= k - 1 and charge <= highest[k - 2] and charge <= stars:
                    continue
                p = filled
                while p > 0 and highest[p - 1] < charge:
                    highest[p] = highest[p - 1]
                    p -= 1
                highest[p] = charge
                filled += 1
            if filled < k - 1:
                continue
            left = stars
            for p in range(filled):
                if p >= k - 1 and highest[p] <= stars:
                    break
                left += stars - highest[p]
            best = min(best, left)
        charges[u] = max(charges[u], best)
