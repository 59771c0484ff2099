# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""A lower bound on stars: the projections that can hold a group, and dual weights that are raised step by step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import kernel, kernel_step, linear_kernel
from shoal.algorithms.tp.three_phase_kernel import largest_height

__all__ = ["WEIGHT_UNIT", "Items", "bound_of_weights", "raise_weights", "viable_cells"]

WEIGHT_UNIT = 1 << 24
"""Weights are rounded down to multiples of 1 / WEIGHT_UNIT before the bound is computed, in integers."""


class Items(NamedTuple):
    """Rows that must be starred, and the projections that could hold them.

    Item i stands for `rows[i]` rows. A family f of projections is a pattern, or all patterns with at least a number of
    stars.
    """

    cell_of: NDArray[np.int32]
    """The cell of item i in family f, shape (items, families); -1 if that cell cannot hold a group."""
    pair_of: NDArray[np.int32]
    """The pair of cell and value of item i in family f, numbered cell by cell."""
    stars: NDArray[np.int64]
    """Stars of a row in each family."""
    pair_starts: NDArray[np.int64]
    """The pairs of cell c are `pair_starts[c]:pair_starts[c + 1]`."""
    rows: NDArray[np.int64]
    company: NDArray[np.int64]
    """Lower bound on the rows of the groups of cell c for each item row in one of them, in multiples of 1 /
    WEIGHT_UNIT: k over the item rows that the cell could hold, if these are fewer than k."""


