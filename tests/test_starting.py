"""A call loads what it needs and nothing else, and finds compiled what an earlier one compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import shoal
from shoal._core.progress import Clock
from shoal.cli.main import app

NEVER = (
    *("pyarrow", "pydantic", "matplotlib", "pandas", "highspy", "networkx", "sklearn", "sqlite3"),
    *("sqlalchemy", "cryptography", "xlsxwriter", "fastexcel", "urllib.request"),
)
"""What a release of a small CSV file needs nothing of, once its loops are compiled. numba imports numpy.f2py, and that
charset_normalizer, so it is not among them."""
CALL = """
import atexit
import sys
from shoal.cli.main import run
atexit.register(lambda: print(*sys.modules))
run()
"""


def modules_of(*words: str, folder: Path) -> set[str]:
    """Return the modules that a call of the command line imported."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(shoal.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "more",
    [
        ["-l", "2", "--recoding", "suppression", "--seed", "1"],
        pytest.param(
            ["-k", "3", "--recoding", "generalization", "--algorithm", "mondrian"], marks=pytest.mark.thorough
        ),
    ],
)
def test_a_release_imports_what_it_needs(more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shoal.datasets.census(400, quasi_identifiers=3, seed=1).write_csv(tmp_path / "table.csv")
    call = ("anonymize", "table.csv", "--qi", "age,gender,race", "--sensitive", "income", *more, "--force", "-o", "out")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, call).exit_code == 0, "its loops are compiled"
    imported = modules_of(*call, folder=tmp_path)
    assert "shoal.cli.anonymize" in imported, "the list is that of the run"
    # numba imports coverage, which mutants need, if it is there, and that imports sqlite3.
    assert not imported & {*NEVER} - ({"sqlite3"} if "coverage" in imported else set())
    assert not imported & {"shoal.cli.series", "shoal.attacks"}, "nor other commands"
    if "-k" in more:
        return
    # Its seconds are counted from the start of its process.
    seconds = json.loads((tmp_path / "out.private/certificate.json").read_text())["seconds"]
    total = seconds.pop("total")
    assert seconds["start"] > 0.05
    assert sum(seconds.values()) == pytest.approx(total, rel=0.02, abs=0.1)


def test_a_version_and_help_import_neither_tables_nor_algorithms(tmp_path: Path) -> None:
    for words in (["--version"], ["--help"]):
        assert not modules_of(*words, folder=tmp_path) & {*NEVER, "polars", "numpy", "shoal.algorithms", "jinja2"}


@pytest.mark.drawn
def test_reports_are_made_of_templates_that_were_compiled_before(tmp_path: Path) -> None:
    render = (
        "import jinja2, sys\n"
        "made, compiled = jinja2.Environment.compile, []\n"
        "jinja2.Environment.compile = lambda self, *a, **k: compiled.append(a[1]) or made(self, *a, **k)\n"
        "from shoal.report.templating import template\n"
        "page = template('judgement.html.j2')\n"
        "import json; print(json.dumps(compiled))"
    )

    def compiled() -> Any:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return json.loads(subprocess.check_output([sys.executable, "-c", render], env=environment, text=True))

    assert compiled() == ["judgement.html.j2"]
    assert compiled() == []
    (kept,) = (tmp_path / "cache").rglob("*.jbc")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert compiled() == ["judgement.html.j2"], "what is damaged is compiled again"
    assert compiled() == []


def test_the_seconds_of_the_steps_are_those_of_the_run(tmp_path: Path) -> None:
    table = shoal.datasets.census(20_000, quasi_identifiers=4, seed=1)
    asked = {"quasi_identifiers": table.columns[:4], "sensitive": "income", "privacy": shoal.LDiversity(3)}
    begin = time.perf_counter()
    shoal.anonymize(table, **asked, algorithm="hilbert", seed=1).save(tmp_path / "out")
    passed = time.perf_counter() - begin
    seconds = json.loads((tmp_path / "out.private/certificate.json").read_text())["seconds"]
    total = seconds.pop("total")
    assert sum(seconds.values()) == pytest.approx(total, rel=0.02, abs=0.1)
    assert 0 < total <= passed


def test_compiling_is_a_step_of_its_own() -> None:
    clock = Clock(("one", "two"))
    with clock.step("one"):
        clock.begin()
        clock.begin()  # for the first one
        time.sleep(0.05)
        clock.end()
        clock.end()
    with clock.step("two"):
        time.sleep(0.02)
    seconds = clock.seconds()
    assert seconds["compile"] >= 0.05 > seconds["one"]
    assert seconds["two"] >= 0.02
    assert sum(seconds[name] for name in ("one", "two", "compile")) <= seconds["total"]
