"""A series of releases over its life, the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import errno
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import few, first

import shoal
from shoal.errors import (
    ColumnError,
    DataError,
    InfeasibleError,
    LedgerError,
    OutputError,
    ParameterError,
    PeopleError,
    ReleaseUnsafeError,
    WarnedError,
)
from shoal.republication.ledger.memory import read_memory

SECRET = "Zyzzyva"


def groups_of(publication: shoal.results.Publication) -> dict[int, list[dict[str, Any]]]:
    """Return the published rows by group, with plain Python."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in publication.data.iter_rows(named=True):
        groups.setdefault(row["group_id"], []).append(row)
    return groups


def covers(cell: Any, value: int) -> bool:
    """Return whether a published cell stands for a value."""
    text = str(cell)
    if text == "*":
        return True
    low, high = text[1:-1].split(", ") if text.startswith("[") else (text, text)
    return int(low) <= value <= int(high)


def check(publication: shoal.results.Publication, table: pl.DataFrame, m: int) -> None:
    """Check a release against the paper's definitions, with plain Python."""
    groups = groups_of(publication)
    fakes = dict(publication.counterfeits.iter_rows())
    assert set(fakes) <= set(groups)
    for number, rows in groups.items():
        diseases = [row["disease"] for row in rows]
        assert len(rows) >= m
        assert len(set(diseases)) == len(diseases)
        assert len({(row["age"], row["zip"]) for row in rows}) == 1
        assert 0 <= fakes.get(number, 0) < len(rows)
    assert publication.data.height - sum(fakes.values()) == table.height
    assert publication.data.columns == ["group_id", "age", "zip", "disease"]
    for person in table.iter_rows(named=True):
        assert any(
            covers(rows[0]["age"], person["age"])
            and covers(rows[0]["zip"], person["zip"])
            and person["disease"] in {row["disease"] for row in rows}
            for rows in groups.values()
        )


def remembered(series: shoal.Series) -> dict[bytes, tuple[frozenset[str], int]]:
    """Return the signature of everyone whom the ledger knows, and whether they are gone, by the hash of the id."""
    store = series._store
    with store.database.open_for_reading() as connection:
        held = store.read_series(connection, series.name)
        assert held is not None
        memory = read_memory(connection, held, store.derive_keys(held), after=held.latest)
    sets = [
        frozenset(memory.values[code] for code in memory.signatures[number]) for number in range(len(memory.signatures))
    ]
    people = memory.persons
    return {
        person.tobytes(): (sets[record["signature"]], int(record["gone"]))
        for person, record in zip(people.ids, people.records, strict=True)
    }