@linear_kernel
def viable_cells(keys, cells, radix, counts, num, den, k, distinct):
    """Test for each cell whether its projection can hold an acceptable group.

    `keys` (sorted) are `projection * radix + value`, `cells` are sorted with them, `counts[cell]` rows each. A
    projection can hold a group if a part of it has `num * h <= den * size`, at least k rows and `distinct` values.
    """
    n = cells.size
    viable = np.zeros(counts.size, dtype=np.bool_)
    merged = np.empty(n, dtype=np.int32)
    # One projection at a time: a run of keys.
    i = 0
    while i < n:
        end = (keys[i] // radix + 1) * radix
        last = np.int64(-1)
        values = np.int64(0)
        j = i
        # Merge the cells of the run with equal values.
        while j < n and keys[j] < end:
            if keys[j] != last:
                last = keys[j]
                merged[values] = 0
                values += 1
            merged[values - 1] += counts[cells[j]]
            j += 1
        # Lemma 5.8 of TP decides; all cells of the run share the answer.
        if values >= distinct and largest_height(merged, np.int64(0), values, num, den, k) > 0:
            for p in range(i, j):
                viable[cells[p]] = True
        i = j
    return viable


@kernel_step
def _project_on_simplex(lam, beta, start, stop):
    """Project (lam, beta[start:stop]) onto the simplex of nonnegative entries with sum 1; return the new lam."""
    # The sum of all entries, lam among them.
    count = stop - start + 1
    total = lam
    for p in range(start, stop):
        total += beta[p]
    # Entries below the threshold become 0 and are dropped; the threshold only rises, so the loop ends (Michelot 1986).
    threshold = (total - 1.0) / count
    while True:
        inside = 0
        total = 0.0
        if lam > threshold:
            inside += 1
            total += lam
        for p in range(start, stop):
            if beta[p] > threshold:
                inside += 1
                total += beta[p]
        if inside >= count or inside == 0:
            break
        count = inside
        threshold = (total - 1.0) / count
    for p in range(start, stop):
        beta[p] = max(beta[p] - threshold, 0.0)
    return max(lam - threshold, 0.0)


@kernel_step
def _deflected(lam_step, beta_step, lam_last, beta_last, pair_starts, scale):
    """Project a step onto the simplices' planes and deflect it from the last step; return its squared length."""
    # Subtract the mean of each cell, so that the step keeps the sums; compare with the last step in the scaled product.
    inner = 0.0
    before = 0.0
    for c in range(scale.size):
        start, stop = pair_starts[c], pair_starts[c + 1]
        mean = lam_step[c]
        for p in range(start, stop):
            mean += beta_step[p]
        mean /= stop - start + 1
        lam_step[c] -= mean
        product = lam_step[c] * lam_last[c]
        squares = lam_last[c] ** 2
        for p in range(start, stop):
            beta_step[p] -= mean
            product += beta_step[p] * beta_last[p]
            squares += beta_last[p] ** 2
        inner += product / scale[c]
        before += squares / scale[c]
    # Deflect only if the steps disagree (Camerini, Fratta, Maffioli 1975).
    deflection = -1.5 * inner / before if inner < 0.0 else 0.0
    length = 0.0
    # Store the step for the next round.
    for c in range(scale.size):
        lam_step[c] += deflection * lam_last[c]
        lam_last[c] = lam_step[c]
        squares = lam_step[c] ** 2
        for p in range(pair_starts[c], pair_starts[c + 1]):
            beta_step[p] += deflection * beta_last[p]
            beta_last[p] = beta_step[p]
            squares += beta_step[p] ** 2
        length += squares / scale[c]
    return length


@kernel
def raise_weights(items, scale, l, lam, beta, target, steps, tolerance):
    """Raise the dual bound by projected subgradient steps towards `target`; return the best weights.

    Groups in cell c with n_v rows of value v have at least `sum_v n_v * (company[c] * lam[c] + l * beta[c, v])` rows
    if lam and beta are a convex combination. `lam` and `beta` are the start, and change. A step shares each item among
    the families within `tolerance` of its least price (relatively), is scaled by the rows of each cell (`scale[c]`:
    divisor of the cell's step), and is deflected by the last step if they disagree (Camerini, Fratta, Maffioli 1975).
    """
    cell_of, pair_of, stars, pair_starts, rows, company = items
    families = cell_of.shape[1]
    cells, pairs = lam.size, beta.size
    # The best weights so far: steps may lower the bound.
    best_lam = np.empty(cells, np.float64)
    best_beta = np.empty(pairs, np.float64)
    best = -1.0
    lam_step = np.zeros(cells, np.float64)
    beta_step = np.zeros(pairs, np.float64)
    lam_last = np.zeros(cells, np.float64)
    beta_last = np.zeros(pairs, np.float64)
    share = np.empty(families, np.float64)
    # Whole-array expressions would be shorter, but take several times as long to compile.
    for taken in range(steps + 1):
        value = 0.0
        for c in range(cells):
            lam_step[c] = 0.0
        for p in range(pairs):
            beta_step[p] = 0.0
        # The price of an item is its cheapest family.
        for i in range(rows.size):
            least = np.inf
            for f in range(families):
                share[f] = np.inf
                if cell_of[i, f] >= 0:
                    many = company[cell_of[i, f]] / WEIGHT_UNIT
                    share[f] = stars[f] * (many * lam[cell_of[i, f]] + l * beta[pair_of[i, f]])
                    least = min(least, share[f])
            # Share the item's subgradient among the families that are nearly cheapest.
            value += rows[i] * least
            near = 0
            for f in range(families):
                if share[f] <= least * (1.0 + tolerance):
                    near += 1
            part = rows[i] / near
            for f in range(families):
                if share[f] <= least * (1.0 + tolerance):
                    lam_step[cell_of[i, f]] += part * stars[f] * (company[cell_of[i, f]] / WEIGHT_UNIT)
                    beta_step[pair_of[i, f]] += part * stars[f] * l
        # Keep the best bound.
        if value > best:
            best = value
            for c in range(cells):
                best_lam[c] = lam[c]
            for p in range(pairs):
                best_beta[p] = beta[p]
        # Stop at the target, or after the last step.
        if value >= target or taken == steps:
            break
        # A step of Polyak's length towards the target.
        length = _deflected(lam_step, beta_step, lam_last, beta_last, pair_starts, scale)
        if length == 0.0:
            break
        step = (target - value) / length
        # Move each cell's weights, and project them back onto the simplex.
        for c in range(cells):
            start, stop = pair_starts[c], pair_starts[c + 1]
            own = step / scale[c]
            for p in range(start, stop):
                beta[p] += own * beta_step[p]
            lam[c] = _project_on_simplex(lam[c] + own * lam_step[c], beta, start, stop)
    return best_lam, best_beta


@linear_kernel
def bound_of_weights(items, num, den, lam, beta):
    """Compute the bound as a multiple of 1 / WEIGHT_UNIT stars; a cell's weights sum to at most WEIGHT_UNIT."""
    # As in `raise_weights`, but rounded down everywhere: the bound is exact.
    total = np.int64(0)
    for i in range(items.rows.size):
        least = np.int64(1) << 60
        # Families that cannot hold the item are skipped.
        for f in range(items.stars.size):
            c = items.cell_of[i, f]
            if c >= 0:
                many = lam[c] * items.company[c] // WEIGHT_UNIT
                least = min(least, items.stars[f] * (many + num * beta[items.pair_of[i, f]] // den))
        total += items.rows[i] * least
    return total
