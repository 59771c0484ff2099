"""Linear and mixed integer programs, solved by HiGHS: the only module that talks to it.

    minimize costs @ x  subject to  lower <= x <= upper, rows.lower <= A x <= rows.upper, some x integer

A program is a value; `solve` takes it and returns what was found together with what was proven: the solution and a
lower bound on every solution. `LiveProgram` keeps a program in the solver while columns or rows are added to it
(column generation, lazy constraints), so that each solve starts from the last basis.

The solver works with floats. What leaves this module was rounded with care: integer variables are whole numbers and
the rows were checked again with them; a bound on a cost that can only be whole is rounded up, less a margin that is far
wider than the tolerances. Whether a group of people is safe is never decided here.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["LiveProgram", "Program", "Rows", "Solution", "solve"]

_TOLERANCE = 1e-9
"""How far the solver may stray from a bound or a row, and an integer variable from a whole number."""
_CHECKED = 1e-6
"""How far a row may be missed once the integer variables are whole, in parts of its largest term (or of 1)."""
_MARGIN = 1e-6
"""How far below a whole number the solver's bound may lie and still prove it, in parts of the bound (or of 1)."""
_UNLIMITED = (1 << 31) - 1
_POLL = 0.1
"""Seconds between two looks at the clock and at the keyboard."""

Status = Literal["optimal", "within-gap", "time-limit", "work-limit", "interrupted", "infeasible", "unbounded"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Rows:
    """Constraints `lower <= A x <= upper`, with A as compressed sparse rows."""

    starts: NDArray[np.int64]
    """Where each row's entries start in `columns` and `coefficients`; one more than there are rows."""
    columns: NDArray[np.int64]
    """Column of each entry; none is repeated within a row."""
    coefficients: NDArray[np.float64]
    """Coefficient of each entry."""
    lower: NDArray[np.float64]
    """Least value of each row, -inf where there is none."""
    upper: NDArray[np.float64]
    """Largest value of each row, inf where there is none."""

    @classmethod
    def of(cls, rows: Iterable[tuple[ArrayLike, ArrayLike, float, float]]) -> Rows:
        """Make rows of (columns, coefficients, lower, upper); one number of coefficients stands for all of its row.

        Examples
        --------
        >>> Rows.of([([0, 2], 1.0, 1, np.inf), ([1], [2.0], 0, 3)]).starts
        array([0, 2, 3])
        """
        listed = [
            (np.asarray(columns, dtype=np.int64), coefficients, lower, upper)
            for columns, coefficients, lower, upper in rows
        ]
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
    def stacked(cls, parts: Iterable[Rows]) -> Rows:
        """Return the rows of several parts, one part after the other."""
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

    def __repr__(self) -> str:
        return f"Rows(rows={len(self)}, entries={len(self.columns)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Program:
    """A linear or mixed integer program: its cost is minimized."""

    costs: NDArray[np.float64]
    """Cost of each variable."""
    integer: NDArray[np.bool_]
    """Which variables must be whole numbers."""
    lower: NDArray[np.float64]
    """Least value of each variable."""
    upper: NDArray[np.float64]
    """Largest value of each variable, inf where there is none."""
    rows: Rows
    """The constraints."""

    @property
    def whole_costs(self) -> bool:
        """Whether the cost of every solution is a whole number."""
        costly = self.costs != 0
        return bool(self.integer[costly].all() and (self.costs == np.rint(self.costs)).all())

    def missed_by(self, values: NDArray[np.float64]) -> float:
        """Return by how much values miss a bound or a row at most, in parts of the row's largest term (or of 1)."""
        bounds = np.maximum(self.lower - values, values - self.upper)
        worst = float(bounds.max(initial=0.0))
        if len(self.rows):
            terms = self.rows.coefficients * values[self.rows.columns]
            row = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.starts))
            sums = np.bincount(row, weights=terms, minlength=len(self.rows))
            scale = np.ones(len(self.rows))
            np.maximum.at(scale, row, np.abs(terms))
            off = np.maximum(self.rows.lower - sums, sums - self.rows.upper) / scale
            worst = max(worst, float(off.max()))
        return worst

    def __repr__(self) -> str:
        return f"Program(variables={len(self.costs)}, integer={int(self.integer.sum())}, rows={len(self.rows)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Solution:
    """What the solver found and what it proved."""

    status: Status
    """optimal: nothing is cheaper. within-gap: nothing is cheaper by more than the gap that was asked for, or the
    solver was content beside a lower bound. time-limit, work-limit and interrupted: what was found until then.
    infeasible and unbounded: there is nothing to find."""
    values: NDArray[np.float64] | None
    """The variables of the best solution found, integer ones rounded and the rows checked again; None without one."""
    objective: float
    """Its cost; inf without one."""
    bound: float
    """No solution costs less; rounded up where only whole costs are possible. -inf where nothing was proven."""
    seconds: float
    """Wall time of the solve."""
    duals: NDArray[np.float64] | None = None
    """What one unit of each row's right-hand side costs, for linear programs that were solved; else None."""

    @property
    def gap(self) -> float:
        """By which part of the cost a cheaper solution might undercut this one, inf without a solution or a bound."""
        if self.objective <= self.bound:
            return 0.0
        if not (math.isfinite(self.objective) and math.isfinite(self.bound)):
            return math.inf
        return (self.objective - self.bound) / max(abs(self.objective), 1e-9)

    def __repr__(self) -> str:
        return f"Solution(status={self.status!r}, objective={self.objective}, bound={self.bound})"


