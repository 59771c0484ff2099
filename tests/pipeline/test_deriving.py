"""Columns that are derived from dates, against the calendar, and at every door."""

from __future__ import annotations

import datetime as dt
import json
import random

import polars as pl
import pytest
from tests.every import every
from tests.oracles.deriving import days_by_walking, years_by_walking

import shoal
from shoal.errors import ColumnError, DataError, ParameterError, UsageError
from shoal.pipeline.deriving import derive_columns
from shoal.report.sentences import reading

DROPPED = ["born", "admitted", "discharged"]
ASKED = {"quasi_identifiers": ["age"], "sensitive": "stay", "direct_identifiers": DROPPED, "k": 5, "seed": 1}
DERIVED = {"age": "years:born:2025-12-31", "stay": "days:admitted:discharged"}


def patients() -> pl.DataFrame:
    days = [dt.date(2025, 1, 1 + row % 28) for row in range(60)]
    return pl.DataFrame({
        "born": [f"{1 + row % 28:02}.{1 + row % 12:02}.{1950 + row % 3}" for row in range(59)] + [None],
        "admitted": days,
        "discharged": [dt.datetime(2025, 1, 1 + row % 28, 12) + dt.timedelta(days=row % 4) for row in range(59)]
        + [dt.datetime(2024, 12, 1)],
    })  # fmt: skip


def test_random_dates_agree_with_the_calendar() -> None:
    draw = random.Random(3)
    leap = [dt.date(2000, 2, 29), dt.date(2001, 2, 28), dt.date(2001, 3, 1), dt.date(2004, 2, 29), dt.date(2004, 2, 28)]
    days = [None, *leap, *(dt.date(1998, 1, 1) + dt.timedelta(days=draw.randrange(3000)) for _ in range(15))]
    pairs = [(one, other) for one in days for other in days]
    table = pl.DataFrame(pairs, schema={"a": pl.Date, "b": pl.Date}, orient="row")
    found, notes = derive_columns(table, {"years": "years:a:b", "days": "days:a:b", "at": "years:a:2004-02-29"})
    assert found["years"].to_list() == [years_by_walking(*pair) for pair in pairs]
    assert found["days"].to_list() == [days_by_walking(*pair) for pair in pairs]
    assert found["at"].to_list() == [years_by_walking(one, dt.date(2004, 2, 29)) for one, _ in pairs]
    negative = sum(None not in pair and pair[1] < pair[0] for pair in pairs)
    told = {"column": "days", "rows": negative + 41, "missing": 41, "negative": negative}
    assert dict(notes["days"].arguments) == told


def test_a_release_has_derived_columns_and_says_how() -> None:
    release = shoal.anonymize(patients(), derive=DERIVED, missing_sensitive="drop", **ASKED)
    facts = release.certificate.parameters["derived"]
    assert facts["age"] == {"unit": "years", "begin": "born", "end": "2025-12-31"}
    said = " ".join(reading(release.certificate.parameters))
    assert "age was derived: whole years from born to 2025-12-31" in said
    assert "stay was derived: the days from admitted to discharged." in said
    told = {one.column: one.text for one in release.certificate.warnings if one.code == "derived_missing"}
    assert "missing in 1 record(s): in 0 a date is missing or cannot be read, in 1 the second" in told["stay"]
    assert "in 1 a date is missing" in told["age"]
    assert set(release.data["stay"].to_list()) == {0, 1, 2, 3}


def test_proposals_leave_the_birth_date_out_and_the_proposed_file_derives() -> None:
    found = shoal.inspect(patients(), derive=DERIVED)
    roles = {one.name: one for one in found.columns}
    assert roles["born"].role == "direct_identifier"
    assert "its age is published in its place" in roles["born"].why
    assert roles["age"].role == "quasi_identifier"
    assert 'reading.derive.age = "years:born:2025-12-31"  # a column to derive from dates' in found.to_toml()
    assert [one.column for one in found.warnings if one.code == "derived_missing"] == ["age", "stay"]


