"""Tables and queries of databases, and silence about passwords."""

import sqlite3
from contextlib import closing

import pytest
from tests.every import every

import shoal
from shoal.errors import DataError
from shoal.io import read
from shoal.io.databases import database_source


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "health.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('CREATE TABLE "patients" (zip TEXT, age INTEGER, weight, mixed)')
        connection.executemany(
            "INSERT INTO patients VALUES (?, ?, ?, ?)",
            [("007", 41, 1, "SECRET"), ("1.0", None, 1.5, 2), (None, 9, None, None)],
        )
        connection.execute("CREATE VIEW elderly AS SELECT zip, age FROM patients WHERE age > 40")
        connection.execute('CREATE TABLE "odd ""name"" %s" (a INTEGER)')
        connection.execute('INSERT INTO "odd ""name"" %s" VALUES (1)')
    return path


QUERY = "SELECT zip, age, weight FROM patients ORDER BY age"
# The second scheme goes through SQLAlchemy.
BOTH = pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])


@BOTH
def test_queries(database, scheme):
    frame = read(f"{scheme}:///{database}::{QUERY}")
    assert frame.to_dict(as_series=False) == {
        "zip": ["1.0", None, "007"],
        "age": [None, 9, 41],
        "weight": [1.5, None, 1.0],
    }


@BOTH
def test_queries_with_marks_that_drivers_take_for_parameters(database, scheme):
    assert read(f"{scheme}:///{database}::select zip from patients where zip like '%7' and zip <> ':x'").rows() == [
        ("007",)
    ]


@BOTH
@pytest.mark.parametrize(("table", "columns"), [("elderly", ["zip", "age"]), ('odd "name" %s', ["a"])])
def test_tables_and_views(database, scheme, table, columns):
    assert read(f"{scheme}:///{database}::{table}").columns == columns


@BOTH
def test_an_unknown_table(database, scheme):
    with pytest.raises(DataError, match=r"no table 'patient'\. Did you mean 'patients'"):
        read(f"{scheme}:///{database}::patient")


@BOTH
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT SECRET FROM nowhere", "refused to give the result of the query"),
        ("SELECT age, zip AS age FROM patients", "several columns the name 'age'"),
        ("SELECT * FROM patients", r"'mixed' .* \(int, str\)"),
        ("SELECT zip FROM patients WHERE age > 99", "has no row"),
    ],
)
def test_bad_queries(database, scheme, query, message):
    with pytest.raises(DataError, match=message) as raised:
        read(f"{scheme}:///{database}::{query}")
    assert "SECRET" not in str(raised.value)


def test_reading_never_makes_or_changes_a_database(tmp_path, database):
    before = database.read_bytes()
    with pytest.raises(DataError, match="There is no database file"):
        read(f"sqlite:///{tmp_path / 'none.db'}::t")
    with pytest.raises(DataError):
        read(f"sqlite:///{database}::WITH x AS (SELECT 1) DELETE FROM patients")
    assert database.read_bytes() == before
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "t.db").write_bytes(b"SECRET" * 999)
    with pytest.raises(DataError, match="DatabaseError") as raised:
        read(f"sqlite:///{tmp_path / 't.db'}::t")
    assert "SECRET" not in str(raised.value)


@every(
    "source",
    [
        "postgresql+nodriver://me:PASSWORD@host/db::t",
        "nosuchdialect://me:PASSWORD@host/db::t",
        "sqlite+pysqlite://me:PASSWORD@host:notaport/db::t",
        "postgresql://me:PASSWORD@host/db",
        "postgresql://me:PASSWORD@host/db::",
        "postgresql://me:PASSWORD@host/db::t",
    ],
)
def test_no_error_shows_a_password(source):
    with pytest.raises(DataError) as raised:
        read(source)
    assert "PASSWORD" not in str(raised.value) + repr(raised.value)


def test_a_missing_driver_is_named():
    with pytest.raises(DataError, match="needs its Python driver 'pymysql"):
        read("mysql+pymysql://me@host/db::t")


def test_a_database_that_cannot_be_reached():
    with pytest.raises(DataError, match=r"cannot be reached \(OperationalError\)"):
        read("sqlite+pysqlite:////no/such/folder/x.db::t")


@pytest.mark.parametrize(
    ("text", "url", "what"),
    [
        ("sqlite:///a.db::t", "sqlite:///a.db", "t"),
        (
            "postgresql://u:p@[::1]:5432/d::select a::text from t",
            "postgresql://u:p@[::1]:5432/d",
            "select a::text from t",
        ),
        ("mysql+x://h/d?a=1::s.t", "mysql+x://h/d?a=1", "s.t"),
        ("sqlite:///a.db:: SELECT 1,\n 2 ", "sqlite:///a.db", "SELECT 1,\n 2"),
    ],
)
def test_what_divides_url_and_table(text, url, what):
    source = database_source(text)
    assert (source.url, source.what) == (url, what)
    assert "p@" not in repr(source)


@pytest.mark.parametrize("text", ["t.csv", "C:\\data\\t.csv", "a::b.csv", "/data/x.parquet"])
def test_paths_are_no_databases(text):
    assert database_source(text) is None


def test_the_address_of_a_file_is_refused_with_what_to_do() -> None:
    for scheme in ("s3", "S3a", "gs", "https", "abfss", "file"):
        for engine in ("memory", "stream"):
            with pytest.raises(DataError, match=f"begins with {scheme}://. Copy the file to this machine") as raised:
                shoal.anonymize(f"{scheme}://me:SECRET@place/a.parquet", quasi_identifiers=["a"], k=2, engine=engine)
            assert "SECRET" not in str(raised.value)
    with pytest.raises(DataError, match="A database cannot be read in pieces") as raised:
        shoal.anonymize("postgresql://me:SECRET@place/db::people", quasi_identifiers=["a"], k=2, engine="stream")
    assert "SECRET" not in str(raised.value)
