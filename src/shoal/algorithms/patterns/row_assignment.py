"""Pattern-guided k-anonymity for tiny tables: enumeration of the output row types in use, with a flow for each choice.

Branch and bound enumerates the output row types that are used. For each choice, Row Assignment distributes the rows of
each input type: a minimum-cost flow with the lower bound k on each used output type. An undecided output type may be
used without a lower bound, which can only make the flow cheaper.

References
----------
R. Bredereck, A. Nichterlein, R. Niedermeier, "Pattern-guided k-anonymity", Algorithms 6(4), 2013, Theorem 3.
doi:10.3390/a6040678
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal.algorithms.patterns.program import OutputTypes
from shoal.errors import ParameterError

_MAX_OUTPUTS = 64
"""Largest number of output row types."""


def assign_rows(
    sizes: NDArray[np.int64], outputs: OutputTypes, required: NDArray[np.bool_], allowed: NDArray[np.bool_], k: int
) -> tuple[int, NDArray[np.int64]] | None:
    """Solve Row Assignment: serve all rows at the lowest cost, with at least k rows in each required output type.

    Parameters
    ----------
    sizes : int64 array of shape (t,)
        Number of rows of each input type.
    outputs : OutputTypes
    required, allowed : bool arrays of shape (o,)
        Output types that must have at least k rows, and output types that may have rows; required types are allowed.
    k : int
        Smallest size of a group.

    Returns
    -------
    (cost, rows) or None
        The cost, and the number of rows of each pair (entry of `outputs.members`); None if there is no solution.
    """
    networkx = require("networkx", extra="exact", purpose="The fixed-parameter algorithm")
    graph = networkx.DiGraph()
    rows = int(sizes.sum())
    must = int(k * required.sum())
    if must > rows:
        return None
    # A required output type has demand k; all other rows flow on to the sink.
    graph.add_node("sink", demand=rows - must)
    for i, size in enumerate(sizes.tolist()):
        graph.add_node(("in", i), demand=-size)
    output_of = np.repeat(np.arange(len(outputs)), np.diff(outputs.starts))
    for j in np.flatnonzero(allowed).tolist():
        graph.add_node(("out", j), demand=k if required[j] else 0)
        graph.add_edge(("out", j), "sink", weight=0)
    # An edge for each pair, at the cost of its output type.
    used = np.flatnonzero(allowed[output_of])
    for q in used.tolist():
        i, j = int(outputs.members[q]), int(output_of[q])
        graph.add_edge(("in", i), ("out", j), weight=int(outputs.costs[j]))
    try:
        cost, flow = networkx.network_simplex(graph)
    except networkx.NetworkXUnfeasible:
        return None
    served = np.zeros(len(outputs.members), dtype=np.int64)
    for q in used.tolist():
        served[q] = flow["in", int(outputs.members[q])].get(("out", int(output_of[q])), 0)
    return int(cost), served


def fewest_stars(
    outputs: OutputTypes, sizes: NDArray[np.int64], k: int, *, seconds: float, progress: Progress = silent
) -> tuple[NDArray[np.int64] | None, int]:
    """Find the cheapest solution by branch and bound over the output row types in use.

    Returns
    -------
    rows : int64 array or None
        Number of rows of each pair (entry of `outputs.members`) in the best solution; None if none was found.
    bound : int
        Lower bound on the cost of any solution. If the search ends in time, it is the cost of the best solution.

    Raises
    ------
    ParameterError
        If there are too many output types to enumerate.
    """
    count = len(outputs)
    if count > _MAX_OUTPUTS:
        raise ParameterError(
            f"There are {count} output row types, and up to 2**{count} choices to try; the fixed-parameter algorithm "
            f"takes up to {_MAX_OUTPUTS}. Use method='program'."
        )
    began = time.perf_counter()
    best: NDArray[np.int64] | None = None
    cost = -1
    root_bound = 0
    none_required, all_allowed = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    stack = [(none_required, all_allowed)]
    output_of = np.repeat(np.arange(count), np.diff(outputs.starts))
    first = True
    while stack:
        required, allowed = stack.pop()
        relaxed = assign_rows(sizes, outputs, required, allowed, k)
        if first:
            root_bound, first = relaxed[0] if relaxed is not None else 0, False
        if relaxed is None or (best is not None and relaxed[0] >= cost):
            continue
        # A flow is a solution if every output type that it uses has at least k rows.
        held = np.bincount(output_of, weights=relaxed[1], minlength=count)
        short = np.flatnonzero((held > 0) & (held < k))
        if len(short) == 0:
            cost, best = relaxed
            continue
        if time.perf_counter() - began > seconds:
            return best, root_bound
        progress("guesses", count - len(stack) % count, count)
        # Branch on the output type that lacks the fewest rows: it must be used, or it must not.
        j = short[np.argmax(held[short])]
        with_j, without_j = required.copy(), allowed.copy()
        with_j[j], without_j[j] = True, False
        stack += [(required, without_j), (with_j, allowed)]
    return best, cost if best is not None else 0
