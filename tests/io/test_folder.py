"""A folder of results: whole or not at all, whatever goes wrong."""

import contextlib
import errno
import itertools
import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.every import every

import shoal.io.folder as module
from shoal._core.outcome import describe_outcome, watching
from shoal.errors import InternalError, OutputError, ReleaseUnsafeError
from shoal.io import (
    check_free,
    is_being_written,
    private_folder,
    staged_folder,
    sweep_folder,
    write_folder,
    write_table,
)


def text(content):
    return lambda path: path.write_text(content)


def tree(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


SIGN = '{"shoal": "1.0.0", "output": {"files": {"release.csv": {}, "old.csv": {}}}}'
FULL = '{"shoal": "1.0.0", "private": true}'
OLDER = '{"shoal": "0.9"}'
NEW = {"release.csv": text("new"), "certificate.json": text(SIGN)}
PRIVATE = {"certificate.json": text(FULL), "salt.txt": text("salt")}
PUBLISHED = {"out/certificate.json": SIGN, "out/release.csv": "new"}
OLD = {"out/certificate.json": SIGN, "out/old.csv": "old"}


@pytest.fixture
def old(tmp_path):
    target = tmp_path / "out"
    write_folder(target, {"old.csv": text("old"), "certificate.json": text(SIGN)})
    assert tree(tmp_path) == OLD
    return target


def failing(error):
    def write(path):
        path.write_text("half a rel")
        raise error

    return write


class TestWriting:
    def test_the_folder_has_the_files_and_nothing_else_is_left(self, tmp_path):
        assert write_folder(tmp_path / "out", NEW) == tmp_path / "out"
        assert tree(tmp_path) == PUBLISHED

    def test_folders_above_are_made(self, tmp_path):
        write_folder(str(tmp_path / "a" / "b" / "out"), NEW)
        assert tree(tmp_path / "a" / "b") == PUBLISHED

    def test_the_permissions_are_those_of_any_folder(self, tmp_path):
        (tmp_path / "plain").mkdir()
        target = write_folder(tmp_path / "out", NEW)
        assert target.stat().st_mode == (tmp_path / "plain").stat().st_mode

    def test_the_check_sees_the_files_before_the_folder_has_its_name(self, tmp_path):
        seen = []
        write_folder(
            tmp_path / "out", NEW, check=lambda staged: seen.append((tree(staged), (tmp_path / "out").exists()))
        )
        assert seen == [({"certificate.json": SIGN, "release.csv": "new"}, False)]

    def test_force_replaces_the_whole_folder(self, tmp_path, old):
        write_folder(old, NEW, force=True)
        assert tree(tmp_path) == PUBLISHED

    def test_force_needs_no_old_folder_and_takes_an_empty_one(self, tmp_path):
        (tmp_path / "out").mkdir()
        write_folder(tmp_path / "out", NEW, force=True)
        write_folder(tmp_path / "other", NEW, force=True)
        assert tree(tmp_path / "out") == tree(tmp_path / "other")

    def test_a_result_is_one_of_ours_too(self, tmp_path):
        write_folder(tmp_path / "out", {"result.json": text('{"shoal": "1", "files": []}')})
        write_folder(tmp_path / "out", NEW, force=True)
        assert tree(tmp_path) == PUBLISHED

    def test_a_link_to_a_folder_stays_a_link(self, tmp_path, old):
        (tmp_path / "link").symlink_to(old)
        write_folder(tmp_path / "link", NEW, force=True)
        assert (tmp_path / "link").is_symlink()
        assert tree(old) == tree(tmp_path / "link") == {"certificate.json": SIGN, "release.csv": "new"}


class TestRefusals:
    def test_an_existing_folder(self, tmp_path, old):
        with pytest.raises(OutputError, match="exists already and is kept"):
            write_folder(old, NEW)
        assert tree(tmp_path) == OLD

    @pytest.mark.parametrize("force", [False, True])
    def test_a_file(self, tmp_path, force):
        (tmp_path / "out").write_text("mine")
        with pytest.raises(OutputError, match="is a file"):
            write_folder(tmp_path / "out", NEW, force=force)
        assert tree(tmp_path) == {"out": "mine"}

    def test_a_folder_that_is_not_ours_even_with_force(self, tmp_path):
        (tmp_path / "home" / "letters").mkdir(parents=True)
        (tmp_path / "home" / "letters" / "certificate.json").write_text("mine")
        with pytest.raises(OutputError, match="names, such as"):
            write_folder(tmp_path / "home", NEW, force=True)
        assert tree(tmp_path) == {"home/letters/certificate.json": "mine"}

    def test_what_no_file_of_ours_names_is_kept_even_with_force(self, tmp_path):
        """Every file, link and empty folder is compared with a certificate or result that shoal wrote."""
        ours = {"shoal": "1.0.0", "files": ["page.html"]}
        signs = [
            ("result.json", {"accuracy": 0.9}, ["result.json"]),
            ("certificate.json", ["a"], ["certificate.json"]),
            ("certificate.json", {"shoal": 1, "output": {"files": {"original.csv": {}}}}, ["certificate.json"]),
            ("result.json", ours, ["original.csv"]),
            ("result.json", ours, ["deep/original.csv", "report.html"]),
            ("certificate.json", {"shoal": "1.0.0"}, ["releases.db", "releases.db.key"]),
            ("certificate.json", {"shoal": "1.0.0", "output": {"files": {"t/part-0.parquet": {}}}}, ["t/other"]),
        ]
        for number, (name, sign, foreign) in enumerate(signs):
            for purpose in ("out", "out.private"):
                target = tmp_path / str(number) / purpose / "out"
                folder = target.with_name(purpose)
                for file in {name, *foreign}:
                    (folder / file).parent.mkdir(parents=True, exist_ok=True)
                    (folder / file).write_text(json.dumps(sign) if file == name else "mine")
                before = tree(tmp_path)
                for refuses in (check_free, lambda path, force: write_folder(path, NEW, private=PRIVATE, force=force)):
                    with pytest.raises(OutputError, match=f"such as '{min(foreign)}'"):
                        refuses(target, force=True)
                assert tree(tmp_path) == before
        # A link and an empty folder are not ours; what ours names is, also within folders.
        target = write_folder(tmp_path / "out", {"result.json": text(json.dumps(ours)), "page.html": text("")})
        (target / "empty").mkdir()
        with pytest.raises(OutputError, match="such as 'empty'"):
            check_free(target, force=True)
        (target / "empty").rmdir()
        (target / "link").symlink_to(tmp_path)
        with pytest.raises(OutputError, match="such as 'link'"):
            check_free(target, force=True)
        (target / "link").unlink()
        check_free(target, force=True)
        parts = {"shoal": "1.0.0", "output": {"files": {"t.parquet/part-0": {}, "t.parquet/part-1": {}}}}
        (target / "certificate.json").write_text(json.dumps(parts))
        (target / "t.parquet").mkdir()
        (target / "t.parquet" / "part-1").touch()
        check_free(target, force=True)

    def test_what_the_call_reads_is_kept_even_with_force(self, tmp_path, monkeypatch):
        out = write_folder(tmp_path / "out", NEW, private=PRIVATE)
        monkeypatch.chdir(tmp_path)
        for reads in ("out/release.csv", out, [out / "release.csv"], {"zip": "file:out.private/salt.txt"}, "a=out"):
            with pytest.raises(OutputError, match="is read, and would be removed"):
                check_free(out, force=True, reads=reads)
        for reads in (
            "other.csv",
            "outer",
            None,
            7,
            ["out2/release.csv", b"out"],
            "out=10",
            {"out": 1},
            "x" * 5000,
            "a\0b",
        ):
            check_free(out, force=True, reads=reads)
        check_free(tmp_path / "new", reads="out")

    @pytest.mark.parametrize("inside", [".", "deeper"])
    def test_the_folder_that_one_is_in(self, tmp_path, old, monkeypatch, inside):
        (old / "deeper").mkdir()
        monkeypatch.chdir(old / inside)
        with pytest.raises(OutputError, match="the folder that you are in"):
            write_folder(old, NEW, force=True)
        assert tree(tmp_path) == OLD

    def test_a_path_through_a_file(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(OutputError, match="part of the path is a file"):
            write_folder(tmp_path / "file" / "out", NEW)
        assert tree(tmp_path) == {"file": "mine"}

    def test_the_root(self):
        for refuses in (lambda: write_folder("/", NEW), lambda: check_free("/", force=True)):
            with pytest.raises(OutputError, match="root of the file system"):
                refuses()

    @every("name", ["../x", "a/b", "/x", "..", "."])
    def test_file_names_with_folders(self, tmp_path, name):
        with pytest.raises(InternalError):
            write_folder(tmp_path / "out", {name: text("")})
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_was_not_written(self, tmp_path):
        with pytest.raises(InternalError, match="nothing was written to 'a'"):
            write_folder(tmp_path / "out", {"a": lambda path: None})
        assert list(tmp_path.iterdir()) == []


FAULTS = [
    (OSError(errno.ENOSPC, "No space left on device"), OutputError, "not enough space"),
    (PermissionError(errno.EACCES, "Permission denied"), OutputError, "no permission"),
    (OSError(errno.EIO, "Input/output error"), OutputError, "Input/output error"),
    (OSError("with no number"), OutputError, "cannot be written: OSError"),
    (KeyboardInterrupt("by hand"), KeyboardInterrupt, "by hand"),
    (ReleaseUnsafeError("unsafe"), ReleaseUnsafeError, "unsafe"),
]


def fail_at(step, fault, monkeypatch):
    """Let one of the steps to the disk and to the names fail."""
    calls = iter(range(99))

    def counted(original):
        def call(*arguments):
            if next(calls) == step:
                raise fault
            return original(*arguments)

        return call

    monkeypatch.setattr(module, "to_disk", counted(module.to_disk))
    monkeypatch.setattr(Path, "rename", counted(Path.rename))


class TestFaults:
    @every(("fault", "raised", "message"), FAULTS)
    @every("force", [False, True])
    def test_while_a_file_is_written(self, tmp_path, fault, raised, message, force):
        write_folder(tmp_path / "out", {"old.csv": text("old"), "certificate.json": text(SIGN)})
        target = tmp_path / ("out" if force else "other")
        with pytest.raises(raised, match=message):
            write_folder(target, {**NEW, "report.html": failing(fault)}, force=force)
        assert tree(tmp_path) == OLD
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    @pytest.mark.parametrize(("fault", "raised", "message"), FAULTS)
    def test_in_the_check(self, tmp_path, old, fault, raised, message):
        with pytest.raises(raised, match=message):
            write_folder(old, NEW, force=True, check=failing_check(fault))
        assert tree(tmp_path) == OLD

    @pytest.mark.parametrize(("fault", "raised", "message"), FAULTS[:5])
    @pytest.mark.parametrize("step", range(5))
    def test_at_every_step_to_the_disk_and_to_the_name(self, tmp_path, old, monkeypatch, fault, raised, message, step):
        # Flushing two files and the staged folder, then renaming the old one and the new one.
        fail_at(step, fault, monkeypatch)
        with pytest.raises(raised, match=message):
            write_folder(old, NEW, force=True)
        assert tree(tmp_path) == OLD
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_an_interrupt_after_the_new_folder_has_its_name(self, tmp_path, old, monkeypatch):
        to_disk = module.to_disk

        def interrupt(path):
            if path == tmp_path:
                raise KeyboardInterrupt
            to_disk(path)

        monkeypatch.setattr(module, "to_disk", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_folder(old, NEW, force=True)
        assert tree(tmp_path) == PUBLISHED

    def test_folders_that_were_made_above_are_gone(self, tmp_path):
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path / "a" / "b" / "out", {"x": failing(KeyboardInterrupt())})
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.usefixtures("full_disk")
    @pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
    def test_a_disk_that_is_really_full(self, tmp_path, name):
        frame = pl.DataFrame({"a": [str(hash((row, 1)))[1:] for row in range(50_000)]})
        with pytest.raises(OutputError, match=r"not enough space on the disk for '.*out'"):
            write_folder(tmp_path / "out", {name: lambda path: write_table(frame, path)})
        assert list(tmp_path.iterdir()) == []

    def test_something_of_that_name_came_up_meanwhile(self, tmp_path):
        def meanwhile(path):
            path.write_text("")
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "theirs").write_text("theirs")

        with pytest.raises(OutputError, match="exists already and is kept"):
            write_folder(tmp_path / "out", {"a": meanwhile})
        assert tree(tmp_path) == {"out/theirs": "theirs"}


def failing_check(fault):
    def check(staged):
        raise fault

    return check


def killed(code):
    """Run code in a process of its own that ends without cleaning up."""
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            exec(f"import os\nfrom pathlib import Path\nimport shoal.io.folder as f\n{code}", {})
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


class TestCrashes:
    def test_while_a_file_is_written(self, tmp_path, old):
        killed(f"f.write_folder({str(old)!r}, {{'x': lambda path: os._exit(9)}}, force=True)")
        assert len(list(tmp_path.glob(".out.shoal-new-*"))) == 1
        assert tree(old) == {"certificate.json": SIGN, "old.csv": "old"}
        write_folder(old, NEW, force=True)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert tree(tmp_path) == PUBLISHED

    CRASH = """
rename, calls = Path.rename, []
def counted(path, to):
    calls.append(to)
    if len(calls) == 2:
        {before}
        os._exit(9)
    return rename(path, to)
Path.rename = counted
f.write_folder({target!r}, {{"certificate.json": lambda path: path.write_text('{{"shoal": "2"}}')}}, force=True)
"""

    def test_between_the_two_renames_the_old_folder_is_found_again(self, tmp_path, old):
        killed(self.CRASH.format(before="pass", target=str(old)))
        assert not old.exists()
        with pytest.raises(OutputError, match="exists already"):
            write_folder(old, NEW)
        assert tree(tmp_path) == OLD
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_before_the_old_folder_is_deleted(self, tmp_path, old):
        killed(self.CRASH.format(before="rename(path, to)", target=str(old)))
        assert len(list(tmp_path.glob(".out.shoal-old-*"))) == 1
        with pytest.raises(OutputError, match="exists already"):
            write_folder(old, NEW)
        assert tree(tmp_path) == {"out/certificate.json": '{"shoal": "2"}'}

    def test_what_a_living_process_is_writing_is_left_alone(self, tmp_path):
        def another(path):
            path.write_text("new")
            with pytest.raises(ZeroDivisionError):
                write_folder(tmp_path / "out", {"x": failing(ZeroDivisionError())})

        write_folder(tmp_path / "out", {"release.csv": another, "certificate.json": text(SIGN)})
        assert tree(tmp_path) == PUBLISHED

    def test_other_hidden_folders_are_left_alone(self, tmp_path):
        for name in (".out.mine", ".out.shoal-old-notours", ".other.shoal-old-00000000"):
            (tmp_path / name).mkdir()
        write_folder(tmp_path / "out", NEW)
        assert len(os.listdir(tmp_path)) == 4

    def test_without_locks_leftovers_stay_and_writing_works(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "fcntl", None)
        (tmp_path / ".out.shoal-new-00000000").mkdir()
        write_folder(tmp_path / "out", NEW)
        assert sorted(path.name for path in tmp_path.iterdir()) == [".out.shoal-new-00000000", "out"]


class TestStaged:
    """A folder that waits for its name until its writer says so."""

    def test_it_appears_when_it_is_published(self, tmp_path):
        target = tmp_path / "out"
        with staged_folder(target, {"a.txt": lambda path: path.write_text("a")}) as staged:
            assert not target.exists()
            assert (staged.path / "a.txt").read_text() == "a"
            staged.publish()
            assert (target / "a.txt").read_text() == "a"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    @pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
    def test_without_it_nothing_is_left(self, tmp_path, error):
        files = {"a.txt": lambda path: path.write_text("a")}
        with contextlib.suppress(ValueError, KeyboardInterrupt), staged_folder(tmp_path / "deep" / "out", files):
            if error:
                raise error
        assert error is None or not list(tmp_path.iterdir())
        assert not list(tmp_path.glob("**/*.txt"))

    def test_sweeping_removes_what_nobody_writes(self, tmp_path):
        target = tmp_path / "out"
        assert not sweep_folder(target)
        (tmp_path / ".out.shoal-new-0123abcd").mkdir()
        with staged_folder(target, {"a.txt": lambda path: path.write_text("a")}) as staged:
            # Made first, and swept by the writer itself; its own folder is held by a lock.
            assert not (tmp_path / ".out.shoal-new-0123abcd").exists()
            assert not sweep_folder(target)
            assert staged.path.exists()
        (tmp_path / ".out.shoal-new-0123abcd").mkdir()
        (tmp_path / ".out.shoal-old-0123abcd").mkdir()
        assert sweep_folder(target)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert not sweep_folder(tmp_path / "no such folder" / "out")


BOTH = PUBLISHED | {"out.private/certificate.json": FULL, "out.private/salt.txt": "salt"}
OLD_BOTH = OLD | {"out.private/certificate.json": OLDER}


@pytest.fixture
def old_both(tmp_path):
    target = tmp_path / "out"
    files = {"old.csv": text("old"), "certificate.json": text(SIGN)}
    write_folder(target, files, private={"certificate.json": text(OLDER)})
    assert tree(tmp_path) == OLD_BOTH
    return target


def mode(path):
    return path.stat().st_mode & 0o777


class TestTwoFolders:
    """A folder that may be published, and the private one beside it: both whole, or neither."""

    def test_both_appear_and_nothing_else_is_left(self, tmp_path):
        target = write_folder(tmp_path / "out", NEW, private=PRIVATE)
        assert tree(tmp_path) == BOTH
        assert private_folder(target) == tmp_path / "out.private"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
    def test_nobody_else_can_read_the_private_one(self, tmp_path, umask):
        before = os.umask(umask)
        try:
            write_folder(tmp_path / "out", NEW, private=PRIVATE)
        finally:
            os.umask(before)
        private = tmp_path / "out.private"
        assert mode(private) == 0o700
        assert {mode(path) for path in private.iterdir()} == {0o600}
        assert mode(tmp_path / "out") == 0o777 & ~umask

    def test_not_even_while_it_is_written(self, tmp_path):
        seen = []
        write_folder(tmp_path / "out", NEW, private={"a": lambda path: (path.touch(), seen.append(mode(path.parent)))})
        assert seen == [0o700]

    @pytest.mark.parametrize("private", [None, PRIVATE])
    def test_the_public_one_neither_until_it_has_its_name(self, tmp_path, private):
        seen = []
        files = {"a": lambda path: (path.touch(), seen.append(mode(path.parent)))}
        target = write_folder(tmp_path / "out", files, private=private, check=lambda staged: seen.append(mode(staged)))
        (tmp_path / "plain").mkdir()
        assert seen == [0o700, 0o700]
        assert mode(target) == mode(tmp_path / "plain") != 0o700

    def test_the_private_files_are_written_last_and_the_check_sees_the_public_ones(self, tmp_path):
        order = []
        files = {"a": lambda path: (path.touch(), order.append("a"))}
        private = {"b": lambda path: (path.touch(), order.append("b"))}
        write_folder(tmp_path / "out", files, private=private, check=lambda staged: order.extend(os.listdir(staged)))
        assert order == ["a", "b", "a"]

    def test_force_replaces_both(self, tmp_path, old_both):
        write_folder(old_both, NEW, private=PRIVATE, force=True)
        assert tree(tmp_path) == BOTH
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    @pytest.mark.parametrize("there", ["out", "out.private"])
    def test_force_replaces_one_that_is_alone(self, tmp_path, there):
        write_folder(tmp_path / "out", NEW, private={"certificate.json": text(OLDER)})
        (tmp_path / {"out": "out.private", "out.private": "out"}[there]).rename(tmp_path / "elsewhere")
        write_folder(tmp_path / "out", NEW, private=PRIVATE, force=True)
        assert {name: content for name, content in tree(tmp_path).items() if "elsewhere" not in name} == BOTH

    @pytest.mark.parametrize("there", ["out", "out.private"])
    def test_either_one_is_kept(self, tmp_path, there):
        (tmp_path / there).mkdir()
        with pytest.raises(OutputError, match=f"{there}' exists already and is kept"):
            write_folder(tmp_path / "out", NEW, private=PRIVATE)
        with pytest.raises(OutputError, match=f"{there}' exists already and is kept"):
            check_free(tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == [there]

    @pytest.mark.parametrize("there", ["out", "out.private"])
    def test_one_that_is_not_ours_is_kept_even_with_force(self, tmp_path, there):
        (tmp_path / there / "letters").mkdir(parents=True)
        with pytest.raises(OutputError, match=f"{there}' has 1 file that no"):
            write_folder(tmp_path / "out", NEW, private=PRIVATE, force=True)
        with pytest.raises(OutputError, match="has 1 file that no"):
            check_free(tmp_path / "out", force=True)
        assert [path.name for path in tmp_path.iterdir()] == [there]

    def test_a_public_folder_has_no_private_name(self, tmp_path):
        with pytest.raises(OutputError, match=r"ends in \.private"):
            write_folder(tmp_path / "a.private", NEW, private=PRIVATE)
        assert list(tmp_path.iterdir()) == []

    def test_nothing_in_the_way(self, tmp_path):
        check_free(tmp_path / "deep" / "out")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("fault", "raised", "message"), [FAULTS[0], FAULTS[4]])
    def test_a_fault_while_a_private_file_is_written(self, tmp_path, old_both, fault, raised, message):
        with pytest.raises(raised, match=message):
            write_folder(old_both, NEW, private={**PRIVATE, "report.html": failing(fault)}, force=True)
        assert tree(tmp_path) == OLD_BOTH
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    @every(("fault", "raised", "message"), [FAULTS[0], FAULTS[4]])
    @every("force", [False, True])
    @every("step", range(11))
    def test_a_fault_at_every_step(self, tmp_path, monkeypatch, fault, raised, message, force, step):
        """To the disk: two files and their folder, twice. Names: two old folders aside, the private one, the public."""
        steps = 11 if force else 9
        if force:
            files = {"old.csv": text("old"), "certificate.json": text(SIGN)}
            write_folder(tmp_path / "out", files, private={"certificate.json": text(OLDER)})
        fail_at(step, fault, monkeypatch)
        if step < steps:
            with pytest.raises(raised, match=message):
                write_folder(tmp_path / "out", NEW, private=PRIVATE, force=force)
            assert tree(tmp_path) == (OLD_BOTH if force else {})
        assert sorted(path.name for path in tmp_path.iterdir()) == (["out", "out.private"] if force else [])

    def test_something_of_that_name_came_up_meanwhile(self, tmp_path):
        def meanwhile(path):
            path.write_text("")
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "theirs").write_text("theirs")

        with pytest.raises(OutputError, match="exists already and is kept"):
            write_folder(tmp_path / "out", {"a": meanwhile}, private=PRIVATE)
        assert tree(tmp_path) == {"out/theirs": "theirs"}

    def test_without_locks_a_crash_between_the_names_is_finished_too(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "fcntl", None)
        write_folder(tmp_path / ".out.shoal-both-00000000", NEW)
        write_folder(tmp_path / "out.private", PRIVATE)
        assert sweep_folder(tmp_path / "out")
        assert tree(tmp_path) == BOTH


