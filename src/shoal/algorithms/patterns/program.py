"""Pattern-guided k-anonymity as an integer program, strengthened until it can be solved (Bredereck et al. 2013).

An output row type is a pattern with values for the attributes that it keeps. The program decides how many rows of each
input row type go to each output row type (x), and which output types are used (u):

    minimize  sum c_j x_ij   subject to   sum_j x_ij = n_i,   k u_j <= sum_i x_ij <= N_j u_j,   x_ij <= n_i u_j

Output types with fewer than k compatible rows are dropped. If several output types have the same compatible rows, only
the cheapest is kept.

For tiny tables, `fewest_stars` enumerates the output types in use (Theorem 3). For each choice, Row Assignment
distributes the rows of each input type: a minimum-cost flow with the lower bound k on each used output type. An
undecided output type may be used without a lower bound, which can only make the flow cheaper.

References
----------
R. Bredereck, A. Nichterlein, R. Niedermeier, "Pattern-guided k-anonymity", Algorithms 6(4), 2013, Section 2.2 and
Theorem 3. doi:10.3390/a6040678
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal.errors import ParameterError
from shoal.solver.highs import Program, Rows, solve
from shoal.table.classes import mixed_radix_keys


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OutputTypes:
    """The output row types that a solution may use."""

    pattern: NDArray[np.int32]
    """Pattern of each output type."""
    costs: NDArray[np.int64]
    """Cost of a row of each output type."""
    starts: NDArray[np.int64]
    """Start of each output type in `members`, shape (outputs + 1,)."""
    members: NDArray[np.int32]
    """Compatible input row types, output type after output type."""

    @classmethod
    def of(
        cls,
        codes: NDArray[np.int32],
        sizes: NDArray[np.int64],
        starred: NDArray[np.bool_],
        costs: NDArray[np.int64],
        k: int,
    ) -> OutputTypes:
        """List the output types with at least k compatible rows; if several have the same rows, only the cheapest.

        Parameters
        ----------
        codes : int32 array of shape (t, d)
            The input row types.
        sizes : int64 array of shape (t,)
            Number of rows of each input type.
        starred : bool array of shape (p, d)
            Attributes that each pattern stars.
        costs : int64 array of shape (p,)
            Cost of a row under each pattern.
        k : int
            Smallest size of a group.
        """
        domains = [int(codes[:, a].max(initial=0)) + 1 for a in range(codes.shape[1])]
        patterns, starts, members, seen = [], [np.zeros(1, dtype=np.int64)], [], set()
        total = 0
        for j in np.argsort(costs, kind="stable"):
            # Group the input types by the values that the pattern keeps.
            kept = [(codes[:, a].astype(np.uint32), domains[a]) for a in np.flatnonzero(~starred[j])]
            keys, _ = mixed_radix_keys(kept, len(codes))
            order = np.argsort(keys, kind="stable").astype(np.int32)
            first = np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1]))
            rows = np.add.reduceat(sizes[order], first)
            last = np.append(first[1:], len(order))
            for begin, end in zip(first[rows >= k].tolist(), last[rows >= k].tolist(), strict=True):
                compatible = order[begin:end]
                # A more expensive pattern with the same rows is never needed.
                if (mark := compatible.tobytes()) in seen:
                    continue
                seen.add(mark)
                patterns.append(j)
                members.append(compatible)
                total += len(compatible)
                starts.append(np.array([total], dtype=np.int64))
        pattern = np.array(patterns, dtype=np.int32)
        return cls(
            pattern=pattern,
            costs=costs[pattern],
            starts=np.concatenate(starts),
            members=np.concatenate([np.empty(0, dtype=np.int32), *members]),
        )

    def pattern_of_pairs(self) -> NDArray[np.int32]:
        """Return the pattern of each entry of `members`."""
        return np.repeat(self.pattern, np.diff(self.starts))

    def output_of_pairs(self) -> NDArray[np.int64]:
        """Return the output type of each entry of `members`."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def __len__(self) -> int:
        return len(self.pattern)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PairSolution:
    """Solution and bound of the program of some pairs."""

    rows: NDArray[np.int64] | None
    """Number of rows of each pair in the best solution; None if no solution is better than the start."""
    bound: int
    """Lower bound on the cost of any solution with these pairs; `NO_SOLUTION` if there is none."""


