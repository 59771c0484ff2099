# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Row types that a fractional solution divides among more groups than their rows can fill.

For a set R of row types with q k + f rows, 0 < f < k, the output types j satisfy

    sum_j max(0, u_j - (rows of j from outside of R) / (k - f))  <=  q

in every whole solution. The search for a set that violates it goes from a set to the best of those that differ in one
row type, and does not turn back at once (tabu search).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Fraction", "violated_set"]

_TABU = 6
"""Steps that a row type stays where it was moved to."""


class Fraction(NamedTuple):
    """A solution of the linear program: the pairs that serve rows, by output type and by row type."""

    output_starts: NDArray[np.int64]
    """Where the pairs of each output type start; one more than there are output types."""
    types: NDArray[np.int32]
    """Row type of each pair."""
    rows: NDArray[np.float64]
    """Rows of each pair."""
    type_starts: NDArray[np.int64]
    """Where the pairs of each row type start in `by_type`."""
    by_type: NDArray[np.int32]
    """The pairs in the order of their row types."""
    output_of: NDArray[np.int32]
    """Output type of each pair."""
    opened: NDArray[np.float64]
    """How far each output type is used, from 0 to 1."""
    totals: NDArray[np.float64]
    """Rows of each output type."""
    sizes: NDArray[np.int64]
    """Rows of each row type in the table."""
    k: int


@inlined
def _excess(fraction, output, inside, missing):
    """Return what an output type counts for, where it has so many rows in the set."""
    return max(0.0, fraction.opened[output] - (fraction.totals[output] - inside) / missing)


@kernel_step
def _toggle(fraction, kind, chosen, inside, known, touched, count):
    """Put a row type into the set or take it out; return how many output types were touched so far."""
    sign = -1.0 if chosen[kind] else 1.0
    chosen[kind] = not chosen[kind]
    for e in range(fraction.type_starts[kind], fraction.type_starts[kind + 1]):
        pair = fraction.by_type[e]
        output = fraction.output_of[pair]
        if not known[output]:
            known[output] = True
            touched[count] = output
            count += 1
        inside[output] += sign * fraction.rows[pair]
    return count


@kernel
def violated_set(fraction, seed, steps):
    """Search for a violated set near an output type.

    Parameters
    ----------
    fraction : Fraction
    seed : int
        The search starts from the row types that this output type serves.
    steps : int

    Returns
    -------
    violation : float
        By how much the best set violates its inequality; not positive where none was found.
    chosen : bool[types]
        The set.
    """
    k = fraction.k
    kinds = fraction.sizes.size
    chosen = np.zeros(kinds, dtype=np.bool_)
    best_chosen = np.zeros(kinds, dtype=np.bool_)
    inside = np.zeros(fraction.opened.size)
    known = np.zeros(fraction.opened.size, dtype=np.bool_)
    touched = np.empty(fraction.opened.size, dtype=np.int32)
    waits = np.zeros(kinds, dtype=np.int64)
    seen = np.full(kinds, -1, dtype=np.int64)
    base = np.empty(k)
    count = np.int64(0)
    rows = np.int64(0)
    for pair in range(fraction.output_starts[seed], fraction.output_starts[seed + 1]):
        kind = fraction.types[pair]
        count = _toggle(fraction, kind, chosen, inside, known, touched, count)
        rows += fraction.sizes[kind]
    best = -1.0
    for step in range(steps):
        base[:] = -1.0
        moved, most = -1, -1e18
        for place in range(count):
            reached = touched[place]
            for other in range(fraction.output_starts[reached], fraction.output_starts[reached + 1]):
                kind = fraction.types[other]
                if seen[kind] == step or waits[kind] > step:
                    continue
                seen[kind] = step
                after = rows - fraction.sizes[kind] if chosen[kind] else rows + fraction.sizes[kind]
                f = after % k
                if after < k or f == 0:
                    continue
                missing = float(k - f)
                if base[f] < 0.0:
                    base[f] = 0.0
                    for p in range(count):
                        base[f] += _excess(fraction, touched[p], inside[touched[p]], missing)
                value = base[f] - after // k
                sign = -1.0 if chosen[kind] else 1.0
                for e in range(fraction.type_starts[kind], fraction.type_starts[kind + 1]):
                    pair = fraction.by_type[e]
                    output = fraction.output_of[pair]
                    value += _excess(fraction, output, inside[output] + sign * fraction.rows[pair], missing)
                    value -= _excess(fraction, output, inside[output], missing)
                if value > most:
                    moved, most = kind, value
        if moved < 0:
            break
        rows += -fraction.sizes[moved] if chosen[moved] else fraction.sizes[moved]
        count = _toggle(fraction, moved, chosen, inside, known, touched, count)
        waits[moved] = step + _TABU
        if most > best:
            best = most
            best_chosen[:] = chosen
    return best, best_chosen
