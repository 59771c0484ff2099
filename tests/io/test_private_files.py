"""Whatever may hold a cell of the input is a file that only its owner can read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal._core.private_files import open_private, write_private_text
from shoal.errors import OutputError
from shoal.grouping.folder import save_grouping

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
TABLE = shoal.datasets.census(60, quasi_identifiers=2, seed=1)
TREE = shoal.Hierarchy.from_rows([("a", "*"), ("b", "*")])


def compared() -> Any:
    return shoal.explore(TABLE, quasi_identifiers=TABLE.columns[:2], k=2, algorithms=["mondrian"], insensitive="rest")


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "the page of an inspection": ("page.html", lambda path: shoal.inspect(TABLE).report(path)),
    "a chart": ("chart.svg", lambda path: compared().save_plot(path)),
    "a chart as PNG": ("chart.png", lambda path: compared().save_plot(path)),
    "a hierarchy": ("tree.csv", TREE.to_csv),
}


@pytest.mark.drawn
@pytest.mark.parametrize("name", WRITERS)
def test_only_the_owner_can_read(name: str, tmp_path: Path) -> None:
    file, write = WRITERS[name]
    for path in (tmp_path / "new", tmp_path / "old"):
        path.mkdir()
    (tmp_path / "old" / file).write_text("what others can read, and longer than what replaces it" * 9_999)
    for path in (tmp_path / "new", tmp_path / "old"):
        write(path / file)
        assert stat.S_IMODE((path / file).stat().st_mode) == 0o600
    assert (tmp_path / "old" / file).stat().st_size < 500_000, "what was there is gone"


@pytest.mark.drawn
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_cannot_be_written_whole_keeps_the_old_one(name: str, tmp_path: Path) -> None:
    """They were opened for writing in place: 0 bytes after a kill or on a full disk."""
    file, write = WRITERS[name]
    (tmp_path / file).write_text("old")
    os.symlink(tmp_path / file, tmp_path / f"link-{file}")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for path in (tmp_path / file, tmp_path / f"link-{file}"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises((OSError, OutputError)):
                write(path)
        assert (tmp_path / file).read_text() == "old"
    write(tmp_path / f"link-{file}")
    assert (tmp_path / f"link-{file}").is_symlink()
    assert (tmp_path / file).read_bytes() != b"old"
    assert sorted(os.listdir(tmp_path)) == sorted([file, f"link-{file}"])


@pytest.mark.drawn
def test_a_saved_grouping_is_for_its_owner(tmp_path: Path) -> None:
    made = shoal.grouping.labels(TABLE[TABLE.columns[0]], k=5)
    folder = save_grouping(made, tmp_path / "classes", tables={"classes.csv": TABLE})
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert (folder / "classes.csv").stat().st_size > 0


def test_new_files_and_devices(tmp_path: Path) -> None:
    write_private_text(tmp_path / "new", "ä", new=True)
    assert (tmp_path / "new").read_text("utf-8") == "ä"
    with pytest.raises(FileExistsError):
        write_private_text(tmp_path / "new", "b", new=True)
    mode = os.stat(os.devnull).st_mode
    open_private(os.devnull).close()
    assert os.stat(os.devnull).st_mode == mode