NO_SOLUTION = 1 << 62
"""Bound of an infeasible program: more than any solution costs."""


def solve_pairs(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    *,
    pairs: NDArray[np.int64],
    start: NDArray[np.int64] | None,
    time_limit: float,
    work: int,
    step: str = "program",
    progress: Progress = silent,
) -> PairSolution:
    """Solve the program of some pairs of input and output types.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Number of rows of each input type.
    k : int
        Smallest size of a group.
    pairs : int64 array
        Positions in `outputs.members`, ascending.
    start : int64 array, optional
        Start: the number of rows of each pair.
    time_limit : float
        Time limit in seconds.
    work : int
        Largest number of nodes of the search tree.
    step : str
        Name of the step in reports of progress.
    progress : callable
    """
    program = pair_program(outputs, sizes, k, pairs)
    # The start includes the variables of the output types in use.
    given = None
    if start is not None:
        used, which = np.unique(outputs.output_of_pairs()[pairs], return_inverse=True)
        opened = np.bincount(which, weights=start, minlength=len(used)) > 0
        given = np.concatenate([start, opened]).astype(np.float64)
    solution = solve(
        program, time_limit=time_limit, work=work, start=given, step=step, progress=progress, keep_interrupted=True
    )
    if solution.status == "infeasible":
        return PairSolution(rows=None, bound=NO_SOLUTION)
    bound = int(solution.bound) if np.isfinite(solution.bound) else 0
    rows = None
    if solution.values is not None and (given is None or solution.objective < program.costs @ given):
        rows = np.rint(solution.values[: len(pairs)]).astype(np.int64)
    return PairSolution(rows=rows, bound=bound)


def pair_program(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    pairs: NDArray[np.int64],
) -> Program:
    """Build the program of some pairs: a variable for each pair, then a binary variable for each output type.

    Its constraints are those of the row types, the output types and the pairs, in this order.
    """
    types, output_of = outputs.members[pairs], outputs.output_of_pairs()[pairs]
    used, which = np.unique(output_of, return_inverse=True)
    count, open_ = len(types), len(used)
    variable = np.arange(count)
    # sum_j x_ij = n_i: the pairs of each row type.
    reach = np.bincount(which, weights=sizes[types], minlength=open_)
    everyone = np.unique(types)
    by_type = np.argsort(types, kind="stable")
    type_starts = np.append(np.searchsorted(types[by_type], everyone), count)
    by_output = np.argsort(which, kind="stable")
    output_starts = np.append(np.searchsorted(which[by_output], np.arange(open_)), count)
    # sum_i x_ij - k u_j >= 0: the pairs of each output type, then its binary variable.
    floor_columns = np.insert(by_output, output_starts[1:], count + np.arange(open_))
    floor_coefficients = np.insert(np.ones(count), output_starts[1:], np.full(open_, -float(k)))
    floor_starts = output_starts + np.arange(open_ + 1)
    # x_ij - n_i u_j <= 0 for each pair.
    link_columns = np.column_stack([variable, count + which]).ravel()
    link_coefficients = np.column_stack([np.ones(count), -sizes[types].astype(np.float64)]).ravel()
    rows = Rows.stack(
        [
            Rows(
                starts=type_starts.astype(np.int64),
                columns=by_type.astype(np.int64),
                coefficients=np.ones(count),
                lower=sizes[everyone].astype(np.float64),
                upper=sizes[everyone].astype(np.float64),
            ),
            Rows(
                starts=floor_starts.astype(np.int64),
                columns=floor_columns.astype(np.int64),
                coefficients=floor_coefficients,
                lower=np.zeros(open_),
                upper=np.full(open_, np.inf),
            ),
            Rows(
                starts=(2 * np.arange(count + 1)).astype(np.int64),
                columns=link_columns.astype(np.int64),
                coefficients=link_coefficients,
                lower=np.full(count, -np.inf),
                upper=np.zeros(count),
            ),
        ]
    )
    return Program(
        costs=np.concatenate([outputs.costs[output_of].astype(np.float64), np.zeros(open_)]),
        integer=np.ones(count + open_, dtype=np.bool_),
        lower=np.zeros(count + open_),
        upper=np.concatenate([sizes[types].astype(np.float64), (reach >= k).astype(np.float64)]),
        rows=rows,
    )


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
