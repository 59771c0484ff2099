"""What a run in pieces takes and leaves: memory within its limit, and nothing behind when it does not end well."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every, few

import shoal
from shoal.cli.main import app

QUASI = "age,gender,race"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Eight million rows that take 256 MB as they are, and many times that where a table is worked on as a whole."""
    part = shoal.datasets.census(500_000, quasi_identifiers=3, seed=3).cast(pl.Int64)
    folder = tmp_path / "large"
    folder.mkdir()
    part.write_parquet(folder / "0.parquet")
    for number in range(1, few(16)):
        os.link(folder / "0.parquet", folder / f"{number}.parquet")
    return folder


def run(code: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    call = f"import sys\n{code}\nfrom shoal.cli.main import run\nsys.argv[0] = 'shoal'\nrun()"
    words = (sys.executable, "-c", call, *map(str, words))
    return subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | environment)


@pytest.mark.drawn
@pytest.mark.parametrize("cores", [1, 16])
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("age,gender,race", "1GB", ""), id="cells"),
        pytest.param(("age,gender", "1.3GB", "race"), id="values", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of a process is read from /proc")
def test_a_run_takes_no_more_memory_than_it_may(
    large: Path, tmp_path: Path, names: tuple[str, str, str], cores: int
) -> None:
    # Not getrusage: its peak includes that of the process that started this one, before it became another program.
    measure = "next(line for line in open('/proc/self/status') if line.startswith('VmHWM:')).split()[1]"
    peak = f"import atexit\natexit.register(lambda: print({measure}, file=sys.stderr))"
    peak += f"\nimport shoal._core.threads\nshoal._core.threads.usable_cores = lambda: {cores}"
    words = ("anonymize", large, "--qi", names[0], "--sensitive", "income", "-l", 4, "--memory", names[1], "--json")
    beside = ("--insensitive", names[2]) if names[2] else ()
    done = run(peak, *words, *beside, "-o", tmp_path / "out", POLARS_MAX_THREADS=str(cores))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["engine"]["memory"] == (allowed := 1_300_000_000 if beside else 10**9)
    assert facts["input"]["rows"] == few(16) * 500_000
    assert int(done.stderr.split()[-1]) * 1024 < allowed
    assert (
        pl.scan_parquet(tmp_path / "out/release.parquet/*.parquet").select(pl.len()).collect().item()
        == few(16) * 500_000
    )


@every("step", ["shoal.release.streamed_rows.write_repeated", "os.rename"], drawn=True)
def test_an_interrupt_leaves_nothing(tmp_path: Path, step: str) -> None:
    shoal.datasets.census(2_000, quasi_identifiers=3, seed=3).write_parquet(tmp_path / "in.parquet")
    owner, _, name = step.rpartition(".")
    strike = (
        f"import signal, {owner} as owner\nreal = owner.{name}\n"
        "def struck(*given, **options):\n"
        "    done = real(*given, **options) if 'write' in real.__name__ else None\n"
        "    signal.raise_signal(signal.SIGINT)\n    return done\n"
        f"owner.{name} = struck"
    )
    words = ("anonymize", tmp_path / "in.parquet", "--qi", QUASI, "--sensitive", "income", "-l", 3, "--memory", "1GB")
    done = run(strike, *words, "-o", tmp_path / "out")
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert os.listdir(tmp_path) == ["in.parquet"]


SPILLS = """
import sys
import polars as pl, shoal
path, names = sys.argv[1], ["age", "gender", "race"]
shoal.anonymize(path, quasi_identifiers=names, sensitive="income", privacy=shoal.KAnonymity(3), memory="1GB")
print("now without shoal", file=sys.stderr, flush=True)
pl.scan_parquet(path).group_by([*names, "income"]).agg(pl.len()).collect(engine="streaming")
"""


@pytest.mark.drawn
def test_cells_are_not_written_to_the_disk_where_memory_runs_short(tmp_path: Path) -> None:
    """Polars does that by itself, as its own words of what it wrote show."""
    shoal.datasets.census(30_000, quasi_identifiers=3, seed=3).write_parquet(tmp_path / "in.parquet")
    short = {"OOC_MEMORY_BUDGET_MB": "1", "OOC_SPILL_MIN_BYTES": "1", "OOC_LOG_METRICS": "1"}
    short |= {"OOC_SPILL_DIR": str(tmp_path / "spilled")}
    environment = os.environ | {f"POLARS_{name}": value for name, value in short.items()}
    words = [sys.executable, "-c", SPILLS, str(tmp_path / "in.parquet")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    by_shoal, _, by_polars = done.stderr.partition("now without shoal")
    written = [[float(one) for one in re.findall(r"written=([0-9.]+)", said)] for said in (by_shoal, by_polars)]
    assert written[0]
    assert max(written[0]) == 0
    assert max(written[1]) > 0


def called(*words: object) -> tuple[int, str]:
    """Return the exit code of a command in this process, and what it says of errors."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stderr


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.datasets.census(2_000, quasi_identifiers=3, seed=3).write_parquet(tmp_path / "in.parquet")

    def full(*given: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "no space", "")

    monkeypatch.setattr("shoal.release.streamed_rows.write_repeated", full)
    words = ("anonymize", tmp_path / "in.parquet", "--qi", QUASI, "--sensitive", "income", "-l", 3, "--memory", "1GB")
    code, told = called(*words, "-o", tmp_path / "out")
    assert code == 2
    assert "not enough space" in told
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_an_interrupt_of_one_file_ends_the_writing_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = shoal.datasets.census(4_000, quasi_identifiers=3, seed=3)
    made = shoal.anonymize(frame, quasi_identifiers=QUASI.split(","), sensitive="income", l=3, engine="stream")
    monkeypatch.setattr("shoal.release.streamed_rows._FILE_ROWS", 20)  # two hundred files
    written: list[object] = []
    never = threading.Event()

    def struck(*given: object) -> None:
        written.append(given)
        if len(written) == 3:
            raise KeyboardInterrupt
        never.wait(0.02)  # seconds: as long as a small file takes

    monkeypatch.setattr("shoal.release.streamed_rows.write_repeated", struck)
    monkeypatch.setattr("shoal.release.streamed_rows.sha256_of", lambda path: "")
    with pytest.raises(KeyboardInterrupt):
        made.save(tmp_path / "out")
    assert len(written) < 200
    assert os.listdir(tmp_path) == []


def test_the_flags_of_the_command_line_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.datasets.census(500, quasi_identifiers=3, seed=3).write_parquet(tmp_path / "in.parquet")
    words = ("anonymize", tmp_path / "in.parquet", "--qi", "age,gender", "--sensitive", "income", "-l", 2)
    code, told = called(*words, "--id", "race", "--keep-order", "--engine", "stream", "-o", tmp_path / "out")
    assert code == 2
    assert "--engine memory" in told
    with monkeypatch.context() as short:
        short.setattr("shoal.pipeline.memory_budget._RESIDENT_BYTES", 10**9)
        code, told = called(*words, "--insensitive", "race", "--memory", "1GB", "-o", tmp_path / "out")
    assert code == 2
    assert "--id" in told
    assert "--memory 1.3GB" in told
    assert not (tmp_path / "out").exists()
    assert called(*words, "--insensitive", "race", "--memory", "1GB", "-o", tmp_path / "done")[0] == 0
    code, told = called(*words, "--id", "race", "--memory", "much", "-o", tmp_path / "out")
    assert code == 2
    assert "--memory" in told
