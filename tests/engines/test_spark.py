"""Tables of Spark: what is read, refused, written and left behind; what plans and errors say, which is no cell."""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.engines import MemoryBudget
from shoal.errors import ColumnError, DataError, MissingExtraError, OutputError, ParameterError, ReleaseUnsafeError
from shoal.io import spark_session, spark_tables
from shoal.release.spark_rows import SparkRows

if TYPE_CHECKING:
    from shoal.release.release import Release

pytestmark = pytest.mark.xdist_group("spark")

NAMES = ["age", "gender", "race"]
ASKED: dict[str, Any] = {
    "quasi_identifiers": NAMES,
    "sensitive": "income",
    "privacy": [shoal.LDiversity(3), shoal.KAnonymity(5)],
    "seed": 1,
}
HOSTILE = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "America/St_Johns",
    "spark.sql.files.maxRecordsPerFile": "7",
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings of somebody else's session that change what is written and how, if they may."""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return shoal.datasets.census(3_000, quasi_identifiers=3, seed=3).cast(pl.Int64)


@pytest.fixture
def frame(spark: Any, people: pl.DataFrame) -> Any:
    return spark.createDataFrame(people.to_arrow())


def fetched(data: Any) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(data.toArrow()))


def files_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(sorted(folder.glob("release.parquet/*.parquet")))


def hostile() -> pl.DataFrame:
    """A table whose names and values have been trouble to others."""
    rng, rows = np.random.default_rng(0), 300
    day, hour = dt.timedelta(days=1), dt.timedelta(hours=1)
    night = dt.datetime(2020, 3, 29, 1, 30)
    return pl.DataFrame(
        {
            "a.b": rng.choice(["007", "7", "7.0", "x y"], rows),
            "a`b": [dt.date(1500, 1, 1) + int(number) * day for number in rng.integers(0, 3, rows)],
            "q\"u'o": [Decimal(int(number)) / 100 for number in rng.integers(0, 3, rows)],
            "A": rng.choice([0.0, -0.0, 1.5, float("nan")], rows),
            "a": rng.choice([True, False], rows),
            "e ,;{}()\t=\n": [None if number == 0 else f"é{number}*" for number in rng.integers(0, 4, rows)],
            "local": [night + int(number) * hour for number in rng.integers(0, 2, rows)],
            "moment": [night.replace(tzinfo=dt.UTC) + int(number) * hour for number in rng.integers(0, 2, rows)],
            "nothing": [None] * rows,
            "s": rng.integers(0, 5, rows),
        },
        schema_overrides={"q\"u'o": pl.Decimal(10, 2)},
    )


def on_spark(session: Any, table: pl.DataFrame) -> Any:
    from pyspark.sql import types

    kinds = {pl.Boolean: types.BooleanType(), pl.Date: types.DateType(), pl.Float64: types.DoubleType()}
    kinds |= {pl.String: types.StringType(), pl.Int64: types.LongType(), pl.Null: types.StringType()}
    stated = types.StructType()
    for name, kind in table.schema.items():
        if isinstance(kind, pl.Datetime):
            stated.add(name, types.TimestampType() if kind.time_zone else types.TimestampNTZType())
        else:
            stated.add(name, types.DecimalType(10, 2) if isinstance(kind, pl.Decimal) else kinds[kind.base_type()])
    arrow = table.with_columns(pl.col(pl.Null).cast(pl.String)).to_arrow()
    return session.newSession().createDataFrame(arrow, stated)


@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_names_values_and_settings_of_others_change_nothing(spark: Any, tmp_path: Path, recoding: Any) -> None:
    table = hostile()
    given = on_spark(spark, table)
    for name, value in HOSTILE.items():
        given.sparkSession.conf.set(name, value)
    for number, quasi in enumerate(
        (["a.b", "a`b"], ["q\"u'o", "A", "a"], ["e ,;{}()\t=\n", "local", "nothing", "moment"])
    ):
        asked: dict[str, Any] = {
            "quasi_identifiers": quasi,
            "sensitive": "s",
            "privacy": [shoal.LDiversity(2), shoal.KAnonymity(10)],
            "direct_identifiers": [name for name in table.columns if name not in (*quasi, "s")],
            "algorithm": "mondrian",
            "recoding": recoding,
            "seed": 1,
        }
        here, there = shoal.anonymize(table, **asked), shoal.anonymize(given, **asked)
        text = here.data.with_columns(pl.col(pl.Null).cast(pl.String))
        assert isinstance(there.store, SparkRows)
        assert there.certificate.cost == here.certificate.cost
        assert fetched(there.data).equals(text)
        there.save(tmp_path / f"{number}")
        assert files_of(tmp_path / f"{number}").equals(text)
        assert files_of(tmp_path / f"{number}").schema == text.schema
    assert {name: given.sparkSession.conf.get(name) for name in HOSTILE} == HOSTILE


