"""Linear and mixed-integer programs, solved by HiGHS. No other module calls the solver.

    minimize costs @ x  subject to  lower <= x <= upper, rows.lower <= A x <= rows.upper, some x integer

`solve` takes a program, which is a value, and returns the best solution together with a lower bound on the cost of
every solution. `LiveProgram` keeps a program in the solver while columns or rows are added to it (column generation,
lazy constraints), so that each solve starts from the last basis.

The solver computes with floats, and the results of this module are rounded conservatively. Integer variables are
rounded to integers, and all rows are checked again with the rounded values. If the cost is integral, the bound is
rounded up, less a margin far larger than the tolerances. No decision about the safety of a group depends on this
module.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal.errors import InternalError

_TOLERANCE = 1e-9
"""Largest violation of a bound, a row or integrality that the solver tolerates."""
_MAX_VIOLATION = 1e-6
"""Largest violation of a row after rounding the integer variables, relative to its largest term (or 1)."""
_MARGIN = 1e-6
"""Largest distance of the solver's bound below an integer that it still proves, relative to the bound (or 1)."""
_UNLIMITED = (1 << 31) - 1
_POLL_SECONDS = 0.1
"""Seconds between two checks of the clock and for interrupts."""

Status = Literal["optimal", "within-gap", "time-limit", "work-limit", "interrupted", "infeasible", "unbounded"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Rows:
    """Constraints `lower <= A x <= upper`, with A as compressed sparse rows."""

    starts: NDArray[np.int64]
    """Index of each row's first entry in `columns` and `coefficients`, followed by the number of entries."""
    columns: NDArray[np.int64]
    """Column of each entry, unique within a row."""
    coefficients: NDArray[np.float64]
    """Coefficient of each entry."""
    lower: NDArray[np.float64]
    """Lower bound of each row, -inf if there is none."""
    upper: NDArray[np.float64]
    """Upper bound of each row, inf if there is none."""

    @classmethod
    def of(cls, rows: Iterable[tuple[ArrayLike, ArrayLike, float, float]]) -> Rows:
        """Create rows from tuples (columns, coefficients, lower, upper); a scalar coefficient applies to its row.

        Examples
        --------
        >>> Rows.of([([0, 2], 1.0, 1, np.inf), ([1], [2.0], 0, 3)]).starts
        array([0, 2, 3])
        """
        listed = [
            (np.asarray(columns, dtype=np.int64), coefficients, lower, upper)
            for columns, coefficients, lower, upper in rows
        ]
        # Lay out all entries row by row, with scalar coefficients broadcast.
        sizes = [len(columns) for columns, *_ in listed]
        coefficients = [np.broadcast_to(np.asarray(row[1], dtype=np.float64), row[0].shape) for row in listed]
        return cls(
            starts=np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64),
            columns=np.concatenate([np.empty(0, dtype=np.int64), *(row[0] for row in listed)]),
            coefficients=np.concatenate([np.empty(0), *coefficients]),
            lower=np.array([row[2] for row in listed], dtype=np.float64),
            upper=np.array([row[3] for row in listed], dtype=np.float64),
        )

    @classmethod
    def stack(cls, parts: Iterable[Rows]) -> Rows:
        """Concatenate the rows of several parts."""
        # An empty part first, so that concatenation works without any parts.
        parts = [cls.of([]), *parts]
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        return cls(
            starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            columns=np.concatenate([part.columns for part in parts]),
            coefficients=np.concatenate([part.coefficients for part in parts]),
            lower=np.concatenate([part.lower for part in parts]),
            upper=np.concatenate([part.upper for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.lower)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Program:
    """A linear or mixed-integer program that minimizes its cost.

    Examples
    --------
    >>> rows = Rows.of([([0, 1], 1.0, 3, np.inf)])
    >>> Program(
    ...     costs=np.ones(2), integer=np.ones(2, dtype=bool), lower=np.zeros(2), upper=np.full(2, 2.0), rows=rows
    ... ).costs.tolist()
    [1.0, 1.0]
    """

    costs: NDArray[np.float64]
    """Cost of each variable."""
    integer: NDArray[np.bool_]
    """Whether each variable must be an integer."""
    lower: NDArray[np.float64]
    """Lower bound of each variable."""
    upper: NDArray[np.float64]
    """Upper bound of each variable, inf if there is none."""
    rows: Rows
    """The constraints."""

    @property
    def whole_costs(self) -> bool:
        """Whether the cost of every solution is an integer."""
        costly = self.costs != 0
        return bool(self.integer[costly].all() and (self.costs == np.rint(self.costs)).all())

    def max_violation(self, values: NDArray[np.float64]) -> float:
        """Compute the largest violation of a bound or a row, relative to the row's largest term (or 1)."""
        bounds = np.maximum(self.lower - values, values - self.upper)
        worst = float(bounds.max(initial=0.0))
        if len(self.rows):
            # Evaluate all rows at once, each scaled by its largest term.
            terms = self.rows.coefficients * values[self.rows.columns]
            row = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.starts))
            sums = np.bincount(row, weights=terms, minlength=len(self.rows))
            scale = np.ones(len(self.rows))
            np.maximum.at(scale, row, np.abs(terms))
            off = np.maximum(self.rows.lower - sums, sums - self.rows.upper) / scale
            worst = max(worst, float(off.max()))
        return worst


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Solution:
    """A solution of a program, and the bound that the solver proved."""

    status: Status
    """Outcome of the solve. "optimal": no solution is cheaper. "within-gap": no solution is cheaper by more than the
    requested gap, or the solver finished with a smaller lower bound. "time-limit", "work-limit" and "interrupted": the
    solver stopped early. "infeasible" and "unbounded": the program has no optimum."""
    values: NDArray[np.float64] | None
    """Variables of the best solution, with integer variables rounded and all rows checked again; None if there is
    none."""
    objective: float
    """Cost of the solution, inf if there is none."""
    bound: float
    """Lower bound on the cost of every solution, rounded up if costs are integral; -inf if none was proven."""
    seconds: float
    """Wall time of the solve in seconds."""
    duals: NDArray[np.float64] | None = None
    """Dual value of each row, for linear programs solved to optimality; else None."""

    def __repr__(self) -> str:
        return f"Solution(status={self.status!r}, objective={self.objective}, bound={self.bound})"


