"""Kills, signals and failing system calls at every point of publishing, rotation and erasure.

A process with everything imported makes one more for each trial, in a copy of the same folder. The trial runs a command
and is struck at one of its calls of the system, whoever makes it (Python, SQLite or Polars: `strike.c` counts them);
then another process repairs, as the next command does, and checks that nothing was lost and that what the command said
is true. Nothing of Polars may run in the first process: its threads do not survive a fork.

    python -m tests.crashes.harness 5000            # trials, over all commands and ways to strike
    python -m tests.crashes.harness 500 rotate erase
    python -m tests.crashes.harness each rotate     # every call fails once, in turn
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import shoal
from shoal.cli.main import _leave_on_signals, app
from shoal.io import sweep_folder, write_folder

ROLES = ["--qi", "age", "--sensitive", "disease", "--id", "person"]
COMMANDS: dict[str, list[str]] = {
    "publish": ["anonymize", "next.csv", *ROLES, "-k", "3", "--seed", "1", "-o", "out", "--force"],
    "publish new": ["anonymize", "next.csv", *ROLES, "-k", "3", "--seed", "1", "-o", "deep/new"],
    "series": ["series", "publish", "ledger.db", "next.csv", "-o", "second"],
    "rotate": ["series", "rotate", "ledger.db"],
    "erase": ["series", "erase", "ledger.db", "--id", "7"],
    "rollback": ["series", "undo", "ledger.db", "--unpublished"],
    "folder": [],
}
"""The commands; "folder" writes two folders without a release, which takes a hundredth of the time."""
STRIKES = ("fail", "kill", "SIGINT twice", "SIGTERM twice", "kill at random", "SIGINT at random")
_DONE = ("is in place, complete", "has its new key", "has a change of the series")
_UNDONE = ("Nothing was published", "The ledger is as it was")


def run(words: list[str]) -> int:
    """Run a command in this process, which ends afterwards."""
    if words:
        return int(app.main(words, standalone_mode=False) or 0)

    def command(**_: Any) -> None:
        sign = json.dumps({"shoal": "1.0.0", "by": "new"})
        files = dict.fromkeys(("certificate.json", "report.html"), lambda path: path.write_text(sign))
        write_folder("out", files, private=files, force=True)

    import click

    app.commands["demo"] = click.Command("demo", callback=command)
    return int(app.main(["demo"], standalone_mode=False) or 0)


def forked(work: Callable[[], object], folder: Path) -> int:
    """Start a process that does some work in a folder; what it says goes to a file beside it."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.chdir(folder)
        said = os.open(f"{folder}.said", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        _leave_on_signals()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = int(work() or 0)  # type: ignore[call-overload]
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def strike(folder: Path, how: str = "", place: int = -1) -> Callable[[], int]:
    """Let a call on files of a folder fail, kill this process there, or send it a signal and another one soon after.

    Returns
    -------
    callable
        Counts the calls since then.
    """
    error = (errno.ENOSPC, errno.EIO, errno.EACCES)[place % 3] if how == "fail" else 0
    sent = signal.SIGKILL if how == "kill" else getattr(signal, how[:7].rstrip()) if "twice" in how else 0
    library = ctypes.CDLL(None)
    library.strike(os.fsencode(folder), place, place + 1 + place % 4, error, int(sent))
    return library.count_calls


def load_strikes() -> None:
    """Start this program again with `strike.c` before the C library, which only a new process can load."""
    if "SHOAL_STRIKES" in os.environ:
        return
    with tempfile.TemporaryDirectory() as place:
        library = f"{place}/strike.so"
        source = Path(__file__).with_name("strike.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        words = [sys.executable, "-m", "tests.crashes.harness", *sys.argv[1:]]
        environment = {**os.environ, "LD_PRELOAD": library, "SHOAL_STRIKES": "1"}
        sys.exit(subprocess.run(words, env=environment, check=False).returncode)


def digests(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def prepare(folder: Path) -> None:
    """Make a release, a series with a release, and files that nobody may touch."""
    rows = [f"{one},{20 + one % 20},{('flu', 'cough', 'cold')[one % 3]}" for one in range(60)]
    (folder / "table.csv").write_text("\n".join(["person,age,disease", *rows]))
    (folder / "next.csv").write_text("\n".join(["person,age,disease", *rows[:51]]))
    words = ["series", "start", "ledger.db", "--series", "visits", "-m", "2", "--id", "person", "--qi", "age"]
    for one in (
        ["anonymize", "table.csv", *ROLES, "-k", "3", "--seed", "1", "-o", "out"],
        [*words, "--sensitive", "disease"],
        ["series", "publish", "ledger.db", "table.csv", "-o", "first"],
    ):
        modules = Path(f"{folder}.modules")

        def work(one: list[str] = one, modules: Path = modules) -> int:
            code = run(one)
            modules.write_text("\n".join(sys.modules))
            return code

        assert wait(forked(work, folder)) == 0, Path(f"{folder}.said").read_text()
        # What a command imports is imported here once.
        for module in modules.read_text().splitlines():
            with suppress(Exception):
                importlib.import_module(module)


def state(folder: Path, name: str) -> object:
    """Read what the command changes; equal states are equal values."""
    if name in ("publish", "publish new", "folder"):
        out = folder / ("deep/new" if name == "publish new" else "out")
        return [
            json.loads((place / "certificate.json").read_text()).get("shoal") and sorted(os.listdir(place))
            if place.exists()
            else None
            for place in (out, out.with_name(out.name + ".private"))
        ], (out / "report.html").read_bytes() if out.exists() else None
    import sqlite3

    with sqlite3.connect(f"file:{folder / 'ledger.db'}?mode=ro", uri=True) as ledger:
        facts = dict(ledger.execute("SELECT name, content FROM shoal_ledger WHERE name = 'key_fingerprint'"))
        series = ledger.execute("SELECT seal FROM shoal_series").fetchall()
        states = ledger.execute("SELECT number, state FROM shoal_releases").fetchall()
    ledger.close()
    return facts, series, states, (folder / "second").exists()


def check(template: Path, folder: Path, name: str) -> int:
    """Repair as the next command does, and check that everything is there and of one attempt; 0 if so, else 1."""
    before = digests(template)
    for out in (folder / "out", folder / "deep" / "new"):  # that of a series is the ledger's to sweep
        sweep_folder(out)
    problems, recorded = [], set()
    if name in ("series", "rotate", "erase", "rollback"):
        with shoal.Ledger(folder / "ledger.db") as ledger:
            ledger.recover()
            series = ledger.series("visits")
            problems = [one for one in series.verify().problems if "withdrawn" not in one]
            recorded = {Path(one.folder or "").name for one in series.history() if one.state == "published"}
    after = digests(folder)
    wrong = [*problems]
    wrong += [path for path in after if "shoal-" in path or path.endswith(".new")]
    wrong += [path for path in ("table.csv", "next.csv") if after.get(path) != before[path]]
    wrong += [path for path in before if path.startswith("first") and after.get(path) != before[path]]
    wrong += ["second"] if ("second" in recorded) != ("second/certificate.json" in after) else []
    for place in ("out", "deep/new", "second"):
        sides = [
            {path: content for path, content in after.items() if path.startswith(f"{place}{end}/")}
            for end in ("", ".private")
        ]
        old = [
            {path: one for path, one in before.items() if path.startswith(f"{place}{end}/")} for end in ("", ".private")
        ]
        files = [
            json.loads(side[f"{place}{end}/certificate.json"]) if side else None
            for side, end in zip(sides, ("", ".private"), strict=True)
        ]
        same = [one and (one.get("output"), one.get("by")) for one in files]
        whole = sides == old or (same[0] == same[1] and (sides[0] != old[0]) == (sides[1] != old[1]))
        wrong += [] if whole else [f"{place} is of two attempts"]
    for one in wrong:
        sys.stdout.write(f"WRONG {one}\n")
    return int(bool(wrong))


def trial(template: Path, root: Path, name: str, how: str, place: float) -> str | None:
    """Strike a command once, and return what is wrong afterwards."""
    folder = root / f"{name}-{how}-{place}".replace(" ", "_")
    shutil.copytree(template, folder, symlinks=True)
    before = state(folder, name)
    Path(f"{folder}.said").touch()  # a process that is killed at once says nothing

    def work() -> int:
        if "random" not in how:
            strike(folder, how, int(place))
        return run(COMMANDS[name])

    child = forked(work, folder)
    if "random" in how:
        time.sleep(place)
        os.kill(child, signal.SIGKILL if "kill" in how else signal.SIGINT)
        time.sleep(place / 7)
        if "SIGINT" in how:
            os.kill(child, signal.SIGINT)
    code = wait(child)
    said = " ".join(Path(f"{folder}.said").read_text().split())
    wrong = []
    if code != -signal.SIGKILL:
        changed = state(folder, name) != before
        done, undone = (any(one in said for one in texts) for texts in (_DONE, _UNDONE))
        lies = (changed and undone and not done) or (not changed and (done or code == 0))
        wrong += [f"it says something else than what is there (changed: {changed})"] if lies else []
        wrong += [f"exit {code}"] if code == 70 or (changed and code in (130, 143) and "(staged)" not in said) else []
    if wait(forked(lambda: check(template, folder, name), folder)):
        wrong += ["lost"]
    told = Path(f"{folder}.said").read_text()
    shutil.rmtree(folder)
    Path(f"{folder}.said").unlink()
    return f"{name}, {how} at {place}: {'; '.join(wrong)}\n{told}" if wrong else None


def measured(template: Path, root: Path, name: str) -> tuple[int, float]:
    """Count the calls of a command that can be struck, and its seconds."""
    folder, counted = root / "measured", root / "counted"
    shutil.copytree(template, folder)
    start = time.perf_counter()

    def work() -> int:
        count_calls = strike(folder)
        code = run(COMMANDS[name])
        counted.write_text(str(count_calls()))
        return code

    assert wait(forked(work, folder)) == 0, Path(f"{folder}.said").read_text()
    seconds = time.perf_counter() - start
    calls = int(counted.read_text())
    shutil.rmtree(folder)
    Path(f"{folder}.said").unlink()
    return calls, seconds


def trials(most: int | None, *, seed: int = 0, names: Sequence[str] = tuple(COMMANDS)) -> Iterator[str | None]:
    """Run trials: calls of some commands struck in each way, then random moments, up to a number.

    Without a number, every call fails once.
    """
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        template = root / "template"
        template.mkdir()
        prepare(template)
        sizes = {name: measured(template, root, name) for name in names}
        ways = STRIKES[:1] if most is None else STRIKES[:4]
        each = [(name, how, at) for name in names for how in ways for at in range(sizes[name][0])]
        if most is not None:
            rng.shuffle(each)
        for name, how, at in each[:most]:
            yield trial(template, root, name, how, at)
        for number in range((most or 0) - len(each)):
            name = rng.choice(names)
            yield trial(template, root, name, STRIKES[4 + number % 2], rng.uniform(0, sizes[name][1]))


def main() -> int:
    load_strikes()
    most, names = None if sys.argv[1] == "each" else int(sys.argv[1]), sys.argv[2:] or list(COMMANDS)
    number = wrong = 0
    for number, found in enumerate(trials(most, seed=os.getpid(), names=names), start=1):
        wrong += found is not None
        if found is not None or number % 100 == 0:
            print(f"{number} trials, {wrong} wrong. {found or ''}", flush=True)  # noqa: T201
    print(f"{number} trials, {wrong} wrong.", flush=True)  # noqa: T201
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
