"""What may be a path of Parquet, and what is no path."""

from __future__ import annotations

import polars as pl
import pytest
from tests.every import every

from shoal.errors import DataError
from shoal.io.scanning import bytes_to_read, is_folder_of_parquet, scan_table


@every("data", ["a\0b", "a,b\n1,2", "s3://bucket/people", "x" * 5000, 3, None, pl.DataFrame({"a": [1]})])
def test_what_is_no_path_here_is_no_folder_and_has_no_size(data):
    assert not is_folder_of_parquet(data)
    assert bytes_to_read(data) is None


def test_a_folder_of_parquet_has_the_size_of_its_parts(tmp_path):
    assert not is_folder_of_parquet(tmp_path)
    for part in ("one", "two"):
        pl.DataFrame({"a": range(1000)}).write_parquet(tmp_path / f"{part}.parquet")
    assert is_folder_of_parquet(tmp_path)
    assert is_folder_of_parquet(str(tmp_path))
    assert bytes_to_read(tmp_path) == 2 * bytes_to_read(tmp_path / "one.parquet") > 2 * 8000


def partitioned(folder):
    """Write a table in folders of two columns, with leading zeros, a blank and a missing value."""
    for year, town, rows in (("2023", "Bad%20Ems", 3), ("2024", "007", 2), ("2024", "__HIVE_DEFAULT_PARTITION__", 1)):
        there = folder / f"year={year}" / f"town={town}"
        there.mkdir(parents=True)
        pl.DataFrame({"age": range(rows)}).write_parquet(there / "part.parquet")
    (folder / "_SUCCESS").touch()
    return folder


LAKE = [(0, "2023", "Bad Ems"), (1, "2023", "Bad Ems"), (2, "2023", "Bad Ems")]
LAKE += [(0, "2024", "007"), (1, "2024", "007"), (0, "2024", None)]


def test_folders_that_are_named_after_columns_are_columns(tmp_path):
    lake = partitioned(tmp_path / "lake")
    assert is_folder_of_parquet(lake)
    assert bytes_to_read(lake) > 6 * 8
    table = scan_table(lake)
    assert table.columns == ("age", "year", "town")
    assert table.lazy.collect().rows() == LAKE


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("year=2023/other.parquet", "folders of different columns"),
        ("notes/town=x/part.parquet", "not Parquet"),
        ("year=2023/town=x/notes.txt", "not Parquet"),
    ],
)
def test_a_folder_that_is_partitioned_in_part_is_refused(tmp_path, file, says):
    lake = partitioned(tmp_path / "lake")
    (lake / file).parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"age": [1]}).write_parquet(lake / file)
    with pytest.raises(DataError, match=says):
        scan_table(lake)


def test_a_column_of_files_that_is_a_folder_as_well_is_refused(tmp_path):
    (tmp_path / "lake/age=3").mkdir(parents=True)
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "lake/age=3/part.parquet")
    with pytest.raises(DataError, match="'age' is a column of files"):
        scan_table(tmp_path / "lake")


def test_sums_below_a_file_in_pieces_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    for end, left in (("Total,,8\n", "1 row"), (",,\nSumme,4,8\n", "2 row"), ("", "")):
        path.write_text("a,b,c\n" + "x,1,2\n" * 4 + end)
        if left:
            with pytest.raises(DataError, match=f"The last {left}s of 't.csv' seem to be notes or sums"):
                scan_table(path)
        else:
            assert scan_table(path).rows == 4
