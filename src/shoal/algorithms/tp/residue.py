"""Completion of a residue: phases two and three of TP, and a last resort."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.tp.three_phase_kernel import PAUSED, phase_three, phase_two
from shoal.errors import InternalError
from shoal.models import FrequencyForm

_CELLS_PER_CALL = 1 << 28
"""Number of cells that a phase looks at before it returns for an interrupt: less than a second."""


def complete_residue(
    keep: NDArray[np.int32],
    values: NDArray[np.int32],
    starts: NDArray[np.int32],
    form: FrequencyForm,
    moved: NDArray[np.int64],
) -> int:
    """Move rows from acceptable groups to a residue until the residue is acceptable too.

    Parameters
    ----------
    keep : int32 array of shape (cells,)
        Rows that each cell of each group holds; changed in place. Every group is acceptable, before and after.
    values : int32 array of shape (cells,)
        Sensitive value of each cell.
    starts : int32 array of shape (groups + 1,)
        Start of each group among the cells.
    form : FrequencyForm
        The requirement. All rows together satisfy it.
    moved : int64 array of shape (m,)
        Rows of the residue by sensitive value; changed in place.

    Returns
    -------
    int
        The phase that completed the residue: 1 if it was acceptable from the start, 2, 3, or 4 if whole groups had to
        be dissolved, which never happens for an integer l >= k (Xiao, Yi, Tao 2010, Lemma 5.18).
    """
    num, den, k = form.l.numerator, form.l.denominator, form.k

    def acceptable() -> bool:
        size = int(moved.sum())
        return size == 0 or (num * int(moved.max()) <= den * size and size >= k)

    # The phases in the order of the paper; each starts from the end of the one before.
    if acceptable():
        return 1
    given = keep, values, starts, num, den, k, moved, _CELLS_PER_CALL
    while (ended := phase_two(*given)) == PAUSED:
        pass
    if ended:
        return 2
    ended = phase_three(*given, False)
    while ended == PAUSED:
        ended = phase_three(*given, True)
    if ended:
        return 3
    # Last resort: dissolve whole groups, the smallest first, because they add the fewest rows.
    sizes = np.add.reduceat(keep, starts[:-1])
    for group in np.argsort(sizes, kind="stable"):
        cells = slice(starts[group], starts[group + 1])
        np.add.at(moved, values[cells], keep[cells])
        keep[cells] = 0
        if acceptable():
            return 4
    raise InternalError("a residue could not be completed although the whole table is acceptable")
