"""What an inspection says of tables: counts by definition, kinds and roles, a spec that runs, and no cell."""

from __future__ import annotations

import datetime as dt
import html
import json
import random
import re
import shlex
import tomllib
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.cli.main import app
from shoal.disclosure_risk import detect_identifiers
from shoal.table.names import suggests_sensitive, words_of
from shoal.verbs.evaluate.kinds import NAMING

SECRET = "Zyzzyva"
ROWS = 60
GERMAN_DAYS = [f"{1 + row % 28}.{1 + row % 12}.{2000 + row % 9}" for row in range(ROWS)]


def test_a_word_in_a_column_of_numbers_is_reported_and_not_shown() -> None:
    costs = [f"{100 + row}.5" for row in range(ROWS)]
    hint = "of its 60 different values, 1 is not a number"
    found = shoal.inspect(pl.DataFrame({"cost": [*costs[1:], SECRET], "code": [f"A{cost}" for cost in costs]}))
    assert hint in by_name(found)["cost"].why
    assert "not a number" not in by_name(found)["code"].why
    assert SECRET not in found.to_toml()
    clean = shoal.inspect(pl.DataFrame({"cost": [*costs[1:], None]}))
    assert by_name(clean)["cost"].kind == "number"
    assert "not a number" not in by_name(clean)["cost"].why


def test_a_proposal_shows_the_key_of_each_role() -> None:
    text = shoal.inspect(pl.DataFrame({"age": [20 + row % 7 for row in range(ROWS)]})).to_toml()
    assert '# columns.insensitive = ["NAME"]' in text
    assert set(tomllib.loads(text)["columns"]) == {"quasi_identifiers"}


def by_name(found: shoal.results.Inspection) -> dict[str, Any]:
    return {column.name: column for column in found.columns}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_counts_are_their_definitions(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 12))
    values = {
        "a": st.none() | st.integers(0, 3),
        "b": st.none() | st.sampled_from(["x", "y", "z"]),
        "c": st.sampled_from([0.5, float("nan"), 2.0]),
        "d": st.none() | st.booleans(),
        "e": st.none() | st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 5)),
    }
    table = {name: data.draw(st.lists(one, min_size=rows, max_size=rows)) for name, one in values.items()}
    found = shoal.inspect(pl.DataFrame(table, schema_overrides={"a": pl.Int64, "b": pl.String, "d": pl.Boolean}))
    cells = {name: [None if value != value else value for value in column] for name, column in table.items()}  # noqa: PLR0124
    for column in found.columns:
        mine = cells[column.name]
        present = [value for value in mine if value is not None]
        assert column.distinct == len(set(present))
        assert column.missing == mine.count(None)
        assert column.uniqueness == pytest.approx(sum(present.count(value) == 1 for value in present) / rows)
        assert column.distinction == pytest.approx(len(set(mine)) / rows)
        pairs = list(combinations(mine, 2))
        apart = sum(one != other for one, other in pairs)
        assert column.separation == (pytest.approx(apart / len(pairs)) if pairs else None)
    for one in found.combinations:
        told = list(zip(*(cells[name] for name in one.columns), strict=True))
        assert one.distinction == pytest.approx(len(set(told)) / rows)
    known = found.risk["quasi_identifiers"]
    if known:
        told = list(zip(*(cells[name] for name in known), strict=True))
        assert found.risk["sample_uniques"] == pytest.approx(sum(told.count(row) == 1 for row in told) / rows)
        assert found.risk["smallest_class"] == min(told.count(row) for row in told)


