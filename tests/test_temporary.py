"""Temporary folders: private, removed at the end, and swept when their owner was killed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from shoal._core.temporary import TemporaryFolder, sweep_temporary_folders

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no locks that end with their process.")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def folder_of_a_killed_process(temporary: Path, purpose: str = "studio") -> Path:
    code = (
        "import os, tempfile\n"
        f"tempfile.tempdir = {str(temporary)!r}\n"
        "from shoal._core.temporary import TemporaryFolder\n"
        f"folder = TemporaryFolder({purpose!r}).path\n"
        "(folder / 'table.csv').write_text('cells')\n"
        "print(folder, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    return Path(killed.stdout.strip())


def test_a_folder_is_for_its_owner_alone_and_gone_at_the_end(temporary: Path) -> None:
    with TemporaryFolder("spark") as folder:
        assert folder.path.parent == temporary
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        (folder.path / "deep").mkdir()
        (folder.path / "deep/table.csv").write_text("cells")
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("purpose", ["studio", "spark"])
def test_what_a_killed_process_left_is_swept(temporary: Path, purpose: str) -> None:
    left = folder_of_a_killed_process(temporary, purpose)
    assert (left / "table.csv").read_text() == "cells"
    sweep_temporary_folders()
    assert not left.exists()


def test_folders_of_living_processes_stay(temporary: Path) -> None:
    """Also those of this process, and of one whose number a sweeper could not look up."""
    with TemporaryFolder("studio") as own:
        code = (
            "import tempfile\n"
            f"tempfile.tempdir = {str(temporary)!r}\n"
            "from shoal._core.temporary import TemporaryFolder, sweep_temporary_folders\n"
            "folder = TemporaryFolder('studio')\n"
            "sweep_temporary_folders()\n"
            "print(folder.path, flush=True)\n"
            "input()\n"
        )
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            theirs = Path(other.stdout.readline().strip())
            sweep_temporary_folders()
            assert theirs.is_dir()
            assert own.path.is_dir()
            other.kill()
            other.wait()
            sweep_temporary_folders()
            assert not theirs.exists()
            assert own.path.is_dir()


def test_nothing_else_is_swept(temporary: Path, tmp_path: Path) -> None:
    """A folder of another name, one without our file, one that others can read, a link to a folder of ours."""
    named = [temporary / name for name in ("shoal-other-aaaa", "my-shoal-studio-aaaa", "shoal-studio-", "shoal-1000")]
    named.append(temporary / "shoal-studio-shared")
    for folder in named:
        folder.mkdir(0o700)
        (folder / ".owner").touch()
    named[-1].chmod(0o755)
    (without := temporary / "shoal-studio-without").mkdir(0o700)
    (without / "table.csv").touch()
    (elsewhere := tmp_path / "elsewhere").mkdir(0o700)
    (elsewhere / ".owner").touch()
    (temporary / "shoal-studio-link").symlink_to(elsewhere)
    (owner := temporary / "shoal-studio-owner").mkdir(0o700)
    (owner / ".owner").symlink_to(elsewhere / ".owner")
    before = {*tmp_path.rglob("*")}
    sweep_temporary_folders()
    assert {*tmp_path.rglob("*")} == before


def test_folders_of_others_are_not_even_tried(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = folder_of_a_killed_process(temporary)
    monkeypatch.setattr(os, "geteuid", lambda: left.stat().st_uid + 1)
    sweep_temporary_folders()
    assert left.is_dir()


def test_where_there_are_no_locks_nothing_is_swept(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = folder_of_a_killed_process(temporary)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    sweep_temporary_folders()
    assert left.is_dir()
    with TemporaryFolder("studio") as folder:
        assert folder.path.is_dir()
    assert not folder.path.exists()
