"""shoal.risk: every measure by one call, whatever the frame, the order of the rows, or what is missing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.disclosure_risk.test_persons import visits
from tests.every import every

import shoal
from shoal.disclosure_risk import MEASURES
from shoal.errors import ColumnError, DataError, ParameterError, UsageError

SECRET = "Zyzzyva"
ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult" / "adult.csv"
QI = ["sex", "state", "age"]


def people(rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """Return people of a made-up survey, with weights and households."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"{SECRET} {at}" for at in range(rows)],
            "sex": rng.choice(["f", "m"], rows),
            "state": rng.choice([f"{SECRET}-a", f"{SECRET}-b", f"{SECRET}-c", None], rows, p=[0.6, 0.2, 0.1, 0.1]),
            "age": rng.integers(18, 60, rows),
            "disease": rng.choice([f"{SECRET} flu", f"{SECRET} cough", "none"], rows),
            "w": rng.uniform(1, 60, rows).round(2),
            "home": np.arange(rows) // 3,
        }
    )


def everything(frame: Any, **more: Any) -> shoal.results.Risk:
    return shoal.risk(
        frame,
        quasi_identifiers=QI,
        sensitive="disease",
        sampling_fraction=0.05,
        weights="w",
        household="home",
        suda=2,
        log_linear="two-way",
        **more,
    )


@pytest.mark.skipif(not ADULT.exists(), reason="there is no copy of Adult here")
def test_adult():
    frame = pl.read_csv(ADULT, separator=";")
    found = shoal.risk(ADULT, quasi_identifiers=frame.columns, sampling_fraction=0.1)
    assert found.classes == 19_502
    assert found.population_uniques is not None
    assert found.population_uniques.pitman == pytest.approx(0.27684993883653597, rel=1e-11)
    assert found.population_uniques.zayatz == pytest.approx(0.3207402393466189, rel=1e-15)
    assert found.population_uniques.dankar == found.population_uniques.pitman
    whole = shoal.risk(ADULT, quasi_identifiers=frame.columns, sampling_fraction=1)
    assert whole.population_uniques is not None
    assert whole.population_uniques.zayatz == whole.sample_uniques


def test_names_of_json_are_attributes():
    found = everything(people(), population=people())
    facts = found.to_dict()
    assert list(facts["prosecutor"]) == ["highest", "average", "threshold", "records_above"]
    assert facts["journalist"] == facts["prosecutor"]  # everybody is in the table
    assert facts["marketer"] == {"average": found.classes / found.rows}
    assert list(facts["population_uniques"]) == ["pitman", "zayatz", "snb", "dankar"]
    assert {"global", "expected"} <= set(facts["individual"])
    assert {"global", "expected"} <= set(facts["household"])
    assert found.individual is not None
    assert found.individual.global_ == found.individual["global"] == facts["individual"]["global"]
    assert facts["quasi_identifiers"][0].keys() == {"columns", "distinction", "separation", "error"}
    assert found.delta_presence is not None
    assert found.delta_presence.lowest == found.delta_presence.highest == 1
    for name in ("rows", "classes", "smallest_class", "sample_uniques"):
        assert facts[name] == getattr(found, name)
    assert json.loads(found.to_json()) == json.loads(json.dumps(facts))


def test_what_was_not_asked_for_is_not_said_to_be_zero():
    found = shoal.risk(people(), quasi_identifiers=QI)
    facts = found.to_dict()
    absent = ("journalist", "marketer", "k_map", "delta_presence", "population_uniques", "individual", "household")
    assert all(facts[name] is None for name in (*absent, "log_linear", "suda"))
    assert facts["attribute_disclosure"] == {}
    assert found.records.columns == ["row", "prosecutor"]


def test_no_cell_is_told():
    found = everything(people(), population=people())
    for told in (repr(found), found.to_json(), " ".join(found.sentences()), repr(found.prosecutor)):
        assert SECRET not in told
    assert len(repr(found)) < 200


@pytest.mark.drawn
def test_neither_order_nor_index_nor_the_kind_of_missing_values_matters():
    frame = people()
    facts = everything(frame).to_dict()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=5)
    assert everything(shuffled).to_dict() == facts
    native = frame.to_pandas()
    assert everything(native.set_index(pd.Index(range(1000, 1400)))).to_dict() == facts
    native["state"] = native["state"].astype("string")
    assert everything(native).to_dict() == facts
    native["state"] = native["state"].astype("category")
    assert everything(native).to_dict() == facts
    native["state"] = native["state"].astype(object).where(native["state"].notna(), np.nan)
    assert everything(native).to_dict() == facts
    assert everything(pa.Table.from_pandas(native)).to_dict() == facts
    assert everything(frame.with_columns(pl.col("age").cast(pl.Float64))).to_dict() == facts


