"""What may be a path of Parquet, and what is no path."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.io.scanning import bytes_to_read, is_folder_of_parquet


@pytest.mark.parametrize(
    "data", ["a\0b", "a,b\n1,2", "s3://bucket/people", "x" * 5000, 3, None, pl.DataFrame({"a": [1]})]
)
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