KILL = """
import json, sys

rename, rmtree, calls = Path.rename, f.shutil.rmtree, []
write = lambda content: lambda path: path.write_text(content)

def publish(target, kill):
    def renamed(path, to):
        calls.append(to)
        if len(calls) == kill:
            os._exit(9)
        return rename(path, to)

    def removed(path, **options):
        if len(calls) == kill - 1 and "shoal-gone" in str(path):
            os._exit(9)
        rmtree(path, **options)

    Path.rename, f.shutil.rmtree = renamed, removed
    private = {"certificate.json": write(FULL), "salt.txt": write("salt")}
    f.write_folder(target, {"release.csv": write("new"), "certificate.json": write(SIGN)}, private=private, force=True)

for target, kill in TARGETS:
    child = os.fork()
    if not child:
        publish(target, kill)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
os._exit(9)
"""


def killed_before_names(targets):
    """Publish folders in processes that are killed just before the name of that number (or before the old ones go)."""
    killed(
        KILL.replace("SIGN", repr(SIGN))
        .replace("FULL", repr(FULL))
        .replace("TARGETS", repr([(str(target), number) for target, number in targets]))
    )


FORCED = """
import json, signal, sys
target, attempts = sys.argv[1], int(sys.argv[2])
for number in range(attempts):
    held = {"shoal": "1.0.0", "by": f"{os.getpid()}-{number}"}
    write = lambda path: path.write_text(json.dumps(held))
    f.write_folder(target, {"certificate.json": write}, private={"certificate.json": write}, force=True)
"""


