"""Kernels are compiled once and kept, by whoever comes first and wherever they can be, and nothing else is loaded."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from shoal._compiling import places, written
from shoal._compiling.looks import look_of
from shoal.algorithms.tp import cascade_kernel, donors_kernel

SOURCE = """
from shoal._compiling import inlined, kernel, kernel_step

@inlined
def plus(a, b):
    return a + b

@kernel_step
def doubled(a):
    return plus(a, a)

@kernel
def twice_and(a, b):
    return plus(doubled(a), b)
"""
OTHERS = (
    SOURCE
    + """
from typing import NamedTuple
import numpy as np

class Pair(NamedTuple):
    values: np.ndarray
    number: int

@kernel
def paired(pair, factor):
    return Pair(pair.values * factor + np.ones(len(pair.values), np.int64), pair.number // factor)
"""
)
CALL_OTHERS = """
import sys
import numpy as np
from own_kernel import Pair, paired, twice_and
results = [paired(Pair(np.arange(3), 7), 2), paired(Pair(np.arange(6)[::2], 7), 2), twice_and(1.5, 2)]
try:
    paired(Pair(np.arange(3), 7), 0)
except ZeroDivisionError as error:
    results.append(error)
print(results, "numba" in sys.modules)
import numba
print(numba.njit(lambda a: a + 1)(1), twice_and(20, 2), paired(Pair(np.arange(3), 9), 3))
"""
CALL = """
from shoal._compiling import notices

class Heard:
    count = 0
    def begin(self):
        self.count += 1
    def end(self):
        pass

heard = Heard()
with notices.listening(heard):
    from own_kernel import twice_and
    print(twice_and(20, 2), heard.count)
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a module of kernels."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own_kernel.py").write_text(SOURCE)
    return folder


