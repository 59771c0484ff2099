"""Spark sessions: Java found or asked for, work that is over when it is interrupted, and errors without a cell."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shoal._core.optional import require
from shoal._core.temporary import TemporaryFolder, sweep_temporary_folders
from shoal.errors import DataError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from pyspark.sql import SparkSession

__all__ = ["PINNED", "active_session", "check_java", "is_spark_frame", "on_spark", "open_session", "pinned_session"]

Result = TypeVar("Result")

LEAST_JAVA = 17
"""The oldest Java that Spark 4 runs on."""

PINNED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
"""Settings that decide what is read from files and written to them: they do not depend on whose session it is."""

_QUIET = """status = off
appender.nowhere.type = Null
appender.nowhere.name = nowhere
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
"""What the logs of a session of ours hold: nothing. What Spark writes of an error may quote a cell."""
_LOGS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Where pyspark logs errors of queries, with the cells that they quote."""
_PATIENCE = 60.0
"""Seconds that tasks have to end after their job was cancelled."""
_QUIET_LOOKS = 10
"""How often in succession no task must be seen: Spark tells of a task a moment after it began to run."""


def is_spark_frame(data: object) -> bool:
    """Return whether an input is a DataFrame of PySpark; pyspark is not imported to find out."""
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and isinstance(data, sql.DataFrame)


def check_java() -> None:
    """Check that there is a Java that Spark runs on, where Spark looks for it.

    Raises
    ------
    MissingExtraError
        Where there is none; says what to install.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    found = None if java is None else _version_of(java)
    if found is not None and found >= LEAST_JAVA:
        return
    place = f"in JAVA_HOME ({home})" if home else "on the PATH"
    what = f"no Java was found {place}" if found is None else f"the Java {place} is version {found}"
    raise MissingExtraError(
        f"Spark needs Java {LEAST_JAVA} or newer, and {what}. Install it (on Debian and Ubuntu: apt-get install "
        "openjdk-17-jre-headless; with Homebrew: brew install openjdk@17), and set JAVA_HOME to its folder where it is "
        "not on the PATH."
    )