def test_formats_are_found_or_declared() -> None:
    two = pl.DataFrame({"born": ["01/02/1980", "03/04/1990"]})
    with pytest.raises(DataError, match=r"in two ways. Say which: .*%d/%m/%Y.* or .*%m/%d/%Y") as raised:
        derive_columns(two, {"age": "years:born:2025-12-31"})
    assert "1980" not in str(raised.value)
    declared = shoal.Request(quasi_identifiers=["age"], k=2, dates={"born": "%m/%d/%Y"}, derive={
        "age": "years:born:1990-03-20"})  # fmt: skip
    found, _ = derive_columns(two, declared.reading["derive"])
    assert found["age"].to_list() == [10, 0]
    mixed = pl.DataFrame({"born": ["31.12.1980", "unknown", None, "1.1.2000"]})
    with pytest.raises(DataError, match="No format reads all dates of the column 'born'") as raised:
        derive_columns(mixed, {"age": "years:born:2025-12-31"})
    assert "unknown" not in str(raised.value)
    found, notes = derive_columns(mixed, {"age": "years:born:2025-12-31:%d.%m.%Y"})
    assert found["age"].to_list() == [45, None, None, 25]
    assert notes["age"].arguments["missing"] == 2


@every(
    ("given", "error", "words"),
    [
        ({"born": "years:born:2025-12-31"}, ColumnError, "'born' exists already"),
        ({"age": "years:bornn:2025-12-31"}, ColumnError, "Did you mean 'born'"),
        ({"age": "years:n:2025-12-31"}, DataError, "'n' has no dates"),
        ({"age": "years:born:2025-02-30"}, UsageError, "NAME=years:COLUMN:END"),
        ({"age": "weeks:born:2025-02-03"}, UsageError, "NAME=years:COLUMN:END"),
        ({"age": 3}, ParameterError, "'years:born:2025-12-31'"),
    ],
)
def test_what_cannot_be_derived_is_refused(given, error, words) -> None:
    with pytest.raises(error, match=words):
        derive_columns(patients().with_columns(n=1), given)


def test_derived_after_replacing_and_of_two_tables() -> None:
    visits = patients().with_columns(id=pl.int_range(60) % 30)
    people = pl.DataFrame({"id": range(30), "birth": ["01.01.1900", "31.12.1980"] * 15})
    asked = {"replace_values": {"birth": {"01.01.1900": None}}, "derive": {"age": "years:birth:admitted"}}
    release = shoal.anonymize(
        people,
        rows=visits,
        key="id",
        quasi_identifiers=["age"],
        sensitive="admitted",
        direct_identifiers=["birth", "born", "discharged"],
        k=2,
        link=True,
        **asked,
    )
    assert set(release.data["age"].to_list()) == {None, 44}


def test_pieces_are_refused_with_advice(tmp_path) -> None:
    patients().write_csv(tmp_path / "patients.csv")
    with pytest.raises(ParameterError, match="of tables in memory only"):
        shoal.anonymize(tmp_path / "patients.csv", engine="stream", derive=DERIVED, **ASKED)


def test_commands_derive_and_the_release_is_proven(tmp_path) -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app

    patients().write_csv(tmp_path / "patients.csv")
    flags = [part for name, words in DERIVED.items() for part in ("--derive", f"{name}={words}")]
    roles = ["--qi", "age", "--sensitive", "stay", "-k", "5", "--missing-sensitive", "drop", "--id", ",".join(DROPPED)]
    run = CliRunner().invoke
    made = run(app, ["anonymize", str(tmp_path / "patients.csv"), *roles, *flags, "-o", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    again = json.loads((tmp_path / "out.private" / "certificate.json").read_text())
    assert again["parameters"]["derived"]["stay"]["unit"] == "days"
    table, private = str(tmp_path / "patients.csv"), str(tmp_path / "out.private")
    proven = run(app, ["audit", private, "--against", table, *flags])
    assert proven.exit_code == 0, proven.output
    risk = run(app, ["risk", table, "--qi", "age", *flags])
    assert risk.exit_code == 0, risk.output
