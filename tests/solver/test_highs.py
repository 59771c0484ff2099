"""The adapter to the solver, against enumeration and another solver's answers."""

import itertools
import math
import subprocess
import sys
from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import pytest
from tests.every import every

from shoal.errors import MissingExtraError
from shoal.solver import LiveProgram, Program, Rows, Solution, solve


def random_program(seed, *, integer, variables=4, rows=3, high=3):
    chance = np.random.default_rng(seed)
    listed = []
    for _ in range(rows):
        coefficients = chance.integers(-3, 6, variables).astype(float)
        lower, upper = sorted(chance.integers(-4, 14, 2).tolist())
        listed.append((np.arange(variables), coefficients, lower if chance.random() < 0.6 else -np.inf, upper))
    return Program(
        costs=chance.integers(-5, 9, variables).astype(float),
        integer=np.full(variables, integer),
        lower=np.zeros(variables),
        upper=np.full(variables, float(high)),
        rows=Rows.of(listed),
    )


def cheapest(program, high=3):
    """The least cost of whole numbers, by trying them all."""
    best = math.inf
    for values in itertools.product(range(high + 1), repeat=len(program.costs)):
        if program.max_violation(np.array(values, dtype=float)) <= 1e-9:
            best = min(best, float(program.costs @ np.array(values)))
    return best


def hard_program(variables=60, rows=40):
    """A program that takes the solver a second or two: long enough to be stopped."""
    chance = np.random.default_rng(1)
    listed = []
    for _ in range(rows):
        weights = chance.integers(0, 20, variables).astype(float)
        listed.append((np.arange(variables), weights, -np.inf, float(weights.sum() / 2.1)))
    return Program(
        costs=-chance.integers(1, 50, variables).astype(float),
        integer=np.ones(variables, dtype=bool),
        lower=np.zeros(variables),
        upper=np.ones(variables),
        rows=Rows.of(listed),
    )


@every("seed", range(60))
def test_integer_programs_against_enumeration(seed):
    program = random_program(seed, integer=True)
    expected, found = cheapest(program), solve(program)
    if expected == math.inf:
        assert (found.status, found.values, found.objective, found.bound) == ("infeasible", None, math.inf, math.inf)
        return
    assert (found.status, found.objective, found.bound) == ("optimal", expected, expected)
    assert program.max_violation(found.values) == 0
    assert (found.values == np.rint(found.values)).all()
    assert found.duals is None


@every("seed", range(40))
def test_linear_programs_against_another_interface_and_their_duals(seed):
    from scipy.optimize import linprog

    program = random_program(seed, integer=False)
    matrix = program.rows.coefficients.reshape(3, 4)
    both, right = np.vstack((matrix, -matrix)), np.concatenate((program.rows.upper, -program.rows.lower))
    kept = np.isfinite(right)
    other = linprog(program.costs, A_ub=both[kept], b_ub=right[kept], bounds=(0, 3))
    found = solve(program)
    if other.status == 2:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.objective == pytest.approx(other.fun, abs=1e-7)
    # Strong duality: what the rows and the bounds of the variables are worth is what the solution costs.
    reduced = program.costs - found.duals @ matrix
    worth = float(np.minimum(reduced * program.lower, reduced * program.upper).sum())
    worth += sum(
        price * (program.rows.lower[row] if price > 0 else program.rows.upper[row])
        for row, price in enumerate(found.duals)
        if abs(price) > 1e-9
    )
    assert worth == pytest.approx(found.objective, abs=1e-6)


