"""Pattern-guided k-anonymity for tiny tables: every choice of output row types, each judged by a flow.

Which output row types are used is guessed, with branch and bound; for each guess Row Assignment decides how many rows
of each input type go where: a minimum-cost flow with the lower bound k on each used output type. An open choice counts
as used without its lower bound, which can only make the flow cheaper.

References
----------
R. Bredereck, A. Nichterlein, R. Niedermeier, "Pattern-guided k-anonymity", Algorithms 6(4), 2013, Theorem 3.
doi:10.3390/a6040678
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.patterns.program import OutputTypes

__all__ = ["fewest_stars"]

_MOST_OUTPUTS = 64


def assign_rows(
    sizes: NDArray[np.int64], outputs: OutputTypes, required: NDArray[np.bool_], allowed: NDArray[np.bool_], k: int
) -> tuple[int, NDArray[np.int64]] | None:
    """Solve Row Assignment: the cheapest way to serve all rows, with at least k rows in each required output type.

    Parameters
    ----------
    sizes : int64 array of shape (t,)
        Rows of each input type.
    outputs : OutputTypes
    required, allowed : bool arrays of shape (o,)
        Output types that must hold k rows, and those that may hold any; a required one is allowed.
    k : int

    Returns
    -------
    (cost, rows) or None
        Rows of each pair (entry of `outputs.members`); None where it cannot be done.
    """
    networkx = require("networkx", extra="exact", purpose="The fixed-parameter algorithm")
    graph = networkx.DiGraph()
    rows = int(sizes.sum())
    must = int(k * required.sum())
    if must > rows:
        return None
    # The lower bound k of an output type is demand of its own; what is left of the rows goes on to the sink.
    graph.add_node("sink", demand=rows - must)
    for i, size in enumerate(sizes.tolist()):
        graph.add_node(("in", i), demand=-size)
    output_of = np.repeat(np.arange(len(outputs)), np.diff(outputs.starts))
    for j in np.flatnonzero(allowed).tolist():
        graph.add_node(("out", j), demand=k if required[j] else 0)
        graph.add_edge(("out", j), "sink", weight=0)
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
    """Try every choice of output row types that a bound does not rule out.

    Returns
    -------
    rows : int64 array or None
        Rows of each pair (entry of `outputs.members`) in the best solution found; None where there is none.
    bound : int
        What every solution costs at least: its cost, when the search came to its end in time.

    Raises
    ------
    ParameterError
        Where there are too many output types for a search of this kind.
    """
    count = len(outputs)
    if count > _MOST_OUTPUTS:
        raise ParameterError(
            f"There are {count} output row types, and up to 2**{count} choices to try; the fixed-parameter algorithm "
            f"takes up to {_MOST_OUTPUTS}. Use method='program'."
        )
    began = time.perf_counter()
    best: NDArray[np.int64] | None = None
    cost = -1
    root_bound = 0
    nobody, everybody = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    stack = [(nobody, everybody)]
    output_of = np.repeat(np.arange(count), np.diff(outputs.starts))
    first = True
    while stack:
        required, allowed = stack.pop()
        relaxed = assign_rows(sizes, outputs, required, allowed, k)
        if first:
            root_bound, first = relaxed[0] if relaxed is not None else 0, False
        if relaxed is None or (best is not None and relaxed[0] >= cost):
            continue
        held = np.bincount(output_of, weights=relaxed[1], minlength=count)
        short = np.flatnonzero((held > 0) & (held < k))
        if len(short) == 0:
            cost, best = relaxed
            continue
        if time.perf_counter() - began > seconds:
            return best, root_bound
        progress("guesses", count - len(stack) % count, count)
        j = short[np.argmax(held[short])]
        with_j, without_j = required.copy(), allowed.copy()
        with_j[j], without_j[j] = True, False
        stack += [(required, without_j), (with_j, allowed)]
    return best, cost if best is not None else 0
