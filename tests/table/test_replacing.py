"""Values that are replaced before anything else, against a cell by cell oracle."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest
from tests.every import every, few
from tests.oracles.replacing import replaced_by_hand

import shoal
from shoal.errors import ColumnError, DataError, ParameterError, UsageError
from shoal.request.request import Request
from shoal.request.texts import replacement_text, replacements_in
from shoal.table import count_replaced, replace_values

ASKED = {"quasi_identifiers": ["age", "gender"], "sensitive": "disease", "k": 5, "seed": 1}


def people(rows: int = 80) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [("99" if row % 9 == 0 else "k.A.") if row % 5 == 0 else str(20 + row % 6) for row in range(rows)],
            "gender": [("w", "W", "weiblich", "m")[row % 4] for row in range(rows)],
            "disease": [f"d{row % 7 % 4}" for row in range(rows)],
        }
    )


def test_random_tables_agree_with_the_oracle():
    draw = random.Random(7)
    words = ["w", "W", "99", "", " ", "k.A.", "12:30", "*", "a,b"]
    for _ in range(few(200)):
        columns = {name: [draw.choice([*words, None]) for _ in range(6)] for name in ("*", "^a.*$", "b")}
        given = {
            name: {draw.choice(words): draw.choice([*words, None]) for _ in range(3)}
            for name in draw.sample(["*", "^a.*$", "b"], draw.randrange(1, 4))
        }
        found = replace_values(pl.DataFrame(columns).lazy(), given).collect()
        assert found.to_dict(as_series=False) == replaced_by_hand(columns, given)


def test_numbers_and_dates_are_compared_as_such_and_keep_their_type():
    frame = pl.DataFrame({
        "age": [99, 30], "cost": [99.0, 0.5], "born": [dt.date(1900, 1, 1), dt.date(1980, 2, 3)], "sure": [True, False],
        "sex": pl.Series(["w", "W"], dtype=pl.Categorical), "kind": pl.Series(["w", "m"], dtype=pl.Enum(["w", "m"])),
    })  # fmt: skip
    given = {"*": {"99": None, "1900-01-01": None, "W": "w", "true": None}, "age": {"30": "31", "x": "y"}}
    found = replace_values(frame.lazy(), given).collect()
    assert found.rows() == [(None, None, None, True, "w", "w"), (31, 0.5, dt.date(1980, 2, 3), False, "w", "m")]
    assert found.dtypes[:5] == frame.dtypes[:5]
    with pytest.raises(DataError, match="must be one, or missing") as raised:
        replace_values(frame.lazy(), {"age": {"30": "thirty"}})
    assert "thirty" not in str(raised.value)
    with pytest.raises(ColumnError, match="Did you mean 'born'"):
        replace_values(frame.lazy(), {"bornn": {"a": None}})
    with pytest.raises(ParameterError, match="replace_values"):
        replace_values(frame.lazy(), {"age": "99"})


def test_replaced_cells_are_counted_by_their_old_value():
    frame = pl.DataFrame({"*": ["a", "b", None, "a"], "x": [99, 1, 99, None], "born": [dt.date(1900, 1, 1)] * 4})
    given = {"*": {"a": "b", "99": None, "c": "d"}, "x": {"99": None}, "born": {"01.01.1900": None, "2000-01-01": None}}
    assert count_replaced(frame, given) == {
        "*": {"a": 2, "99": 2, "c": 0}, "x": {"99": 2}, "born": {"01.01.1900": 4, "2000-01-01": 0}
    }  # fmt: skip
    given["*"]["b"] = "z"
    assert replace_values(frame.lazy(), given).collect()["born"].null_count() == 4


@every(
    ("text", "values"),
    [
        ("W,weiblich:w", {"W": "w", "weiblich": "w"}),
        ("99,k.A.:", {"99": None, "k.A.": None}),
        ("W:w;M:m;?:", {"W": "w", "M": "m", "?": None}),
        ('"a,b;c:d":"12:30"', {"a,b;c:d": "12:30"}),
        ('"say ""hi""":x', {'say "hi"': "x"}),
        ('" ":x', {" ": "x"}),
    ],
)
def test_replacements_as_text(text, values):
    assert replacements_in(text) == values
    assert replacements_in(replacement_text(values)) == values


@every("text", ["", "a", "a:b:c", ":b", "a,:b", "a:b,c"])
def test_texts_that_are_none_are_refused(text):
    with pytest.raises(UsageError, match="--replace"):
        replacements_in(text)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_release_is_one_of_the_replaced_table(tmp_path, engine):
    people().write_csv(tmp_path / "a.csv")
    given = {"gender": {"W": "w", "weiblich": "w"}, "*": {"k.A.": None, "99": None}}
    release = shoal.anonymize(tmp_path / "a.csv", replace_values=given, engine=engine, **ASKED)
    published = release.data if engine == "memory" else release.data.collect()
    assert set(published["gender"]) <= {"w", "m", "*"}
    assert "k.A." not in set(published["age"])
    replaced = replace_values(pl.read_csv(tmp_path / "a.csv", infer_schema_length=0).lazy(), given).collect()
    assert shoal.anonymize(replaced, **ASKED).data.height == published.height
    assert release.certificate.to_dict()["parameters"]["replaced"] == ["gender", "*"]
    assert shoal.provenance(tmp_path / "a.csv", release.certificate.to_dict(), salt=release.salt, replace_values=given)
    assert not shoal.provenance(tmp_path / "a.csv", release.certificate.to_dict(), salt=release.salt)
    release.save(tmp_path / "out")
    assert "values were replaced" in (tmp_path / "out/report.html").read_text()
    assert "k.A." not in (tmp_path / "out.private/certificate.json").read_text()


def test_a_request_with_replacements_is_written_and_read_again(tmp_path):
    request = Request(**{**ASKED, "replace_values": {"age": {"99": None}, "gender": {"W": "w", "weiblich": "w"}}})
    (tmp_path / "a.toml").write_text(request.to_toml())
    assert Request.from_toml(tmp_path / "a.toml").replace_values == request.replace_values
    assert 'replace_values.gender = "W,weiblich:w"' in request.to_toml()
    assert "reading.replace_values.gender=W,weiblich:w" in request.to_cli()
    assert "replace_values={'age': {'99': None}" in request.to_python()
    found = shoal.inspect(people(), replace_values={"*": {"k.A.": None, "99": None}})
    assert found.columns[0].kind == "number"
    assert 'replace_values."*" = "k.A.,99:"' in found.to_toml()
    assert shoal.explore(people(), request, coarsenings=True, seconds=1).best.loss >= 0