class TestLife:
    def test_people_come_go_and_return(self, place: Any, patients: Any, tmp_path: Path) -> None:
        series = place.series(m=3)
        rng = np.random.default_rng(4)
        known: dict[bytes, frozenset[str]] = {}
        ever: set[int] = set()
        releases = few(6, least=3)
        for number in range(1, releases + 1):
            people = sorted(rng.choice(90, size=60, replace=False).tolist())
            table = patients(people)
            made = series.publish(table, tmp_path / f"q{number}")
            assert made.number == number
            check(made, table, m=3)
            ever |= set(people)
            now = remembered(series)
            for person, signature in known.items():
                assert now[person][0] == signature, "a signature is for life"
            known = {person: signature for person, (signature, _) in now.items()}
            assert (
                sum(gone == 0 for _, gone in now.values())
                == made.counts["kept"] + made.counts["new"] + (made.counts["returned"])
            )
        assert series.verify().problems == ()
        assert [one.number for one in series.history()] == [*range(1, releases + 1)]
        assert len(known) == len(ever)

    @pytest.mark.drawn
    def test_the_order_of_the_rows_and_their_types_change_nothing(
        self, sqlite: Any, patients: Any, tmp_path: Path
    ) -> None:
        table = patients(range(80))
        ways = {
            "as it is": table,
            "reversed": table.reverse(),
            "text": table.cast(pl.String),
            "floats": table.cast({"age": pl.Float64, "zip": pl.Float32}),
            "pandas": table.to_pandas(),
            "arrow": table.to_arrow(),
        }
        table.write_csv(tmp_path / "table.csv")
        ways["a file"] = tmp_path / "table.csv"
        first = sqlite.series()
        first.publish(table, seed=1)
        for data in ways.values():
            made = first.publish(data, seed=2)
            assert (made.counts["kept"], made.counts["changed_quasi_identifiers"]) == (80, 0)
            first.rollback(unpublished=True)

    def test_a_seed_gives_the_same_release_for_any_order_of_the_rows(self, sqlite: Any, patients: Any) -> None:
        table = patients(range(80))
        series = sqlite.series()
        texts = set()
        for rows in (table, table.reverse(), table.sample(fraction=1, shuffle=True, seed=5)):
            texts.add(series.publish(rows, seed=9).frame.write_csv())
            series.rollback(unpublished=True)
        assert len(texts) == 1

    def test_the_same_kind_of_table_comes_back(self, sqlite: Any, patients: Any) -> None:
        import pandas as pd

        made = sqlite.series().publish(patients(range(60)).to_pandas())
        assert isinstance(made.data, pd.DataFrame)
        assert list(made.counterfeits.columns) == ["group_id", "count"]
        assert SECRET not in repr(made) + repr(made.series) + repr(made.certificate)

    @pytest.mark.drawn
    def test_a_value_that_has_left_is_published_as_a_counterfeit(self, place: Any, patients: Any) -> None:
        series = place.series(m=3)
        series.publish(patients(range(70)))
        table = patients(one for one in range(70) if one * 5 % 7 != 3)
        made = series.publish(table)
        check(made, table, m=3)
        assert made.certificate.cost["counterfeits"] > 0
        assert not table["disease"].is_in([f"{SECRET}-bronchitis"]).any()
        assert (made.data["disease"] == f"{SECRET}-bronchitis").any()

    @pytest.mark.drawn
    def test_new_values_and_nobody_new_and_nobody_kept(self, place: Any, patients: Any) -> None:
        series = place.series(m=3)
        first = patients(range(40))
        series.publish(first)
        nobody_new = series.publish(patients(range(40)))
        assert (nobody_new.counts["new"], nobody_new.counts["kept"]) == (0, 40)
        other = patients(range(100, 140), disease=lambda one: f"{SECRET}-new-{one % 5}")
        nobody_kept = series.publish(other)
        check(nobody_kept, other, m=3)
        assert (nobody_kept.counts["kept"], nobody_kept.counts["left"]) == (0, 40)
        back = series.publish(patients(range(20)))
        assert back.counts["returned"] == 20
        assert "20 people return" in " ".join(back.notes)

    def test_numbers_as_sensitive_values_stay_numbers(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.series(m=2)
        table = patients(range(40)).with_columns(disease=pl.Series([one % 4 for one in range(40)]))
        assert series.publish(table).data.schema["disease"] == pl.Int64
        later = table.filter(pl.col("disease") != 3).cast({"disease": pl.Float64})
        made = series.publish(later)
        assert made.data.schema["disease"] == pl.Float64
        assert made.counts["kept"] == 30
        assert (made.data["disease"] == 3).any(), "a counterfeit has a value that is no longer in the table"

    def test_several_sensitive_attributes_are_one(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.open().start(
            "two", m=3, identifier="patient_id", quasi_identifiers=["age", "zip"], sensitive=["disease", "ward"]
        )
        table = patients(range(70)).with_columns(ward=pl.Series(["north", "south"] * 35))
        made = series.publish(table)
        assert made.data.columns == ["group_id", "age", "zip", "disease", "ward"]
        pairs = made.data.group_by("group_id").agg(pl.struct("disease", "ward").n_unique().alias("kinds"), pl.len())
        assert (pairs["kinds"] == pairs["len"]).all()
        assert "combination of 'disease' and 'ward'" in made.certificate.to_dict()["guarantee"]["text"]
        assert series.verify().problems == ()

    def test_columns_are_judged_as_those_of_any_release(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        series = sqlite.open().start(
            "named",
            m=3,
            identifier="patient_id",
            quasi_identifiers=["age", "zip"],
            sensitive=["disease", "codes", "31"],
        )
        table = patients(range(60)).with_columns(pl.Series("codes", ["a;b", "b;a", "c;a"] * 20))
        table = table.with_columns(pl.Series("31", [f"{at}" for at in range(60)]))
        table.write_csv(tmp_path / "in.csv")
        # A name of digits is confirmed; else it may be a cell of a table without names.
        with pytest.raises(ColumnError, match="confirm it"):
            series.publish(tmp_path / "in.csv")
        with pytest.raises(WarnedError) as raised:
            series.publish(tmp_path / "in.csv", header_row=1, strict=True)
        said = " ".join(map(str, raised.value.warnings))
        assert "100% of the records have a value of '31' of their own" in said
        assert "Most cells of 'codes' seem to hold several values" in said


class TestChanges:
    def test_changed_sensitive_values_are_an_error(self, place: Any, patients: Any) -> None:
        series = place.series()
        series.publish(patients(range(60)))
        table = patients(range(60), disease=lambda one: f"{SECRET}-flu" if one == 3 else patients([one])["disease"][0])
        with pytest.raises(DataError, match="1 of 60 people who were published before has") as raised:
            series.publish(table)
        assert SECRET not in str(raised.value)
        assert "no changed value" in str(raised.value)
        assert len(series.history()) == 1
        with pytest.raises(TypeError):
            series.publish(table, changed_sensitive="withhold")

    def test_if_nearly_all_changed_the_message_says_why_that_may_be(self, sqlite: Any, patients: Any) -> None:
        series = sqlite.series()
        series.publish(patients(range(60)))
        with pytest.raises(DataError, match="written in another way"):
            series.publish(patients(range(60), disease=lambda one: f"code {one * 5 % 7}"))

    def test_changed_quasi_identifiers_are_allowed_and_reported(self, place: Any, patients: Any) -> None:
        series = place.series()
        series.publish(patients(range(60)))
        table = patients(range(60), age=lambda one: 99 if one < 5 else 20 + one * 7 % 53)
        made = series.publish(table)
        check(made, table, m=3)
        assert made.counts["changed_quasi_identifiers"] == 5
        assert any("5 people have other quasi-identifiers" in note for note in made.notes)
        assert series.publish(table).counts["changed_quasi_identifiers"] == 0

    def test_new_rows_that_are_not_eligible(self, place: Any, patients: Any) -> None:
        series = place.series(m=3)
        series.publish(patients(range(60)))
        skewed = patients(
            range(60, 80),
            disease=lambda one: f"{SECRET}-flu" if one < 76 else f"{SECRET}-{'gout' if one % 2 else 'asthma'}",
        )
        with pytest.raises(InfeasibleError, match=r"largest m|No m") as raised:
            series.publish(skewed)
        assert SECRET not in str(raised.value)
        said = str(raised.value)
        assert "Do not let some or all of them wait for a later release" in said
        assert "Publish later" not in said
        assert "who came last" not in said
        assert len(series.history()) == 1
        with pytest.raises(TypeError):
            series.publish(skewed, hold_back=True)


class TestWhatIsSaid:
    def test_the_hash_of_the_input_does_not_tell_the_counterfeits(self, sqlite: Any, patients: Any) -> None:
        """Its sensitive values are those of people: a hash that can be tried out tells which ones are counterfeits'."""
        series = sqlite.series(m=3)
        series.publish(patients(range(70)))
        table = patients(one for one in range(70) if one * 5 % 7 != 3)
        made = series.publish(table)
        assert made.certificate.cost["counterfeits"] > 0
        public = json.dumps(made.certificate.public()) + json.dumps(series.certificate())
        assert made.certificate.input["sha256"] not in public
        assert made.certificate.input["sha256"] == series.history()[-1].input_sha256
        with series._store.database.open_for_reading() as connection:
            held = str(connection.exec_driver_sql("SELECT * FROM shoal_releases").fetchall())
        assert made.salt not in held
        certificate = made.certificate.to_dict()
        assert shoal.provenance(table, certificate, salt=made.salt)
        assert shoal.provenance(table.drop("patient_id"), certificate, salt=made.salt)
        assert not shoal.provenance(table, certificate, salt=made.salt[::-1])
        assert not shoal.provenance(patients(range(70)), certificate, salt=made.salt)

    def test_nobody_is_published_with_another_signature(
        self, sqlite: Any, patients: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from shoal.republication import release_stages as module

        series = sqlite.series(m=3)
        series.publish(patients(range(60)))
        generalize = module.generalize

        def forgetful(**given: Any) -> Any:
            return generalize(**{**given, "signature_of": np.full_like(given["signature_of"], -1)})

        monkeypatch.setattr(module, "generalize", forgetful)
        with pytest.raises(ReleaseUnsafeError, match="another set of sensitive values"):
            series.publish(patients(range(7, 53)))
        assert len(series.history()) == 1


class TestBadInput:
    @pytest.mark.parametrize(
        ("before", "after"),
        first(
            [
                (lambda one: f"{one:06d}", str),
                (lambda one: f"B{one}", lambda one: f" b{one} "),
                (lambda one: f"a{one}", lambda one: f"A{one}"),
                (str, lambda one: f"{one:04d}"),
                (str, lambda one: f"{one}.0"),
            ],
            2,
        ),
    )
    def test_ids_that_are_written_in_another_way(self, sqlite: Any, patients: Any, before: Any, after: Any) -> None:
        series = sqlite.series()
        series.publish(patients(range(1, 60), patient_id=before))
        with pytest.raises(DataError, match=r"other spellings of the ids.*as text"):
            series.publish(patients(range(20, 70), patient_id=after))
        assert series.publish(patients(range(1000, 1060), patient_id=before)).counts["new"] == 60

    @pytest.mark.drawn
    @pytest.mark.parametrize(
        ("change", "error", "said"),
        [
            (lambda table: table.clear(), DataError, "no rows"),
            (lambda table: table.drop("patient_id"), ColumnError, "no column 'patient_id' \\(identifier"),
            (lambda table: table.drop("zip"), ColumnError, "no column 'zip' \\(quasi-identifier"),
            (lambda table: table.rename({"disease": "diseases"}), ColumnError, "no column 'disease'.*Did you mean"),
            (lambda table: table.with_columns(name=pl.lit(SECRET)), ColumnError, "no role in the series: 'name'"),
            (lambda table: pl.concat([table, table[:2]]), DataError, "several rows: 2; their rows: 4"),
            (
                lambda table: table.with_columns(patient_id=table["patient_id"].set(table["age"] == 20, None)),
                DataError,
                "Rows without the identifier .*: 1.",
            ),
            (
                lambda table: table.with_columns(patient_id=table["patient_id"].set(table["age"] == 20, "  ")),
                DataError,
                "Rows without the identifier .*: 1.",
            ),
            (
                lambda table: table.with_columns(disease=table["disease"].set(table["age"] == 20, None)),
                DataError,
                "1 row has no sensitive value",
            ),
            (lambda table: table.with_columns(disease=pl.Series([["x"]] * table.height)), DataError, "disease"),
        ],
        ids=["empty", "no id", "no qi", "renamed", "more", "twice", "null id", "blank id", "null value", "nested"],
    )
    def test_it_is_said_without_cells(self, sqlite: Any, patients: Any, change: Any, error: Any, said: str) -> None:
        series = sqlite.series()
        series.publish(patients(range(40)))
        with pytest.raises(error, match=said) as raised:
            series.publish(change(patients(range(50))))
        assert SECRET not in str(raised.value)
        assert len(series.history()) == 1

    def test_rows_without_a_sensitive_value_can_be_dropped(self, sqlite: Any, patients: Any) -> None:
        table = patients(range(50))
        table = table.with_columns(disease=table["disease"].set(table["age"] < 24, None))
        made = sqlite.series().publish(table, missing_sensitive="drop")
        missing = int(table["disease"].null_count())
        assert made.counts["missing_sensitive"] == missing > 0
        assert made.certificate.input["rows_left_out"] == missing

    def test_people_are_left_out_and_counted(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        """They are in the counts and the hash of the input, no id of them is in a file; unknown ids are refused."""
        series, table = sqlite.series(), patients(range(50))
        name = series.columns.identifier
        ids = [str(one) for one in table[name][:3]]
        made = series.publish(table, tmp_path / "out", leave_out=ids)
        source = made.certificate.input
        assert (source["rows"], source["rows_left_out"], source["people_left_out"]) == (50, 3, 3)
        assert (made.counts["new"], made.counts["left_out"], made.counts["missing_sensitive"]) == (47, 3, 0)
        assert shoal.provenance(table, tmp_path / "out.private/certificate.json")
        with pytest.raises(PeopleError, match="1 of 4 people to leave out is not in the table") as raised:
            series.publish(table, leave_out=[*ids, SECRET])
        assert raised.value.ids == (SECRET,)
        assert SECRET not in str(raised.value)
        with pytest.raises(ParameterError, match="'leave_out' parameter of publish"):
            series.publish(table, leave_out=[])

    @pytest.mark.parametrize(
        "wrong",
        [
            {"missing_sensitive": "value"},
            {"seed": -1},
            {"format": "xlsx"},
        ],
    )
    def test_wrong_parameters(self, sqlite: Any, patients: Any, wrong: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=f"The '{next(iter(wrong))}' parameter of publish"):
            sqlite.series().publish(patients(range(40)), **wrong)

    def test_an_output_that_exists(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        series = sqlite.series()
        with pytest.raises(OutputError, match="exists already"):
            series.publish(patients(range(40)), tmp_path / "out")
        assert series.history() == ()


class TestFolder:
    def test_what_is_in_it(self, place: Any, patients: Any, tmp_path: Path) -> None:
        series = place.series()
        made = series.publish(patients(range(60)), tmp_path / "q1")
        assert {path.name for path in (tmp_path / "q1").iterdir()} == {
            "release.csv",
            "counterfeits.csv",
            "certificate.json",
            "report.html",
        }
        text = (tmp_path / "q1/release.csv").read_text()
        assert text.splitlines()[0] == "group_id,age,zip,disease"
        assert "patient" not in text
        assert pl.read_csv(tmp_path / "q1/release.csv").equals(
            made.data.with_columns(group_id=pl.col("group_id").cast(pl.Int64))
        )
        certificate = json.loads((tmp_path / "q1/certificate.json").read_text())
        assert certificate["series"]["release"] == 1
        assert certificate["requested"] == [{"model": "m-invariance", "m": 3}]
        assert certificate["achieved"]["m"] >= 3
        assert set(certificate["output"]["files"]) == {"release.csv", "counterfeits.csv"}
        assert certificate == made.certificate.public()
        assert set(certificate) == {
            *(
                "$schema",
                "format",
                "shoal",
                "series",
                "parameters",
                "columns",
                "requested",
                "achieved",
                "risk",
                "cost",
                "guarantee",
                "output",
            )
        }
        assert set(certificate["cost"]) == {"counterfeits"}
        sizes = list(Counter(made.data["group_id"]).values())
        assert set(certificate["risk"]) == {"after"}
        assert certificate["risk"]["after"] == {
            "highest": 1 / min(sizes),
            "average": pytest.approx(len(sizes) / sum(sizes)),
            "threshold": pytest.approx(1 / 3),
            "records_above": 0.0,
            "sample_uniques": 0.0,
        }
        private = json.loads((tmp_path / "q1.private/certificate.json").read_text())
        assert private["risk"]["after"] == certificate["risk"]["after"]
        assert private["risk"]["before"]["highest"] > certificate["risk"]["after"]["highest"]
        for folder in ("q1", "q1.private"):
            for name in ("certificate.json", "report.html"):
                assert SECRET not in (tmp_path / folder / name).read_text()
            assert "http://" not in (tmp_path / folder / "report.html").read_text()

    def test_reports_do_not_count_the_lines_of_counterfeits_as_people(
        self, sqlite: Any, patients: Any, tmp_path: Path
    ) -> None:
        series = sqlite.series(m=3)
        series.publish(patients(range(70)))
        made = series.publish(patients(one for one in range(70) if one * 5 % 7 != 3), tmp_path / "q1")
        assert made.counterfeits.height > 0
        people = made.data.height - made.certificate.cost["counterfeits"]
        assert people == 60
        for folder in ("q1", "q1.private"):
            page = (tmp_path / folder / "report.html").read_text()
            assert f"<dt>People</dt><dd>{people}<small>one row each" in page
            assert f"{made.data.height} rows in" in page

    def test_what_is_in_the_private_one(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        source = patients(range(60))
        made = sqlite.series().publish(source, tmp_path / "q1", seed=4)
        private = tmp_path / "q1.private"
        assert {path.name for path in private.iterdir()} == {"certificate.json", "report.html", "salt.txt"}
        assert private.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in private.iterdir()} == {0o600}
        said = json.loads((private / "certificate.json").read_text())
        assert said == made.certificate.to_dict()
        assert said["input"]["rows"] == 60
        assert said["seed"] == 4
        assert "Keep it" in said["private"]
        pages = [(folder / "report.html").read_text() for folder in (tmp_path / "q1", private)]
        for what in ("Certainty penalty", "How it was made", said["input"]["sha256"], ">not published<"):
            assert [what in page for page in pages] == [False, True]
        assert shoal.provenance(source, private)
        assert not shoal.provenance(source[1:], private)

    def test_saved_later_and_in_other_formats(self, place: Any, patients: Any, tmp_path: Path) -> None:
        series = place.series()
        made = series.publish(patients(range(60)))
        assert series.verify().releases[0].checked is False
        made.save(tmp_path / "one")
        made.save(tmp_path / "two", format="parquet")
        made.save(tmp_path / "three", spreadsheet_safe=True)
        found = series.verify([tmp_path / "one", tmp_path / "two", tmp_path / "three"])
        assert found.problems == ()
        assert [one.checked for one in found.releases] == [True, True, True]
        with pytest.raises(OutputError):
            made.save(tmp_path / "one")

    def test_an_existing_release_is_replaced_on_request(self, sqlite: Any, patients: Any, tmp_path: Path) -> None:
        series = sqlite.series()
        series.publish(patients(range(60)), tmp_path / "q1")
        series.rollback(unpublished=True)
        series.publish(patients(range(50)), tmp_path / "q1", force=True)
        assert series.verify().problems == ()


class TestRollback:
    def test_it_is_as_if_it_had_never_been(self, place: Any, patients: Any, tmp_path: Path) -> None:
        series = place.series()
        series.publish(patients(range(60)), tmp_path / "q1")
        before = remembered(series)
        other = patients([*range(30, 60), *range(200, 230)], age=lambda one: 30 + one % 9)
        series.publish(other, tmp_path / "q2")
        assert remembered(series) != before
        taken = series.rollback(unpublished=True)
        assert (taken.number, taken.state, taken.folder) == (2, "withdrawn", str(tmp_path / "q2"))
        assert remembered(series) == before
        assert any("taken back, but its folder" in problem for problem in series.verify([tmp_path / "q2"]).problems)
        assert series.publish(patients(range(60))).number == 3, "a number is never used twice"
        assert [one.state for one in series.history()] == ["published", "withdrawn", "published"]

    @pytest.mark.drawn
    def test_only_the_last_and_only_with_a_word(self, place: Any, patients: Any) -> None:
        series = place.series()
        with pytest.raises(LedgerError, match="no release"):
            series.rollback(unpublished=True)
        series.publish(patients(range(60)))
        series.publish(patients(range(60)))
        with pytest.raises(LedgerError, match="unpublished=True"):
            series.rollback(unpublished=False)
        series.rollback(unpublished=True)
        with pytest.raises(LedgerError, match="taken back already"):
            series.rollback(unpublished=True)

    @pytest.mark.drawn
    def test_even_the_first(self, place: Any, patients: Any) -> None:
        series = place.series()
        series.publish(patients(range(60)))
        series.rollback(unpublished=True)
        assert remembered(series) == {}
        assert series.publish(patients(range(60), disease=lambda one: str(one % 4))).counts["new"] == 60


@pytest.mark.drawn
def test_a_file_that_cannot_be_read_back_is_no_bug(
    sqlite: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = sqlite.series(m=3)
    series.publish(patients(range(60)), tmp_path / "q0")

    def damaged(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("hashlib.file_digest", damaged)
        with pytest.raises(DataError, match=r"The file '.*' cannot be read: Input/output error\."):
            series.publish(patients(range(50)), tmp_path / "q1")
    assert not (tmp_path / "q1").exists()
    assert series.publish(patients(range(50)), tmp_path / "q1").number == 2


def test_single_people_are_not_shown_and_are_counted_if_they_are(sqlite: Any, tmp_path: Path) -> None:
    """Where a value left, a counterfeit hides it; the one who stayed shares the quasi-identifiers of another group."""
    rows = 8
    table = pl.DataFrame(
        {
            "id": [f"p{row}" for row in range(rows)],
            "age": [20 + 5 * row for row in range(rows)],
            "disease": ["flu", "ulcer"] * (rows // 2),
        }
    )
    columns: dict[str, Any] = {"identifier": "id", "quasi_identifiers": ["age"], "sensitive": ["disease"]}
    left = table.filter(pl.col("disease") == "flu")
    ledger = sqlite.open()
    for name, options, alone in (("usual", {}, 0), ("single", {"min_real": 1}, left.height)):
        series = ledger.start(name, m=2, **columns)
        series.publish(table, overlap="allow", seed=1, **options)
        publication = series.publish(left, tmp_path / name, overlap="allow", seed=1, **options)
        assert publication.certificate.achieved["shown_alone"] == alone
        real = publication.data.height - publication.counterfeits["count"].sum()
        assert real == left.height
        # Of the reader's view: rows less counterfeits, by what is shown.
        fakes = dict(publication.counterfeits.iter_rows())
        people: Counter[str] = Counter()
        for number, group in groups_of(publication).items():
            people[group[0]["age"]] += len(group) - fakes.get(number, 0)
        assert sum(one == 1 for one in people.values()) == alone
        assert any("stand alone behind" in note for note in publication.notes) == bool(alone)
        for folder in (tmp_path / name, tmp_path / f"{name}.private"):
            assert ("stand alone behind" in (folder / "report.html").read_text()) == bool(alone)