def test_records_are_in_the_order_of_the_table():
    frame = people(60)
    found = everything(frame, population=frame.vstack(frame))
    assert found.records.columns == [
        "row", "prosecutor", "individual", "household", "suda", "dis_suda", "journalist",
    ]  # fmt: skip
    sizes = frame.with_columns(f=pl.len().over(QI))["f"]
    assert found.records["row"].to_list() == list(range(60))
    assert found.records["prosecutor"].to_list() == [1 / size for size in sizes]
    assert found.records["journalist"].to_list() == [1 / (2 * size) for size in sizes]
    assert found.individual is not None
    assert found.records["individual"].sum() == pytest.approx(found.individual.expected, rel=1e-14)
    kept = 1 - found.records["individual"].to_numpy()
    homes = [1 - kept[frame["home"] == home].prod() for home in frame["home"]]
    assert found.records["household"].to_list() == pytest.approx(homes, rel=1e-12)
    assert isinstance(everything(frame.to_pandas()).records, pd.DataFrame)
    reversed_rows = everything(frame.reverse()).records
    assert reversed_rows["suda"].to_list() == found.records["suda"].to_list()[::-1]


def test_a_file_gives_the_same_as_a_frame(tmp_path):
    frame = people().drop("name")
    frame.write_csv(tmp_path / "survey.csv")
    frame.write_parquet(tmp_path / "survey.parquet")
    assert everything(tmp_path / "survey.csv").to_dict() == everything(frame).to_dict()
    mixed = everything(tmp_path / "survey.parquet", population=tmp_path / "survey.csv")
    assert mixed.journalist == mixed.prosecutor


def test_the_sampling_fraction_of_dis_follows_from_what_is_known():
    frame = people()
    twice = frame.vstack(frame)
    given = shoal.risk(frame, quasi_identifiers=QI, suda=2, sampling_fraction=0.5)
    counted = shoal.risk(frame, quasi_identifiers=QI, suda=2, population=twice)
    weighted = shoal.risk(frame.with_columns(w=pl.lit(2)), quasi_identifiers=QI, suda=2, weights="w")
    unknown = shoal.risk(frame, quasi_identifiers=QI, suda=2)
    assert given.suda is not None
    assert given.suda.dis is not None
    assert given.suda == counted.suda == weighted.suda
    assert unknown.suda is not None
    assert unknown.suda.dis is None
    assert unknown.records["dis_suda"].null_count() == 400


def test_every_measure_explains_itself():
    found = everything(people(), population=people(seed=1))
    facts = found.to_dict()
    meta = {"columns", "stars", "rows", "classes", "smallest_class", "units", "largest_share", "further"}
    assert {measure.name for measure in MEASURES} == set(facts) - meta
    said = found.sentences()
    assert len(said) == len(MEASURES) - 3, "no column repeats as persons do, and neither one nor sets are named"
    for sentence in said:
        assert sentence[0].isupper() or sentence[0].isdigit()
        assert sentence.endswith(".")
    for measure in MEASURES:
        for text in (measure.meaning, measure.assumptions):
            assert text.endswith(".")
        assert measure.formula
        assert any(year in measure.reference for year in map(str, range(1991, 2020))) or "CFR" in measure.reference
        assert found.explain(measure.name) is measure
    with pytest.raises(ParameterError, match="Did you mean 'prosecutor'"):
        found.explain("prosecuter")


def test_the_sentence_of_the_specification():
    frame = pl.DataFrame({"a": [*range(12), *[99] * 988]})
    said = shoal.risk(frame, quasi_identifiers=["a"]).sentences()[0]
    assert said.startswith("Of 1,000 records in the file, 12 could be found by someone who knows a of a person")


def test_progress_is_told():
    told = []
    everything(people(), progress=lambda *words: told.append(words))
    steps = [step for step, _, _ in told]
    assert set(steps) >= {"read", "count", "estimate", "special uniques", "log-linear", "columns", "combinations"}
    assert all(0 <= done <= total for _, done, total in told)


@every("fraction", [0, -0.1, 1.1, float("nan"), "0.5", True])
def test_a_sampling_fraction_is_a_share(fraction):
    with pytest.raises(ParameterError, match="'sampling_fraction' parameter of risk must be None or a number > 0"):
        shoal.risk(people(), quasi_identifiers=QI, sampling_fraction=fraction)


