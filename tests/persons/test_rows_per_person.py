"""Some rows of each person: drawn at random, or the first or last in the order of a column."""

from __future__ import annotations

from collections import Counter
from html import unescape
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import THOROUGH, few

import shoal
from shoal.cli.main import app
from shoal.errors import ColumnError, DataError, ParameterError, ReleaseUnsafeError

ASKED: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "disease", "person": "id"}


def visits(persons: int = 20, each: int = 4) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [person for person in range(persons) for _ in range(each)],
            "age": [30 + person % 2 for person in range(persons) for _ in range(each)],
            "disease": ["abcd"[visit % 4] for _ in range(persons) for visit in range(each)],
            "admitted": [f"{1 + 7 * visit % 28}.{1 + visit}.2020" for _ in range(persons) for visit in range(each)],
        }
    )


def test_numbers_in_text_order_the_rows(tmp_path: Path) -> None:
    """Files of text hold whole numbers as text, in which 10 is before 9."""
    for visits_of in (("10", "9"), ("1.5", "-2"), ("90071992547409931", "90071992547409930"), ("010", "9")):
        data = pl.DataFrame({"id": [1, 1, 2, 2], "visit": visits_of * 2, "age": [30] * 4, "disease": list("abab")})
        roles = ASKED | {"insensitive": ["visit"]}
        made = shoal.anonymize(data, **roles, k=2, rows_per_person=1, kept_rows="last", order="visit", seed=1)
        assert made.data["disease"].to_list() == ["a", "a"], visits_of
    for wrong in (["x", "1"], ["nan", "1"], ["inf", "1"]):
        data = pl.DataFrame({"id": [1, 1], "visit": wrong, "age": [30] * 2, "disease": list("ab")})
        with pytest.raises(DataError, match="gives rows no order"):
            shoal.anonymize(data, **roles, k=1, rows_per_person=1, kept_rows="last", order="visit")


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_at_most_so_many_of_each(tmp_path: Path, engine: str, most: int) -> None:
    data = visits()
    data.write_parquet(tmp_path / "in.parquet")
    made = shoal.anonymize(
        tmp_path / "in.parquet",
        **ASKED,
        k=4,
        l=2,
        rows_per_person=most,
        engine=engine,
        direct_identifiers=["admitted"],
        seed=1,
    )
    made.save(tmp_path / "out")
    certificate = made.certificate
    assert certificate.input["rows_left_out"] == 20 * (4 - most)
    assert certificate.persons[0]["records"] == 20 * most
    assert certificate.persons[0]["most_records"] == most
    assert shoal.provenance(data, certificate.to_dict(), salt=made.salt)
    of = {"one_record_each"} if most == 1 else {"persons", "records"}
    assert {one["of"] for one in certificate.requested} == of
    said = made.public_certificate.to_dict()
    assert said["parameters"]["rows_per_person"] == most
    assert ("holds for persons" in str(said["guarantee"])) == (most == 1)


@pytest.mark.drawn
def test_which_ones_is_chance() -> None:
    data = visits(persons=8)
    found: Counter[int] = Counter()
    rounds = few(60, least=16)
    for _ in range(rounds):
        made = shoal.anonymize(data, **ASKED, k=2, rows_per_person=1, direct_identifiers=["admitted"])
        assert Counter(data["id"].gather(made.rows)) == Counter(range(8))
        found.update((made.rows % 4).tolist())
    assert set(found) == {0, 1, 2, 3}
    assert min(found.values()) > (rounds if THOROUGH else 8)  # of two in each round on average


@pytest.mark.parametrize(("kept", "value"), [("first", "a"), ("last", "d")])
def test_the_first_or_the_last(kept: str, value: str) -> None:
    """By the dates that are meant: as text the fourth visit would not be the last."""
    made = shoal.anonymize(
        visits(), **ASKED, k=4, rows_per_person=1, kept_rows=kept, order="admitted", direct_identifiers=["admitted"]
    )
    assert set(made.data["disease"]) == {value}


def test_a_missing_date_is_chosen_last() -> None:
    data = visits().with_columns(admitted=pl.when(pl.col("disease") != "a").then("admitted"))
    for kept, value in (("first", "b"), ("last", "d")):
        made = shoal.anonymize(
            data, **ASKED, k=4, rows_per_person=1, kept_rows=kept, order="admitted", direct_identifiers=["admitted"]
        )
        assert set(made.data["disease"]) == {value}


def test_rows_without_a_value_are_left_out_first() -> None:
    data = visits().with_columns(disease=pl.when(pl.col("disease") == "d").then("disease"))
    made = shoal.anonymize(
        data, **ASKED, k=4, rows_per_person=1, missing_sensitive="drop", direct_identifiers=["admitted"]
    )
    assert made.data["disease"].to_list() == ["d"] * 20


