# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Align the rows of the persons of a bundle: which row of each person has which position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.algorithms.local_search.losses_kernel import MISSING, MODE, SET, STAR, span

__all__ = ["Alignment", "align_rows"]

MARGIN = 1e-9
"""Smallest decrease of a loss that counts; errors of rounding are smaller."""
ENDLESS = 1e300
"""Above the loss of any bundle."""
GIVEN_ORDER: int = -1
"""No template: persons keep the order of their rows."""


class Alignment(NamedTuple):
    """Scratch for one bundle: its positions while persons join, and the assignment of a person's rows to them."""

    members: NDArray[np.int32]
    """Rows at each position, shape (length, persons of the largest bundle)."""
    extents: NDArray[np.int32]
    """Smallest and largest code of each attribute at each position, shape (length, attributes, 2)."""
    distinct: NDArray[np.int64]
    """Number of different codes of each attribute at each position, for attributes that are recoded to sets."""
    losses: NDArray[np.float64]
    """Loss of each row at each position."""
    costs: NDArray[np.float64]
    """Increase of the loss at each position if each row of a person joins, shape (length, length)."""
    prices: NDArray[np.float64]
    """Dual prices of positions and of rows, and the least reduced cost of each row, shape (3, length + 1)."""
    matched: NDArray[np.int64]
    """Position that each row is matched with, and the row before it on its path, shape (2, length + 1). Both are
    counted from 1; 0 is none."""
    reached: NDArray[np.bool_]
    """Whether a path reaches each row, shape (length + 1,)."""


@kernel
def align_rows(rows, starts, losses, templates, scratch):
    """Reorder the rows of persons if their bundle loses less by it.

    The rows of one person, the template, begin the positions. The other persons join one after another, each in the
    order that increases the loss of the positions least, which is an assignment problem. Several persons are tried as
    template.

    Parameters
    ----------
    rows : int32[persons, length]
        The rows of each person in their positions, bundle by bundle. They are reordered within persons.
    starts : int64[bundles + 1]
        First person of each bundle.
    losses : Losses
        The rows, and the losses of recoding them.
    templates : int
        Most persons of a bundle that are tried as template.
    scratch : Alignment
        Room for the largest bundle.

    Returns
    -------
    int
        Number of bundles that lose less.
    """
    best = np.empty_like(scratch.members)
    improved = 0
    for b in range(starts.size - 1):
        # The loss in the given order is to be improved on.
        begin, size = starts[b], starts[b + 1] - starts[b]
        given = _join_persons(rows, begin, size, GIVEN_ORDER, ENDLESS, losses, scratch)
        least, chosen = given, GIVEN_ORDER
        # Templates are tried until nothing is lost.
        for template in range(min(templates, size)):
            if least < MARGIN:
                break
            loss = _join_persons(rows, begin, size, template, least - MARGIN, losses, scratch)
            if loss < least - MARGIN:
                least, chosen = loss, template
                best[:, :size] = scratch.members[:, :size]
        # Members are in the order of joining.
        if chosen >= 0:
            improved += 1
            for i in range(size):
                rows[begin + _person_at(i, chosen)] = best[:, i]
    return improved


@inlined
def _person_at(i, template):
    """Find the person that joins as number i: the template changes places with the first one."""
    return template if i == 0 else 0 if i == template else i


@kernel_step
def _join_persons(rows, begin, size, template, limit, losses, scratch):
    """Fill the positions with the rows of a bundle; return the loss of one person, or `limit` if it is not less."""
    length = rows.shape[1]
    total = 0.0
    for i in range(size):
        person = begin + i if template < 0 else begin + _person_at(i, template)
        # The first person, and all without a template, keep the order of their rows.
        if template >= 0 and i > 0:
            for p in range(length):
                for q in range(length):
                    scratch.costs[p, q] = _loss_with(p, i, rows[person, q], losses, scratch) - scratch.losses[p]
            _assign(scratch)
        # Each row joins its position.
        for q in range(length):
            p = scratch.matched[0, q + 1] - 1 if template >= 0 and i > 0 else q
            before = scratch.losses[p] if i > 0 else 0.0
            _put(p, i, rows[person, q], losses, scratch)
            total += scratch.losses[p] - before
        # The loss of a position never decreases if a row joins.
        if total >= limit:
            return limit
    return total


@inlined
def _is_new(p, count, c, code, losses, scratch):
    """Test whether no row at a position has a code."""
    for i in range(count):
        if losses.codes[scratch.members[p, i], c] == code:
            return False
    return True


@kernel_step
def _loss_with(p, count, row, losses, scratch):
    """Compute the loss of each row at a position of `count` rows if a row joins."""
    total = 0.0
    for c in range(losses.columns.shape[0]):
        code = losses.codes[row, c]
        low, high = min(scratch.extents[p, c, 0], code), max(scratch.extents[p, c, 1], code)
        mode = losses.columns[c, MODE]
        # A single value is published as it is.
        if low == high:
            continue
        if mode == STAR:
            total += 1.0
        elif mode == SET:
            further = scratch.distinct[p, c] - 1 + (1 if _is_new(p, count, c, code, losses, scratch) else 0)
            # A missing value, which is the last code, makes a set a star, and so do too many values.
            star = high == losses.columns[c, MISSING] or further >= losses.largest_set
            total += 1.0 if star else losses.scales[c] * further
        else:
            total += span(mode, losses.positions, low, high)
    return total


@kernel_step
def _put(p, count, row, losses, scratch):
    """Add a row to a position of `count` rows."""
    # The first row begins the position.
    if count == 0:
        for c in range(losses.columns.shape[0]):
            scratch.extents[p, c] = losses.codes[row, c]
            scratch.distinct[p, c] = 0
    scratch.losses[p] = _loss_with(p, count, row, losses, scratch)
    for c in range(losses.columns.shape[0]):
        code = losses.codes[row, c]
        if losses.columns[c, MODE] == SET and _is_new(p, count, c, code, losses, scratch):
            scratch.distinct[p, c] += 1
        scratch.extents[p, c, 0] = min(scratch.extents[p, c, 0], code)
        scratch.extents[p, c, 1] = max(scratch.extents[p, c, 1], code)
    scratch.members[p, count] = row


@kernel_step
def _assign(scratch):
    """Match rows with positions at the least total cost: successive shortest augmenting paths.

    `scratch.matched[0]` receives the position of each row.
    """
    length = scratch.costs.shape[0]
    of_positions, of_rows, least = scratch.prices
    position, before = scratch.matched
    of_positions[:] = 0.0
    of_rows[:] = 0.0
    position[:] = 0
    for p in range(1, length + 1):
        # Find the shortest path from position p to a row that is free; 0 stands for the start.
        position[0] = p
        q = 0
        least[:] = ENDLESS
        scratch.reached[:] = False
        while position[q] != 0:
            scratch.reached[q] = True
            step, following = ENDLESS, 0
            for other in range(1, length + 1):
                if scratch.reached[other]:
                    continue
                reduced = scratch.costs[position[q] - 1, other - 1] - of_positions[position[q]] - of_rows[other]
                if reduced < least[other]:
                    least[other], before[other] = reduced, q
                if least[other] < step:
                    step, following = least[other], other
            # Change the dual prices so that the next row is at a reduced cost of 0.
            for other in range(length + 1):
                if scratch.reached[other]:
                    of_positions[position[other]] += step
                    of_rows[other] -= step
                else:
                    least[other] -= step
            q = following
        # Change the matches along the path.
        while q != 0:
            position[q] = position[before[q]]
            q = before[q]