@every(
    ("change", "message"),
    [
        (pl.lit(0.5), r"'w' \(survey weights\) has a weight below 1 in 400 row\(s\): 1, 2, .*, \.\.\. \(counted"),
        (pl.when(pl.col("home") == 2).then(None).otherwise(pl.col("w")), r"no weight in 3 row\(s\): 7, 8, 9 \(counted"),
        (pl.when(pl.col("home") == 0).then(float("nan")).otherwise(pl.col("w")), r"no weight in 3 row\(s\): 1, 2, 3"),
        (pl.when(pl.col("home") == 0).then(float("inf")).otherwise(pl.col("w")), "no finite number in 3"),
        (pl.lit("one"), "no finite number in 400 .* decimal point"),
        (pl.lit(value=True), "no finite number in 400"),
    ],
)
def test_weights_that_are_none(change, message):
    with pytest.raises(DataError, match=message):
        shoal.risk(people().with_columns(w=change), quasi_identifiers=QI, weights="w")


def test_formats_of_dates_and_numbers_are_given():
    table = pl.DataFrame({"born": ["01/02/1980", "03/04/1990"] * 2, "w": ["1,500", "2,000"] * 2})
    people = pl.DataFrame({"born": ["1980-02-01", "1990-04-03"] * 4})
    with pytest.raises(DataError, match=r"'w' can be read in two ways.*decimal='\.'"):
        shoal.risk(table, quasi_identifiers=["born"], weights="w")
    for decimal, weight in ((",", 1.5), (".", 1500)):
        risk = shoal.risk(table, quasi_identifiers=["born"], weights="w", decimal=decimal).individual
        plain = table.with_columns(w=pl.Series([weight * 1.0, weight / 1.5 * 2] * 2))
        assert risk == shoal.risk(plain, quasi_identifiers=["born"], weights="w").individual
    asked = {"quasi_identifiers": ["born"], "population": people}
    assert shoal.risk(table, **asked, dates={"born": "%d/%m/%Y"}).k_map.k == 4
    with pytest.raises(DataError, match="not in the population"):
        shoal.risk(table, **asked, dates={"born": "%m/%d/%Y"})


def test_households_need_a_value_in_every_row():
    frame = people().with_columns(home=pl.when(pl.col("home") == 1).then(None).otherwise(pl.col("home")))
    with pytest.raises(DataError, match=r"'home' \(households\) has no value in 3 row\(s\): 4, 5, 6 .*Give every"):
        shoal.risk(frame, quasi_identifiers=QI, weights="w", household="home")
    with pytest.raises(ParameterError, match="name the survey weights"):
        shoal.risk(people(), quasi_identifiers=QI, household="home")


@every(
    ("arguments", "error", "message"),
    [
        ({"quasi_identifiers": []}, ColumnError, "at least one quasi-identifier"),
        ({"quasi_identifiers": ["aeg"]}, ColumnError, "no column 'aeg'.*Did you mean 'age'"),
        ({"weights": "v"}, ColumnError, r"no column 'v' \(survey weights\)"),
        ({"weights": "w", "household": "hom"}, ColumnError, "Did you mean 'home'"),
        ({"stars": "any"}, ParameterError, "'stars' parameter"),
        ({"star": ""}, ParameterError, "'star' parameter"),
        ({"cells": {"age": "values"}}, ParameterError, "give stars='wildcard'"),
        ({"threshold": 0}, ParameterError, "'threshold' parameter"),
        ({"threshold": 2}, ParameterError, "'threshold' parameter"),
        ({"significance": 1}, ParameterError, "must be below 1"),
        ({"l": 0}, ParameterError, "'l' parameter"),
        ({"suda": 0}, ParameterError, "'suda' parameter"),
        ({"combinations": 0}, ParameterError, "'combinations' parameter"),
        ({"log_linear": "independence"}, ParameterError, "give the 'sampling_fraction' parameter"),
        ({"log_linear": "three-way", "sampling_fraction": 0.1}, ParameterError, "'log_linear' parameter"),
        ({"population": pl.DataFrame({"sex": ["f"], "state": ["x"]})}, ColumnError, "population has no column 'age'"),
        ({"population": people(40)}, DataError, r"The population has 40 row\(s\), fewer than the 400"),
        ({"population": people(500, seed=2)}, DataError, "not in the population"),
        ({"population": people().clear()}, DataError, "population has no rows"),
    ],
)
def test_wrong_calls(arguments, error, message):
    with pytest.raises(error, match=message) as raised:
        shoal.risk(people(), **{"quasi_identifiers": QI, **arguments})
    assert isinstance(raised.value, UsageError)
    assert SECRET not in str(raised.value)


def test_a_table_without_rows():
    with pytest.raises(DataError, match="has no rows"):
        shoal.risk(people().clear(), quasi_identifiers=QI)


def test_fractions_are_exact():
    frame = pl.DataFrame({"q": [1, 1, 1, 2, 2, 2]})
    assert shoal.risk(frame, quasi_identifiers=["q"], threshold=Fraction(1, 3)).prosecutor.records_above == 0
    assert shoal.risk(frame, quasi_identifiers=["q"], threshold=0.3333).prosecutor.records_above == 1


