"""Compiling ahead runs whatever there is to compile, in processes of its own."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shoal as shoal_package
from shoal._core.compiling import Kernel
from shoal._core.compiling.kernels import Role
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.cli import warm_up
from shoal.cli.warm_up import _tasks
from shoal.errors import MissingExtraError

if TYPE_CHECKING:
    import pytest


@pytest.mark.drawn
def test_what_is_named_runs_to_its_end(shoal: Any) -> None:
    found = shoal("warm-up", "republish", "--processes", 1, "--json")
    assert found.code == 0, found.err
    assert found.json["compiled"] == ["republish"]


def test_all_algorithms_can_be_named_and_others_cannot(shoal: Any) -> None:
    assert set(_tasks()) == {*ALGORITHMS, "grouping", "risk", "republish"}
    found = shoal("warm-up", "mondrain")
    assert (found.code, found.out) == (2, "")
    assert "mondrian" in found.err


def test_what_lacks_an_extra_is_known_before_anything_is_compiled(shoal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(module: str, *, extra: str, purpose: str) -> None:
        raise MissingExtraError(f"{purpose} needs {module}: [{extra}]")

    monkeypatch.setattr(warm_up, "require", lacking)
    monkeypatch.setattr(warm_up, "_run_all", lambda names, processes: iter(names))
    found = shoal("warm-up", "hilbert", "milp")
    assert (found.code, found.out, found.err) == (2, "", "Error: 'milp' needs highspy: [exact]\n")
    found = shoal("warm-up", "--json")
    assert set(found.json["left_out"]) == {"matching", "milp", "patterns-optimal", "republish"}
    assert set(found.json["compiled"]) == _tasks().keys() - set(found.json["left_out"])
    assert ": cluster, " in found.err
    assert "milp" not in found.err


def test_ctrl_c_ends_all_processes() -> None:
    call = [sys.executable, "-m", "shoal", "warm-up", "cluster", "sabre"]
    environ = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # runs long, and leaves no machine code
    started = subprocess.Popen(call, stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True)
    assert started.stderr is not None
    assert started.stderr.readline().startswith("Compiling")
    os.killpg(started.pid, signal.SIGINT)
    assert started.communicate(timeout=60)[1] == "Error: Interrupted. Nothing was published.\n"
    assert started.returncode == 130


RARE = {
    "bounds": {"fewest_stars"},
    "column_sets": {"count_groups_of_sets", "flag_failing_rows", "improve_rows", "star_rows"},
    "common": {"acceptable"},
    "disclosure_risk": {"compute_least_doubt"},
    "bundles": {
        "align_rows",
        "cheapest_runs",
        "choose_rows",
        "failing_bundles",
        "join_round",
        "least_losses_of_persons",
        "raise_charges",
    },
    "exact": {"close_vectors"},
    "matching": {"pair_costs", "is_cheapest_assignment"},
    "joins": {"collect_covering", "count_meeting"},
    "grouping": {"spread_out", "connected_sets", "lightest_set"},
    "metrics": {"count_rows", "estimate_rows"},
    "republication": {"balance_in_order", "find_largest_alpha"},
    "table": {"order_of_cells", "shuffle_parts"},
}
"""Loops of rare requests: distances between values proven optimal, matchings by another way than the solver's, cells
that cover cells of a population, maps and labels that need a search, counting queries of the library, supply that runs
out, sets of near values, sets of quasi-identifiers, insensitive columns in pieces, persons;
other loops call `acceptable` themselves. Their first use compiles them."""


def test_what_first_runs_need_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    call = Kernel.__call__

    def noted(kernel: Kernel, *arguments: Any) -> Any:
        called.add(f"{kernel.py_func.__module__}.{kernel.py_func.__name__}")
        return call(kernel, *arguments)

    monkeypatch.setattr(Kernel, "__call__", noted)
    for name, task in _tasks().items():
        task(name)
    there = set(kernels())
    missing: dict[str, set[str]] = {}
    for name in there - called:
        part = name.split(".")[2] if name.startswith("shoal.algorithms") else name.split(".")[1]
        missing.setdefault(part, set()).add(name.rpartition(".")[2])
    assert missing == RARE, "a new loop is called by the work of `shoal warm-up`, or it is rare"


def kernels() -> Iterator[str]:
    """Generate the names of all functions that Python calls compiled."""
    folder = Path(shoal_package.__file__).parent
    for file in folder.rglob("*_kernel.py"):
        module = ".".join(("shoal", *file.relative_to(folder).with_suffix("").parts))
        for one in vars(importlib.import_module(module)).values():
            if isinstance(one, Kernel) and one.__module__ == module and one.role is Role.KERNEL:
                yield f"{module}.{one.py_func.__name__}"