def solve(program: Program, **options: Any) -> Solution:
    """Solve a program once; the options are those of `LiveProgram.solve`.

    Raises
    ------
    MissingExtraError
        If highspy is not installed.

    Examples
    --------
    >>> rows = Rows.of([([0, 1], 1.0, 3, np.inf)])
    >>> program = Program(costs=np.array([1.0, 2.0]), integer=np.ones(2, dtype=bool), lower=np.zeros(2),
    ...                   upper=np.full(2, 2.0), rows=rows)
    >>> solve(program)
    Solution(status='optimal', objective=4.0, bound=4.0)
    """
    return LiveProgram(program).solve(**options)


def _quiet_solver(highspy: Any) -> Any:
    """Create a solver that prints nothing: it would print a banner when its callbacks are enabled."""

    class Quiet(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Quiet()


class LiveProgram:
    """A program that stays in the solver while columns and rows are added between solves.

    Parameters
    ----------
    program : Program
        Initial program; it may have no columns or no rows yet.
    """

    def __init__(self, program: Program) -> None:
        self._highspy = require("highspy", extra="exact", purpose="A proven optimum")
        self.program = program
        self._solver = _quiet_solver(self._highspy)
        # A fixed seed makes results reproducible.
        options: dict[str, Any] = {
            "output_flag": False,
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
            "mip_feasibility_tolerance": _TOLERANCE,
            "random_seed": 0,
        }
        self._set(options)
        self._stop = threading.Event()
        for interrupt in ("cbSimplexInterrupt", "cbIpmInterrupt", "cbMipInterrupt"):
            callbacks = getattr(self._solver, interrupt)
            callbacks += self._interrupt_if_requested
        self._pass_model()

    def add_columns(
        self,
        *,
        costs: ArrayLike,
        starts: ArrayLike,
        rows: ArrayLike,
        coefficients: ArrayLike,
    ) -> None:
        """Add continuous variables from 0 on with their entries in existing rows, as compressed sparse columns.

        Parameters
        ----------
        costs : array
            Cost of each new variable.
        starts, rows, coefficients : arrays
            Entries of the new columns; column `c` has the entries from `starts[c]` to `starts[c + 1]`.
        """
        costs = np.asarray(costs, dtype=np.float64)
        count, old = len(costs), self.program
        starts, rows = np.asarray(starts, dtype=np.int64), np.asarray(rows, dtype=np.int64)
        coefficients = np.asarray(coefficients, dtype=np.float64)
        low, high = np.zeros(count), np.full(count, np.inf)
        # Merge the new entries into the row-wise matrix of the program.
        column = np.repeat(np.arange(count), np.diff(starts)) + len(old.costs)
        row_of = np.concatenate((np.repeat(np.arange(len(old.rows)), np.diff(old.rows.starts)), rows))
        order = np.argsort(row_of, kind="stable")
        sizes = np.bincount(row_of, minlength=len(old.rows))
        self.program = Program(
            costs=np.concatenate((old.costs, costs)),
            integer=np.concatenate((old.integer, np.zeros(count, dtype=np.bool_))),
            lower=np.concatenate((old.lower, low)),
            upper=np.concatenate((old.upper, high)),
            rows=Rows(
                starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
                columns=np.concatenate((old.rows.columns, column))[order],
                coefficients=np.concatenate((old.rows.coefficients, coefficients))[order],
                lower=old.rows.lower,
                upper=old.rows.upper,
            ),
        )
        self._solver.addCols(
            count, costs, low, high, len(rows), starts[:-1].astype(np.int32), rows.astype(np.int32), coefficients
        )

    def add_rows(self, rows: Rows) -> None:
        """Add constraints on existing variables."""
        old = self.program
        self.program = Program(
            costs=old.costs,
            integer=old.integer,
            lower=old.lower,
            upper=old.upper,
            rows=Rows.stack((old.rows, rows)),
        )
        self._solver.addRows(
            len(rows),
            rows.lower,
            rows.upper,
            len(rows.columns),
            rows.starts[:-1].astype(np.int32),
            rows.columns.astype(np.int32),
            rows.coefficients,
        )

    def solve(
        self,
        *,
        time_limit: float | None = None,
        work: int | None = None,
        gap: float = 0.0,
        start: NDArray[np.float64] | None = None,
        keep_interrupted: bool = False,
        step: str = "solve",
        progress: Progress = silent,
    ) -> Solution:
        """Solve the current program.

        Parameters
        ----------
        time_limit : float, optional
            Wall time in seconds after which the best solution so far is returned.
        work : int, optional
            Number of search tree nodes (for a linear program, simplex iterations) after which the best solution so far
            is returned. Unlike seconds, this limit is the same on every machine.
        gap : float, default 0
            Relative gap at which the solver stops.
        start : array, optional
            Initial solution; the result is never worse. The solver fills in variables that are NaN. An infeasible start
            is ignored.
        keep_interrupted : bool, default False
            Handling of a KeyboardInterrupt (from Ctrl-C, or raised by `progress`). If False, the solver is stopped and
            the exception is raised again. If True, the solver is stopped and the best solution is returned with the
            status "interrupted".
        step : str
            Name of the step in progress reports.
        progress : callable
            Called about ten times a second with (step, seconds, time limit in seconds), or (step, 0, 1) without a
            limit.

        Raises
        ------
        InternalError
            If the solver fails for a reason that should not occur for any program.
        """
        began = time.perf_counter()
        if len(self.program.costs) == 0:
            return self._solve_without_variables()
        # Limits apply to this solve only, so all of them are set again.
        self._set({"mip_rel_gap": gap, "mip_abs_gap": 0.0 if gap == 0 else _MARGIN})
        self._set({"time_limit": math.inf if time_limit is None else max(time_limit, 0.0)})
        limit = "mip_max_nodes" if self.program.integer.any() else "simplex_iteration_limit"
        self._set({limit: _UNLIMITED if work is None else work})
        if start is not None:
            # NaN variables are left to the solver.
            given = np.flatnonzero(np.isfinite(start)).astype(np.int32)
            self._solver.setSolution(len(given), given, np.asarray(start, dtype=np.float64)[given])
        interrupted = self._run(time_limit, keep_interrupted, step, progress)
        if self._solver.getModelStatus() == self._highspy.HighsModelStatus.kSolveError:
            # Presolve, or a start, may lead HiGHS into numbers that it cannot handle: solve once more without both.
            left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 0.0)
            self._solver.clearSolver()
            self._set({"presolve": "off", "time_limit": math.inf if left is None else left})
            interrupted = self._run(left, keep_interrupted, step, progress)
            self._set({"presolve": "choose"})
        found = self._read_solution(interrupted, gap, time.perf_counter() - began)
        if start is not None and found.status == "within-gap" and (gap == 0 or not math.isfinite(found.bound)):
            # HiGHS may report a start as optimal without a bound if presolve removes the whole problem, and since 1.16
            # with a bound that is too low. Solve again without a start, and keep the better solution.
            self._solver.clearSolver()
            left = None if time_limit is None else max(time_limit - found.seconds, 0.0)
            again = self.solve(
                time_limit=left, work=work, gap=gap, keep_interrupted=keep_interrupted, step=step, progress=progress
            )
            if again.objective > found.objective:
                best = min(again.bound, found.objective)
                again = replace(again, values=found.values, objective=found.objective, bound=best)
            return replace(again, seconds=found.seconds + again.seconds)
        return found

    def _set(self, options: dict[str, Any]) -> None:
        for name, value in options.items():
            if self._solver.setOptionValue(name, value) != self._highspy.HighsStatus.kOk:
                raise InternalError(f"the solver refuses the option {name}")

    def _pass_model(self) -> None:
        program = self.program
        lp = self._highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(program.costs), len(program.rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.costs, program.lower, program.upper
        lp.row_lower_, lp.row_upper_ = program.rows.lower, program.rows.upper
        # The matrix is passed row by row, as it is stored.
        lp.a_matrix_.format_ = self._highspy.MatrixFormat.kRowwise
        lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
        lp.a_matrix_.start_ = program.rows.starts.astype(np.int32)
        lp.a_matrix_.index_ = program.rows.columns.astype(np.int32)
        lp.a_matrix_.value_ = program.rows.coefficients
        if program.integer.any():
            kinds = (self._highspy.HighsVarType.kContinuous, self._highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(whole)] for whole in program.integer.tolist()]
        if self._solver.passModel(lp) == self._highspy.HighsStatus.kError:
            raise InternalError("the solver refuses a program")

    def _interrupt_if_requested(self, event: Any) -> None:
        if self._stop.is_set():
            event.interrupt()

    def _run(self, limit: float | None, keep_interrupted: bool, step: str, progress: Progress) -> bool:
        """Run the solver in a thread while this thread watches the clock and interrupts; return True if interrupted."""
        self._stop.clear()
        failed: list[BaseException] = []
        done = threading.Event()  # a join that Ctrl-C interrupts may take the thread for ended, an event does not

        def work() -> None:
            try:
                self._solver.run()
            except BaseException as error:  # it is raised again by the thread that waits
                failed.append(error)
            finally:
                done.set()

        worker = threading.Thread(target=work, daemon=True)
        began = time.perf_counter()
        worker.start()
        interrupted = False
        try:
            # Report progress often at first, so that short solves return at once.
            while not done.is_set():
                seconds = time.perf_counter() - began
                if limit is None:
                    progress(step, 0, 1)
                else:
                    progress(step, min(int(seconds), math.ceil(limit)), math.ceil(limit))
                done.wait(_POLL_SECONDS if seconds > _POLL_SECONDS else _POLL_SECONDS / 20)
        except BaseException as error:
            # The solver must end before the exception propagates, because it shares this object.
            self._stop.set()
            done.wait()
            if not (keep_interrupted and isinstance(error, KeyboardInterrupt)):
                raise
            interrupted = True
        worker.join()
        if failed:
            raise failed[0]
        return interrupted

    def _read_solution(self, interrupted: bool, gap: float, seconds: float) -> Solution:
        kinds, info = self._highspy.HighsModelStatus, self._solver.getInfo()
        ended = self._solver.getModelStatus()
        # No solution exists.
        nothing: dict[Any, tuple[Status, float]] = {
            kinds.kInfeasible: ("infeasible", math.inf),
            kinds.kUnbounded: ("unbounded", -math.inf),
            kinds.kUnboundedOrInfeasible: ("unbounded", -math.inf),
        }
        if ended in nothing:
            return Solution(
                status=nothing[ended][0], values=None, objective=math.inf, bound=nothing[ended][1], seconds=seconds
            )
        # The solver stopped early, perhaps with a solution.
        stopped: dict[Any, Status] = {
            kinds.kTimeLimit: "time-limit",
            kinds.kSolutionLimit: "work-limit",
            kinds.kIterationLimit: "work-limit",
            kinds.kSolveError: "work-limit",
            kinds.kInterrupt: "interrupted",
        }
        if ended not in {kinds.kOptimal, *stopped}:
            raise InternalError(f"the solver ended with the status {self._solver.modelStatusToString(ended)}")
        whole = bool(self.program.integer.any())
        values, objective = self._read_values(whole, int(info.primal_solution_status), ended == kinds.kOptimal)
        # Lower bound: the dual bound of the search tree, or the optimum of a linear program.
        if ended == kinds.kSolveError:  # nothing that it says is a proof
            bound = -math.inf
        elif whole:
            bound = float(info.mip_dual_bound)
        else:
            bound = float(info.objective_function_value) if ended == kinds.kOptimal else -math.inf
        if whole and self.program.whole_costs and math.isfinite(bound):
            bound = float(math.ceil(bound - _MARGIN * max(1.0, abs(bound))))
        bound = min(bound, objective)
        status: Status
        # Fractional costs may differ from the bound by the solver's tolerance.
        neglected = 0 if whole and (gap > 0 or self.program.whole_costs) else _MARGIN * max(1.0, abs(objective))
        if values is not None and bound >= objective - neglected:
            status = "optimal"
        elif ended == kinds.kOptimal:
            status = "within-gap"
        else:
            status = "interrupted" if interrupted else stopped[ended]
        duals = np.array(self._solver.getSolution().row_dual) if not whole and ended == kinds.kOptimal else None
        return Solution(status=status, values=values, objective=objective, bound=bound, seconds=seconds, duals=duals)

    def _read_values(self, whole: bool, feasible: int, finished: bool) -> tuple[NDArray[np.float64] | None, float]:
        """Return the solver's best solution with integer variables rounded, if it passes the checks."""
        if feasible != int(self._highspy.SolutionStatus.kSolutionStatusFeasible) or not (whole or finished):
            return None, math.inf
        values = np.array(self._solver.getSolution().col_value, dtype=np.float64)
        # Rounding may violate a row, so the rows are checked again.
        integer = self.program.integer
        values[integer] = np.rint(values[integer])
        values = np.clip(values, self.program.lower, self.program.upper)
        if self.program.max_violation(values) > _MAX_VIOLATION:
            return None, math.inf
        return values, float(self.program.costs @ values)

    def _solve_without_variables(self) -> Solution:
        # HiGHS does not accept a program without columns; its rows have the value 0.
        rows = self.program.rows
        met = bool(((rows.lower <= 0) & (rows.upper >= 0)).all())
        cost = 0.0 if met else math.inf
        return Solution(
            status="optimal" if met else "infeasible",
            values=np.empty(0) if met else None,
            objective=cost,
            bound=cost,
            seconds=0.0,
            duals=np.zeros(len(rows)) if met else None,
        )
