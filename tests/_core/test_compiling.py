"""Kernels are compiled once for all processes, in a folder that only their user can write, with any numba."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.every import THOROUGH, every, some

from shoal._core.compiling import folders, stamps
from shoal.algorithms.algorithm_list import ALGORITHMS

SOURCE = """
from shoal._core.compiling import inlined, kernel, kernel_step

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
CALL = """
from shoal._core.compiling import notices

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
    """The functions whose machine code is there."""
    return sorted(path.name.split("-")[0] for path in cache.rglob("*.nbc*"))


@pytest.mark.thorough
def test_processes_compile_at_once_and_later_ones_load(own: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    both = [printed(process) for process in [starting(own, cache), starting(own, cache)]]
    assert {told for _, told in both} == {""}
    assert {result.split()[0] for result, _ in both} == {"42"}
    assert sum(int(result.split()[1]) for result, _ in both) == 2, "each function once, by one of them"
    assert names(cache) == ["own_kernel.doubled", "own_kernel.twice_and"], "no drafts, and nothing for what is inlined"
    assert printed(starting(own, cache))[0].split() == ["42", "0"]
    for damaged in some(("nbc", "nbi")):
        (kept,) = cache.rglob(f"own_kernel.twice_and-*.{damaged}")
        kept.write_bytes(kept.read_bytes()[: len(kept.read_bytes()) // 2])
        assert printed(starting(own, cache))[0].split() == ["42", "1"], "what is damaged is compiled again"
        assert printed(starting(own, cache))[0].split() == ["42", "0"], "and kept"
    (own / "own_kernel.py").write_text(SOURCE.replace("return a + b", "return a + b + 1"))
    assert printed(starting(own, cache))[0].split() == ["44", "2"], "and what is of another version"
    assert len(names(cache)) == 2, "which is then removed"


@pytest.mark.thorough
def test_a_change_below_a_kernel_compiles_it_again(own: Path, tmp_path: Path) -> None:
    """Numba alone would notice changes in the file of the kernel only."""
    below, above = own / "below_kernel.py", own / "own_kernel.py"
    below.write_text(SOURCE)
    above.write_text(
        "from shoal._core.compiling import kernel\n"
        "from below_kernel import doubled\n"
        "@kernel\n"
        "def twice_and(a, b):\n"
        "    return doubled(a) + b\n"
    )
    call = (
        "import re\n"
        "from shoal._core.compiling import stamps\n"
        "stamps._IMPORTED = re.compile(rb'^from (below_kernel) import', re.M)\n"  # they are not of shoal
    )
    assert printed(starting(own, tmp_path / "cache", call + CALL))[0].split()[0] == "42"
    below.write_text(SOURCE.replace("return plus(a, a)", "return plus(a, a) + 1"))
    assert printed(starting(own, tmp_path / "cache", call + CALL))[0].split()[0] == "43"


@pytest.mark.thorough
def test_types_that_processes_compile_at_once_do_not_mix(own: Path, tmp_path: Path) -> None:
    """Numba numbers the files of a function: without a lock both would be number 1, and one of them wrong."""
    calls = [CALL.replace("20, 2", pair) for pair in ("20, 2", "20.5, 2", "20, 2.5", "20.5, 2.5")]
    cache = tmp_path / "cache"
    results = [printed(process)[0].split()[0] for process in [starting(own, cache, call) for call in calls]]
    assert results == ["42", "43.0", "42.5", "43.5"]
    assert names(cache) == ["own_kernel.doubled"] * 2 + ["own_kernel.twice_and"] * 4
    assert [printed(starting(own, cache, call))[0].split()[1] for call in calls] == ["0"] * 4


@pytest.mark.drawn
def test_a_full_disk_does_not_stop_a_run(own: Path, tmp_path: Path) -> None:
    full = (
        "import errno\n"
        "from numba.core import caching\n"
        "def save(*_):\n"
        "    raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "caching.IndexDataCacheFile.save = save\n"
    )
    result, warned = printed(starting(own, tmp_path / "cache", full + CALL))
    assert result.split() == ["42", "2"]
    assert warned.count("RuntimeWarning: Compiled code could not be written (No space left on device)") == 1


@pytest.mark.drawn
def test_it_runs_uncompiled_if_numba_is_disabled(own: Path, tmp_path: Path) -> None:
    assert printed(starting(own, tmp_path / "cache", NUMBA_DISABLE_JIT="1"))[0].split() == ["42", "0"]


@pytest.mark.drawn
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


def blocked(folder: Path) -> None:
    """Put a file in the place of a folder."""
    shutil.rmtree(folder)
    folder.touch()


@pytest.fixture
def places(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are tried, in their order."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(folders, "_of_user", lambda: tmp_path / "user")
    monkeypatch.setattr(folders, "_temporary", lambda: tmp_path / "temporary")
    monkeypatch.setattr(folders, "_WARNED", set())
    monkeypatch.setattr(folders, "is_private", lambda folder: folder.is_dir() or not folder.exists())
    return [own / "__pycache__", tmp_path / "user", tmp_path / "temporary"]


def test_places_are_tried_in_turn(own: Path, places: list[Path]) -> None:
    for place in places:
        if place.name == "temporary":
            with pytest.warns(RuntimeWarning, match="may be gone soon"):
                chosen = folders.private_folder(own / "own_kernel.py", "own_kernel", "1" * 16)
        else:
            chosen = folders.private_folder(own / "own_kernel.py", "own_kernel", "1" * 16)
        assert chosen is not None
        assert chosen.is_relative_to(place)
        blocked(place)
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert folders.private_folder(own / "own_kernel.py", "own_kernel", "1" * 16) is None
    assert folders.private_folder(own / "own_kernel.py", "own_kernel", "1" * 16) is None, "without another warning"


def test_a_new_version_removes_older_ones_of_its_module(own: Path, places: list[Path]) -> None:
    def made(name: str, stamp: str) -> Path:
        folder = folders.private_folder(own / "own_kernel.py", name, stamp * 16)
        assert folder is not None
        return folder

    old, other, new = made("own_kernel", "1"), made("own_kernel_too", "1"), made("own_kernel", "2")
    assert [one.exists() for one in (old, other, new)] == [False, True, True]


def test_what_an_administrator_compiled_is_taken(
    own: Path, places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = own / "own_kernel.py"
    installed = folders.private_folder(source, "own_kernel", "1" * 16)
    assert installed is not None
    (installed / "sub").mkdir(mode=0o555)
    (installed / "sub" / "code.nbc").write_bytes(b"code")
    able = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != installed and able(path, mode))
    copied = folders.private_folder(source, "own_kernel", "1" * 16)
    assert copied is not None
    assert copied.is_relative_to(tmp_path / "user")
    assert (copied / "sub" / "code.nbc").read_bytes() == b"code"
    assert os.stat(copied / "sub").st_mode & 0o777 == 0o700
    assert installed.exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_group_cannot_write_what_is_compiled(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    before = os.umask(0o022)
    try:
        for mask, mode in ((0o022, 0o755), (0o002, 0o700)):
            os.umask(mask)
            folder = folders.private_folder(own / "own_kernel.py", f"masked{mask}", "1" * 16)
            assert folder is not None
            assert folder.parent == own / "__pycache__"
            assert folder.stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_folders_that_others_can_write_are_not_used(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    assert folders.is_private(inner / "new")
    inner.mkdir(mode=0o755)
    for mode, private in ((0o755, True), (0o700, True), (0o775, False), (0o757, False), (0o777, False)):
        inner.chmod(mode)
        assert folders.is_private(inner) is private
        assert folders.is_private(inner / "new") is private
    inner.chmod(0o1777)  # as /tmp: others can make files there, and not touch ours
    assert not folders.is_private(inner)
    assert folders.is_private(inner / "new")
    inner.chmod(0o755)
    (tmp_path / "link").symlink_to(inner)
    assert folders.is_private(tmp_path / "link")
    if os.geteuid() == 0:
        os.chown(tmp_path / "link", 1234, 1234, follow_symlinks=False)
        assert not folders.is_private(tmp_path / "link"), "somebody else can let it lead elsewhere"
        os.chown(inner, 1234, 1234)
        assert not folders.is_private(inner)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_links_behind_links_are_followed(tmp_path: Path) -> None:
    public, inner = tmp_path / "public", tmp_path / "inner"
    public.mkdir()
    inner.mkdir(mode=0o755)
    (public / "second").symlink_to(inner)
    (tmp_path / "first").symlink_to(public / "second")
    assert folders.is_private(tmp_path / "first")
    public.chmod(0o777)  # others can put another link in the place of the second one
    assert not folders.is_private(tmp_path / "first")
    assert not folders.is_private(tmp_path / "first" / "new")
    assert not folders.is_private(public / ".." / "public" / "second")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert not folders.is_private(tmp_path / "loop")


def test_a_stamp_depends_on_every_source_behind_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    source = stamps._source

    def stamp(changed: str | None) -> str:
        monkeypatch.setattr(stamps, "_source", lambda name: source(name) + b"#" * (name == changed))
        return stamps.source_stamp.__wrapped__("shoal.algorithms.tp.donors_kernel")

    assert stamps.source_stamp("shoal.algorithms.tp.donors_kernel") == stamp(None)
    behind = ("tp.donors_kernel", "tp.cascade_kernel", "tp.three_phase_kernel", "common.hashing_kernel")
    for changed in (*(f"shoal.algorithms.{name}" for name in behind), "shoal._core.compiling.dispatchers"):
        assert stamp(changed) != stamp(None), changed
    assert stamp("shoal.algorithms.mondrian.cuts_kernel") == stamp(None)


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


@every("role", ["kernel_step", "allocating_step"], drawn=True)
def test_only_allocating_steps_make_arrays(role: str, tmp_path: Path) -> None:
    source = f"""
