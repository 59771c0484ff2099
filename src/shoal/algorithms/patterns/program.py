"""Pattern-guided k-anonymity as an integer program, strengthened until it can be solved (Bredereck et al. 2013).

An output row type is a pattern and the values that it keeps. The program decides how many rows of each input row type
go to each output row type, and which output types are used:

    minimize  sum c_j x_ij   subject to   sum_j x_ij = n_i,   k u_j <= sum_i x_ij <= N_j u_j,   x_ij <= n_i u_j

Output types with fewer than k compatible rows are dropped, and of those with the same compatible rows all but the
cheapest. A Lagrangian relaxation prices the rows: it proves a bound of its own, and rules out every pair (i, j) that no
solution better than the best known can use. What remains is solved by HiGHS.

References
----------
R. Bredereck, A. Nichterlein, R. Niedermeier, "Pattern-guided k-anonymity", Algorithms 6(4), 2013, Section 2.2.
doi:10.3390/a6040678
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", Management Science 27(1),
1981. doi:10.1287/mnsc.27.1.1
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._progress import Progress, silent
from shoal.algorithms.patterns.bound_kernel import fix_by_price, lagrangian
from shoal.solver.highs import Program, Rows, solve
from shoal.table.classes import mixed_radix_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OutputTypes", "Prices", "Served", "price_rows", "remaining", "solve_program"]

_UNIT = 1 << 20
"""Prices count in units of 1 / _UNIT of a star."""
_LARGEST_PROGRAM = 400_000
_PATIENCE = 12
_FINEST_STEP = 1 / 512


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OutputTypes:
    """The output row types that a solution may use: a pattern with the values that it keeps."""

    pattern: NDArray[np.int32]
    """Pattern of each output type."""
    costs: NDArray[np.int64]
    """What a row costs there."""
    starts: NDArray[np.int64]
    """Where each output type's members start; one more than there are output types."""
    members: NDArray[np.int32]
    """The compatible input row types."""

    @classmethod
    def of(
        cls,
        codes: NDArray[np.int32],
        sizes: NDArray[np.int64],
        starred: NDArray[np.bool_],
        costs: NDArray[np.int64],
        k: int,
    ) -> OutputTypes:
        """List the output types with at least k compatible rows, of equal ones only the cheapest.

        Parameters
        ----------
        codes : int32 array of shape (t, d)
            The input row types.
        sizes : int64 array of shape (t,)
            Rows of each.
        starred : bool array of shape (p, d)
            The patterns.
        costs : int64 array of shape (p,)
            What a row costs under each.
        k : int
        """
        domains = [int(codes[:, a].max(initial=0)) + 1 for a in range(codes.shape[1])]
        patterns, starts, members, seen = [], [np.zeros(1, dtype=np.int64)], [], set()
        total = 0
        for j in np.argsort(costs, kind="stable"):
            kept = [(codes[:, a].astype(np.uint32), domains[a]) for a in np.flatnonzero(~starred[j])]
            keys, _ = mixed_radix_keys(kept, len(codes))
            order = np.argsort(keys, kind="stable").astype(np.int32)
            first = np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1]))
            rows = np.add.reduceat(sizes[order], first)
            last = np.append(first[1:], len(order))
            for begin, end in zip(first[rows >= k].tolist(), last[rows >= k].tolist(), strict=True):
                those = order[begin:end]
                # The same rows under a dearer pattern: nobody would use it.
                if (mark := those.tobytes()) in seen:
                    continue
                seen.add(mark)
                patterns.append(j)
                members.append(those)
                total += len(those)
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

    def __len__(self) -> int:
        return len(self.pattern)

    def __repr__(self) -> str:
        return f"OutputTypes({len(self)}, pairs={len(self.members)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prices:
    """Prices of the input row types, and the bound that they prove."""

    values: NDArray[np.int64]
    """Price of a row of each type, in units of 1 / 2**20 of the smallest cost."""
    exact: int
    """The bound in that unit."""

    @property
    def bound(self) -> int:
        """What every solution costs at least: a whole number."""
        return -(-self.exact // _UNIT)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Served:
    """What the program found: rows of pairs, none where there is nothing better than what was known."""

    pairs: NDArray[np.int64]
    """Positions in `OutputTypes.members`."""
    counts: NDArray[np.int64]
    """Rows of each."""
    bound: int
    """What every solution costs at least."""


_NOTHING = np.empty(0, dtype=np.int64)


def price_rows(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    *,
    upper: int,
    seconds: float,
    progress: Progress = silent,
) -> Prices:
    """Find prices that prove a good bound, by a subgradient method.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Rows of each input type.
    k : int
    upper : int
        Cost of the best solution known.
    seconds : float
        When to stop.
    progress : callable
    """
    began = time.perf_counter()
    costs = outputs.costs * _UNIT
    prices = np.zeros(len(sizes), dtype=np.int64)
    for j in range(len(outputs) - 1, -1, -1):  # the cheapest output type that holds it
        prices[outputs.members[outputs.starts[j] : outputs.starts[j + 1]]] = costs[j]
    slack, values = np.empty(len(sizes), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
    best, best_prices = -1, prices.copy()
    step, worse, round_ = 1.0, 0, 0
    while step > _FINEST_STEP and (spent := time.perf_counter() - began) < seconds:
        bound = int(lagrangian(prices, costs, outputs.starts, outputs.members, sizes, k, slack, values))
        if bound > best:
            best, best_prices, worse = bound, prices.copy(), 0
        else:
            worse += 1
        if round_ % 50 == 49:
            progress("prices", int(spent), max(int(seconds), 1))
        if -(-best // _UNIT) >= upper or not slack.any():
            break
        if worse > _PATIENCE:
            step, worse, prices = step / 2, 0, best_prices.copy()
            lagrangian(prices, costs, outputs.starts, outputs.members, sizes, k, slack, values)
        norm = float((slack.astype(np.float64) ** 2 / sizes).sum())
        length = step * max(upper * _UNIT - best, _UNIT) / norm if norm else 0.0
        prices = np.clip(prices + np.rint(length * slack / sizes).astype(np.int64), 0, int(costs.max(initial=0)))
        round_ += 1
    return Prices(values=best_prices, exact=best)


def solve_program(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    *,
    keep: NDArray[np.bool_],
    prices: Prices,
    upper: int,
    time_limit: float,
    progress: Progress = silent,
) -> Served | None:
    """Solve what prices leave of the program.

    Parameters
    ----------
    outputs, sizes, k
        As for `price_rows`.
    keep : bool array
        The pairs that `remaining` left for a solution cheaper than `upper`, one per entry of `outputs.members`.
    prices : Prices
        What `price_rows` found.
    upper : int
        Cost of the best solution known.
    time_limit : float
        Seconds.
    progress : callable

    Returns
    -------
    Served or None
        A better solution with the bound that was proven; None where there is none, or where what is left is too large,
        with no more said than `prices` says. Whether it was too large, `remaining` tells.
    """
    pairs = np.flatnonzero(keep)
    if len(pairs) > _LARGEST_PROGRAM:
        return None
    types = outputs.members[pairs]
    if len(np.unique(types)) < len(sizes):  # some rows can be served by no better solution
        return Served(pairs=_NOTHING, counts=_NOTHING, bound=upper)
    output_of = np.repeat(np.arange(len(outputs)), np.diff(outputs.starts))[pairs]
    program = _program(outputs, sizes, k, types, output_of)
    solution = solve(program, time_limit=time_limit, step="program", progress=progress, keep_interrupted=True)
    if solution.status == "infeasible":
        return Served(pairs=_NOTHING, counts=_NOTHING, bound=upper)
    # What the prices ruled out costs `upper` or more.
    proven = int(solution.bound) if np.isfinite(solution.bound) else 0
    bound = min(upper, max(prices.bound, proven))
    if solution.values is None or solution.objective >= upper:
        return Served(pairs=_NOTHING, counts=_NOTHING, bound=bound)
    counts = np.rint(solution.values[: len(types)]).astype(np.int64)
    return Served(pairs=pairs[counts > 0], counts=counts[counts > 0], bound=bound)


def remaining(
    outputs: OutputTypes, sizes: NDArray[np.int64], k: int, *, prices: Prices, upper: int
) -> NDArray[np.bool_]:
    """Return which pairs of input and output type a solution cheaper than `upper` may use (one per member)."""
    keep = np.empty(len(outputs.members), dtype=np.bool_)
    fix_by_price(
        prices.values, outputs.costs * _UNIT, outputs.starts, outputs.members, sizes, k, prices.exact,
        (upper - 1) * _UNIT + 1, keep,
    )  # fmt: skip
    return keep


def _program(
    outputs: OutputTypes, sizes: NDArray[np.int64], k: int, types: NDArray[np.int32], output_of: NDArray[np.int64]
) -> Program:
    """Write the program of some pairs: a variable per pair, then one per output type that says whether it is used."""
    used, which = np.unique(output_of, return_inverse=True)
    pairs, open_ = len(types), len(used)
    variable = np.arange(pairs)
    reach = np.bincount(which, weights=sizes[types], minlength=open_)
    everyone = np.unique(types)
    by_type = np.argsort(types, kind="stable")
    type_starts = np.append(np.searchsorted(types[by_type], everyone), pairs)
    by_output = np.argsort(which, kind="stable")
    output_starts = np.append(np.searchsorted(which[by_output], np.arange(open_)), pairs)
    # sum_i x_ij - k u_j >= 0: the members of an output type, then its own variable.
    floor_columns = np.insert(by_output, output_starts[1:], pairs + np.arange(open_))
    floor_coefficients = np.insert(np.ones(pairs), output_starts[1:], np.full(open_, -float(k)))
    floor_starts = output_starts + np.arange(open_ + 1)
    # x_ij <= n_i u_j
    link_columns = np.column_stack([variable, pairs + which]).ravel()
    link_coefficients = np.column_stack([np.ones(pairs), -sizes[types].astype(np.float64)]).ravel()
    rows = Rows.stacked(
        [
            Rows(
                starts=type_starts.astype(np.int64),
                columns=by_type.astype(np.int64),
                coefficients=np.ones(pairs),
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
                starts=(2 * np.arange(pairs + 1)).astype(np.int64),
                columns=link_columns.astype(np.int64),
                coefficients=link_coefficients,
                lower=np.full(pairs, -np.inf),
                upper=np.zeros(pairs),
            ),
        ]
    )
    return Program(
        costs=np.concatenate([outputs.costs[output_of].astype(np.float64), np.zeros(open_)]),
        integer=np.ones(pairs + open_, dtype=np.bool_),
        lower=np.zeros(pairs + open_),
        upper=np.concatenate([sizes[types].astype(np.float64), (reach >= k).astype(np.float64)]),
        rows=rows,
    )