def test_what_is_wrong_is_said() -> None:
    data = visits().drop("admitted")
    with pytest.raises(ParameterError, match="identifies persons with"):
        shoal.anonymize(data, quasi_identifiers=["age"], direct_identifiers=["id", "disease"], k=2, rows_per_person=1)
    with pytest.raises(ParameterError, match="orders the rows of a person with"):
        shoal.anonymize(data, **ASKED, k=2, rows_per_person=1, kept_rows="first")
    with pytest.raises(DataError, match="'disease' gives rows no order"):
        shoal.anonymize(data, **ASKED, k=2, rows_per_person=1, kept_rows="first", order="disease")
    for how in ({"link": True}, {"rows_per_person": 1}):
        with pytest.raises(ColumnError, match=r"no column 'day' \(order\)"):
            shoal.anonymize(data, **ASKED, k=2, order="day", **how)
    with pytest.raises(ParameterError, match="engine='memory'"):
        shoal.anonymize(data.lazy(), **ASKED, k=2, rows_per_person=1, kept_rows="first", order="age", engine="stream")


def test_it_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    import shoal.pipeline.kept_rows
    from shoal.pipeline.input import KeptRows, OpenedData

    def keep_all(opened: OpenedData, *_: object) -> OpenedData:
        return replace(opened, kept=KeptRows(counts=opened.counts))

    monkeypatch.setitem(shoal.pipeline.kept_rows.KEEP, "some", keep_all)
    with pytest.raises(ReleaseUnsafeError, match=r"20 persons have more than 1 row\(s\)"):
        shoal.anonymize(visits().drop("admitted"), **ASKED, k=4, rows_per_person=1)


def test_pages_and_summary_tell_one_record_from_all_of_a_person(tmp_path: Path) -> None:
    """With k alone, too: of four of a group's 40 records one has a value that ten have, unless it is missed 4 times."""
    data = visits().drop("admitted")
    data.write_csv(tmp_path / "in.csv")
    words = [
        "anonymize",
        str(tmp_path / "in.csv"),
        *["--qi", "age", "--sensitive", "disease", "--person", "id", "-k", "4"],
    ]
    known = "for 20 of 20 persons with a probability of more than 1/2, for one of them with 70%"
    assert round(1 - comb(30, 4) / comb(40, 4), 2) == 0.7

    def publish(*more: str) -> tuple[str, str, str]:
        told = CliRunner().invoke(app, [*words, *more, "--seed", "1", "-o", str(tmp_path / "out"), "--force"])
        assert told.exit_code == 0, told.stderr
        pages = (f"out{end}/report.html" for end in (".private", ""))
        return (" ".join(told.output.split()), *(unescape((tmp_path / page).read_text("utf-8")) for page in pages))

    said, private, public = publish()
    warned = "all their records together reveal some value of 'disease' with a probability of more than 1/2"
    for text in (said, private):
        assert f"For 20 of 20 persons (id), {warned}, for one of them with 70%" in text
        assert "--rows-per-person 1. Ask for -t 0.2 as well, so that groups are like the table" in text, (
            "2 of 20 may be too few"
        )
        assert known in text
    assert (
        "a person is found from one record with a probability of at most 10%, 10% on average over all persons" in said
    )
    assert private.count("10% on average over all persons") == 4
    assert "None of the 20 persons in the file can be told from all others by age of one record" in private
    for text in (private, public):
        assert (
            "the value of 'disease' is guessed rightly from one record of the person: the highest probability" in text
        )
        assert "None of the kinds that shoal looks for" not in private
    assert "None of the kinds that shoal looks for" in public
    assert "20 of 20" not in public
    # Shares are of the published cells, and what was left out stands where the loss does.
    said, private, public = publish("--rows-per-person", "1")
    left = "60 of 80 records are not published"
    assert said.index(left) < said.index("cost 0 stars, 0% of the cells") < said.index("risk")
    assert left in private.partition("What analysts lose, column by column")[2][:200]
    assert "It has one record of each person" in public.partition("What analysts lose, column by column")[2][:200]
    assert left not in public
    assert "together" not in said


def test_what_all_records_tell_is_a_warning_with_a_way_out() -> None:
    data = visits().drop("admitted")
    made = shoal.anonymize(data, **ASKED, k=4, l=4)
    (warning,) = [one for one in made.warnings if one.code == "sure_of_persons"]
    assert "20 of 20 persons (id)" in warning.text
    assert "rows_per_person=1" in warning.text
    assert "sure_of_persons" not in made.public_certificate.to_json()
    single = shoal.anonymize(data, **ASKED, k=4, l=2, rows_per_person=1, seed=1)
    assert not [one for one in single.warnings if one.code == "sure_of_persons"]
    repeated = shoal.anonymize(
        data.rename({"id": "pcode"}), quasi_identifiers=["age"], sensitive="disease", k=4, direct_identifiers=["pcode"]
    )
    (advice,) = [one for one in repeated.warnings if one.code == "repeated_person"]
    assert "person='pcode'" in advice.text