def test_texts_that_a_collation_takes_for_one_are_two(spark: Any) -> None:
    table = pl.DataFrame({"x": ["a", "A"] * 20, "s": [1, 1, 2, 2] * 10})
    given = spark.createDataFrame(table.to_arrow()).selectExpr("x collate UTF8_LCASE as x", "s")
    asked: dict[str, Any] = {"quasi_identifiers": ["x"], "sensitive": "s", "privacy": shoal.KAnonymity(5), "seed": 1}
    assert given.groupBy("x").count().count() == 1
    assert fetched(shoal.anonymize(given, **asked).data).equals(shoal.anonymize(table, **asked).data)


def test_the_engine_is_that_of_the_frame(frame: Any, people: pl.DataFrame) -> None:
    release = shoal.anonymize(frame, **ASKED)
    assert release.certificate.engine["name"] == "spark"
    assert "engine" not in release.public_certificate.to_dict()
    assert repr(release).startswith("Release(rows=3000")
    assert release._repr_html_() == shoal.anonymize(people, **ASKED)._repr_html_()
    assert shoal.provenance(people, release.certificate.to_dict(), salt=release.salt)
    for engine in ("memory", "stream"):
        with pytest.raises(ParameterError, match=r"data\.toArrow\(\)"):
            shoal.anonymize(frame, engine=engine, **ASKED)
        with pytest.raises(ParameterError, match=r"data\.toArrow\(\)"):
            shoal.audit(frame, engine=engine, quasi_identifiers=NAMES)
    with pytest.raises(ParameterError, match=r"data\.toArrow\(\) in place of the frame"):
        shoal.anonymize(frame, quasi_identifiers=NAMES, insensitive=["income"], privacy=shoal.KAnonymity(2))
    with pytest.raises(DataError, match=r"data\.toArrow\(\)"):
        shoal.risk(frame, quasi_identifiers=NAMES)
    with pytest.raises(DataError, match="DataFrame of PySpark"):
        shoal.anonymize(people, engine="spark", **ASKED)


def test_plans_show_no_cell(frame: Any) -> None:
    secret = "shoal-secret"
    marked = frame.selectExpr("age", "gender", f"concat('{secret}', race % 3) as race", "income")
    release = shoal.anonymize(marked.sparkSession.createDataFrame(marked.toArrow()), **ASKED)
    assert secret in str(release.data.toArrow()["race"].to_pylist())
    plan = release.data._jdf.queryExecution().toString()
    assert "race" in plan
    assert secret not in plan