def starting(own: Path, cache: Path, call: str = CALL, **environment: str) -> subprocess.Popen[str]:
    """Start a process that calls the kernel, and prints its result and how many functions were compiled for it."""
    import shoal

    search = os.pathsep.join((str(own), str(Path(shoal.__file__).parent.parent)))
    return subprocess.Popen(
        [sys.executable, "-c", call],
        env={**os.environ, "PYTHONPATH": search, "NUMBA_CACHE_DIR": str(cache), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def names(cache: Path) -> list[str]:
    return sorted(
        path.name.split("-")[0] for path in cache.rglob("*") if path.is_file() and path.suffix not in (".nbl", ".lock")
    )


def test_processes_compile_at_once_and_later_ones_load(own: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    both = [printed(process) for process in [starting(own, cache), starting(own, cache)]]
    assert {told for _, told in both} == {""}
    assert {result.split()[0] for result, _ in both} == {"42"}
    assert sum(int(result.split()[1]) for result, _ in both) == 2, "each function once, by one of them"
    assert names(cache) == ["own_kernel.doubled", "own_kernel.twice_and"], "no drafts, and nothing for what is inlined"
    assert printed(starting(own, cache))[0].split() == ["42", "0"]
    (kept,) = cache.rglob("own_kernel.twice_and-*.nbc")
    kept.write_bytes(kept.read_bytes()[:-1])
    assert printed(starting(own, cache))[0].split() == ["42", "1"], "what is damaged is compiled again"
    (own / "own_kernel.py").write_text(SOURCE.replace("return a + b", "return a + b + 1"))
    assert printed(starting(own, cache))[0].split() == ["44", "2"], "and what is of another version"
    assert len(names(cache)) == 2, "which is then removed"


def test_what_was_kept_runs_without_numba_and_beside_it(own: Path, tmp_path: Path) -> None:
    (own / "own_kernel.py").write_text(OTHERS)
    cache = tmp_path / "cache"
    (first, _), (later, _) = (printed(starting(own, cache, CALL_OTHERS)) for _ in range(2))
    assert first.replace("True", "False", 1) == later, "the same results, and numba was not needed for them"
    assert "numba" not in later
    assert "ZeroDivisionError" in later
    configured, _ = printed(starting(own, cache, CALL_OTHERS, NUMBA_BOUNDSCHECK="1"))
    assert configured == first, "who configures numba gets it"
    for file in cache.rglob("*.nbl"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert printed(starting(own, cache, CALL_OTHERS))[0] == first, "and where a note is damaged"
    for file in cache.rglob("own_kernel.doubled-*.nbc"):
        file.unlink()
    assert printed(starting(own, cache, CALL_OTHERS))[0] == first, "and where a piece is missing"


class Named(NamedTuple):
    """Two of something."""

    one: Any
    other: Any


def test_arguments_look_alike_where_numba_has_one_type_for_them() -> None:
    from numba import typeof

    whole, table = np.arange(6), np.arange(6).reshape(2, 3)
    frozen = whole.copy()
    frozen.flags.writeable = False
    arrays = [whole, whole[::2], frozen, whole.astype(np.int32), whole * 0.5, whole > 1, table, table.T, table[:, ::2]]
    numbers = [1, -(2**40), True, 1.5, None, np.int64(1), np.int32(1), np.float64(1), np.bool_(True), np.uint64(1)]
    tuples = [(1, 2.0), (1, 2), (whole,), Named(whole, 1), Named(1, whole), Named(Named(1, 2), whole), (Named(1, 2),)]
    different = [*arrays, *numbers, *tuples]
    alike = [np.arange(9), np.arange(8)[::4], 7, False, 0.0, Named(np.arange(2), 5), table.copy()]
    for one in different:
        for other in (*different, *alike):
            same = look_of((one,)) == look_of((other,))
            assert not same or typeof(one) == typeof(other), (one, other)
    for one in alike:
        assert any(look_of((one,)) == look_of((other,)) for other in different), one
    assert look_of((1, 2)) != look_of(((1, 2),))
    for unknown in ("text", 2**63, [1], {1: 2}, np.zeros(1, "M8[D]"), np.zeros(1, object), Fraction(1)):
        assert look_of((unknown,)) is None


def test_it_runs_where_neither_package_nor_home_can_be_written(own: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    nowhere = str(file / "folder")  # not even the administrator can make it
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    homes = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"), nowhere)
    result, told = printed(starting(own, Path(nowhere), TMPDIR=str(temporary), TEMP=str(temporary), **homes))
    assert result.split()[0] == "42"
    assert told.count("RuntimeWarning: Compiled code is kept in") == 1
    assert names(temporary) == ["own_kernel.doubled", "own_kernel.twice_and"]


def kept_by(own: Path, name: str = "one-1") -> bytes | None:
    places.keep(own / "own_kernel.py", name, name.encode(), prefix="one-", current=name[:5])
    return places.find(own / "own_kernel.py", name)


def test_places_are_tried_in_turn(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(places, "_of_user", lambda: tmp_path / "user")
    monkeypatch.setattr(places, "_temporary", lambda: tmp_path / "temporary")
    monkeypatch.setattr(places, "_TOLD", set())
    monkeypatch.setattr(places, "is_private", lambda folder: True)
    assert kept_by(own) == b"one-1"
    assert names(own / "__pycache__") == ["one"]
    for used, file in (("user", own / "__pycache__"), ("temporary", tmp_path / "user")):
        for path in file.rglob("one-1"):
            path.unlink()
        blocked(file)
        if used == "temporary":
            with pytest.warns(RuntimeWarning, match="may be gone soon"):
                assert kept_by(own) == b"one-1"
        else:
            assert kept_by(own) == b"one-1"
        assert names(tmp_path / used) == ["one"]
    for path in (tmp_path / "temporary").rglob("one-1"):
        path.unlink()
    blocked(tmp_path / "temporary")
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert kept_by(own) is None
    assert kept_by(own) is None, "without another word"


def blocked(folder: Path) -> None:
    """Put a file in the place of an emptied folder."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    folder.rmdir()
    folder.touch()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_folders_that_others_can_write_are_not_used(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    assert places.is_private(inner / "new")
    inner.mkdir(mode=0o755)
    for mode, private in ((0o755, True), (0o700, True), (0o775, False), (0o757, False), (0o777, False)):
        inner.chmod(mode)
        assert places.is_private(inner) is private
        assert places.is_private(inner / "new") is private
    inner.chmod(0o1777)  # as /tmp: others can make files there, and not touch ours
    assert not places.is_private(inner)
    assert places.is_private(inner / "new")
    inner.chmod(0o755)
    (tmp_path / "link").symlink_to(inner)
    assert places.is_private(tmp_path / "link")
    if os.geteuid() == 0:
        os.chown(tmp_path / "link", 1234, 1234, follow_symlinks=False)
        assert not places.is_private(tmp_path / "link"), "somebody else can let it lead elsewhere"
        os.chown(inner, 1234, 1234)
        assert not places.is_private(inner)


def test_a_stamp_tells_of_every_source_behind_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    source = written._source

    def stamp(changed: str | None) -> str:
        monkeypatch.setattr(written, "_source", lambda name: source(name) + b"#" * (name == changed))
        return written._stamp.__wrapped__("shoal.algorithms.tp.donors_kernel")

    assert donors_kernel.complete_with_donors.written.stamp == stamp(None)
    behind = ("tp.donors_kernel", "tp.cascade_kernel", "tp.three_phase_kernel", "common.hashing_kernel")
    for changed in (*(f"shoal.algorithms.{name}" for name in behind), "shoal._compiling.library"):
        assert stamp(changed) != stamp(None), changed
    assert stamp("shoal.algorithms.mondrian.cuts_kernel") == stamp(None)


def test_a_file_is_for_one_version_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal._compiling import cache

    of = cache.KernelCache(cascade_kernel.project.written)
    codegen = SimpleNamespace(magic_tuple=lambda: ("x86_64", "this processor"))
    name = of.file_name("int64(int64)", codegen)
    assert name == of.file_name("int64(int64)", codegen)
    others = {name, of.file_name("float64(float64)", codegen)}
    others.add(of.file_name("int64(int64)", SimpleNamespace(magic_tuple=lambda: ("x86_64", "another processor"))))
    for module, version in ((cache.numba, "0.68.99"), (cache.llvmlite, "0.0.1")):
        with monkeypatch.context() as patched:
            patched.setattr(module, "__version__", version)
            others.add(of.file_name("int64(int64)", codegen))
    assert len(others) == 5


def test_threads_that_call_a_kernel_first_agree(own: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(own)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "own_kernel", None)  # it is gone again after the test
    del sys.modules["own_kernel"]
    module: Any = importlib.import_module("own_kernel")
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(module.twice_and(20, 2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [42] * 4
    assert module.twice_and.py_func(20, 2) == 42