@every(
    ("name", "values", "kind", "role", "coarsen"),
    [
        ("name", [f"Ann {row}" for row in range(ROWS)], "identifier", "direct_identifier", None),
        ("contact", [f"p{row}@example.org" for row in range(ROWS)], "identifier", "direct_identifier", None),
        ("nr", list(range(1000, 1000 + ROWS)), "identifier", "direct_identifier", None),
        ("nr", [f"A-{row}" for row in range(ROWS)], "identifier", "direct_identifier", None),
        ("age", [20 + row % 40 for row in range(ROWS)], "number", "quasi_identifier", "bins:10"),
        ("Alter", [str(20 + row % 40) for row in range(ROWS)], "number", "quasi_identifier", "bins:10"),
        ("gender", ["F", "M"] * (ROWS // 2), "category", "quasi_identifier", None),
        ("plz", [f"{10115 + row % 20 * 97}" for row in range(ROWS)], "category", "quasi_identifier", "prefix:3"),
        ("zip", [f"021{row % 30:02}" for row in range(ROWS)], "category", "quasi_identifier", "prefix:4"),
        ("cp", [f"AB{row % 11} {row % 4}X" for row in range(ROWS)], "category", "quasi_identifier", "prefix:3"),
        ("disease", [f"d{row % 7}" for row in range(ROWS)], "category", "sensitive", None),
        ("Hauptdiagnose", [f"d{row % 7}" for row in range(ROWS)], "category", "sensitive", None),
        ("income", [30_000 + row * 37 % 47 for row in range(ROWS)], "number", "sensitive", "bins:5"),
        ("seen", GERMAN_DAYS, "date", "quasi_identifier", "date:year"),
        ("born", [dt.date(1940 + row % 60, 1, 1) for row in range(ROWS)], "date", "quasi_identifier", "date:5years"),
        ("when", [dt.date(2020, 1 + row % 12, 1) for row in range(ROWS)], "date", "quasi_identifier", "date:month"),
        ("seen", [f"0{1 + row % 9}/0{1 + row % 8}/2020" for row in range(ROWS)], "date", "direct_identifier", None),
        ("lab", [100 + row % 45 for row in range(ROWS)], "number", "quasi_identifier", "bins:5"),
        ("lab", [100 + row % 55 for row in range(ROWS)], "number", "direct_identifier", None),
        ("lab", [f"{row % 7},{row % 5}" for row in range(ROWS)], "number", "quasi_identifier", "bins:1"),
        ("remarks", [f"came on day {row} with a cough" for row in range(ROWS)], "text", "direct_identifier", None),
        ("site", ["B"] * ROWS, "category", "insensitive", None),
        ("truth", [True, False] * (ROWS // 2), "category", "quasi_identifier", None),
        ("nothing", [None] * ROWS, "category", "insensitive", None),
    ],
)  # fmt: skip
def test_kinds_roles_and_coarsenings(name: str, values: list[Any], kind: str, role: str, coarsen: str | None) -> None:
    found = by_name(shoal.inspect(pl.DataFrame({name: values})))[name]
    assert (found.kind, found.role, found.coarsen) == (kind, role, coarsen)
    assert found.why


@pytest.mark.parametrize(
    ("salaries", "why", "coarsen"),
    [
        ([2_000 + 100 * (row % 12) for row in range(3_000)], "12 values, each of at least 250 records", None),
        (
            [*(2_000 + 10 * (row % 90) for row in range(2_900)), *(5_000 + 7 * row for row in range(100))],
            "96.7% of the records have a value that at least 5 share",
            None,
        ),
        (
            [2_000 + 3 * (row * 7_919 % 1_511) for row in range(3_000)],
            "no value is that of 5 records, so it is made coarser",
            "bins:500",
        ),
    ],
)
def test_numbers_are_published_as_they_are_for_a_measured_reason_only(
    salaries: list[int], why: str, coarsen: str | None, tmp_path: Path
) -> None:
    inspection = shoal.inspect(pl.DataFrame({"salary": salaries, "age": [row % 50 for row in range(3_000)]}))
    found = by_name(inspection)["salary"]
    assert (found.role, found.coarsen) == ("sensitive", coarsen)
    assert why in found.why
    # The first proposal of a spec file makes it coarser, too.
    spec = inspection.to_toml()
    assert ("coarsen.salary" in spec) == (coarsen is not None)


def test_measured_numbers_are_for_nobody_to_know() -> None:
    values = [float(100 + row * 37 % 83) for row in range(400)]
    found = by_name(shoal.inspect(pl.DataFrame({"glucose": values, "height": values})))
    assert (found["glucose"].role, found["height"].role) == ("sensitive", "quasi_identifier")


def test_the_reason_of_a_nearly_unique_number_fits_its_role() -> None:
    found = by_name(shoal.inspect(pl.DataFrame({"costs": [round(10 + row * 7.31, 2) for row in range(400)]})))["costs"]
    assert found.role == "quasi_identifier"
    assert found.why == "nearly every record has a value of its own, so it is made coarser; or make it sensitive"


def test_steps_of_skewed_numbers_leave_no_more_than_half_of_the_records_in_one() -> None:
    rng = np.random.default_rng(1)
    for spread in (1, 2.5):
        costs = rng.lognormal(6, spread, 600).round(2)
        found = by_name(shoal.inspect(pl.DataFrame({"costs": costs})))["costs"]
        assert (found.role, str(found.coarsen).startswith("cuts:")) == ("quasi_identifier", True)
        cuts = [float(one) for one in str(found.coarsen).removeprefix("cuts:").split(",")]
        counts = np.bincount(np.digitize(costs, cuts))
        assert counts.max() <= 300
        assert 6 <= np.count_nonzero(counts) <= 12
    even = by_name(shoal.inspect(pl.DataFrame({"costs": 10 + np.arange(600) * 7.31})))["costs"]
    assert even.coarsen == "bins:500"


@every(
    ("values", "role", "coarsen", "why"),
    [
        (
            [f"i{row % 18}" for row in range(20)],
            "direct_identifier",
            None,
            "left out until its rare values are grouped",
        ),
        ([f"i{row // 2}" for row in range(20)], "sensitive", None, "that people keep private"),
        (["E00.1", "E10.2"] * 8 + ["E00.3", "E10.4", "E00.5", "E10.6"], "sensitive", "prefix:3", "made coarser"),
        (
            ["I10;E11", "E11;J45", "J45", "J45;I10"] * 4 + ["I10", "I10;J45", "E11;I10"],
            "direct_identifier",
            None,
            "lists",
        ),
    ],
)
def test_texts_that_are_sensitive_single_out_few_records(values: list[str], role: str, coarsen: str, why: str) -> None:
    (found,) = shoal.inspect(pl.DataFrame({"illness": values})).columns
    assert (found.role, found.coarsen) == (role, coarsen)
    assert why in found.why


@every(
    ("table", "code", "column"),
    [
        ({"patient_id": [row // 2 for row in range(ROWS)]}, "repeated_person", "patient_id"),
        ({"born": [*["31.12.1980"] * (ROWS - 1), "unknown"]}, "unread_dates", "born"),
        ({"born": ["01/02/1980"] * (ROWS - 1) + ["02/03/1980"]}, "ambiguous_dates", "born"),
        ({"pay": ["1,234"] * (ROWS - 1) + ["2,345"]}, "ambiguous_numbers", "pay"),
        ({"pay": [*map(str, range(ROWS - 2)), "k.A.", "N/A"]}, "missing_codes", "pay"),
        (
            {"born": ["1980-12-31", "1981-01-02"] * (ROWS // 2 - 1) + ["9999-99-99", "0000-00-00"]},
            "missing_codes",
            "born",
        ),
        ({"born": ["31.12.1980", "02.01.1981"] * (ROWS // 2 - 1) + ["unbekannt"] * 2}, "missing_codes", "born"),
        ({"town": ["a", "b"] * (ROWS // 2)}, "no_sensitive", None),
        ({"age": ["[20, 40[", "[40, 60["] * (ROWS // 2)}, "recoded_cells", None),
        ({"sex": ["f", "m", "f", "*"] * (ROWS // 4)}, "recoded_cells", None),
        ({"zip": ["8166*", "8167*", "817**", "*****"] * (ROWS // 4)}, "recoded_cells", None),
        ({"town": ["{Aach, Bonn}", "Celle"] * (ROWS // 2)}, "recoded_cells", None),
        ({f"q{at}": ["a", "b"] * (ROWS // 2) for at in range(13)}, "many_quasi_identifiers", None),
    ],
)
def test_what_the_publisher_should_know_first(table: dict[str, Any], code: str, column: str | None) -> None:
    found = shoal.inspect(pl.DataFrame(table))
    assert (code, column) in [(remark.code, remark.column) for remark in found.warnings]


def test_words_that_mean_missing_are_proposed_among_numbers_only() -> None:
    table = pl.DataFrame({
        "pay": [*(str(row % 30) for row in range(ROWS - 3)), "k.A.", "N/A", "k.A."],
        "kind": ["unknown", "a"] * (ROWS // 2),
        "mixed": [*map(str, range(ROWS - 2)), "k.A.", "secret"],
        "null": ["k.A."] * ROWS,
    })  # fmt: skip
    found = shoal.inspect(table)
    assert {one.name: one.missing_codes for one in found.columns if one.missing_codes} == {"pay": ("N/A", "k.A.")}
    assert '\nreading.replace_values.pay = "N/A,k.A.:"  # missing' in found.to_toml()
    text = next(one.text for one in found.warnings if one.code == "missing_codes")
    assert text.endswith("replace it: replace_values={'pay': {'N/A': None, 'k.A.': None}}.")
    shared = pl.DataFrame({"hba1c": [*(f"{5 + row % 3}.5" for row in range(ROWS - 3)), *"..."]})
    assert '\nreading.replace_values.hba1c = ".:"  # missing' in shoal.inspect(shared).to_toml()
    assert shoal.evaluate(shared).request.replace_values == {"hba1c": {".": None}}
    again = shoal.inspect(table, replace_values={"pay": {"N/A": None, "k.A.": None}})
    assert next(one for one in again.columns if one.name == "pay").kind == "number"


@every(
    ("bound", "named", "coded"),
    [
        *(("90+", "x=top:90", "90+"), ("<5", "x=bottom:5", "<=5")),
        *(("> 95", "x=top:95", "95+"), ("<0.05", "x=bottom:0.05", "<=0.05")),
    ],
)
def test_the_advice_about_bounds_works_as_written(bound: str, named: str, coded: str, tmp_path: Path) -> None:
    values = [*map(str, range(20, 60)), bound, bound]
    table = pl.DataFrame({"x": values * 3, "sex": ["f", "m"] * 63})
    table.write_csv(tmp_path / "t.csv")
    found = CliRunner().invoke(app, ["inspect", str(tmp_path / "t.csv")])
    words = " ".join(found.output.split())
    asked = re.search(r"from there on: (--set \S+|--set '[^']+') and (--coarsen \S+)\.", words)
    assert asked is not None, words
    assert named in asked[2]
    said = shlex.split(f"anonymize {tmp_path}/t.csv {asked[1]} {asked[2]} --qi x --id sex -k 3 -o {tmp_path}/out")
    made = CliRunner().invoke(app, said)
    assert made.exit_code == 0, made.output
    assert pl.read_csv(tmp_path / "out" / "release.csv", infer_schema=False)["x"].to_list().count(coded) == 6
    # A bound of one record, one that is not round, and several are not shown.
    for others in ([bound], ["103+", "103+"], [bound, bound, "<15", "<15"]):
        alone = shoal.inspect(
            pl.DataFrame({"x": [*values[:-2], *others], "sex": ["f", "m"] * 20 + ["f"] * len(others)})
        )
        assert "bounds_among_numbers" not in [one.code for one in alone.warnings]


def test_words_beside_a_bound_mean_missing(tmp_path: Path) -> None:
    values = [*[f"{row / 10}" for row in range(10, 48)], *[".", "n/a", "<0.5", "<0.5"]] * 5
    table = pl.DataFrame({"crp": values, "sex": ["f", "m"] * 105, "age": [str(20 + row % 50) for row in range(210)]})
    found = by_name(shoal.inspect(table))["crp"]
    assert (found.missing_codes, found.replace_first) == ((".", "n/a"), True)
    assert shoal.evaluate(table).request.replace_values == {"crp": {".": None, "n/a": None}}
    # The advice about the bound keeps them missing.
    asked = next(one for one in shoal.inspect(table).warnings if one.code == "bounds_among_numbers")
    assert "replace_values={'crp': {'.': None, 'n/a': None, '<0.5': '0.5'}} and coarsen={'crp': shoal.Bottom" in str(
        asked.text
    )
    replaced = {"crp": {".": None, "n/a": None, "<0.5": "0.5"}}
    release = shoal.anonymize(
        table,
        replace_values=replaced,
        coarsen={"crp": "bottom:0.5"},
        quasi_identifiers=["crp"],
        direct_identifiers=["sex", "age"],
        k=2,
        seed=1,
    )
    counted = dict(release.data["crp"].value_counts().rows())
    assert (counted["<=0.5"], counted[None], "." in counted) == (10, 10, False)


@every(
    ("values", "codes"),
    [
        ([*range(20, 90), 999, -9], ("-9", "999")),
        ([*range(20, 90), 99], ()),
        ([*range(90, 99), 99], ()),
        (["20", "21", "35", "999"], ("999",)),
        ([1.5, 2.5, 99.0], ("99",)),
        ([99, 999], ()),
        ([f"{1 + day}.03.19{50 + day}" for day in range(20)] + ["01.01.1900"], ("01.01.1900",)),
        ([f"{1 + day}.03.1910" for day in range(20)] + ["01.01.1900"], ()),
        ([dt.date(1980, 1, 1 + day) for day in range(20)] + [dt.date(9999, 12, 31)], ("9999-12-31",)),
        ([dt.datetime(1980, 1, 1 + day) for day in range(20)] + [dt.datetime(1900, 1, 1)], ("1900-01-01",)),
    ],
)
def test_codes_far_from_all_others_are_proposed(values: list[Any], codes: tuple[str, ...]) -> None:
    table = pl.DataFrame({"x": values})
    found = shoal.inspect(table).columns[0]
    assert found.missing_codes == codes
    if codes:
        given = {"x": dict.fromkeys(codes)}
        assert shoal.inspect(table, replace_values=given).columns[0].missing == len(codes)


@every("values", ["a[1,2]b", "(see note)", "C*-algebra", "{x}", "[ok]", "1,5", "a, b"])
def test_text_is_no_anonymized_cell(values: str) -> None:
    found = shoal.inspect(pl.DataFrame({"note": [values, "other"] * (ROWS // 2)}))
    assert "recoded_cells" not in [remark.code for remark in found.warnings]


PEOPLE = np.concatenate([np.arange(1100), np.random.default_rng(0).integers(0, 1100, 2070)])


def hospital(name: str, numbers: Any) -> pl.DataFrame:
    """Make 3,170 visits of 1,100 people, with their numbers."""
    rng, rows = np.random.default_rng(1), len(PEOPLE)
    return pl.DataFrame(
        {
            name: np.asarray(numbers)[PEOPLE],
            "age": PEOPLE * 7 % 80 + 10,
            "gender": PEOPLE % 2,
            "zip": 10000 + PEOPLE % 300,
            "disease": rng.integers(0, 30, rows),
            "admission_type_id": rng.integers(0, 8, rows),
            "glycemia": rng.normal(120, 15, rows).astype(int),
            "kosten": np.round(rng.lognormal(8, 1, rows), -1).astype(int),
        }
    )


NUMBERS = {
    "Patienten-Nr": np.sort(np.random.default_rng(2).choice(90_000, 1100, replace=False)) + 10_000,
    "PatNr": np.arange(1, 1101),
    "PID": np.arange(1100) * 3 + 7,
    "Fall-Nr": np.random.default_rng(3).permutation(1100) + 500,
    "patient_nbr": np.random.default_rng(4).choice(10**7, 1100, replace=False) * 9,
    "bsn": np.random.default_rng(5).choice(10**8, 1100, replace=False) + 10**8,
    "codice_fiscale": np.random.default_rng(6).choice(10**9, 1100, replace=False),
    "client": np.random.default_rng(7).choice(10_000, 1100, replace=False),
    "member": np.random.default_rng(8).choice(5_000, 1100, replace=False),
    "x1": np.random.default_rng(9).choice(5_000, 1100, replace=False),
}


@pytest.mark.drawn
@every("name", NUMBERS)
def test_numbers_of_people_are_the_person_and_never_sensitive(name: str) -> None:
    table = hospital(name, NUMBERS[name])
    inspection = shoal.inspect(table)
    found = by_name(inspection)
    assert (inspection.person, found[name].role, found[name].coarsen) == (name, "person", None)
    (evidence,) = inspection.persons
    assert found[name].person is evidence
    assert (evidence.records, evidence.persons) == (3170, 1100)
    assert {"age", "gender"} <= set(evidence.constant)
    assert name in inspection.roles["direct_identifiers"]
    # A number of unknown meaning may be known to others: it is made coarser.
    assert (found["glycemia"].role, found["kosten"].role) == ("quasi_identifier", "sensitive")
    assert found["glycemia"].coarsen is not None
    assert found["admission_type_id"].role == "quasi_identifier"
    # Without columns that show whose number it is, what is not understood is left out.
    alone = by_name(shoal.inspect(table[[name, "disease", "glycemia"]]))
    assert alone[name].role == ("direct_identifier" if alone[name].looks_like is None else "person")
    assert alone[name].coarsen is None
    assert alone["glycemia"].role == "quasi_identifier"


def test_the_question_comes_first_everywhere(tmp_path: Path) -> None:
    table = hospital("Patienten-Nr", NUMBERS["Patienten-Nr"])
    inspection = shoal.inspect(table)
    question, evidence = (
        "Several rows seem to be of one person.",
        "3,170 rows of 1,100 values of 'Patienten-Nr', at most",
    )
    asked = inspection.to_dict()["person"]
    assert (asked["question"], asked["column"]) == (question, "Patienten-Nr")
    assert asked["evidence"][0]["text"].startswith(evidence)
    assert inspection.warnings[0].code == "repeated_person"
    page, notebook = inspection.to_html(), inspection._repr_html_()
    table.write_csv(tmp_path / "t.csv")
    looked = CliRunner().invoke(app, ["inspect", str(tmp_path / "t.csv")])
    for text in (page, notebook, looked.stdout):
        plain = " ".join(html.unescape(text).split())
        assert question.rstrip(".") in plain
        assert evidence in plain
        assert plain.index(question.rstrip(".")) < plain.index("disease")
    spec = inspection.to_toml()
    assert f"# {question}" in spec
    assert "Patienten-Nr" in tomllib.loads(spec.replace('# input = "..."', 'input = "t.csv"'))["columns"]["person"]


def test_the_terminal_names_the_command_that_follows_and_what_remains_to_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hospital("Patienten-Nr", NUMBERS["Patienten-Nr"]).write_csv("a b.csv", separator=";")

    def called(*words: str) -> tuple[str, list[list[str]]]:
        done = CliRunner().invoke(app, [*words])
        assert done.exit_code == 0, done.output
        commands = [shlex.split(line)[2:] for line in done.stdout.splitlines() if line[2:6] in ("next", "then")]
        return " ".join(done.stdout.split()), commands

    said, (again, then) = called("inspect", "a b.csv", "-k", "3", "--delimiter", ";", "--force")
    assert again == ["inspect", "a b.csv", "-k", "3", "--set", "reading.delimiter=;", "--spec-out", "release.toml"]
    assert "The proposal names it as the column of persons" in said
    assert re.search(r"If all columns were published as they are, [0-9,]+ of 1,100 persons would share ", said)
    # With the spec file, the warning is about what is left to decide.
    named, (last,) = called(*again)
    assert last == then == ["anonymize", "--spec", "release.toml", "-o", "out"]
    assert "The spec file names it as the column of persons" in named
    assert "shoal anonymize --spec release.toml --rows-per-person 1 -o out" in named
    assert "Name the column of persons" not in named
    assert named.index("--rows-per-person 1 -o out") < named.index("Ask for -l 2 as well"), "a value is protected, too"
    assert "for one person?" not in said + named + Path("release.toml").read_text()


def test_a_table_without_a_quasi_identifier_has_a_command_and_says_what_comes_first(tmp_path: Path) -> None:
    pl.DataFrame({"district": [f"district {at}" for at in range(48)]}).write_csv(tmp_path / "districts.csv")
    looked = CliRunner().invoke(app, ["inspect", str(tmp_path / "districts.csv")])
    assert looked.exit_code == 0
    said = " ".join(looked.stdout.split())
    assert "no release can be made of the proposal as it is. Name those that others may know of a person" in said
    assert said.endswith("then shoal anonymize --spec release.toml -o out")


def test_the_question_is_asked_without_evidence_too() -> None:
    inspection = shoal.inspect(shoal.datasets.patients(200))
    assert (inspection.person, inspection.persons) == (None, ())
    assert inspection.to_dict()["person"]["evidence"] == []
    assert "No column suggests otherwise" in inspection.to_html()


def test_rows_of_people_whom_no_column_names_are_told() -> None:
    person = np.arange(300) % 60
    table = pl.DataFrame(
        {"visit_id": np.arange(300), "age": 20 + person * 7 % 50, "gender": person % 2, "zip": 10000 + person}
    )
    inspection = shoal.inspect(table)
    assert inspection.person is None
    assert [one.by for one in inspection.persons] == ["combinations"]
    assert ("repeated_person", None) in [(remark.code, remark.column) for remark in inspection.warnings]


def test_other_names_of_people_are_dropped_beside_the_person() -> None:
    table = hospital("PID", NUMBERS["PID"]).with_columns(name=pl.format("Ann {}", "PID"))
    inspection = shoal.inspect(table)
    assert set(inspection.roles["direct_identifiers"]) == {"PID", "name"}
    assert len(inspection.names_of("person")) == 1


def messy(tmp_path: Path) -> Path:
    """A table with everything that makes specs fail: odd names, several forms, missing values, values to hide."""
    path = tmp_path / "odd.csv"
    head = 'last, first;Größe;"say ""hi"" # x";born;seen;zip;illness;note;wer\n'
    rows = [
        f"{SECRET} {row};{row % 4},{row % 2 * 5};{'abc'[row % 3]};{1 + row % 28:02}.{1 + row % 12:02}.{1950 + row % 30}"
        f";0{1 + row % 9}/0{1 + row % 7}/2020;0{1000 + row % 5 * 111};{['', SECRET, 'flu'][row % 3]};"
        f"{SECRET} was here on day {row} and left again;{row % 6}\n"
        for row in range(ROWS)
    ]
    path.write_bytes((head + "".join(rows)).encode("latin-1"))
    return path


@pytest.mark.drawn
def test_the_spec_runs_as_it_is_and_every_line_has_a_comment(tmp_path: Path) -> None:
    source, spec = messy(tmp_path), tmp_path / "specs/release.toml"
    spec.parent.mkdir()
    looked = CliRunner().invoke(app, ["inspect", str(source), "--spec-out", str(spec)])
    assert looked.exit_code == 0, looked.stderr
    text = spec.read_text(encoding="utf-8")
    assert all("#" in line for line in text.splitlines())
    asked = tomllib.loads(text)
    assert asked["input"] == "../odd.csv"
    assert asked["privacy"] == {"k": 5, "l": 2}, "k alone does not hide sensitive values"
    assert asked["missing_sensitive"] == "value"
    assert asked["reading"]["decimal"] == ","
    assert asked["reading"]["encoding"] == "cp1252"
    assert asked["reading"]["dates"] == {"born": "%d.%m.%Y"}
    assert "seen" in asked["columns"]["direct_identifiers"], "its dates are ambiguous"
    assert SECRET not in text + looked.stdout + looked.stderr
    # The command that it prints works as it is, but for the folder.
    *_, then = (line for line in looked.stdout.splitlines() if line.startswith("  then"))
    assert shlex.split(then)[1:] == ["shoal", "anonymize", "--spec", str(spec), "-o", "out"]
    made = CliRunner().invoke(app, [*shlex.split(then)[2:-1], str(tmp_path / "out")])
    assert made.exit_code == 0, made.stderr
    asked = tomllib.loads(shoal.inspect(source, encoding="latin-1").to_toml(k=3, folder=tmp_path))
    assert (asked["input"], asked["privacy"]) == ("odd.csv", {"k": 3, "l": 2})


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ["patients", "workbook", "parquet"])
def test_specs_of_other_tables_run(tmp_path: Path, kind: str) -> None:
    table = shoal.datasets.patients(200)
    path = tmp_path / {"patients": "t.csv", "workbook": "t.xlsx", "parquet": "t.parquet"}[kind]
    from shoal.io import write_table

    write_table(table, path)
    spec = tmp_path / "release.toml"
    looked = CliRunner().invoke(app, ["inspect", str(path), "--spec-out", str(spec), "-k", "3", "--json"])
    assert looked.exit_code == 0, looked.stderr
    roles = {column["name"]: column["role"] for column in json.loads(looked.stdout)["columns"]}
    assert roles == {
        **dict.fromkeys(("name", "visit_id"), "direct_identifier"),
        **dict.fromkeys(("age", "gender", "zip", "admitted"), "quasi_identifier"),
        "disease": "sensitive",
    }
    made = CliRunner().invoke(app, ["anonymize", "--spec", str(spec), "-o", str(tmp_path / "out"), "--json"])
    assert made.exit_code == 0, made.stderr
    achieved = json.loads(made.stdout)["achieved"]
    assert achieved["k"] >= 3
    assert achieved["l"]["frequency"] >= 2


def test_l_is_proposed_where_it_is_feasible_and_holds_for_what_is_counted() -> None:
    table = pl.DataFrame({"age": [20 + row % 40 for row in range(400)], "disease": ["flu", "gout"] * 200})
    assert tomllib.loads(shoal.inspect(table).to_toml())["privacy"] == {"k": 5, "l": 2}
    mostly = table.with_columns(disease=pl.Series(["flu", "flu", "flu", "gout"] * 100))
    assert "# l = 2 is not possible" in shoal.inspect(mostly).to_toml()
    visits = table.with_columns(patient_no=pl.Series([1000 + row // 2 for row in range(400)]))
    assert "\n# privacy.l = 2" in shoal.inspect(visits).to_toml(), "all records of a person may tell more"
    assert "\n# privacy.l = 2" in shoal.inspect(table.drop("disease")).to_toml()


def test_the_contract_of_scripts_and_no_cell(tmp_path: Path) -> None:
    source = messy(tmp_path)
    found = CliRunner().invoke(app, ["inspect", str(source), "--json"])
    assert found.exit_code == 0
    facts = json.loads(found.stdout)
    assert {"rows", "encoding", "delimiter", "columns", "combinations", "warnings"} <= set(facts)
    assert (facts["rows"], facts["encoding"], facts["delimiter"]) == (ROWS, "cp1252", ";")
    keys = {"name", "kind", "date_format", "distinct", "missing", "uniqueness", "role", "why", "coarsen"}
    for column in facts["columns"]:
        assert keys <= set(column)
        assert column["kind"] in ("number", "date", "category", "text", "identifier")
        assert column["role"] in ("person", "direct_identifier", "quasi_identifier", "sensitive", "insensitive")
    for one in facts["combinations"]:
        assert {"columns", "distinction", "separation"} == set(one)
    assert {column["name"]: column["date_format"] for column in facts["columns"]}["born"] == "%d.%m.%Y"
    looked = shoal.inspect(source, encoding="latin-1")
    assert SECRET not in found.stdout + found.stderr + repr(looked) + repr(looked.columns) + looked.to_html()
    shown = CliRunner().invoke(app, ["inspect", str(source), "--show-values"])
    assert SECRET in shown.stdout
    assert SECRET in shoal.inspect(source, encoding="latin-1", show_values=True).to_html()


def test_the_order_of_the_rows_does_not_matter() -> None:
    table = shoal.datasets.patients(300)
    mixed = table.sample(fraction=1.0, shuffle=True, seed=3)
    assert shoal.inspect(table).to_dict() == shoal.inspect(mixed).to_dict()
    assert shoal.inspect(table.to_pandas()).to_dict()["risk"] == shoal.inspect(table).to_dict()["risk"]


def test_the_page_needs_nothing_and_escapes_names(tmp_path: Path) -> None:
    table = pl.DataFrame({"<b>age</b>": [str(row % 9) for row in range(ROWS)], "ill": ["x", "y"] * (ROWS // 2)})
    page = tmp_path / "page.html"
    shoal.inspect(table).report(page)
    text = page.read_text(encoding="utf-8")
    assert "<b>age" not in text
    assert "&lt;b&gt;age" in text
    assert not re.search(r"<script|src=|href=|url\(|@import", text)
    table.write_csv(tmp_path / "t.csv")
    words = ["inspect", str(tmp_path / "t.csv"), "-o", str(tmp_path / "looked")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert {path.name for path in (tmp_path / "looked").iterdir()} == {"inspection.html", "result.json"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "looked").iterdir())  # for the publisher alone
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 0
    nowhere = CliRunner().invoke(
        app, ["inspect", str(tmp_path / "t.csv"), "--spec-out", str(tmp_path / "no/where.toml")]
    )
    assert nowhere.exit_code == 2
    assert "cannot be written" in nowhere.stderr


def test_what_has_no_roles_proposes_some(tmp_path: Path) -> None:
    shoal.datasets.write_dataset("patients.csv", tmp_path)
    file = str(tmp_path / "patients.csv")
    listed = "The columns are name, visit_id, age, gender, zip, admitted, disease. Proposed: "
    for command in ("anonymize -k 5", "audit -k 5", "explore -k 5", "risk", "attack --method homogeneity"):
        found = CliRunner().invoke(app, [*command.split(), file])
        assert found.exit_code == 2
        assert listed + "--qi age,gender,zip,admitted, --sensitive disease. shoal inspect" in found.stderr, command
    proposed = "quasi_identifiers=['age', 'gender', 'zip', 'admitted'], sensitive=['disease']."
    for verb, table in product((shoal.audit, shoal.risk), (file, shoal.datasets.patients())):
        with pytest.raises(shoal.errors.ColumnError) as refused:
            verb(table)
        assert str(refused.value).endswith(listed + proposed)


def test_a_column_without_a_role_is_told_who_can_help() -> None:
    with pytest.raises(shoal.errors.ColumnError, match=r"shoal inspect\) proposes a role for each"):
        shoal.anonymize(shoal.datasets.patients(20), quasi_identifiers=["age"], privacy=shoal.KAnonymity(2))


def test_nothing_to_inspect() -> None:
    with pytest.raises(shoal.errors.DataError, match="nothing to inspect"):
        shoal.inspect(pl.DataFrame({"a": []}))
    with pytest.raises(shoal.errors.ParameterError, match="'k' parameter of inspect"):
        shoal.inspect(pl.DataFrame({"a": [1]}), k=0)


def test_words_of_names() -> None:
    assert words_of("Straße_Nr2") == ("strasse", "nr")
    assert words_of("patientZIPCode") == ("patient", "zipcode")


@pytest.mark.drawn
def test_a_table_of_many_columns_is_inspected_without_pairs() -> None:
    data = pl.DataFrame({f"c{at}": [(row * row + at) % 5 for row in range(30)] for at in range(460)})
    found = shoal.inspect(data)
    assert len(found.columns) == 460
    assert {len(one.columns) for one in found.combinations} == {1}


def test_numbers_of_persons_are_found_beside_codes_and_partners() -> None:
    rows = range(1200)
    # Few persons with many rows each, and a code of a drug that determines three descriptive columns.
    code = [at * 7 % 60 for at in rows]
    orders = pl.DataFrame(
        {
            "patient_id": [f"P{at % 40:04}" for at in rows],
            "gsn": [100_000 + one for one in code],
            "drug": [f"Drug{one % 30}" for one in code],
            "route": [("IV", "PO", "SC")[one // 3 % 3] for one in code],
            "unit": [("mg", "tab")[one // 7 % 2] for one in code],
        }
    )
    assert shoal.inspect(orders).person == "patient_id"
    # The age of the partner in the row is no evidence against the number of the person, nor the other way round.
    pairs = [(one, 30 + (one + shift) % 30) for one in range(30) for shift in range(20)]
    dates = pl.DataFrame(
        {
            "iid": [one for one, _ in pairs],
            "pid": [other for _, other in pairs],
            "gender": [0 for _ in pairs],
            "age": [20 + one * 7 % 19 for one, _ in pairs],
            "age_o": [20 + other * 5 % 17 for _, other in pairs],
        }
    )
    assert {one.column for one in shoal.inspect(dates).persons} == {"iid", "pid"}


def test_dates_ages_and_names_are_never_published_as_they_are() -> None:
    table = pl.DataFrame(
        {
            "leeftijd": np.random.default_rng(1).normal(50, 15, 600).round().clip(0, 99).astype(int),
            "surgery_date": pl.Series([dt.date(2022, 1, 1) + dt.timedelta(days=day * 7 % 400) for day in range(600)]),
            "diagnose": pl.Series([("flu", "hiv")[one % 2] for one in range(600)]),
        }
    )
    found = by_name(shoal.inspect(table))
    assert (found["leeftijd"].role, found["leeftijd"].coarsen) == ("quasi_identifier", "bins:10")
    assert (found["surgery_date"].role, found["diagnose"].role) == ("quasi_identifier", "sensitive")
    assert found["surgery_date"].coarsen.startswith("date:")
    texts = [f"Name{'abcdefghijkl'[one % 12]}" for one in range(600)]
    for name in (
        "FIRST",
        "LAST",
        "MAIDEN",
        "cognome",
        "nazwisko",
        "achternaam",
        "nome",
        "imi\u0119",
        "doctor",
        "patient",
    ):
        found = by_name(shoal.inspect(table.with_columns(pl.Series(name, texts))))
        assert found[name].role == "direct_identifier", name
    for name in ("\u59d3", "\u6c0f\u540d"):
        found = by_name(shoal.inspect(table.with_columns(pl.Series(name, [f"\u738b{one}" for one in texts]))))
        assert found[name].role == "direct_identifier", name
    # The first of two visits is no name.
    for name, values in (("first", ["yes", "no"]), ("last_visit", ["a", "b", "c", "d", "e", "f"])):
        found = by_name(shoal.inspect(table.with_columns(pl.Series(name, (values * 600)[:600]))))
        assert found[name].looks_like is None, name
    lists = table.with_columns(pl.Series("codes", ["I10;E11", "E11;J45", "J45;I10"] * 200))
    assert "lists_in_cells" in [one.code for one in shoal.inspect(lists).warnings]


def test_names_of_columns_in_six_languages_suggest_what_people_keep_private():
    """Of 720 names that were listed without looking at the words; a third was seen while the words were collected."""
    listed = pl.read_csv(Path(__file__).parent / "column_names.csv").rows()
    values = ["a.b@1234", "b.c@5678", "c.d@1111", "d.e@2222", "e.f@3333"]
    found: dict[str, list[bool]] = {"private": [], "others private": [], "naming": [], "others naming": []}
    for name, _, role, _ in listed:
        found["private" if role == "sensitive" else "others private"].append(suggests_sensitive(name))
        naming = any(one.kind in NAMING for one in detect_identifiers(pl.DataFrame({name: values})))
        found["naming" if role == "identifier" else "others naming"].append(naming)
    assert len(listed) == 720
    shares = {kind: sum(which) / len(which) for kind, which in found.items()}
    assert shares["private"] > 0.9
    assert shares["others private"] < 0.02
    assert shares["naming"] > 0.65, "the others are recognized by their values alone"
    assert shares["others naming"] == 0


def test_closed_answers_are_no_free_text_and_services_are_no_telephone_numbers():
    answers = ["I was very satisfied with all of it", "I was not satisfied with it at all", "I do not remember it"]
    others = {"PhoneService": ["Yes", "No", "No"] * 40, "DepartmentName": ["IT", "HR"] * 60}
    columns = shoal.inspect(pl.DataFrame({"answer": answers * 40, **others})).columns
    assert {column.role for column in columns} == {"quasi_identifier"}
    assert columns[0].why.startswith(
        "not recognized: if it must not be linked to a person, make it sensitive; 3 different"
    )


def test_columns_of_real_files_that_name_people_are_left_out() -> None:
    """No number of a person, name, remark or unread date is published under an unusual name; what is shared stays."""
    draw, rows, given, family = (
        random.Random(4),
        range(900),
        ("Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"),
        ("Ahl", "Birk", "Cohn", "Dahl", "Ek"),
    )
    person = [at * 7 % 450 for at in rows]
    table = pl.DataFrame(
        {
            "Vers.-Nr.": [f"K{7919 * one % 10**6:06}" for one in person],
            "cust_hash": [f"{7919**9 * (one + 1):040x}"[-40:] for one in person],
            "Hogar": [f"H-{at // 2:04}" for at in rows],
            "last4": [f"{at * 7919 % 9973:04}" for at in rows],
            "Reports To": [f"{given[at % 7]} {family[at % 5]}" for at in rows],
            "Bemerkung": [("", "ruft den Sohn an", "Allergie gegen Milch")[at % 3] for at in rows],
            "D.O.B.": [
                f"{1 + at % 28:02}/0{1 + at % 9}/{1940 + at % 60}" if at % 9 else str(1940 + at % 60) for at in rows
            ],
            "club": [f"Verein {at * 31 % 400}" for at in rows],
            # The same forms where they are no person's.
            "Klasse": [f"{draw.randint(5, 12)}{draw.choice('abcdefgh')}" for _ in rows],
            "RR": [f"{draw.randint(10, 16)}0/{draw.randint(60, 79)}" for _ in rows],
            "Team": [draw.choice(("North Side", "South Side", "East End")) for _ in rows],
            "postcode": [f"AB{draw.randint(10, 99)} {draw.randint(1, 9)}XY" for _ in rows],
            "Job Title": [f"{draw.choice(given)} {draw.choice(family)}" for _ in rows],
            "HD": [draw.choice(("I10.90", "E11.9", "J44", "M54.5", "F32.1", "K21.0")) for _ in rows],
            "sex": ["fm"[one % 2] for one in person],
        }
    )
    role = {one.name: one.role for one in shoal.inspect(table).columns}
    assert {name for name, one in role.items() if one in ("person", "direct_identifier")} == set(table.columns[:8])
    assert role["HD"] == "sensitive"


def test_an_account_of_a_family_is_no_person_and_two_people_share_initials() -> None:
    rows = range(600)
    members = pl.DataFrame(
        {
            "email": [f"home{at // 3}@example.org" for at in rows],
            "born": [f"{1930 + at * 37 % 70}-03-0{1 + at % 9}" for at in rows],
            "sex": ["fm"[at * 5 % 7 % 2] for at in rows],
        }
    )
    found = shoal.inspect(members)
    assert (found.person, found.persons) == (None, ())
    assert by_name(found)["email"].role == "direct_identifier"
    visits = pl.DataFrame(
        {
            "subjid": [f"01-{at // 5:03}" for at in rows],
            "initials": [f"{'ABCDEFGHKL'[at // 5 % 10]}{'MNOPQRSTUVW'[at // 5 % 11]}X" for at in rows],
            "yob": [1940 + at // 5 * 7 % 53 for at in rows],
            "sex": [1 + at // 5 % 2 for at in rows],
        }
    )
    found = by_name(shoal.inspect(visits))
    assert [found[name].role for name in visits.columns] == [
        *("person", "direct_identifier", "quasi_identifier", "quasi_identifier"),
    ]


@every(
    ("name", "values", "coarsen"),
    [
        ("age", [f"{18 + row % 30} yrs" for row in range(ROWS)], "bins:10"),
        ("Alter", [f"{18 + row % 30} J." for row in range(ROWS)], "bins:10"),
        ("Base Pay", [f"${30 + row % 30},{row % 2}00" for row in range(ROWS)], "bins:5000"),
        ("weight", [f"{50 + row % 30},5 kg" for row in range(ROWS)], "bins:5"),
        ("VISDT", [f"{1 + row % 28:02}MAR{2010 + row % 9}" for row in range(ROWS)], "date:year"),
        ("floors", [row % 11 for row in range(ROWS)], None),
    ],
)
def test_numbers_with_units_and_dates_of_statistical_programs_are_read(
    name: str, values: list[Any], coarsen: str | None
) -> None:
    table = pl.DataFrame({name: values, "sex": ["f", "m"] * (ROWS // 2)})
    found = by_name(shoal.inspect(table))[name]
    assert found.kind in ("number", "date")
    assert found.coarsen == coarsen
    # Cells that stay as they are keep their spelling.
    release = shoal.anonymize(table, quasi_identifiers=table.columns, k=1, seed=1)
    assert sorted(release.data[name].to_list()) == sorted(values)
    # What the cells say beyond numbers is in no certificate.
    assert not any(word in release.certificate.to_json() for word in ("yrs", "J.", " kg"))


def test_a_decimal_comma_does_not_matter_to_whole_numbers_of_other_columns() -> None:
    table = pl.DataFrame(
        {
            "Alter": [f"{20 + row % 40} J." for row in range(ROWS)],
            "Gewicht": [f"{50 + row % 20},5" for row in range(ROWS)],
            "Dosis": ["1e3", "200", "400"] * (ROWS // 3),
        }
    )
    coarser = {"Alter": "bins:10", "Gewicht": "bins:10", "Dosis": "bins:500"}
    release = shoal.anonymize(table, quasi_identifiers=table.columns, decimal=",", coarsen=coarser, k=2, seed=1)
    assert set(release.data["Dosis"].cast(pl.String).str.slice(0, 1)) == {"["}
