"""Which source is read how, and what is said of sources that cannot be read."""

import gzip
import io
import os

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from tests.every import every

from shoal.errors import DataError, ParameterError, UsageError
from shoal.io import read, read_table, write_table

FRAME = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})


@every("name", ["t.parquet", "t.pq", "t.arrow", "t.feather", "t.ipc", "T.PARQUET"])
def test_typed_files_keep_their_types(tmp_path, name):
    path = tmp_path / name
    FRAME.write_parquet(path) if "p" in path.suffix.lower()[1] else FRAME.write_ipc(path)
    assert read(path).equals(FRAME)
    assert read(str(path)).equals(FRAME)


def test_an_arrow_stream(tmp_path):
    FRAME.write_ipc_stream(tmp_path / "t.arrow")
    assert read(tmp_path / "t.arrow").equals(FRAME)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_an_index_that_pandas_stored_is_no_column(tmp_path, name):
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1, 2, 3]}).iloc[[2, 0, 1]])
    assert table.column_names == ["a", "__index_level_0__"]
    path = tmp_path / name
    pq.write_table(table, path) if name.endswith("parquet") else feather.write_feather(table, path)
    assert read(path).columns == ["a"]


@pytest.mark.parametrize("name", ["[a]*.csv", "year=2020", "blank name.csv"])
def test_names_are_taken_literally(tmp_path, name):
    path = tmp_path / name
    if path.suffix != ".csv":
        path.mkdir()
        path /= "t[1].parquet"
        FRAME.write_parquet(path)
    else:
        path.write_text("a,b\n1,x\n")
    assert read(path).columns == ["a", "b"]


@pytest.mark.parametrize(("name", "like"), [("patient.csv", "'patients.csv'"), ("other.parquet", "There is no file")])
def test_a_file_that_is_not_there(tmp_path, name, like):
    (tmp_path / "patients.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=like):
        read(tmp_path / name)


def test_a_file_in_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="There is no folder"):
        read(tmp_path / "none" / "t.csv")


def test_folders_and_devices_are_no_files(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(DataError, match="not a regular file"):
        read(os.devnull)


def test_the_folder_of_a_release_names_its_table(tmp_path):
    with pytest.raises(DataError, match="Name a file in it"):
        read(tmp_path)
    (tmp_path / "release.csv").write_text("age\n1\n")
    with pytest.raises(DataError, match=r"is a folder\. Did you mean '.*release\.csv'\?"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["t.docx", "t", "t.gz"])
def test_an_unknown_kind(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=r"The kind of '.*' is unknown. Known are .*\.csv"):
        read(tmp_path / name)


@every("name", ["t.parquet", "t.arrow", "t.feather"])
@every("content", [b"", b"SECRET,1\n" * 9, b"PAR1", b"ARROW1\0\0SECRET"])
def test_damaged_typed_files(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="can be read") as raised:
        read(tmp_path / name)
    assert "SECRET" not in str(raised.value)


def test_typed_files_without_rows(tmp_path):
    FRAME.clear().write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"'t\.parquet' has no row"):
        read(tmp_path / "t.parquet")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        read(path)


@every("delimiter", ["", "ab", "ß", '"', "\n", "\0"])
def test_impossible_delimiters(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ParameterError, match="'delimiter' parameter of read must be"):
        read(tmp_path / "t.csv", delimiter=delimiter)


@pytest.mark.parametrize(("ending", "kind"), [("gz", "gzip"), ("zst", "zstd")])
def test_packed_text(tmp_path, ending, kind):
    path = tmp_path / f"t.csv.{ending}"
    packed = pa.compress(b"a,b\n007,x\n", kind, asbytes=True) if kind == "zstd" else gzip.compress(b"a,b\n007,x\n")
    path.write_bytes(packed)
    assert read(path).rows() == [("007", "x")]
    (tmp_path / "t.csv").write_bytes(packed)  # whatever the name says
    assert read(tmp_path / "t.csv").rows() == [("007", "x")]
    for damaged in (packed[:-9], b"a,b\n1,2\n"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=f"is not a {kind} file, or is cut off"):
            read(path)


@every("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.xlsx"])
def test_standard_input(tmp_path, name, monkeypatch):
    path = tmp_path / name
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(b"a,b\n1,x\n,y\n"))
    elif name == "t.arrow":
        FRAME.write_ipc(path)
    else:
        write_table(FRAME, path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    found = read_table("-")
    assert found.frame.with_columns(pl.col("a").cast(pl.Int64)).equals(FRAME)
    assert found.format == {"parquet": "parquet", "arrow": "parquet", "xlsx": "xlsx"}.get(name[2:], "csv")
    assert (found.delimiter, found.encoding) == ((",", "utf-8") if "csv" in name else (None, None))


@pytest.mark.parametrize("option", [{"delimiter": ","}, {"encoding": "utf-8"}])
def test_options_of_text_are_refused_for_other_files(tmp_path, option):
    FRAME.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="for delimited text"):
        read(tmp_path / "t.parquet", **option)
    with pytest.raises(UsageError):
        read("sqlite:///x.db::t", **option)
