"""The made-up tables: the same for a seed, as they are described, and written as files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal import datasets
from shoal.errors import OutputError, ParameterError
from shoal.hierarchy import Hierarchy


def test_patients_are_as_described():
    table = datasets.patients()
    assert table.columns == ["name", "visit_id", "age", "gender", "zip", "admitted", "disease"]
    assert table.equals(datasets.patients())
    assert not table.equals(datasets.patients(seed=2))
    assert table["visit_id"].n_unique() == 1000
    assert table["age"].is_between(0, 99).all()
    assert set(table["gender"]) == {"F", "M"}
    assert table["zip"].str.contains(r"^0[0-9]{4}$").all()
    assert set(table["admitted"].dt.year()) == {2024}
    assert table["disease"].n_unique() == 15
    assert 0.1 < table["disease"].value_counts()["count"].max() / 1000 < 0.2
    with pytest.raises(ParameterError, match="must be an int >= 1"):
        datasets.patients(0)


def test_visits_are_of_patients_whose_number_is_skewed():
    table = datasets.visits()
    assert table.equals(datasets.visits())
    assert not table.equals(datasets.visits(seed=2))
    assert table["visit_id"].n_unique() == table.height
    each = table.group_by("patient_id").agg(pl.len(), pl.col("age", "gender", "zip", "disease").n_unique())
    assert each.height == 400
    assert each.select("age", "gender", "zip").max().row(0) == (1, 1, 1), "what a patient is stays the same"
    assert (each["len"] == 1).mean() > 0.3
    assert each["len"].max() > 6
    several = each.filter(pl.col("len") > 2)
    assert (several["disease"] < several["len"]).mean() > 0.5, "diseases depend on the patient"
    assert table["admitted"].is_sorted()
    assert datasets.visits(1).height >= 1
    with pytest.raises(ParameterError, match="must be an int >= 1"):
        datasets.visits(0)


def test_the_hierarchies_have_all_values():
    table = datasets.patients(5000)
    for column, rows in (
        ("age", datasets.age_hierarchy()),
        ("zip", datasets.zip_hierarchy()),
        ("disease", datasets.disease_hierarchy()),
    ):
        tree = Hierarchy.from_rows(rows)
        assert set(table[column].cast(pl.String)) <= set(tree.values)


def test_quarters_overlap():
    first, second, people = datasets.quarters(100)
    ids = [set(table["patient_id"]) for table in (first, second)]
    assert (len(ids[0] - ids[1]), len(ids[0] & ids[1]), len(ids[1] - ids[0])) == (10, 90, 20)
    assert set(people["patient_id"]) == ids[0] | ids[1]
    for quarter, present in zip("12", ids, strict=True):
        assert set(people.filter(pl.col("releases").str.contains(quarter))["patient_id"]) == present


@pytest.mark.drawn
def test_every_file_is_written_and_kept(tmp_path: Path):
    for name in datasets.FILES:
        path = datasets.write_dataset(name, tmp_path)
        assert path.stat().st_size > 100
        assert datasets.write_dataset(name, tmp_path) == path, "the same content is no conflict"
    assert {path.name for path in tmp_path.iterdir()} == set(datasets.FILES)
    (tmp_path / "patients.csv").write_text("mine")
    with pytest.raises(OutputError, match="holds something else"):
        datasets.write_dataset("patients.csv", tmp_path)
    assert (tmp_path / "patients.csv").read_text() == "mine"
    datasets.write_dataset("patients.csv", tmp_path, force=True)
    with pytest.raises(ParameterError, match=r"Did you mean 'patients\.csv'"):
        datasets.write_dataset("patient.csv", tmp_path)
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        datasets.write_dataset("patients.csv", tmp_path / "nowhere")