def solve(
    program: Program,
    *,
    time_limit: float | None = None,
    work: int | None = None,
    gap: float = 0.0,
    start: NDArray[np.float64] | None = None,
    keep_interrupted: bool = False,
    step: str = "solve",
    progress: Progress = silent,
) -> Solution:
    """Solve a program.

    Parameters
    ----------
    program : Program
    time_limit : float, optional
        Seconds of wall time after which the best solution so far is returned.
    work : int, optional
        Nodes of the search tree, for a linear program steps of the simplex algorithm, after which the best solution so
        far is returned; other than seconds they are the same on every machine.
    gap : float, default 0
        Stop as soon as no solution can be cheaper by more than this part of the cost.
    start : array, optional
        A solution to start from; the solver finds none that is worse. Variables that are NaN are filled in by the
        solver. (One that is not feasible is ignored.)
    keep_interrupted : bool, default False
        What a KeyboardInterrupt (Ctrl-C, or raised by `progress`) does: False, the solver is stopped and it is raised
        again; True, it is stopped and what it found is returned with the status "interrupted".
    step : str
        What the progress is called.
    progress : callable
        Called with (step, seconds, time limit in seconds) about ten times a second; without a limit (step, 0, 1).

    Returns
    -------
    Solution

    Raises
    ------
    MissingExtraError
        Where highspy is not installed.
    InternalError
        Where the solver gives up for a reason that no program should give it.
    """
    return LiveProgram(program).solve(
        time_limit=time_limit, work=work, gap=gap, start=start, keep_interrupted=keep_interrupted, step=step,
        progress=progress,
    )  # fmt: skip