def test_columns_are_added_where_they_pay():
    # Cover four points; at first with single ones at 3 each, then with two pairs at 4.
    singles = Program(
        costs=np.full(4, 3.0),
        integer=np.zeros(4, dtype=bool),
        lower=np.zeros(4),
        upper=np.full(4, np.inf),
        rows=Rows.of([([point], 1.0, 1, 1) for point in range(4)]),
    )
    live = LiveProgram(singles)
    first = live.solve()
    assert (first.objective, first.duals.tolist()) == (12, [3, 3, 3, 3])
    live.add_columns(costs=[4, 4], starts=[0, 2, 4], rows=[0, 1, 2, 3], coefficients=np.ones(4))
    second = live.solve()
    assert second.objective == 8
    assert second.values.tolist() == [0, 0, 0, 0, 1, 1]
    assert live.program.max_violation(second.values) == 0
    assert live.program.rows.columns.tolist() == [0, 4, 1, 4, 2, 5, 3, 5]
    # Lazy constraints: the first pair is forbidden, and the new columns become integer programs' own.
    live.add_rows(Rows.of([([4], 1.0, 0, 0)]))
    assert live.solve().objective == 10


def test_a_bound_is_rounded_up_only_where_costs_are_whole():
    half = Program(
        costs=np.array([1.0]), integer=np.array([True]), lower=np.zeros(1), upper=np.full(1, 9.0),
        rows=Rows.of([([0], [2.0], 3, np.inf)]),
    )  # fmt: skip
    assert half.whole_costs
    assert solve(half).bound == 2
    mixed = Program(
        costs=np.array([1.0, 0.25]), integer=np.array([True, False]), lower=np.zeros(2), upper=np.full(2, 9.0),
        rows=Rows.of([([0, 1], [1.0, 1.0], 2.5, 2.5)]),
    )  # fmt: skip
    assert not mixed.whole_costs
    found = solve(mixed)
    assert found.objective == pytest.approx(0.625)
    assert found.bound <= found.objective
    assert found.status == "optimal"


def test_rows_that_are_missed_are_found():
    program = random_program(3, integer=True)
    assert program.max_violation(np.full(4, 4.0)) >= 1
    assert program.max_violation(np.full(4, -0.5)) >= 0.5
    rows = Rows.of([([0], 1000.0, 0, 1000)])
    scaled = Program(
        costs=np.zeros(1), integer=np.zeros(1, dtype=bool), lower=np.zeros(1), upper=np.full(1, 9.0), rows=rows
    )
    assert scaled.max_violation(np.array([2.0])) == pytest.approx(0.5), "in parts of the largest term"


def test_time_limit_and_interruption_keep_what_was_found():
    program = hard_program()
    told = []
    found = solve(program, time_limit=0.3, step="hard", progress=lambda *step: told.append(step))
    assert found.status == "time-limit"
    assert found.bound < found.objective < 0
    assert program.max_violation(found.values) == 0
    assert told[0] == ("hard", 0, 1)

    def stop(step, done, total):
        raise KeyboardInterrupt

    start = found.values
    stopped = solve(program, start=start, progress=stop, keep_interrupted=True)
    assert stopped.status == "interrupted"
    assert stopped.objective <= found.objective
    with pytest.raises(KeyboardInterrupt):
        solve(program, progress=stop)

    def fail(step, done, total):
        raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        solve(program, progress=fail, keep_interrupted=True)


def test_every_solve_has_the_whole_time_limit():
    live = LiveProgram(hard_program())
    for _ in range(3):
        found = live.solve(time_limit=0.2)
        assert found.status in ("time-limit", "optimal")
        assert found.status == "optimal" or found.seconds > 0.15


def test_a_gap_ends_it_early():
    found = solve(hard_program(), gap=0.5)
    assert found.status in ("within-gap", "optimal")
    assert found.objective - found.bound <= 0.5 * abs(found.objective)


def test_no_variables_and_no_rows():
    nothing = Program(
        costs=np.empty(0), integer=np.empty(0, dtype=bool), lower=np.empty(0), upper=np.empty(0), rows=Rows.of([])
    )
    assert solve(nothing).objective == 0
    free = Program(
        costs=np.array([-1.0]), integer=np.array([True]), lower=np.zeros(1), upper=np.full(1, np.inf), rows=Rows.of([])
    )
    assert solve(free).status == "unbounded"
    without = Program(costs=free.costs, integer=free.integer, lower=free.lower, upper=np.full(1, 5.0), rows=Rows.of([]))
    assert solve(without).values.tolist() == [5]
    broken = Program(
        costs=np.empty(0), integer=np.empty(0, dtype=bool), lower=np.empty(0), upper=np.empty(0),
        rows=Rows.of([([], 1.0, 1, 2)]),
    )  # fmt: skip
    assert solve(broken).status == "infeasible"