def _version_of(java: str) -> int | None:
    """Return the feature version of a Java: 17 for "17.0.15", 8 for "1.8.0_392"; None where it is none."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?([0-9]+)', said)
    return int(found[1]) if found else None


def active_session() -> SparkSession:
    """Return the Spark session of the caller, for tables that are given by a path.

    Raises
    ------
    MissingExtraError
        Where pyspark is not installed.
    ParameterError
        Where no session is open.
    """
    session: SparkSession | None = _pyspark().SparkSession.getActiveSession()
    if session is None:
        raise ParameterError(
            "No Spark session is open. Open one first: pyspark.sql.SparkSession.builder.master(...).getOrCreate(), or "
            "give a Spark frame in place of a path."
        )
    return session


@contextmanager
def open_session(master: str | None = None) -> Iterator[SparkSession]:
    """Open a Spark session for as long as the context lasts, whose temporary files only their owner can read.

    Parameters
    ----------
    master : str, optional
        The URL of the cluster, or "local[2]" for two threads of this machine; what Spark's own configuration says by
        default, and all threads of this machine where it says nothing. A session that is open already is taken as it
        is, and stays open.

    Raises
    ------
    MissingExtraError
        Where pyspark or Java is missing; says what to install.
    DataError
        Where the cluster does not answer.
    """
    builder = _pyspark().SparkSession.builder
    session = _pyspark().SparkSession.getActiveSession()
    if session is not None:
        yield session
        return
    check_java()
    sweep_temporary_folders()
    with TemporaryFolder("spark") as folder:
        (folder.path / "log4j2.properties").write_text(_QUIET, encoding="utf-8")
        for name, value in _settings(folder.path, master).items():
            builder = builder.config(name, value)
        session = _started(builder)
        try:
            yield session
        finally:
            session.stop()


def _settings(folder: Path, master: str | None) -> dict[str, str]:
    """Return the settings of a session of ours: quiet, and with its temporary files in a folder."""
    settings = {
        "spark.app.name": "shoal",
        "spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir={folder} -XX:-UsePerfData "
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        "spark.local.dir": str(folder),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master is not None:
        settings["spark.master"] = master
    if master is None or master.startswith("local"):  # nobody on the network has anything to do with it
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return settings


def _started(builder: Any) -> SparkSession:
    """Start a session; what Ctrl-C does stays what it was."""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    errors, python = _pyspark_errors(), os.environ.get("PYSPARK_PYTHON")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with _unconcerned():
            return builder.getOrCreate()  # type: ignore[no-any-return]
    except errors as error:
        kind = _kind_of(error)
    finally:
        if python is None:
            del os.environ["PYSPARK_PYTHON"]
        if main:
            signal.signal(signal.SIGINT, handler)
    raise DataError(f"Spark did not start ({kind}). Check its master, and that Java runs here.")


def pinned_session(session: SparkSession) -> SparkSession:
    """Return another session of the same cluster, with the settings that decide what is read and written (`PINNED`)."""
    pinned = session.newSession()
    for name, value in PINNED.items():
        pinned.conf.set(name, value)
    return pinned


def on_spark(session: SparkSession, work: Callable[[], Result], doing: str) -> Result:
    """Run work on Spark, and return what it returns; where the caller is interrupted, it is over before this raises.

    Parameters
    ----------
    session : SparkSession
    work : callable
        What to do, on a thread of its own.
    doing : str
        What an error says of it: "Spark cannot" and these words.

    Raises
    ------
    DataError
        Where Spark fails; the message has no word of Spark's, which may quote a cell.
    """
    from pyspark import InheritableThread

    context, group = session.sparkContext, f"shoal-{secrets.token_hex(4)}"
    done: list[Result] = []
    failed: list[BaseException] = []

    def worker() -> None:
        try:
            context.setJobGroup(group, "shoal", interruptOnCancel=True)
            with _unconcerned():
                done.append(work())
        except BaseException as error:  # raised below, in the thread of the caller
            failed.append(error)

    thread = InheritableThread(target=worker, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        _cancel(context, group, thread)
        raise
    if not failed:
        return done[0]
    if not isinstance(failed[0], _pyspark_errors()):
        failed[0].__cause__ = failed[0].__context__ = None  # one of Spark's, which may quote a cell
        raise failed[0]
    kind = _kind_of(failed[0])
    failed.clear()
    raise DataError(
        f"Spark cannot {doing} ({kind}). Its own log says more, and may quote cells of the data. Where memory ran "
        "short, give its driver and executors more: spark.driver.memory, spark.driver.maxResultSize, "
        "spark.executor.memory."
    )


def _cancel(context: Any, group: str, thread: threading.Thread) -> None:
    """Cancel the jobs of a thread, and wait until none of their tasks runs, which may write still."""
    end = time.monotonic() + _PATIENCE
    tracker = context.statusTracker()
    quiet = 0
    while time.monotonic() < end and quiet < _QUIET_LOOKS:
        over = False
        with suppress(*_pyspark_errors()):
            context.cancelJobGroup(group)  # the thread may start another one meanwhile
            over = not thread.is_alive() and not _running(tracker, group)
        quiet = quiet + 1 if over else 0
        thread.join(0.05)
        if over:
            time.sleep(0.05)


def _running(tracker: Any, group: str) -> int:
    """Return how many tasks of a group of jobs run."""
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    stages = (tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds)
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


@contextmanager
def _unconcerned() -> Iterator[None]:
    """Leave out what pyspark says of versions of pandas, which nothing here uses, and errors that quote cells."""
    thread = threading.get_ident()

    def elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        from pyspark.logger import PySparkLogger

        logs = [PySparkLogger.getLogger(name) for name in _LOGS]
        for log in logs:
            log.addFilter(elsewhere)
        try:
            yield
        finally:
            for log in logs:
                log.removeFilter(elsewhere)


def _pyspark() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas
        return require("pyspark.sql", extra="spark", purpose="The engine 'spark'")


def _pyspark_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)


def _kind_of(error: BaseException) -> str:
    """Return what kind of error it is, by its name alone: Spark's messages quote cells."""
    condition = None
    with suppress(Exception):  # Java may be gone
        condition = error.getCondition()  # type: ignore[attr-defined]
    origin = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    with suppress(Exception):
        while origin is not None and origin.getCause() is not None:
            origin = origin.getCause()
        if origin is not None:
            return str(condition or origin.getClass().getSimpleName())
    return str(condition or type(error).__name__)