def test_what_spark_says_of_an_error_stays_there(
    frame: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    log = PySparkLogger.getLogger("SQLQueryContextLogger")
    log.addHandler(handler)

    broken = frame.selectExpr("cast(concat('secret', age) as int) as age", "gender", "race", "income")
    broken.sparkSession.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(PySparkException, match="secret"):
        broken.collect()
    assert "secret" in told.pop()
    capfd.readouterr()
    with pytest.raises(DataError, match=r"(count|look at) the columns of the table \(CAST_INVALID_INPUT\)") as caught:
        shoal.anonymize(broken, **ASKED)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
    said = capfd.readouterr()
    assert "secret" not in said.out + said.err + caplog.text
    assert not told
    log.removeHandler(handler)


def test_tables_that_cannot_be_worked_on_say_so(
    spark: Any, frame: Any, people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(data: Any, words: str, error: type[Exception] = DataError, **options: Any) -> None:
        with pytest.raises(error, match=words):
            shoal.anonymize(data, engine="spark", **{**ASKED, **options})

    refused(frame.selectExpr("age", "gender", "array(race) as race", "income"), "'race' has the type array")
    refused(
        frame.selectExpr("age", "age", "gender", "race", "income"),
        "^2 of 5 columns have the name of another one: column 1, 2",
        ColumnError,
    )
    refused(frame.where("false"), "no rows")
    refused(frame.drop("race"), "'race'", ColumnError)
    refused(frame.selectExpr("*", "null as none"), "Choose how to treat such rows", sensitive=["income", "none"])
    (tmp_path / "a.csv").write_text("age\n1\n")
    refused(tmp_path / "a.csv", "engine='stream'")
    refused(tmp_path / "none.parquet", "no file")
    refused(f"file://{tmp_path}/none.parquet", "PATH_NOT_FOUND")
    people.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "two").mkdir()
    people.write_parquet(tmp_path / "two/0.parquet")
    people.drop("race").write_parquet(tmp_path / "two/1.parquet")
    refused(tmp_path / "two", "different columns")
    (tmp_path / "two/1.parquet").write_bytes(b"x")
    refused(tmp_path / "two", "damaged")
    monkeypatch.setattr(MemoryBudget, "max_cells", 10)
    refused(frame, r"about [1-9][0-9,]+ different combinations")
    monkeypatch.undo()
    monkeypatch.setattr(spark.__class__, "getActiveSession", classmethod(lambda _: None))
    refused(tmp_path / "a.parquet", "No Spark session is open", ParameterError)
    connected = type("DataFrame", (type(frame),), {"__module__": "pyspark.sql.connect.dataframe"})
    refused(connected.__new__(connected), "Spark Connect")


def test_paths_and_addresses_are_read_like_a_frame(
    spark: Any, frame: Any, people: pl.DataFrame, tmp_path: Path
) -> None:
    folder = tmp_path / "odd [1] {x} *?"
    folder.mkdir()
    people[:1_000].write_parquet(folder / "year=2024.parquet")
    people[1_000:].write_parquet(folder / "b.parquet")
    plain = tmp_path / "plain.parquet"
    people.write_parquet(plain)
    known = shoal.anonymize(people, **ASKED)
    for path in (folder, str(plain), f"file://{plain}"):
        release = shoal.anonymize(path, engine="spark", **ASKED)
        assert release.certificate.cost.stars == known.certificate.cost.stars
        assert release.certificate.input["rows"] == 3_000
    assert fetched(release.data).equals(known.data)
    assert release.data.sparkSession is spark


def test_an_audit_of_a_frame_is_that_of_its_sorted_rows(spark: Any, frame: Any, people: pl.DataFrame) -> None:
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age", "gender"],
        "sensitive": ["income", "race"],
        "privacy": [shoal.KAnonymity(40), shoal.LDiversity(2), shoal.TCloseness(0.2)],
    }
    here = shoal.audit(people.sort("age", "gender", "income", "race"), **asked)
    there = shoal.audit(frame, **asked)
    assert there.to_dict() == here.to_dict()
    assert here.failures
    assert [one.to_dict() for one in there.failures] == [one.to_dict() for one in here.failures]


@pytest.fixture
def release(frame: Any) -> Release:
    made = shoal.anonymize(frame, **ASKED)
    assert isinstance(made.store, SparkRows)
    return made


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.release.spark_rows._FILE_ROWS", 450)
    monkeypatch.setattr("shoal.release.spark_rows._FILE_ENTRIES", 300)
    monkeypatch.setattr("shoal.release.spark_rows._BATCH_ENTRIES", 500)


@pytest.mark.usefixtures("small_files")
def test_files_are_a_function_of_the_published_table(release: Release, people: pl.DataFrame, tmp_path: Path) -> None:
    written = [release.save(tmp_path / name).files for name in ("a", "b")]
    assert written[0] == written[1]
    names = sorted(os.listdir(tmp_path / "a/release.parquet"))
    assert names == [f"part-{number:05d}.parquet" for number in range(len(names))]
    assert len(names) > 3_000 / 450
    rows = [pq.read_metadata(tmp_path / "a/release.parquet" / name).num_rows for name in names]
    assert max(rows) <= 450
    assert [written[0][f"release.parquet/{name}"]["rows"] for name in names] == rows
    known = shoal.anonymize(people, **ASKED)
    assert files_of(tmp_path / "a").equals(known.data)
    assert sorted(os.listdir(tmp_path)) == ["a", "a.private", "b", "b.private"]
    assert stat.S_IMODE((tmp_path / "a.private").stat().st_mode) == 0o700
    assert release.data.rdd.getNumPartitions() == len(names)
    assert fetched(release.data).equals(known.data)