def test_without_the_solver_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal-privacy\[exact\]'"):
        solve(random_program(0, integer=True))


def one_of_two(*costs):
    """At least one of two things, each at its cost."""
    return Program(
        costs=np.array(costs), integer=np.ones(2, dtype=bool), lower=np.zeros(2), upper=np.ones(2),
        rows=Rows.of([([0, 1], 1.0, 1, 2)]),
    )  # fmt: skip


def test_an_error_of_the_solver_is_no_internal_error(monkeypatch):
    program = Program(
        costs=np.array([1.0, 2.0]),
        integer=np.ones(2, dtype=bool),
        lower=np.zeros(2),
        upper=np.full(2, 2.0),
        rows=Rows.of([([0, 1], 1.0, 3, np.inf)]),
    )
    for failures in (1, 2):
        live = LiveProgram(program)
        answers = chain([live._highspy.HighsModelStatus.kSolveError] * failures, repeat(None))
        status = live._solver.getModelStatus
        monkeypatch.setattr(
            live._solver, "getModelStatus", lambda answers=answers, status=status: next(answers) or status()
        )
        found = live.solve()
        assert (found.status, found.objective) == (("optimal", 4.0) if failures == 1 else ("work-limit", 4.0))
        assert found.bound == (4 if failures == 1 else -math.inf)


def test_a_start_that_the_solver_takes_for_the_optimum_is_searched_further(monkeypatch):
    """HiGHS 1.16 ended with the start that it was given, called optimal, and with a lower bound."""
    program = one_of_two(3.0, 2.0)
    live, told = LiveProgram(program), []

    def once(interrupted, gap, seconds, real=live._read_solution):
        found = real(interrupted, gap, seconds)
        told.append(found)
        if len(told) > 1:
            return found
        return replace(found, status="within-gap", objective=5.0, bound=1.0, values=np.ones(2))

    monkeypatch.setattr(live, "_read_solution", once)
    found = live.solve(start=np.ones(2))
    assert (found.status, found.objective, found.bound) == ("optimal", 2, 2)
    assert len(told) == 2
    told.clear()
    assert live.solve(start=np.ones(2), gap=0.9).objective == 5, "a gap was asked for"


def test_costs_that_are_not_whole_are_not_optimal_beside_a_lower_bound(monkeypatch):
    program = one_of_two(1.5, 2.25)
    live = LiveProgram(program)
    assert live.solve().status == "optimal"
    monkeypatch.setattr(live, "_read_values", lambda *_: (np.array([0.0, 1.0]), 2.25))
    assert live.solve().status == "within-gap"


def test_what_is_worse_after_a_second_solve_is_not_returned(monkeypatch):
    program = one_of_two(3.0, 2.0)
    live = LiveProgram(program)
    first, second = (
        Solution(status=status, values=values, objective=objective, bound=bound, seconds=1.0)
        for status, values, objective, bound in (
            ("within-gap", np.array([1.0, 0.0]), 3.0, 1.0),
            ("time-limit", np.ones(2), 5.0, 4.0),
        )
    )
    answers = iter((first, second))
    monkeypatch.setattr(live, "_read_solution", lambda *_: next(answers))
    found = live.solve(start=np.array([1.0, 0.0]))
    assert (found.status, found.objective, found.bound, found.seconds) == ("time-limit", 3, 3, 2)
    assert found.values.tolist() == [1, 0]


def test_the_solver_prints_nothing() -> None:
    code = (
        "import ctypes, numpy as np\n"
        "from shoal.solver.highs import Program, Rows, solve\n"
        "one = np.ones(1)\n"
        "solve(Program(costs=one, integer=one > 0, lower=one, upper=one, rows=Rows.of([([0], 1.0, 1.0, 1.0)])))\n"
        "ctypes.CDLL(None).fflush(None)\n"
    )
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert called.stdout == called.stderr == ""
