"""Pareto-optimal points of a trade-off, and the knee of their curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

_CLEAR = 0.05
"""Minimum distance of a knee below the chord, as a share of the curve's height; a straight line has no knee."""


def unbeaten(points: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the indices of the Pareto-optimal points: no other point is as low in every measure and lower in one.

    Examples
    --------
    >>> unbeaten([(0.5, 0.1), (0.2, 0.3), (0.2, 0.4), (0.1, 0.3)])
    [0, 3]
    """

    def beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    return [at for at, point in enumerate(points) if not any(beats(other, point) for other in points)]


def knee_of(risks: Sequence[float], losses: Sequence[float]) -> int | None:
    """Return the index of the knee of a trade-off, beyond which more protection costs more than before.

    The knee is the point farthest below the straight line from the lowest protection and loss to the highest.
    Protection is measured in halvings of the risk, -log2; both axes are scaled to their range.

    Parameters
    ----------
    risks : sequence of float
        The risk of each point, above 0 and at most 1.
    losses : sequence of float
        The loss of each point.

    Returns
    -------
    int or None
        None if there is no knee: fewer than three points, or a curve that is nowhere clearly below the line.

    References
    ----------
    V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan, "Finding a 'kneedle' in a haystack: detecting knee points in system
    behavior", ICDCS Workshops 2011, Section III. doi:10.1109/ICDCSW.2011.20

    Examples
    --------
    >>> knee_of([1 / 2, 1 / 4, 1 / 8], [0.1, 0.2, 0.6])
    1
    >>> knee_of([1 / 2, 1 / 4, 1 / 8], [0.1, 0.2, 0.3])
    """
    # Scale both axes to 0 ... 1; a constant axis has no knee.
    halvings, lost = _scaled([-math.log2(risk) for risk in risks]), _scaled(losses)
    if len(losses) < 3 or halvings is None or lost is None:
        return None
    # The distance of each point from the chord of the scaled curve.
    below = [halving - loss for halving, loss in zip(halvings, lost, strict=True)]
    best = max(range(len(below)), key=lambda at: (below[at], -at))
    return best if below[best] >= _CLEAR else None


def _scaled(values: Sequence[float]) -> list[float] | None:
    """Scale values to 0 ... 1; return None if they are all equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) for value in values] if high > low else None
