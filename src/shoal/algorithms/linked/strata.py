"""Strata: units that publish equally many rows, enough of them, and with sensitive values that bundles can hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.algorithms.linked.choosing_kernel import RowValues, choose_rows
from shoal.algorithms.linked.lengths import published_lengths
from shoal.algorithms.linked.value_sets import ShareLimits, ValueSets
from shoal.errors import InfeasibleError


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Strata:
    """How many rows each unit publishes, and what the published rows hold."""

    lengths: NDArray[np.int64]
    """Number of rows that each unit publishes, at least 1."""
    kept: NDArray[np.bool_]
    """Whether each row is published."""
    values: ValueSets
    """Sensitive values of each unit in its published rows."""
    limits: ShareLimits
    """What each bundle must satisfy."""
    fewest_left_out: int
    """Rows that any choice of lengths leaves out if each is shared by `limits.least` units."""


def choose_strata(
    units: NDArray[np.integer],
    positions: NDArray[np.integer],
    columns: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], int]],
    limits_of: Callable[[ValueSets], ShareLimits],
    least: int,
) -> Strata:
    """Choose how many rows each unit publishes, so that every stratum can be cut into bundles.

    The choice that leaves out the fewest rows comes first, and the first rows of each unit stay. If a sensitive value
    has too large a share of a stratum, other rows of its units stay. If that does not help, the stratum is joined with
    the next shorter one, or the shortest with the next longer one, until none fails.

    Parameters
    ----------
    units : integer array
        Unit of each row, from 0 on; every number occurs.
    positions : integer array
        Place of each row among those of its unit, from 0 on.
    columns : sequence of (rows, codes, size)
        Sensitive values in each attribute: the row and the code of each, and the number of codes. A row may have
        several values.
    limits_of : callable
        Computes the limits from the sensitive values of all units.
    least : int
        Fewest units of a bundle.

    Raises
    ------
    InfeasibleError
        There are fewer units than `least`, or a value is too frequent even if each unit publishes one row.
    """
    of_units = np.bincount(units)
    count = len(of_units)
    if count < least:
        raise InfeasibleError(
            f"The table has {count} persons, fewer than the {least} that each group needs. The largest value is ",
            Suggestion("k", count),
            ".",
        )
    # Start from the choice that leaves out the fewest rows; it ignores sensitive values.
    lengths = published_lengths(of_units, least)
    fewest = int(of_units.sum() - lengths.sum())
    in_order: _RowsOfUnits | None = None
    while True:
        kept = positions < lengths[units]
        # Other rows stay only if the first ones fail.
        for attempt in range(2):
            held = [(units[rows[kept[rows]]], codes[kept[rows]], size) for rows, codes, size in columns]
            values = ValueSets.of(count, held)
            limits = limits_of(values)
            failing = _failing(lengths, values, limits)
            if not failing:
                return Strata(lengths=lengths, kept=kept, values=values, limits=limits, fewest_left_out=fewest)
            if attempt == 0:
                in_order = in_order or _RowsOfUnits.of(units, positions, columns)
                kept = in_order.choose([np.flatnonzero(lengths == length) for length in failing], kept, limits)
        # Longest first: joining with a shorter stratum leaves out rows of one stratum only.
        lengths = _shortened(lengths, failing[-1])


def _failing(lengths: NDArray[np.int64], values: ValueSets, limits: ShareLimits) -> list[int]:
    """List the numbers of rows of the strata in which a sensitive value has too large or too small a share."""
    strata = {length: np.flatnonzero(lengths == length) for length in np.unique(lengths).tolist()}
    return [
        length
        for length, members in strata.items()
        if len(limits.exceeded(values.select(members).counts(), len(members)))
    ]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _RowsOfUnits:
    """All rows, unit by unit, with their sensitive values."""

    order: NDArray[np.integer]
    """The rows in the order of their units and positions."""
    rows: RowValues
    """Their values."""

    @classmethod
    def of(
        cls,
        units: NDArray[np.integer],
        positions: NDArray[np.integer],
        columns: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], int]],
    ) -> _RowsOfUnits:
        """Sort the rows; see `choose_strata`."""
        order = np.lexsort((positions, units))
        places = np.argsort(order)
        sets = ValueSets.of(len(order), [(places[rows], codes, size) for rows, codes, size in columns])
        starts = np.concatenate(([0], np.cumsum(np.bincount(units)))).astype(np.int64)
        return cls(order=order, rows=RowValues(starts=starts, entries=sets.starts, values=sets.values))

    def choose(
        self, strata: Sequence[NDArray[np.integer]], kept: NDArray[np.bool_], limits: ShareLimits
    ) -> NDArray[np.bool_]:
        """Choose other rows of the units of some strata, as many of each as before."""
        stays = kept[self.order]
        for members in strata:
            choose_rows(members, self.rows, limits.most(len(members)), stays)
        chosen = np.empty_like(kept)
        chosen[self.order] = stays
        return chosen


def _shortened(lengths: NDArray[np.int64], failing: int) -> NDArray[np.int64]:
    """Join a failing stratum with its neighbour; the shorter number of rows is that of both."""
    known = np.unique(lengths)
    place = int(np.searchsorted(known, failing))
    if place > 0:
        return np.where(lengths == failing, known[place - 1], lengths)
    if len(known) > 1:
        return np.where(lengths == known[1], failing, lengths)
    if failing > 1:
        return lengths - 1
    raise InfeasibleError(
        "A sensitive value is too frequent: even if each person publishes one row, more persons share it than the "
        "models allow. Choose a smaller value of ",
        Suggestion("l"),
        ", or more values.",
    )