import numpy as np
from shoal._core.compiling import {role}, kernel

@{role}
def zeros(n):
    return np.zeros(n).size

@kernel
def size(n):
    return zeros(n)
"""
    (tmp_path / "own_kernel.py").write_text(source)
    call = "from own_kernel import size; print(size(3))"
    out, err = starting(tmp_path, tmp_path / "cache", call).communicate(timeout=120)
    assert out.strip() == ("3" if role == "allocating_step" else "")
    assert ("TypingError" in err) == (role == "kernel_step"), err


INTERPRETED = """
import warnings

import polars as pl
import shoal

warnings.simplefilter("ignore")
table = pl.DataFrame({"age": [34, 36, 35, 61, 64, 67], "zip": list("aabbbc"), "ill": list("fauasf")})
table = pl.concat([table.with_columns(pl.col("age") + at % 30) for at in range(COPIES)])
for algorithm in ALGORITHMS:
    for recoding in ("suppression", "generalization"):
        asked = {"algorithm": algorithm, "recoding": recoding, "k": 2, "seed": 1}
        try:
            made = shoal.anonymize(table, quasi_identifiers=["age", "zip"], sensitive="ill", **asked)
            print(asked, made.data.rows(), made.certificate.cost.to_dict())
        except shoal.errors.ShoalError as error:
            print(asked, error)
"""


def test_small_tables_are_published_before_anything_is_compiled(tmp_path: Path) -> None:
    """Loops that are not compiled run as Python on small arrays, and give the same release."""
    # Others compile, for half a minute, and so does a second release of ninety rows. The last table is too large for
    # other loops than those with linear work.
    others = [name for name in ALGORITHMS if name != "milp"]
    runs = [(["auto"], 1), (["mondrian", "hilbert"], 100), (others, 1), (["auto"], 15)]
    for algorithms, copies in runs if THOROUGH else runs[:2]:
        cache = tmp_path / f"{copies}-{len(algorithms)}"
        program = f"ALGORITHMS, COPIES = {algorithms}, {copies}\n{INTERPRETED}"
        told, _ = printed(starting(tmp_path, cache, program))
        assert (algorithms, copies) in runs[2:] or not list(cache.rglob("*.nbi")), "nothing was compiled"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(program, {})
        assert out.getvalue().strip() == told
        assert told.count("{'algorithm'") == 2 * len(algorithms)