def test_a_release_whose_files_are_not_what_was_verified_does_not_appear(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.release import spark_rows

    write = spark_rows._renamed

    def spoiled(change: Any, *, before: bool = False) -> Any:
        def wrong(folder: Path, rows: Any) -> Any:
            written = None if before else write(folder, rows)
            part = min(folder.glob("part-*.parquet"))
            change(part)
            return write(folder, rows) if before else written

        return wrong

    def changed(change: Any) -> Any:
        return lambda part: change(pl.read_parquet(part)).write_parquet(part)

    tried = [
        (spoiled(changed(lambda frame: frame[1:])), ReleaseUnsafeError),
        (spoiled(changed(lambda frame: frame[1:]), before=True), ReleaseUnsafeError),
        (spoiled(changed(lambda frame: frame.with_columns(income=pl.col("income").reverse()))), ReleaseUnsafeError),
        (spoiled(changed(lambda frame: frame.with_columns(age=pl.lit("*")))), ReleaseUnsafeError),
        (spoiled(Path.unlink, before=True), DataError),
    ]
    for renamed, error in tried:
        monkeypatch.setattr(spark_rows, "_renamed", renamed)
        with pytest.raises(error):
            release.save(tmp_path / "out")
        assert os.listdir(tmp_path) == []


def test_an_existing_output_is_kept(frame: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="exists already"):
        shoal.anonymize(frame, output=tmp_path / "out", **ASKED)
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_an_interrupt_ends_the_work_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    """Tasks that are still running could write on after the folder was removed."""
    many = spark.range(0, 12_000_000, 1, 4).selectExpr(
        "id % 4 as age", "id % 2 as gender", "id % 3 as race", "id % 5 as income"
    )
    release = shoal.anonymize(many, **ASKED)
    main = threading.get_ident()

    def strike() -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end and not [*tmp_path.glob(".out.*/release.parquet/_temporary/*/*/*/part-*")]:
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=strike).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # that of pyspark cancels all jobs of a session
    try:
        with pytest.raises(KeyboardInterrupt):
            release.save(tmp_path / "out")
    finally:
        signal.signal(signal.SIGINT, before)
    assert os.listdir(tmp_path) == []
    tracker = spark.sparkContext.statusTracker()
    assert list(tracker.getActiveJobsIds()) == list(tracker.getActiveStageIds()) == []
    assert spark.range(5).count() == 5


def called(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_line_publishes_and_audits(spark: Any, people: pl.DataFrame, tmp_path: Path) -> None:
    people.write_parquet(tmp_path / "in.parquet")
    words = (tmp_path / "in.parquet", "--qi", ",".join(NAMES), "--sensitive", "income", "-l", 3, "-k", 5)
    code, told, _ = called("anonymize", *words, "--engine", "spark", "--seed", 1, "--json", "-o", tmp_path / "out")
    assert code == 0
    facts = json.loads(told)
    assert facts["engine"]["name"] == "spark"
    assert facts["cost"]["stars"] == shoal.anonymize(people, **ASKED).certificate.cost.stars
    audited = (tmp_path / "out/release.parquet", *words[1:])
    for engine in ((), ("--engine", "spark"), ("--engine", "stream")):
        code, told, _ = called("audit", *audited, *engine, "--json")
        assert code == 0
        assert json.loads(told)["achieved"]["k"] == facts["achieved"]["k"]
    code, _, told = called("anonymize", *words, "--master", "local[2]", "-o", tmp_path / "no")
    assert code == 2
    assert "The key master is for --engine spark" in told
    code, _, told = called("anonymize", tmp_path / "no.csv", *words[1:], "--engine", "spark", "-o", tmp_path / "no")
    assert code == 2
    assert spark.range(1).count() == 1, "a session that was open stays open"


def java(folder: Path, said: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/java").write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    (folder / "bin/java").chmod(0o755)
    return folder


def test_a_missing_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(MissingExtraError, match=r"no Java was found in JAVA_HOME .*openjdk-17-jre-headless"):
        spark_session.check_java()
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "old", 'openjdk version "11.0.20" 2023-07-18')))
    with pytest.raises(MissingExtraError, match="is version 11"):
        spark_session.check_java()
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "older", 'java version "1.8.0_392"')))
    with pytest.raises(MissingExtraError, match="is version 8"):
        spark_session.check_java()
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "new", 'openjdk version "21" 2023-09-19')))
    spark_session.check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="on the PATH"):
        spark_session.check_java()
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", classmethod(lambda _: None))
    code, _, told = called("anonymize", "in.parquet", "--qi", "a", "-k", 2, "--engine", "spark", "-o", tmp_path / "out")
    assert code == 2
    assert "openjdk-17-jre-headless" in " ".join(told.split())


