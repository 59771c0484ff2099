"""The transportation problem in integers, solved exactly by successive shortest paths."""

from __future__ import annotations

from collections.abc import Sequence


def cheapest_transport(supplies: Sequence[int], demands: Sequence[int], costs: Sequence[Sequence[int]]) -> int:
    """Return the least cost of a transport, exactly.

    Each iteration sends as much as possible along a cheapest augmenting path, so that the current flow is optimal for
    the amount it has sent. Node potentials keep reduced costs nonnegative.

    Parameters
    ----------
    supplies, demands : sequence of int
        Amounts above 0, with equal sums.
    costs : sequence of sequence of int
        Cost per unit from each supply to each demand, at least 0.

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin, *Network Flows*, 1993, Section 9.7.

    Examples
    --------
    >>> cheapest_transport([2, 1], [1, 2], [[0, 3], [1, 1]])
    4
    """
    left, wanted = list(supplies), list(demands)
    flow = [[0] * len(wanted) for _ in left]
    from_prices, to_prices = [0] * len(left), [0] * len(wanted)
    total, remaining = 0, sum(left)
    while remaining:
        end, before_to, before_from = _find_cheapest_path(left, wanted, flow, costs, from_prices, to_prices)
        # Walk the path backwards to find its capacity: the supply, the demand, and flows that can be reverted.
        way = []
        amount, j = wanted[end], end
        while True:
            i = before_to[j]
            way.append((i, j, before_from[i]))
            j = before_from[i]
            if j < 0:
                amount = min(amount, left[i])
                break
            amount = min(amount, flow[i][j])
        # Augment the flow along the path.
        for i, to, back in way:
            flow[i][to] += amount
            if back >= 0:
                flow[i][back] -= amount
        left[way[-1][0]] -= amount
        wanted[end] -= amount
        remaining -= amount
        # A supply with a remainder has potential 0, so the potential of the end is the length of the path.
        total += amount * to_prices[end]
    return total


def _find_cheapest_path(
    left: list[int],
    wanted: list[int],
    flow: list[list[int]],
    costs: Sequence[Sequence[int]],
    from_prices: list[int],
    to_prices: list[int],
) -> tuple[int, list[int], list[int]]:
    """Find a cheapest path from a remaining supply to an open demand (Dijkstra), and update the potentials.

    Returns
    -------
    tuple
        The demand at the end of the path; the predecessor of each demand, a supply; the predecessor of each supply, a
        demand, or -1 if the path starts there.
    """
    far = sum(map(max, costs)) + max(to_prices) + 1
    distance_to, distance_from = [far] * len(wanted), [0 if amount else far for amount in left]
    before_to, before_from = [-1] * len(wanted), [-1] * len(left)
    waiting = [i for i, amount in enumerate(left) if amount]
    open_to = set(range(len(wanted)))
    while True:
        # Supplies are settled when they are reached, because reverting a flow has reduced cost 0.
        while waiting:
            i = waiting.pop()
            here = distance_from[i] + from_prices[i]
            row = costs[i]
            for j in open_to:
                length = here + row[j] - to_prices[j]
                if length < distance_to[j]:
                    distance_to[j], before_to[j] = length, i
        end = min(open_to, key=distance_to.__getitem__)
        if wanted[end]:
            break
        # Without open demand here, the search continues along the flows into this node.
        open_to.remove(end)
        for i, sent in enumerate(flow):
            if sent[end] and distance_from[i] > distance_to[end]:
                distance_from[i], before_from[i] = distance_to[end], end
                waiting.append(i)
    reached = distance_to[end]
    # Distances beyond the end of the path are capped, which keeps reduced costs nonnegative.
    for i, length in enumerate(distance_from):
        from_prices[i] += min(length, reached)
    for j, length in enumerate(distance_to):
        to_prices[j] += min(length, reached)
    return end, before_to, before_from