class LiveProgram:
    """A program that stays in the solver: columns and rows can be added between solves.

    Parameters
    ----------
    program : Program
        What to begin with; it may have no columns or no rows yet.
    threads : int, optional
        Threads of the solver; its own choice by default.
    """

    def __init__(self, program: Program, *, threads: int | None = None) -> None:
        self._highspy = require("highspy", extra="exact", purpose="A proven optimum")
        self._program = program
        self._solver = self._highspy.Highs()
        options: dict[str, Any] = {
            "output_flag": False,
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
            "mip_feasibility_tolerance": _TOLERANCE,
            "random_seed": 0,
        }
        if threads is not None:
            options["threads"] = threads
        self._set(options)
        self._stop = threading.Event()
        for interrupt in ("cbSimplexInterrupt", "cbIpmInterrupt", "cbMipInterrupt"):
            callbacks = getattr(self._solver, interrupt)
            callbacks += self._stop_if_asked
        self._pass_model()

    @property
    def program(self) -> Program:
        """The program as it is now."""
        return self._program

    def add_columns(
        self,
        *,
        costs: ArrayLike,
        starts: ArrayLike,
        rows: ArrayLike,
        coefficients: ArrayLike,
        integer: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        """Add variables with their entries in the rows that are there, as compressed sparse columns.

        Parameters
        ----------
        costs : array
            Cost of each new variable.
        starts, rows, coefficients : arrays
            Entries of column `c`: those from `starts[c]` to `starts[c + 1]`.
        integer, lower, upper : arrays, optional
            By default not integer, at least 0, without an upper bound.
        """
        costs = np.asarray(costs, dtype=np.float64)
        count, old = len(costs), self._program
        starts, rows = np.asarray(starts, dtype=np.int64), np.asarray(rows, dtype=np.int64)
        coefficients = np.asarray(coefficients, dtype=np.float64)
        kind = np.zeros(count, dtype=np.bool_) if integer is None else np.asarray(integer, dtype=np.bool_)
        low = np.zeros(count) if lower is None else np.asarray(lower, dtype=np.float64)
        high = np.full(count, np.inf) if upper is None else np.asarray(upper, dtype=np.float64)
        column = np.repeat(np.arange(count), np.diff(starts)) + len(old.costs)
        row_of = np.concatenate((np.repeat(np.arange(len(old.rows)), np.diff(old.rows.starts)), rows))
        order = np.argsort(row_of, kind="stable")
        sizes = np.bincount(row_of, minlength=len(old.rows))
        self._program = Program(
            costs=np.concatenate((old.costs, costs)),
            integer=np.concatenate((old.integer, kind)),
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
        if kind.any():
            whole = np.flatnonzero(kind).astype(np.int32) + np.int32(len(old.costs))
            self._solver.changeColsIntegrality(len(whole), whole, np.ones(len(whole), dtype=np.uint8))

    def add_rows(self, rows: Rows) -> None:
        """Add constraints on the variables that are there."""
        old = self._program
        self._program = Program(
            costs=old.costs,
            integer=old.integer,
            lower=old.lower,
            upper=old.upper,
            rows=Rows.stacked((old.rows, rows)),
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
        """Solve the program as it is now; see `shoal.solver.highs.solve`."""
        began = time.perf_counter()
        if len(self._program.costs) == 0:
            return self._without_variables()
        self._set({"mip_rel_gap": gap, "mip_abs_gap": 0.0 if gap == 0 else _MARGIN})
        self._set({"time_limit": math.inf if time_limit is None else max(time_limit, 0.0)})
        limit = "mip_max_nodes" if self._program.integer.any() else "simplex_iteration_limit"
        self._set({limit: _UNLIMITED if work is None else work})
        if start is not None:
            given = np.flatnonzero(np.isfinite(start)).astype(np.int32)
            self._solver.setSolution(len(given), given, np.asarray(start, dtype=np.float64)[given])
        interrupted = self._run(time_limit, keep_interrupted, step, progress)
        found = self._solution(interrupted, gap, time.perf_counter() - began)
        if start is not None and found.status == "within-gap" and (gap == 0 or not math.isfinite(found.bound)):
            # HiGHS has been seen to call a start optimal without a bound, where presolve left nothing to search, and
            # from 1.16 on with a bound that is lower.
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
        program = self._program
        lp = self._highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(program.costs), len(program.rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.costs, program.lower, program.upper
        lp.row_lower_, lp.row_upper_ = program.rows.lower, program.rows.upper
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

    def _stop_if_asked(self, event: Any) -> None:
        if self._stop.is_set():
            event.interrupt()

    def _run(self, limit: float | None, keep_interrupted: bool, step: str, progress: Progress) -> bool:
        """Let the solver work in a thread of its own while this one watches clock and keyboard; return if stopped."""
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
            while not done.is_set():
                seconds = time.perf_counter() - began
                if limit is None:
                    progress(step, 0, 1)
                else:
                    progress(step, min(int(seconds), math.ceil(limit)), math.ceil(limit))
                done.wait(_POLL if seconds > _POLL else _POLL / 20)
        except BaseException as error:
            self._stop.set()
            done.wait()
            if not (keep_interrupted and isinstance(error, KeyboardInterrupt)):
                raise
            interrupted = True
        worker.join()
        if failed:
            raise failed[0]
        return interrupted

    def _solution(self, interrupted: bool, gap: float, seconds: float) -> Solution:
        kinds, info = self._highspy.HighsModelStatus, self._solver.getInfo()
        ended = self._solver.getModelStatus()
        nothing: dict[Any, tuple[Status, float]] = {
            kinds.kInfeasible: ("infeasible", math.inf),
            kinds.kUnbounded: ("unbounded", -math.inf),
            kinds.kUnboundedOrInfeasible: ("unbounded", -math.inf),
        }
        if ended in nothing:
            return Solution(
                status=nothing[ended][0], values=None, objective=math.inf, bound=nothing[ended][1], seconds=seconds
            )
        stopped: dict[Any, Status] = {
            kinds.kTimeLimit: "time-limit",
            kinds.kSolutionLimit: "work-limit",
            kinds.kIterationLimit: "work-limit",
            kinds.kInterrupt: "interrupted",
        }
        if ended not in {kinds.kOptimal, *stopped}:
            raise InternalError(f"the solver ended with the status {self._solver.modelStatusToString(ended)}")
        whole = bool(self._program.integer.any())
        values, objective = self._values(whole, int(info.primal_solution_status), ended == kinds.kOptimal)
        if whole:
            bound = float(info.mip_dual_bound)
        else:
            bound = float(info.objective_function_value) if ended == kinds.kOptimal else -math.inf
        if whole and self._program.whole_costs and math.isfinite(bound):
            bound = float(math.ceil(bound - _MARGIN * max(1.0, abs(bound))))
        bound = min(bound, objective)
        status: Status
        # Costs that are not whole may differ from the bound by what the solver neglects, and by nothing more.
        neglected = 0 if whole and (gap > 0 or self._program.whole_costs) else _MARGIN * max(1.0, abs(objective))
        if values is not None and bound >= objective - neglected:
            status = "optimal"
        elif ended == kinds.kOptimal:
            status = "within-gap"
        else:
            status = "interrupted" if interrupted else stopped[ended]
        duals = np.array(self._solver.getSolution().row_dual) if not whole and ended == kinds.kOptimal else None
        return Solution(status=status, values=values, objective=objective, bound=bound, seconds=seconds, duals=duals)

    def _values(self, whole: bool, feasible: int, finished: bool) -> tuple[NDArray[np.float64] | None, float]:
        """Return the solver's best solution with whole numbers where they belong, if it survives being checked."""
        if feasible != int(self._highspy.SolutionStatus.kSolutionStatusFeasible) or not (whole or finished):
            return None, math.inf
        values = np.array(self._solver.getSolution().col_value, dtype=np.float64)
        integer = self._program.integer
        values[integer] = np.rint(values[integer])
        values = np.clip(values, self._program.lower, self._program.upper)
        if self._program.missed_by(values) > _CHECKED:
            return None, math.inf
        return values, float(self._program.costs @ values)

    def _without_variables(self) -> Solution:
        rows = self._program.rows
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