@pytest.mark.drawn
def test_a_release_names_its_columns_itself(tmp_path):
    """What `anonymize` returned, the folder that it was saved in, and the file in it are judged alike."""
    release = shoal.anonymize(
        people().drop("name", "w", "home"), quasi_identifiers=QI, sensitive="disease", privacy=shoal.KAnonymity(5)
    )
    release.save(tmp_path / "out")
    asked = {"quasi_identifiers": QI, "sensitive": "disease"}
    for judge in (shoal.risk, shoal.audit):
        expected = judge(release.data, **asked).to_dict()
        for source in (release, tmp_path / "out", str(tmp_path / "out"), tmp_path / "out" / "release.csv"):
            assert judge(source).to_dict() == expected
        with pytest.raises(ColumnError, match=r"of the table\. Name them with the 'quasi_identifiers' parameter"):
            judge(release.data)
    assert shoal.risk(tmp_path / "out", quasi_identifiers=QI[:1]).attribute_disclosure == {}, "the caller names all"
    (tmp_path / "out" / "release.csv").write_text("age\n1\n")
    with pytest.raises(DataError, match="is not the one that its certificate names"):
        shoal.risk(tmp_path / "out")


def test_the_certificate_says_what_cells_are(tmp_path):
    """Stars written otherwise, and codes cut by a coarsening, need no word from the caller."""
    frame = pl.DataFrame({"zip": [f"{at % 40:05}" for at in range(200)], "s": [f"v{at % 9}" for at in range(200)]})
    release = shoal.anonymize(
        frame,
        quasi_identifiers=["zip"],
        sensitive="s",
        privacy=shoal.KAnonymity(7),
        coarsen={"zip": shoal.Prefix(4)},
        recoding="suppression",
        star="?",
    )
    release.save(tmp_path / "out")
    found = shoal.risk(tmp_path / "out", stars="wildcard", population=frame)
    assert found.k_map.k >= 7
    assert shoal.audit(tmp_path / "out").to_dict()["cost"] == shoal.audit(release).to_dict()["cost"]


@pytest.mark.parametrize("stars", ["own", "wildcard"])
def test_a_column_that_is_written_otherwise_in_the_population_is_named(stars):
    frame = pl.DataFrame({"age": ["30", "31", "32"], "sex": ["f", "m", "f"], "zip": ["1", "2", "3"]})
    others = frame.with_columns(pl.Series("sex", ["f", "f", "m"]))
    with pytest.raises(DataError) as raised:
        shoal.risk(frame, quasi_identifiers=frame.columns, population=others, stars=stars)
    assert "2 row(s) of the table" in str(raised.value)
    if stars == "own":
        assert "Without the column 'sex' all of them are found" in str(raised.value)


def test_a_population_that_is_generalized_itself_is_refused():
    release = pl.DataFrame({"age": ["[20, 29]", "[30, 39]"], "sex": ["f", "*"]})
    people = pl.DataFrame({"age": ["21", "35"], "sex": ["f", "*"]})
    for population, column in ((release, "age"), (people, "sex")):
        with pytest.raises(DataError, match=f"The column '{column}' of the population has stars, .* before it was gen"):
            shoal.risk(release, quasi_identifiers=["age", "sex"], population=population, stars="wildcard")
    grouped = pl.DataFrame({"age": ["20-29", "30-39", "40-49"], "s": ["x", "y", "z"]})
    found = shoal.risk(grouped, quasi_identifiers=["age"], population=grouped)
    assert found.k_map.k == 1, "groups of ages are values where the table has them so"


def test_cells_that_no_value_fits_are_named():
    frame = pl.DataFrame({"age": ["[30, 20]", "25"], "sex": ["f", "m"]})
    with pytest.raises(DataError, match=r"The column 'age' has cells that no value fits, .* in 1 row.*Correct them"):
        shoal.risk(frame, quasi_identifiers=["age", "sex"], stars="wildcard")


def test_a_weight_is_no_more_than_there_can_be_people():
    with pytest.raises(DataError, match=r"'w' \(survey weights\) has a weight above 1,000,000,000,000 in 400 row"):
        shoal.risk(people().with_columns(w=pl.lit(1e300)), quasi_identifiers=QI, weights="w")


def test_persons_with_several_records_come_first():
    table = visits(60)
    found = shoal.risk(table, quasi_identifiers=["age", "gender", "zip"], sensitive="disease")
    assert [one.column for one in found.persons] == ["pcode"]
    said = found.sentences()
    assert "300 rows of 60 values of 'pcode', at most 5 of one" in said[0]
    assert "All figures here count records" in said[0]
    assert not any("person's" in sentence for sentence in said)
    once = shoal.risk(visits(60, each=1), quasi_identifiers=["age", "gender", "zip"], sensitive="disease")
    assert once.persons == ()
    assert "pcode" not in once.sentences()[0]
