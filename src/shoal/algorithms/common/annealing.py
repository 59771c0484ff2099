"""Annealing over pairs of a row type and an output type: its start, and its cooling schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.common.annealing_kernel import Choices, Placement, anneal, place_all

_FEWEST_MOVED = 1_024
"""Smallest room for rows moved by one step: a step that would move more rows is not made."""


class Cooling(NamedTuple):
    """Schedule of a run: temperatures and penalties, in the unit of the costs."""

    rounds: int
    """Number of temperatures, at least 2."""
    temperatures: tuple[float, float]
    """The first and the last temperature; the others fall by a constant factor."""
    penalties: tuple[float, float]
    """Penalty of each row that a group lacks, at the first and the last round; the others rise by a constant amount."""


def choices_of(
    types: NDArray[np.int32], outputs: NDArray[np.int64], rows: NDArray[np.int64], costs: NDArray[np.float64], k: int
) -> tuple[Choices, NDArray[np.int64]]:
    """Build the choices of rows, and the order of their pairs by row type.

    Parameters
    ----------
    types, outputs : integer arrays
        The row type and the output type of each pair, by output type.
    rows : int64 array
        Number of rows of each row type.
    costs : float64 array
        Cost of a row in each output type; every output type is in a pair.
    k : int
    """
    # The pairs are listed from both sides: by row type, and by output type.
    by_type = np.argsort(types, kind="stable")
    choices = Choices(
        type_starts=np.searchsorted(types[by_type], np.arange(len(rows) + 1)).astype(np.int64),
        outputs=outputs[by_type].astype(np.int32),
        output_starts=np.searchsorted(outputs, np.arange(len(costs) + 1)).astype(np.int64),
        types=types,
        row_starts=np.concatenate([[0], np.cumsum(rows)]).astype(np.int64),
        type_of=np.repeat(np.arange(len(rows), dtype=np.int32), rows),
        costs=costs,
        k=k,
    )
    return choices, by_type


def placement_of(choices: Choices, output_of: NDArray[np.int32]) -> Placement:
    """Build the placement of rows in given output types; the array becomes a part of it."""
    total, count = len(choices.type_of), len(choices.costs)
    # Room to undo a step: dissolving a group moves all of its rows.
    moved = max(_FEWEST_MOVED, 4 * choices.k)
    placement = Placement(
        output_of=output_of,
        load=np.empty(count, dtype=np.int64),
        first=np.empty(count, dtype=np.int32),
        following=np.empty(total, dtype=np.int32),
        before=np.empty(total, dtype=np.int32),
        moved=np.empty(moved, dtype=np.int32),
        origin=np.empty(moved, dtype=np.int32),
    )
    place_all(placement)
    return placement


def cool(
    choices: Choices,
    placement: Placement,
    cooling: Cooling,
    *,
    steps: int,
    random: NDArray[np.uint64],
    should_continue: Callable[[int], bool],
) -> None:
    """Anneal a placement from the first temperature to the last.

    Parameters
    ----------
    choices : Choices
    placement : Placement
        Changed in place.
    cooling : Cooling
    steps : int
        Steps of each round.
    random : uint64[1]
        State of the random numbers, not 0.
    should_continue : callable
        Called before each round with its number, from 0; annealing ends if it returns False.
    """
    hot, cold = cooling.temperatures
    first, last = cooling.penalties
    # Geometric cooling; the penalty rises linearly, so that short groups disappear at the end.
    for number in range(cooling.rounds):
        if not should_continue(number):
            return
        done = number / (cooling.rounds - 1)
        penalty = first + (last - first) * done
        temperature = hot * (cold / hot) ** done
        anneal(choices, placement, penalty, temperature, steps, random)