class TestTogether:
    """Both folders are of one attempt, whatever comes in between."""

    @pytest.mark.drawn
    def test_writers_that_replace_the_same_folders(self, tmp_path):
        code = "import os\nfrom pathlib import Path\nimport shoal.io.folder as f\n" + FORCED
        command = [sys.executable, "-c", code, str(tmp_path / "out"), "10"]
        writers = [subprocess.Popen(command) for _ in range(3)]
        assert [one.wait() for one in writers] == [0, 0, 0]
        held = tree(tmp_path)
        assert len(set(held.values())) == 1
        assert sorted(held) == ["out.private/certificate.json", "out/certificate.json"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    def test_signals_at_every_step_of_the_names_and_of_their_undo(self, tmp_path, old_both, monkeypatch):
        """A first Ctrl-C, perhaps a fault, and another Ctrl-C at each later call of the system."""

        def counted(original, step, fault):
            def call(*arguments):
                number = next(calls)
                if number >= step:
                    signal.raise_signal(signal.SIGINT)
                if number == fault:
                    raise OSError(errno.EIO, "broken")
                return original(*arguments)

            return call

        for step, fault in itertools.product(range(14), (None, 3, 4)):
            calls = itertools.count()
            with monkeypatch.context() as patch:
                patch.setattr(Path, "rename", counted(Path.rename, step, fault))
                patch.setattr(Path, "chmod", counted(Path.chmod, step, fault))
                with contextlib.suppress(KeyboardInterrupt, OutputError):
                    write_folder(old_both, NEW, private=PRIVATE, force=True)
            assert tree(tmp_path) in (OLD_BOTH, BOTH), (step, fault)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            write_folder(old_both, NEW, private={"certificate.json": text(OLDER)}, force=True)
            for name, content in OLD_BOTH.items():
                (tmp_path / name).write_text(content)
            (old_both / "release.csv").unlink(missing_ok=True)

    def test_a_half_removed_old_folder_does_not_come_back(self, tmp_path, old_both, monkeypatch):
        def interrupted(folder, **options):
            if "shoal-gone" in folder.name:
                next(folder.iterdir()).unlink()
                raise KeyboardInterrupt

        monkeypatch.setattr(module.shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_folder(old_both, NEW, private=PRIVATE, force=True)
        monkeypatch.undo()
        for name in ("out", "out.private"):
            (tmp_path / name).rename(tmp_path / f"moved-{name}")
        assert sweep_folder(old_both)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["moved-out", "moved-out.private"]

    @pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
    def test_file_systems_that_cannot_flush_folders_or_lock(self, tmp_path, old_both, monkeypatch, number):
        fsync = os.fsync

        def flush(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, "folder")
            fsync(descriptor)

        def lock(descriptor, how):
            raise OSError(errno.ENOLCK, "locks")

        monkeypatch.setattr(os, "fsync", flush)
        monkeypatch.setattr("fcntl.flock", lock)
        assert not is_being_written(old_both)
        (tmp_path / "out").rename(tmp_path / ".out.shoal-old-00000000")
        (tmp_path / ".out.shoal-both-00000000").mkdir()
        (tmp_path / ".out.private.shoal-new-00000000").mkdir()
        assert not is_being_written(old_both)
        assert sweep_folder(old_both)  # without locks, a writer may be alive: only the old folder comes back
        assert OLD_BOTH.items() <= tree(tmp_path).items()
        write_folder(old_both, NEW, private=PRIVATE, force=True)
        assert BOTH.items() <= tree(tmp_path).items()

    def test_the_outcome_is_what_is_there(self, tmp_path, old_both, monkeypatch):
        to_disk = module.to_disk

        def broken(path):
            if path == tmp_path and not list(tmp_path.glob(".out.shoal-both-*")):
                raise OSError(errno.EIO, "broken")
            to_disk(path)

        monkeypatch.setattr(module, "to_disk", broken)
        with pytest.raises(OutputError, match=r"Input/output error.*is in place, complete") as raised:
            write_folder(old_both, NEW, private=PRIVATE, force=True)
        assert "Nothing was published" not in str(raised.value)
        assert tree(tmp_path) == BOTH
        with watching():
            with pytest.raises(OutputError, match=r"not enough space.*Nothing was published, and nothing that was"):
                write_folder(old_both, {**NEW, "b": failing(OSError(errno.ENOSPC, ""))}, private=PRIVATE, force=True)
            assert not describe_outcome().changed
            monkeypatch.undo()
            write_folder(tmp_path / "other", NEW, private=PRIVATE)
            assert describe_outcome().changed
            assert re.fullmatch(r"'.*/other' is in place, complete, and so is '.*/other.private'.", describe_outcome())

    def test_no_permission_is_found_before_the_work(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, how: False)
        with pytest.raises(OutputError, match="There is no permission to write"):
            check_free(tmp_path / "new" / "out")


class TestCrashesBetweenTwoFolders:
    """A process that is killed just before each of the names that it gives, and what the next call makes of it."""

    @pytest.mark.parametrize("finish", ["sweep_folder", "check_free", "write_folder"])
    def test_replacing(self, tmp_path, finish):
        """The names: the old public folder aside, the old private one, the new private one, the new public one."""
        targets = {tmp_path / str(number) / "out": number for number in range(1, 6)}
        for target in targets:
            files = {"old.csv": text("old"), "certificate.json": text(SIGN)}
            write_folder(target, files, private={"certificate.json": text(OLDER)})
        killed_before_names(targets.items())
        for target, number in targets.items():
            assert len(list(target.parent.glob(".out*shoal-*"))) > 0
            self.finish(finish, target)
            assert tree(target.parent) == (BOTH if number > 3 else OLD_BOTH)
            assert sorted(path.name for path in target.parent.iterdir()) == ["out", "out.private"]
            assert mode(private_folder(target)) == 0o700

    def test_from_nothing(self, tmp_path):
        targets = {tmp_path / str(number) / "out": number for number in (1, 2)}
        killed_before_names(targets.items())
        for target, number in targets.items():
            assert not target.exists()
            assert private_folder(target).exists() == (number == 2)
            assert sweep_folder(target)
            assert tree(target.parent) == (BOTH if number == 2 else {})
            left = sorted(path.name for path in target.parent.iterdir())
            assert left == (["out", "out.private"] if number == 2 else [])

    def test_a_private_folder_that_was_removed_since_does_not_come_alone(self, tmp_path):
        killed_before_names([(tmp_path / "out", 2)])
        (tmp_path / "out.private").rename(tmp_path / "elsewhere")
        assert sweep_folder(tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]

    def test_a_single_folder_that_was_not_finished_is_none_of_two(self, tmp_path):
        """A crash of a command that writes one folder must not make a later one publish half of it."""
        killed(f"f.write_folder({str(tmp_path / 'out')!r}, {{'x': lambda path: os._exit(9)}})")
        (tmp_path / "out.private").mkdir()
        assert sweep_folder(tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["out.private"]

    def test_what_a_living_process_is_writing_is_left_alone(self, tmp_path):
        def another(path):
            path.write_text("new")
            assert not sweep_folder(tmp_path / "out")
            with pytest.raises(ZeroDivisionError):
                write_folder(tmp_path / "out", {"x": failing(ZeroDivisionError())}, private=PRIVATE)

        write_folder(tmp_path / "out", NEW, private={**PRIVATE, "certificate.json": another, "z": text("")})
        assert tree(tmp_path)["out.private/certificate.json"] == "new"

    @staticmethod
    def finish(how, target):
        if how == "sweep_folder":
            assert sweep_folder(target)
            return
        with pytest.raises(OutputError, match="exists already"):
            check_free(target) if how == "check_free" else write_folder(target, NEW, private=PRIVATE)


def test_a_file_that_a_writer_puts_there_while_the_folder_is_removed_is_removed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = module.shutil.rmtree
    calls = []

    def while_another_writes(folder: Path, **options: bool) -> None:
        calls.append(folder)
        removed(folder, **options)
        if len(calls) == 1:
            folder.mkdir()
            (folder / "part").write_text("late")

    monkeypatch.setattr(module.shutil, "rmtree", while_another_writes)
    with pytest.raises(KeyboardInterrupt), staged_folder(tmp_path / "out", {"a": lambda path: path.write_text("a")}):
        raise KeyboardInterrupt
    assert len(calls) == 2
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_removed_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed, slept = [], []
    monkeypatch.setattr(module.shutil, "rmtree", lambda folder, **_: removed.append(folder))
    monkeypatch.setattr(module.time, "sleep", slept.append)
    with pytest.raises(KeyboardInterrupt), staged_folder(tmp_path / "out", {"a": lambda path: path.write_text("a")}):
        raise KeyboardInterrupt
    assert len(set(removed)) == 1
    assert len(removed) == 3
    assert sum(slept) < 0.25
    assert [path.name for path in removed[0].iterdir()] == ["a"]


def test_a_folder_that_another_still_writes_to_is_tried_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed, calls = module.shutil.rmtree, []

    def while_another_writes(folder: Path, **options: bool) -> None:
        calls.append(folder)
        removed(folder, **options)
        if len(calls) < 6:
            folder.mkdir()
            (folder / "part").write_text("late")

    monkeypatch.setattr(module.shutil, "rmtree", while_another_writes)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    with pytest.raises(KeyboardInterrupt), staged_folder(tmp_path / "out", {"a": lambda path: path.write_text("a")}):
        raise KeyboardInterrupt
    assert len(calls) == 6
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("address", ["s3a://bucket/out", "hdfs://cluster/out", "file:///tmp/out"])
def test_an_address_does_not_become_a_folder_of_that_name(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    for target in (address, Path(address)):
        with pytest.raises(OutputError, match="is an address"):
            write_folder(target, NEW)
        with pytest.raises(OutputError, match="is an address"):
            check_free(target)
    assert [*tmp_path.iterdir()] == []
