# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Separation of sets of row types that a fractional solution divides among more groups than their rows can fill.

For a set R of row types with q k + f rows, 0 < f < k, the output types j satisfy

    sum_j max(0, u_j - (rows of j from outside of R) / (k - f))  <=  q

in every integer solution. The search for a violated set moves from a set to the best of the sets that differ in one row
type, and does not reverse a move at once (tabu search).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._core.compiling import inlined, kernel, kernel_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fraction", "violated_set"]

_TABU = 6
"""Number of steps before a row type may be moved again."""


class Fraction(NamedTuple):
    """A solution of the linear program: the pairs with rows, by output type and by row type."""

    output_starts: NDArray[np.int64]
    """Start of the pairs of each output type; one more than there are output types."""
    types: NDArray[np.int32]
    """Row type of each pair."""
    rows: NDArray[np.float64]
    """Rows of each pair."""
    type_starts: NDArray[np.int64]
    """Start of the pairs of each row type in `by_type`."""
    by_type: NDArray[np.int32]
    """The pairs in the order of their row types."""
    output_of: NDArray[np.int32]
    """Output type of each pair."""
    opened: NDArray[np.float64]
    """Use of each output type, from 0 to 1."""
    totals: NDArray[np.float64]
    """Rows of each output type."""
    sizes: NDArray[np.int64]
    """Rows of each row type in the table."""
    k: int


@inlined
def _excess(fraction, output, inside, missing):
    """Compute the contribution of an output type, given its rows inside the set."""
    # The term of the sum in the module's inequality.
    return max(0.0, fraction.opened[output] - (fraction.totals[output] - inside) / missing)


@kernel_step
def _toggle(fraction, kind, chosen, inside, listed, touched, count):
    """Add a row type to the set or remove it; return the number of output types touched so far."""
    # Update the rows inside the set for each output type that the row type uses.
    sign = -1.0 if chosen[kind] else 1.0
    chosen[kind] = not chosen[kind]
    for e in range(fraction.type_starts[kind], fraction.type_starts[kind + 1]):
        pair = fraction.by_type[e]
        output = fraction.output_of[pair]
        # Touched output types are listed, so that sums do not run over all of them.
        if not listed[output]:
            listed[output] = True
            touched[count] = output
            count += 1
        inside[output] += sign * fraction.rows[pair]
    return count


@kernel
def violated_set(fraction, seed, steps):
    """Search for a violated set near an output type by tabu search.

    Parameters
    ----------
    fraction : Fraction
    seed : int
        Output type whose row types are the start of the search.
    steps : int

    Returns
    -------
    violation : float
        Violation of the inequality by the best set; not positive if none was found.
    chosen : bool[types]
        The set.
    """
    # State of the search: the set, its rows by output type, and the tabu list.
    k = fraction.k
    kinds = fraction.sizes.size
    chosen = np.zeros(kinds, dtype=np.bool_)
    best_chosen = np.zeros(kinds, dtype=np.bool_)
    inside = np.zeros(fraction.opened.size)
    listed = np.zeros(fraction.opened.size, dtype=np.bool_)
    touched = np.empty(fraction.opened.size, dtype=np.int32)
    waits = np.zeros(kinds, dtype=np.int64)
    seen = np.full(kinds, -1, dtype=np.int64)
    base = np.empty(k)
    count = np.int64(0)
    rows = np.int64(0)
    # Start with the row types of the seed.
    for pair in range(fraction.output_starts[seed], fraction.output_starts[seed + 1]):
        kind = fraction.types[pair]
        count = _toggle(fraction, kind, chosen, inside, listed, touched, count)
        rows += fraction.sizes[kind]
    best = -1.0
    # Each step tries all row types that share an output type with the set.
    for step in range(steps):
        base[:] = -1.0
        moved, most = -1, -1e18
        for place in range(count):
            reached = touched[place]
            for other in range(fraction.output_starts[reached], fraction.output_starts[reached + 1]):
                # A row type is tried once a step, unless it is tabu.
                kind = fraction.types[other]
                if seen[kind] == step or waits[kind] > step:
                    continue
                seen[kind] = step
                # The set needs more than k rows, and a remainder.
                after = rows - fraction.sizes[kind] if chosen[kind] else rows + fraction.sizes[kind]
                f = after % k
                if after < k or f == 0:
                    continue
                missing = float(k - f)
                # The sum for a remainder f is the same for all row types: compute it once a step.
                if base[f] < 0.0:
                    base[f] = 0.0
                    for p in range(count):
                        base[f] += _excess(fraction, touched[p], inside[touched[p]], missing)
                # Then correct it for the output types of the moved row type.
                value = base[f] - after // k
                sign = -1.0 if chosen[kind] else 1.0
                for e in range(fraction.type_starts[kind], fraction.type_starts[kind + 1]):
                    pair = fraction.by_type[e]
                    output = fraction.output_of[pair]
                    value += _excess(fraction, output, inside[output] + sign * fraction.rows[pair], missing)
                    value -= _excess(fraction, output, inside[output], missing)
                if value > most:
                    moved, most = kind, value
        # No admissible move is left.
        if moved < 0:
            break
        # Make the best move, also if it is worse than the present set.
        rows += -fraction.sizes[moved] if chosen[moved] else fraction.sizes[moved]
        count = _toggle(fraction, moved, chosen, inside, listed, touched, count)
        waits[moved] = step + _TABU
        # Remember the best set.
        if most > best:
            best = most
            best_chosen[:] = chosen
    return best, best_chosen
