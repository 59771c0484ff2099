"""Without extras the common commands work, and what needs one names it."""

import subprocess
import sys

import pytest

DOORS = {
    "plots": "shoal.anonymize(table, quasi_identifiers=['age'], sensitive='ill', k=2).plot()",
    "excel": "from pathlib import Path; from shoal.io.workbooks import sheet_names; sheet_names(Path('book.xlsx'))",
    "ledger": "shoal.Ledger",
    "exact": "shoal.anonymize(table.with_columns(age=pl.arange(20)), quasi_identifiers=['age'], sensitive='ill', l=2, "
    "algorithm='matching', recoding='suppression')",
}
ABSENT = """
import sys
for name in "matplotlib matplotlib.figure fastexcel xlsxwriter sqlalchemy cryptography scipy highspy".split():
    sys.modules[name] = None
import polars as pl
import shoal, shoal.errors
table = pl.DataFrame({"age": [1, 1, 2, 2] * 5, "ill": ["a", "b"] * 10})
release = shoal.anonymize(table, quasi_identifiers=["age"], sensitive="ill", k=2)
release.report("report.html")
release.save("out")
shoal.anonymize(table, quasi_identifiers=["age"], sensitive="ill", l=2, algorithm="transparent")
assert shoal.risk(table, quasi_identifiers=["age"], sampling_fraction=0.1).to_dict()
open("book.xlsx", "wb").close()
import concurrent.futures, inspect, pydoc
from click.testing import CliRunner
from shoal.cli import main, warm_up
assert "Ledger" not in dir(shoal)
assert inspect.getmembers(shoal)
exec("from shoal import *", {})
assert "anonymize" in pydoc.render_doc(shoal)
concurrent.futures.ProcessPoolExecutor = lambda workers, mp_context: concurrent.futures.ThreadPoolExecutor(workers)
warm_up._tasks = lambda: {"risk": lambda name: None, "republish": warm_up._republish}
outcome = CliRunner().invoke(main.app, ["warm-up"])
assert outcome.exit_code == 0, outcome.output
assert "risk." in outcome.output and "Left out: republish." in outcome.output, outcome.output
assert CliRunner().invoke(main.app, ["warm-up", "republish"]).exit_code == 2
doors = eval(sys.argv[1])
for extra, code in doors.items():
    try:
        exec(code)
    except shoal.errors.MissingExtraError as error:
        assert f"pip install 'shoal-privacy[{extra}]'" in str(error), error
        print(extra)
"""


@pytest.mark.drawn
def test_the_core_works_without_extras_and_names_them(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABSENT, repr(DOORS)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(DOORS)
    assert (tmp_path / "out/release.csv").exists() or (tmp_path / "out/release.parquet").exists()
