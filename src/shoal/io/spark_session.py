"""Spark sessions: find Java, run interruptible work, and report errors without cells."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from shoal._core.optional import require
from shoal._core.temporary import TemporaryFolder, sweep_temporary_folders
from shoal.errors import DataError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

LEAST_JAVA = 17
"""Oldest version of Java that Spark 4 supports."""

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
"""Settings that affect which values are read and written, fixed so that sessions of callers behave alike."""

_QUIET = """status = off
appender.nowhere.type = Null
appender.nowhere.name = nowhere
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
"""Logging configuration of our own sessions, which is off because Spark's errors may quote cells."""
_LOGS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers of pyspark for errors of queries, which may quote cells."""
_PATIENCE = 60.0
"""Seconds that tasks have to end after their job was cancelled."""
_QUIET_LOOKS = 10
"""Number of successive checks without a running task, because Spark reports tasks with a delay."""


def is_spark_frame(data: object) -> bool:
    """Check whether an input is a DataFrame of PySpark, without importing pyspark."""
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and isinstance(data, sql.DataFrame)


def check_java() -> None:
    """Check that Spark will find a version of Java that it supports.

    Raises
    ------
    MissingExtraError
        If there is none. The message suggests what to install.
    """
    # Spark prefers JAVA_HOME to the PATH.
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
    """Determine the feature version of a Java binary: 17 for "17.0.15", 8 for "1.8.0_392"; None if unknown."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?([0-9]+)', output)
    return int(found[1]) if found else None


def active_session() -> SparkSession:
    """Get the active Spark session of the caller, for tables that are given by a path.

    Raises
    ------
    MissingExtraError
        If pyspark is not installed.
    ParameterError
        If no session is open.
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
    """Open a Spark session for the duration of the context, with temporary files that only their owner can read.

    Parameters
    ----------
    master : str, optional
        The URL of the cluster, or "local[2]" for two threads of this machine. By default Spark's own configuration
        decides, or all threads of this machine are used if there is none. A session that is open already is used
        unchanged, and stays open.

    Raises
    ------
    MissingExtraError
        If pyspark or Java is missing. The message suggests what to install.
    DataError
        If the cluster does not respond, or ends during the context.
    """
    builder = _pyspark().SparkSession.builder
    session = _pyspark().SparkSession.getActiveSession()
    if session is not None:
        yield session
        return
    check_java()
    sweep_temporary_folders()
    kind: str | None = None
    with TemporaryFolder("spark") as folder:
        (folder.path / "log4j2.properties").write_text(_QUIET, encoding="utf-8")
        for name, value in _settings(folder.path, master).items():
            builder = builder.config(name, value)
        session = _started(builder)
        try:
            yield session
        except _pyspark_errors() as error:
            kind = _kind_of(error)
        finally:
            with suppress(*_pyspark_errors()):  # its process may have been killed
                session.stop()
    if kind is not None:
        raise DataError(
            f"Spark ended ({kind}). If its process was killed because memory ran short, give it more "
            "(spark.driver.memory), or use the engine of streams."
        )


def _settings(folder: Path, master: str | None) -> dict[str, str]:
    """Assemble the settings of our own session: no logs, and temporary files in a private folder."""
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
    if master is None or master.startswith("local"):  # a local session must not be reachable from the network
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return settings


def _started(builder: Any) -> SparkSession:
    """Start a session, and keep the handler of Ctrl-C."""
    # Spark replaces the handler of SIGINT, and reads the Python of its workers from the environment.
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    errors, python = _pyspark_errors(), os.environ.get("PYSPARK_PYTHON")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with _quiet_pyspark():
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
    """Create another session on the same cluster with fixed settings for reading and writing (`PINNED`)."""
    pinned = session.newSession()
    for name, value in PINNED.items():
        pinned.conf.set(name, value)
    return pinned


def on_spark(session: SparkSession, work: Callable[[], Result], doing: str) -> Result:
    """Run work on Spark and return its result; if the caller is interrupted, the work ends before this raises.

    Parameters
    ----------
    session : SparkSession
    work : callable
        The work, which runs in a thread of its own.
    doing : str
        Description of the work for an error, after "Spark cannot".

    Raises
    ------
    DataError
        If the session is stopped, or Spark fails. The message quotes nothing of Spark's, which may hold a cell.
    """
    from pyspark import InheritableThread

    # The jobs of the work form a group, so that they can be cancelled together.
    context, group = session.sparkContext, f"shoal-{secrets.token_hex(4)}"
    done: list[Result] = []
    failed: list[BaseException] = []

    def worker() -> None:
        try:
            context.setJobGroup(group, "shoal", interruptOnCancel=True)
            with _quiet_pyspark():
                done.append(work())
        except BaseException as error:  # raised below, in the caller's thread
            failed.append(error)

    thread = InheritableThread(target=worker, daemon=True)
    try:
        thread.start()
    except AssertionError:  # how pyspark reports that no session is left
        raise DataError("The Spark session is stopped. Open one, and make the frame again.") from None
    try:
        thread.join()
    # An interrupted caller must not leave jobs that still write.
    except BaseException:
        _cancel(context, group, thread)
        raise
    if not failed:
        return done[0]
    if not isinstance(failed[0], _pyspark_errors()):
        failed[0].__cause__ = failed[0].__context__ = None  # the chained error of Spark may quote a cell
        raise failed[0]
    kind = _kind_of(failed[0])
    failed.clear()
    raise DataError(
        f"Spark cannot {doing} ({kind}). Its own log has details, and may quote cells of the data. If memory ran "
        "short, give its driver and executors more: spark.driver.memory, spark.driver.maxResultSize, "
        "spark.executor.memory."
    )


def _cancel(context: Any, group: str, thread: threading.Thread) -> None:
    """Cancel the jobs of a thread, and wait until none of their tasks is running, because they may still write."""
    # A single check is not enough, because a task may start after it.
    end = time.monotonic() + _PATIENCE
    tracker = context.statusTracker()
    quiet = 0
    while time.monotonic() < end and quiet < _QUIET_LOOKS:
        over = False
        with suppress(*_pyspark_errors()):
            context.cancelJobGroup(group)  # repeatedly, because the thread may start another job
            over = not thread.is_alive() and not _running(tracker, group)
        quiet = quiet + 1 if over else 0
        thread.join(0.05)
        if over:
            time.sleep(0.05)


def _running(tracker: Any, group: str) -> int:
    """Count the running tasks of a group of jobs."""
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    stages = (tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds)
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


@contextmanager
def _quiet_pyspark() -> Iterator[None]:
    """Suppress pyspark's warnings about versions of pandas, and its logs of errors, which quote cells."""
    thread = threading.get_ident()

    # Only records of this thread are dropped; the caller's own work with Spark still logs.
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
        warnings.simplefilter("ignore", FutureWarning)  # about versions of pandas
        return require("pyspark.sql", extra="spark", purpose="The engine 'spark'")


def _pyspark_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)


def _kind_of(error: BaseException) -> str:
    """Determine the kind of an error by names alone, because Spark's messages quote cells."""
    condition = None
    with suppress(Exception):  # Java may be gone
        condition = error.getCondition()  # type: ignore[attr-defined]
    # The innermost Java exception is the most specific one.
    origin = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    with suppress(Exception):
        while origin is not None and origin.getCause() is not None:
            origin = origin.getCause()
        if origin is not None:
            return str(condition or origin.getClass().getSimpleName())
    return str(condition or type(error).__name__)
