"""A user's own extract."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from shoal.datasets import QUASI_IDENTIFIERS, ipums
from shoal.errors import DataError, ParameterError

HEADER = "YEAR,age,SEX,RACE,MARST,BPL,EDUC,CLASSWKR,INCTOT,OCC"
ROWS = [
    "2008,16,1,1,6,6,3,2,500,4000",  # too young
    "2008,17,2,1,6,6,3,2,1500,4000",
    "2008,44,1,2,1,200,6,2,30000,10",
    "2008,52,2,6,1,500,10,1,90000,10",
    "2008,99,1,1,5,453,2,2,12000,20",
    "2008,35,1,1,4,110,7,2,-300,30",
    "2008,36,1,1,4,150,7,2,9999999,40",  # income not stated
    "2008,37,1,1,4,600,7,0,700,0",  # no occupation
]


def extract(folder: Path, rows: list[str], header: str = HEADER, name: str = "usa.csv") -> Path:
    path = folder / name
    text = "\n".join([header, *rows]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["usa.csv", "usa_00001.csv.gz"])
def test_income(tmp_path: Path, name: str) -> None:
    frame = ipums(extract(tmp_path, ROWS, name=name))
    assert frame.columns == [*QUASI_IDENTIFIERS, "income"]
    assert set(frame.dtypes) == {pl.Int16()}
    assert frame["age"].to_list() == [17, 44, 52, 95, 35, 37]
    assert frame["birth_place"].to_list() == [6, 200, 500, 400, 100, 600]
    assert frame["race"].to_list() == [1, 2, 6, 1, 1, 1]
    assert frame["income"].to_list() == [2, 4, 5, 3, 0, 1]


def test_occupation(tmp_path: Path) -> None:
    frame = ipums(extract(tmp_path, ROWS), sensitive="occupation")
    assert frame["age"].to_list() == [17, 44, 52, 95, 35, 36]
    assert frame["birth_place"].to_list()[-1] == 600
    assert frame["occupation"].to_list() == [4, 0, 0, 1, 2, 3]


def test_at_most_fifty_classes_in_the_order_of_the_values(tmp_path: Path) -> None:
    rows = [f"2008,30,1,1,1,6,6,2,{income},4000" for income in [*range(0, 100_000, 100), *[30_000] * 500]]
    frame = ipums(extract(tmp_path, rows))
    assert frame["income"].n_unique() <= 50
    assert frame["income"].max() == frame["income"].n_unique() - 1
    assert frame["income"].head(1000).is_sorted()
    one_value = frame["income"][[300, *range(1000, 1500)]]
    assert one_value.n_unique() == 1


def test_detailed_columns_replace_the_general_ones(tmp_path: Path) -> None:
    rows = [f"{row},{educd},22" for row, educd in zip(ROWS[1:6], [2, 63, 101, 26, 116], strict=True)]
    frame = ipums(extract(tmp_path, rows, header=f"{HEADER},EDUCD,CLASSWKRD"))
    assert frame["education"].to_list() == [0, 8, 13, 3, 16]
    assert frame["work_class"].to_list() == [22] * 5


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no column MARST, OCC\."):
        ipums(extract(tmp_path, ["30,1"], header="AGE,SEX,RACE,BPL,EDUC,CLASSWKR,INCTOT"), sensitive="occupation")


def test_labels_instead_of_codes_are_counted_and_not_shown(tmp_path: Path) -> None:
    labelled = [ROWS[1].replace("17,2,", "17,Female,"), ROWS[2]]
    with pytest.raises(DataError, match=r"1 row.* of column SEX") as caught:
        ipums(extract(tmp_path, labelled))
    assert "Female" not in str(caught.value)


def test_nobody_left(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no person from 17 years upwards with a known income"):
        ipums(extract(tmp_path, ROWS[:1]))


def test_no_such_file_and_empty_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        ipums(tmp_path / "absent.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="is empty"):
        ipums(tmp_path / "empty.csv")


def test_unknown_sensitive_attribute(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'sensitive' parameter of ipums"):
        ipums(tmp_path / "absent.csv", sensitive="race")  # type: ignore[arg-type]
