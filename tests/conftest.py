"""What holds for every test: a busy machine does not fail one that hypothesis draws examples for; one Spark for all."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import random
import re
import signal
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.every import DRAW, THOROUGH, few

# Their threads wait for one another by turning in circles: a small regression takes the processor time of a large one.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")

settings.register_profile("shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
settings.load_profile("shoal")

REST = {
    "studio/test_browser.py": ("::test_by_keyboard_alone", "get_in"),
    "engines/test_spark.py": (
        "command_line_publishes",
        "says_of_an_error",
        "function_of_the_published_table",
        "missing",
    ),
    "republication/ledger/test_crash.py": ("moments_that_matter", "random_moments", "disk_is_full_in_earnest"),
    "docs/test_pages.py": ("README", "tutorials/survey", "model_has_a_page"),
    "docs/test_notebooks.py": ("there_are",),
    "test_benchmarks.py": ("hashes",),
    "cli/test_anonymize.py::test_an_interrupt": ("SIGTERM",),
    "cli/test_warm_up.py::test_what_first_runs_need": (),
    "studio/test_speed.py": (),
    "algorithms/test_stored_optima.py": (),
    "[postgresql": ("TestSeries", "TestLife", "TestRollback", "folder is there"),
    "-spark]": ("[l, k-spark]", "[tp+-spark]"),
}
"""Files and kinds of cases that only `make test-all` runs, but for those with one of the given words in their ids; so
are tests with the mark `thorough`."""


TOGETHER = {
    **{word: word for word in ("spark", "postgresql", "browser", "studio", "house", "kernels")},
    "language": "house",
    "crash": "postgresql",
}
"""Words of tests and their folders, and the name of what one process runs: tests that share a session, a server, a
worker of the studio, or all syntax trees."""
SPREAD = ("docs/test_pages.py", "test_benchmarks.py", "test_published_files.py", "test_traps.py")
"""Files that take longest: their tests are run last, by any process, so that all processes end together."""


def scope_of(nodeid: str) -> str:
    """Name what one process runs with a test: the tests of a word of `TOGETHER`, its file, or only itself."""
    path, _, rest = nodeid.partition("::")
    words = re.split(r"[\W_]+", f"{Path(path).with_suffix('')} {rest.rpartition('[')[2]}")
    together = next((TOGETHER[word] for word in TOGETHER if word in words), None)
    if together is None and path.removeprefix("tests/") in SPREAD:
        return nodeid
    return together or path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute tests by file, so that its fixtures are made and its kernels are loaded once.

    pytest 9.2 ignores the ids by which xdist 3.8 knows groups.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            # What is complete is removed, since xdist would count it again after each test.
            for scope in [scope for scope, tests in workload.items() if all(tests.values())]:
                del workload[scope]
            return int(super()._pending_of(workload))

    return ByFile(config, log) if config.getvalue("dist") == "loadgroup" else None


def is_thorough(nodeid: str) -> bool:
    """Return whether a test is one of `REST`, which the lane of each commit leaves out."""
    path = nodeid.removeprefix("tests/")
    kept = [words for kind, words in REST.items() if path.startswith(kind) or (kind[0] in "[-" and kind in path)]
    return not all(any(word in path for word in words) for words in kept)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to `make test-all` what is thorough, and nine of ten of hypothesis' examples and of what is drawn.

    Drawn are the cases of one test, and the tests that have the mark and one case.
    """
    if THOROUGH:
        return
    rest: list[pytest.Item] = []
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("thorough") or is_thorough(item.nodeid):
            rest.append(item)
        elif item.get_closest_marker("drawn"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    single = [name for name, own in cases.items() if len(own) == 1]
    for name in single:
        (item,) = cases.pop(name)
        cases.setdefault("", []).append(item)
    for name, own in cases.items():
        rest += random.Random(f"{DRAW} {name}").sample(own, len(own) - few(len(own), 1))
    if len(rest) < len(items) and not any("::" in word for word in config.args):  # what is named, runs
        config.hook.pytest_deselected(items=rest)
        left_out = {*rest}
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
        while test is not None:
            chosen = vars(test).get("_hypothesis_internal_use_settings") if hasattr(test, "__dict__") else None
            if chosen is not None and not getattr(test, "fewer_examples", False):
                fewer = settings(chosen, max_examples=min(few(chosen.max_examples, least=5), 25))
                test._hypothesis_internal_use_settings, test.fewer_examples = fewer, True
            test = getattr(test, "__wrapped__", None)


def pytest_collection(session: pytest.Session) -> None:
    """Import the tests in each process from another one on: what pytest compiles of them is then compiled once."""
    if session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    here = Path(__file__).parent
    names = [".".join(file.relative_to(here.parent).with_suffix("").parts) for file in sorted(here.rglob("test_*.py"))]
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    start = len(names) * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) // processes
    for name in [*names[start:], *names[:start]] if processes > 1 else ():
        with suppress(BaseException):  # what cannot be imported is reported as it is collected
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later searches for garbage, which took a second each with it."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how the cases of a run that failed are drawn again."""
    if terminalreporter.stats.get("failed") and not THOROUGH:
        terminalreporter.write_line(f"SHOAL_DRAW={DRAW} draws the same seeds and cases again.")


@pytest.fixture(scope="session", autouse=True)
def disks_are_not_waited_for() -> Iterator[None]:
    """What is written waits for no disk: the machine will not lose power while tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # it still fails for what is no open file
        yield


def without_spark() -> str | None:
    """Why Spark cannot be tested here; None where it can."""
    from shoal.errors import MissingExtraError
    from shoal.io.spark_session import check_java

    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    try:
        check_java()
    except MissingExtraError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark on this machine; tests that use it are in the group "spark", so that one process starts it."""
    missing = without_spark()
    if missing is not None and os.environ.get("SHOAL_NEEDS_SPARK") == "1":
        pytest.fail(f"{missing} SHOAL_NEEDS_SPARK=1 says that Spark must be tested.", pytrace=False)
    if missing is not None:
        pytest.skip(f"SPARK WAS NOT TESTED: {missing}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas
        from pyspark.sql import SparkSession
    folder = tmp_path_factory.mktemp("spark")
    given = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir={folder} -XX:TieredStopAtLevel=1",
        "spark.local.dir": str(folder),
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    before = signal.getsignal(signal.SIGINT)
    session = SparkSession.builder.master("local[2]").config(map=given).getOrCreate()
    signal.signal(signal.SIGINT, before)  # Spark's own would stay for the tests that follow
    yield session
    session.stop()