def test_a_missing_pyspark_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal-privacy\[spark\]'"):
        shoal.anonymize(tmp_path / "in.parquet", engine="spark", **ASKED)
    code, _, told = called("anonymize", "in.parquet", "--qi", "a", "-k", 2, "--engine", "spark", "-o", tmp_path / "out")
    assert code == 2
    assert "pip install 'shoal-privacy[spark]'" in " ".join(told.split())


def test_pinned_settings_are_known_to_spark(spark: Any) -> None:
    pinned = spark_session.pinned_session(spark)
    known = {row["key"] for row in pinned.sql("SET -v").collect()}
    internal = {"spark.sql.caseSensitive"} | {
        f"spark.sql.parquet.datetimeRebaseModeIn{one}" for one in ("Read", "Write")
    }
    assert set(spark_session.PINNED) - known == internal
    assert spark_tables.scan_spark(pinned.range(3)).columns == ("id",)


STRUCK = """
import sys, threading, time, os, signal, glob
place = os.path.dirname(sys.argv[-1])
def strike():
    while not glob.glob(place + "/.out.*/release.parquet/_temporary/*/*/*/part-*"):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=strike, daemon=True).start()
from shoal.cli.main import run
sys.argv[0] = "shoal"
run()
"""


def test_folders_that_are_named_after_columns_are_columns_of_text(
    spark: Any, people: pl.DataFrame, tmp_path: Path
) -> None:
    for zone, rows in (("007", people[:300]), ("__HIVE_DEFAULT_PARTITION__", people[300:])):
        (tmp_path / f"lake/zone={zone}").mkdir(parents=True)
        rows.write_parquet(tmp_path / f"lake/zone={zone}/part.parquet")
    table = spark_tables.scan_spark(tmp_path / "lake")
    assert table.columns == (*people.columns, "zone")
    counts = {row["zone"]: row["count"] for row in table.frame.groupBy("zone").count().collect()}
    assert counts == {"007": 300, None: people.height - 300}
    people.with_columns(zone=pl.lit("x")).write_parquet(tmp_path / "lake/zone=007/part.parquet")
    (tmp_path / "lake/zone=__HIVE_DEFAULT_PARTITION__/part.parquet").unlink()
    with pytest.raises(DataError, match="'zone' is a column of files"):
        spark_tables.scan_spark(tmp_path / "lake")


def test_a_session_that_was_stopped_is_an_error_with_advice(
    spark: Any, people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = on_spark(spark, people)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    with pytest.raises(DataError, match="session is stopped"):
        shoal.anonymize(frame, quasi_identifiers=people.columns, k=2)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.usefixtures("spark")  # where it can be tested
def test_a_session_of_the_command_line_is_private_and_leaves_nothing(people: pl.DataFrame, tmp_path: Path) -> None:
    folder, temporary = tmp_path / "in", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    pl.concat([people] * 400).write_parquet(folder / "0.parquet")
    for number in range(1, 6):
        os.link(folder / "0.parquet", folder / f"{number}.parquet")
    words = ("anonymize", folder, "--qi", ",".join(NAMES), "--sensitive", "income", "-l", 3, "--algorithm", "tp")
    words += ("--engine", "spark", "--master", "local[2]", "-o", tmp_path / "out")
    call = [sys.executable, "-c", STRUCK, *map(str, words)]
    with subprocess.Popen(call, env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True) as run:
        modes = set()
        while run.poll() is None:
            modes |= {stat.S_IMODE(one.stat().st_mode) for one in temporary.glob("shoal-spark-*")}
            time.sleep(0.05)
        assert run.stderr is not None
        told = run.stderr.read()
    assert run.returncode == 128 + signal.SIGINT, told
    assert "Nothing was published" in told
    assert not {"WARN", "ERROR", "Exception"} & set(told.split())
    assert modes == {0o700}
    assert os.listdir(temporary) == []
    assert sorted(os.listdir(tmp_path)) == ["in", "temporary"]


def test_a_process_of_spark_that_is_killed_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    from py4j.protocol import Py4JNetworkError

    class Killed:
        def stop(self) -> None:
            raise ConnectionRefusedError

    monkeypatch.setattr(spark_session, "_started", lambda _: Killed())
    monkeypatch.setattr(spark_session, "check_java", lambda: None)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(DataError, match=r"Spark ended .*memory"), spark_session.open_session():
        raise Py4JNetworkError("a cell")
    with spark_session.open_session():
        pass
