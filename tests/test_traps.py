"""Bad input and silent traps, end to end: each has a defined outcome, and no message shows a cell of the data."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal
from pyarrow import feather, parquet

import shoal
from shoal.cli.main import app
from shoal.errors import (
    ColumnError,
    DataError,
    InfeasibleError,
    ParameterError,
    ShoalError,
    UnsupportedError,
)
from tests.every import every, few

SECRET = "Zyzzyva"
"""Part of every cell of the table."""
ROWS = 60


def table(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": [f"{SECRET} {age}" for age in rng.integers(20, 24, rows)],
            "zip": [f"{SECRET} {zip_code}" for zip_code in rng.integers(100, 104, rows)],
            "disease": [f"{SECRET} {'ABCDE'[row % 5]}" for row in range(rows)],
        }
    )


REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["age", "zip"],
    "sensitive": "disease",
    "privacy": shoal.LDiversity(2),
}
MONOTONE = ["tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed"]


def cli(*words: object) -> tuple[int, str]:
    """Call the command line in this process; return its exit code and all that it said."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout + result.stderr


class TestRequestsThatCannotBe:
    @every(
        ("change", "error", "said"),
        [
            ({"quasi_identifiers": ["age", "zipp"]}, ColumnError, r"no column 'zipp'.*Did you mean 'zip'"),
            ({"quasi_identifiers": ["age", "zip", "age"]}, ColumnError, "3 names.*3 column|'age' is named twice"),
            ({"quasi_identifiers": ["age", "age"]}, ColumnError, "'age' is named twice"),
            ({"quasi_identifiers": ["age"]}, ColumnError, r"1 column has no role: 'zip'"),
            ({"quasi_identifiers": ["age", "zip", "disease"]}, ColumnError, "as quasi-identifier and as sensitive"),
            ({"insensitive": ["disease"]}, ColumnError, "as sensitive and as insensitive"),
            ({"direct_identifiers": ["zip"]}, ColumnError, "as quasi-identifier and as direct identifier"),
            ({"quasi_identifiers": None}, ParameterError, "'quasi_identifiers' parameter.*Got NoneType"),
            ({"quasi_identifiers": 2}, ParameterError, "Got int"),
            ({"quasi_identifiers": ["age", 2]}, ParameterError, "not text"),
            ({"sensitive": table()["disease"]}, ParameterError, "names of columns.*Got Series"),
            ({"sensitive": table().to_pandas()["disease"]}, ParameterError, "names of columns.*Got Series"),
            ({"sensitive": table()["disease"].to_list()}, ColumnError, r"60 names are given \(sensitive\)"),
            ({"privacy": shoal.KAnonymity(ROWS + 1)}, InfeasibleError, "60 rows, so k can be at most 60"),
            ({"privacy": shoal.LDiversity(6)}, InfeasibleError, "'disease': the largest feasible l is 5"),
            ({"privacy": shoal.LDiversity(6, variant="distinct")}, InfeasibleError, "largest feasible l is 5"),
            ({"privacy": shoal.LDiversity(5.5, variant="entropy")}, InfeasibleError, r"largest feasible l is 5\.0"),
            ({"privacy": shoal.LDiversity(6, variant="recursive", c=2)}, InfeasibleError, "l at c = 2 is 5"),
            ({"privacy": shoal.AlphaKAnonymity(0.1, 2)}, InfeasibleError, r"smallest feasible alpha is 0\.2"),
            ({"privacy": shoal.KEAnonymity(2, 5)}, ParameterError, "needs a numeric sensitive attribute"),
            ({"privacy": shoal.models.MUniqueness(2)}, UnsupportedError, "None can"),
            ({"privacy": []}, ParameterError, "at least one privacy model"),
            ({"privacy": 4}, ParameterError, "Got int"),
            ({"privacy": None}, ParameterError, "Say what a release must satisfy"),
            ({"privacy": shoal.LDiversity}, ParameterError, "Got the class LDiversity"),
            ({"privacy": [shoal.KAnonymity(2), "l"]}, ParameterError, "Got str"),
            ({"sensitive": None, "insensitive": ["disease"]}, ParameterError, "needs a sensitive attribute"),
            ({"algorithm": "mondriam"}, ParameterError, "Did you mean 'mondrian'"),
            ({"algorithm": shoal.algorithms.Mondrian}, ParameterError, "algorithm object"),
            ({"algorithm": None}, ParameterError, "Got NoneType"),
            ({"recoding": "stars"}, ParameterError, "'recoding' parameter"),
            ({"recoding": table()}, ParameterError, "'recoding' parameter.*Got DataFrame"),
            ({"missing_sensitive": "maybe"}, ParameterError, "'missing_sensitive' parameter"),
            ({"star": " "}, ParameterError, "'star' parameter"),
            ({"star": None}, ParameterError, "'star' parameter"),
            ({"keep_order": 1}, ParameterError, "'keep_order' parameter.*Got 1"),
            ({"seed": -1}, ParameterError, "'seed' parameter.*Got -1"),
            ({"seed": 0.5}, ParameterError, "'seed' parameter"),
            ({"seed": table().to_pandas()["age"]}, ParameterError, "'seed' parameter.*Got Series"),
        ],
    )
    def test_the_error_says_what_to_change(self, change: dict[str, Any], error: type[ShoalError], said: str) -> None:
        with pytest.raises(error, match=f"(?s){said}") as raised:
            shoal.anonymize(table(), **REQUEST | change)
        assert SECRET not in str(raised.value)

    @every("model", [shoal.KAnonymity, shoal.LDiversity])
    @every("value", [0, -3, 2.0, 2.5, True, "2", None, float("nan"), float("inf"), [2]])
    def test_parameters_are_whole_and_positive(self, model: Any, value: Any) -> None:
        with pytest.raises(ParameterError, match=r"must be an int >= 1\. Got"):
            model(value)

    @pytest.mark.parametrize("number", [np.int64(3), np.uint8(3)])
    def test_numbers_of_numpy_are_numbers(self, number: Any) -> None:
        made = shoal.anonymize(table(), **REQUEST | {"privacy": [shoal.LDiversity(number), shoal.KAnonymity(number)]})
        assert '"k": 3' in made.certificate.to_json()

    @every(
        "data",
        [
            {"age": [SECRET]},
            [{"age": SECRET}],
            None,
            np.array([SECRET]),
            b"age,disease",
            f"age,zip,disease\n{SECRET},1,flu\n",
            f"{SECRET}" * 1000 + ".csv",
            table().to_pandas()["age"],
        ],
    )
    def test_data_that_is_no_table(self, data: Any) -> None:
        for call in (shoal.anonymize, shoal.explore, shoal.audit):
            with pytest.raises(DataError) as raised:
                call(data, **REQUEST)
            assert SECRET not in str(raised.value)

    def test_frames_without_rows_or_columns(self) -> None:
        for empty in (table()[:0], table()[:0].to_pandas(), table()[:0].to_arrow()):
            for call in (shoal.anonymize, shoal.audit):
                with pytest.raises(DataError, match="no rows"):
                    call(empty, **REQUEST)
        with pytest.raises(ColumnError, match="No column is left"):
            shoal.anonymize(
                table(), quasi_identifiers=[], direct_identifiers=table().columns, privacy=shoal.KAnonymity(2)
            )


class TestSmallestTables:
    @every("algorithm", MONOTONE)
    @every("recoding", ["suppression", "generalization"])
    def test_one_row(self, tmp_path: Path, algorithm: str, recoding: Any) -> None:
        request = REQUEST | {"privacy": shoal.LDiversity(1), "algorithm": algorithm, "recoding": recoding}
        made = shoal.anonymize(table()[:1], **request)
        assert_frame_equal(made.data, table()[:1])
        assert made.certificate.cost.optimal
        assert made.certificate.achieved["k"] == 1
        assert made.metrics.to_dict()["stars"] == 0
        made.save(tmp_path / "out")
        with pytest.raises(InfeasibleError, match="the table has 1 row, so k can be at most 1"):
            shoal.anonymize(table()[:1], **REQUEST | {"privacy": shoal.KAnonymity(2)})

    @pytest.mark.drawn
    @every("algorithm", MONOTONE)
    @every("recoding", ["suppression", "generalization"])
    def test_no_quasi_identifier(self, tmp_path: Path, algorithm: str, recoding: Any) -> None:
        data = table().select("disease", "zip")
        request = REQUEST | {"quasi_identifiers": [], "algorithm": algorithm, "recoding": recoding}
        made = shoal.anonymize(data, **request, insensitive=["zip"])
        assert made.certificate.achieved["groups"] == 1
        assert made.certificate.cost.optimal
        assert sorted(made.data.rows()) == sorted(data.rows())
        assert made.metrics.to_dict()["gcp"] == 0
        made.save(tmp_path / "out")
        with pytest.raises(InfeasibleError, match="largest feasible l is 5"):
            shoal.anonymize(data.select("disease"), **request | {"privacy": shoal.LDiversity(6)})

    def test_a_single_column_with_missing_values(self, tmp_path: Path) -> None:
        values = pl.DataFrame({"s": ["a", None, "b", None, "c", None]})
        made = shoal.anonymize(
            values, quasi_identifiers=[], sensitive="s", privacy=shoal.LDiversity(2), missing_sensitive="value"
        )
        made.save(tmp_path / "out")
        assert shoal.audit(tmp_path / "out/release.csv", quasi_identifiers=[], sensitive="s").rows == 6


NAMES = [
    "index", "row", "rows", "len", "count", "group", "text", "value", "label", "number", "set", "low", "missing",
    "rows of the class", "literal", "0", "*", "a b", " a ", "a,b", 'say "x"', "it's", "a\nb", "a\r\nb", "a\rb",
    "ü", "年齢", "\N{SNOWMAN}", "\ufeffage", "=1+1", "-x", "age:", "a.b", "{age}", "[1, 2]", "<b>age</b>", "a\\b",
    "^age", "age$", "$^",
]  # fmt: skip


ROLES = ["quasi_identifiers", "sensitive", "insensitive", "direct_identifiers"]
FORMS: list[tuple[str, str, dict[str, Any]]] = [
    ("csv", "release.csv", {}),
    ("parquet", "release.parquet", {"format": "parquet"}),
    ("safe", "release.csv", {"spreadsheet_safe": True}),
]


class TestColumnNames:
    @every("name", NAMES, drawn=True)
    @every("role", ROLES, drawn=True)
    def test_any_name_in_any_role(self, tmp_path: Path, name: str, role: str) -> None:
        roles: dict[str, list[str]] = {"quasi_identifiers": ["zip"], "sensitive": ["disease"]}
        roles[role] = [name, *roles.get(role, [])]  # first: the first name of a file is a place of its own
        data = table().rename({"age": name})
        made = shoal.anonymize(data, **roles, privacy=shoal.LDiversity(2), recoding="generalization")
        published = roles["quasi_identifiers"] + roles["sensitive"] + roles.get("insensitive", [])
        assert made.data.columns == published
        audit_roles = {key: roles[key] for key in ("quasi_identifiers", "sensitive")}
        form, file, options = FORMS[(NAMES.index(name) + ROLES.index(role)) % 3]  # every name meets every form
        made.save(tmp_path / form, **options)
        if form != "safe":  # which may change a name
            audit = shoal.audit(tmp_path / form / file, **audit_roles)
            assert audit.achieved.to_dict() == made.certificate.achieved
        assert shoal.audit(made.data, **audit_roles).stars == made.certificate.cost.stars
        frame = data.to_pandas()
        assert list(shoal.anonymize(frame, **roles, privacy=shoal.LDiversity(2)).data.columns) == published

    @pytest.mark.parametrize("name", ["^.*$", "^x$", ""])
    def test_names_that_cannot_be_are_refused(self, name: str) -> None:
        data = table().rename({"age": name})
        request = REQUEST | {"quasi_identifiers": [name, "zip"]}
        with pytest.raises(ColumnError, match=r"Rename it|Name it"):
            shoal.anonymize(data, **request)
        made = shoal.anonymize(data, **REQUEST | {"quasi_identifiers": ["zip"]}, direct_identifiers=[name])
        assert made.data.columns == ["zip", "disease"]

    def test_the_name_of_a_pandas_index(self, tmp_path: Path) -> None:
        data = table().rename({"age": "__index_level_0__"})
        request = REQUEST | {"quasi_identifiers": ["__index_level_0__", "zip"]}
        made = shoal.anonymize(data, **request)
        made.save(tmp_path / "out")
        with pytest.raises(DataError, match=r"__index_level_0__.*Rename it"):
            made.save(tmp_path / "binary", format="parquet")
        assert not (tmp_path / "binary").exists()

    def test_repeated_names(self) -> None:
        frame = table().to_pandas()
        frame.columns = ["age", "age", "disease"]
        with pytest.raises(ColumnError, match="column 1, 2"):
            shoal.anonymize(frame, **REQUEST | {"quasi_identifiers": ["age"]})

    @pytest.mark.drawn
    @every("name", ["a b", "a,b", 'say "x"', "ü", "=1+1", "*", "--qi"])
    def test_on_the_command_line(self, tmp_path: Path, name: str) -> None:
        table().rename({"age": name}).write_csv(tmp_path / "in.csv")
        quoted = '"{}"'.format(name.replace('"', '""'))
        roles = ("--qi", f"{quoted},zip", "--sensitive", "disease")
        code, said = cli("anonymize", tmp_path / "in.csv", *roles, "-l", 2, "-o", tmp_path / "out")
        assert code == 0, said
        assert SECRET not in said
        code, said = cli("audit", tmp_path / "out/release.csv", *roles, "-l", 2)
        assert code == 0, said


KINDS: dict[str, list[Any] | pl.Series] = {
    "boolean": [True, False, True, True],
    "boolean with missing": [True, False, None, True],
    "integer": [1, -7, 3, 3],
    "integer with missing": [1, None, 3, 3],
    "huge integer": pl.Series([2**64 - 1, 2**64 - 2, 0, 0], dtype=pl.UInt64),
    "128 bits": pl.Series([10**30, -(10**30), 0, 0], dtype=pl.Int128),
    "float": [0.1, 1e-9, 1e20, 1e20],
    "narrow float": pl.Series([0.2, 0.7, 0.1, 0.1], dtype=pl.Float32),
    "float with NaN": [0.5, float("nan"), None, 0.5],
    "zero": [0.0, -0.0, 1.0, 0.0],
    "decimal": [decimal.Decimal("1.50"), decimal.Decimal("-2.25"), None, decimal.Decimal("0.00")],
    "date": [dt.date(2020, 1, 1), dt.date(1900, 2, 28), None, dt.date(2020, 1, 1)],
    "datetime": [dt.datetime(2020, 1, 1, 12), dt.datetime(1960, 1, 1, 0, 0, 0, 1), None, dt.datetime(9999, 1, 1)],
    "zoned": pl.Series([dt.datetime(2020, 10, 25, hour) for hour in (0, 1, 2, 2)], dtype=pl.Datetime("us", "UTC")),
    "time": [dt.time(12), dt.time(0, 0, 0, 1), None, dt.time(12)],
    "duration": [dt.timedelta(1), dt.timedelta(hours=-3), None, dt.timedelta(1)],
    "category": pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
    "ordered category": pl.Series(["high", "low", None, "low"], dtype=pl.Enum(["low", "middle", "high"])),
    "nothing but missing": pl.Series([None] * 4, dtype=pl.Null),
    "empty text": ["", "a", "b", ""],
    "leading zeros": ["007", "7", "07", "007"],
    "numbers as text": ["1", "1.0", "1e3", "-2"],
    "text that looks like ours": ["[1, 2]", "{a, b}", "**", "a, b"],
    "spaces and line ends": [" a", "b ", "a\nb", "c\r"],
    "quotation marks": ['"', "'", "a,b", 'a"b'],
    "other scripts": ["é", "ж", "年", "\U0001f600"],
    "a byte order mark": ["\ufeffa", "c", "\ufeff", "b"],
    "formulas": ["=1+1", "'=1+1", "-5", "@x"],
    "very long text": ["x" * 200_000, "x" * 199_999, "y", "y"],
}


class TestKindsOfColumns:
    @every("kind", KINDS, drawn=True)
    @every("role", ["quasi_identifiers", "sensitive", "insensitive"], drawn=True)
    @every("recoding", ["suppression", "generalization"])
    def test_any_kind_in_any_role(self, tmp_path: Path, kind: str, role: str, recoding: Any) -> None:
        values = pl.Series("x", KINDS[kind])
        rng = np.random.default_rng(5)
        data = table().with_columns(x=values.gather(pl.Series(rng.integers(0, 4, ROWS))))
        roles: dict[str, list[str]] = {"quasi_identifiers": ["age", "zip"], "sensitive": ["disease"]}
        roles[role] = [*roles.get(role, []), "x"]
        model = shoal.KAnonymity(3) if role == "sensitive" else shoal.LDiversity(2)
        options: dict[str, Any] = {"privacy": model, "recoding": recoding, "missing_sensitive": "value"}
        made = shoal.anonymize(data, **roles, **options)
        if role != "quasi_identifiers":
            expected = data["x"].gather(pl.Series(made.rows))
            expected = expected + 0.0 if kind == "zero" and role == "sensitive" else expected
            if kind == "ordered category":  # without the category that nobody has
                expected = expected.cast(pl.Enum(["low", "high"]))
            assert made.data["x"].equals(
                expected.fill_nan(None) if role == "sensitive" and kind[:5] == "float" else expected
            )
        chosen = list(KINDS).index(kind) + ROLES.index(role) + (recoding == "suppression")
        form, file, saving = FORMS[chosen % 3]
        made.save(tmp_path / form, **saving)
        audit = shoal.audit(
            tmp_path / form / file, quasi_identifiers=roles["quasi_identifiers"], sensitive=roles["sensitive"]
        )
        assert audit.achieved.to_dict() == made.certificate.achieved

    @every("value", [[1], {SECRET: 1}, b"x", object()])
    @every("role", ["quasi_identifiers", "sensitive"])
    def test_what_cannot_be_grouped(self, value: Any, role: str) -> None:
        values = pl.Series([value] * ROWS, dtype=pl.Object if type(value) is object else None)
        roles = {"quasi_identifiers": ["age", "zip"], "sensitive": ["disease"]}
        roles[role] = [*roles[role], "x"]
        for call in (shoal.anonymize, shoal.audit):
            if isinstance(value, bytes) and call is shoal.audit:
                continue  # bytes can be compared
            with pytest.raises(DataError, match=r"'x' (has the type|holds values that do not)") as raised:
                call(table().with_columns(x=values), **roles, privacy=shoal.KAnonymity(2))
            assert SECRET not in str(raised.value)

    def test_durations_and_times_of_day_that_all_differ_are_advised_on(self) -> None:
        for values in ([dt.timedelta(days=day) for day in range(30)], [dt.time(at % 24, at) for at in range(30)]):
            data = pl.DataFrame({"x": values})
            for recoding in ("suppression", "generalization"):
                made = shoal.anonymize(data, quasi_identifiers=["x"], k=2, recoding=recoding, seed=1)
                assert made.certificate.achieved["k"] >= 2, (data.schema, recoding)
            assert shoal.inspect(data).columns

    @pytest.mark.drawn
    def test_wide_decimals_within_lists_and_structures_are_read(self, tmp_path: Path) -> None:
        wide, one = pa.decimal256(50, 2), decimal.Decimal("1.50")
        kinds = {
            "list": ([one, None], pa.list_(wide)),
            "large": ([one], pa.large_list(pa.list_(wide))),
            "fixed": ([one, one], pa.list_(wide, 2)),
            "struct": ({"x": one, "y": [one]}, pa.struct([("x", wide), ("y", pa.list_(wide))])),
        }
        kinds["large"] = ([[one]], kinds["large"][1])
        for name, (cell, kind) in kinds.items():
            arrow = table().to_arrow().append_column("x", pa.array([cell] * ROWS, kind))
            feather.write_feather(arrow, tmp_path / "x.arrow", compression="uncompressed")
            parquet.write_table(arrow, tmp_path / "x.parquet")
            for data in (arrow, tmp_path / "x.arrow", tmp_path / "x.parquet"):
                made = shoal.anonymize(data, **REQUEST | {"insensitive": ["x"]}, seed=1)
                cells = made.data.column("x").to_pylist() if data is arrow else made.data["x"].to_list()
                assert cells == [cell] * ROWS, (name, type(data))

    @pytest.mark.drawn
    def test_columns_that_are_only_dropped_stop_nothing(self, tmp_path: Path) -> None:
        wide = pa.array([decimal.Decimal(10) ** 45 + at for at in range(ROWS)], pa.decimal256(50, 2))
        arrow = table().to_arrow().append_column("x", wide)
        feather.write_feather(arrow, tmp_path / "x.arrow", compression="uncompressed")
        parquet.write_table(arrow, tmp_path / "x.parquet")
        odd = pd.Series(np.array([f"{SECRET}\ud800"] * ROWS, dtype=object), dtype=object)
        mixed = [1, SECRET, object()] * (ROWS // 3)
        files = [tmp_path / "x.arrow", tmp_path / "x.parquet"]
        for data in (arrow, *(table().to_pandas().assign(x=one) for one in (mixed, odd)), *files):
            request = REQUEST | {"direct_identifiers": ["x"]}
            assert shoal.anonymize(data, **request).certificate.achieved["k"] >= 2
            assert shoal.inspect(data).columns
            for role in ("quasi_identifiers", "insensitive"):
                with pytest.raises(DataError, match="column 'x' holds") as raised:
                    shoal.anonymize(data, **REQUEST | {role: [*REQUEST.get(role, []), "x"]})
                assert SECRET not in str(raised.value)
        streamed = REQUEST | {"direct_identifiers": ["x"], "engine": "stream"}
        assert shoal.anonymize(files[1], **streamed).certificate.achieved["k"] >= 2
        with pytest.raises(DataError, match="insensitive column 'x' has the type Decimal"):
            shoal.anonymize(files[1], **REQUEST | {"insensitive": ["x"], "engine": "stream"})

    def test_mixed_values_in_pandas(self) -> None:
        for mixed in ([1, SECRET], pd.Categorical([1, "1"]), [1, object()]):
            frame = table()[:2].to_pandas().assign(x=mixed)
            with pytest.raises(DataError, match=r"'x' holds values that do not form one type") as raised:
                shoal.anonymize(frame, **REQUEST | {"quasi_identifiers": ["age", "zip", "x"]})
            assert SECRET not in str(raised.value)

    def test_numbers_in_files_keep_their_distance(self, tmp_path: Path) -> None:
        for values in ([1e20, 2e20, 3e20], [1e-7, 2e-7, 3e-7], pl.Series([0.2, 0.7, 1.2], dtype=pl.Float32)):
            data = pl.DataFrame({"a": [1, 2] * 30, "s": pl.Series(values).gather(pl.Series(range(60)) % 3)})
            e = {0: 2e20, 1: 2e-7, 2: 1}[[1e20, 1e-7].index(values[0]) if isinstance(values, list) else 2]
            made = shoal.anonymize(data, quasi_identifiers=["a"], sensitive="s", privacy=shoal.KEAnonymity(2, e))
            made.save(tmp_path / "out", force=True)


class TestStarsAndTextLikeOurs:
    @pytest.mark.drawn
    @pytest.mark.parametrize(("values", "star"), [(["*", "a"], "*"), ([True, False], "True"), (["-", "b"], "-")])
    def test_a_star_that_is_a_value(self, values: list[Any], star: str) -> None:
        data = table().with_columns(x=pl.Series(values).gather(pl.Series(range(ROWS)) % 2))
        request = REQUEST | {"quasi_identifiers": ["age", "zip", "x"]}
        for recoding in ("suppression", "generalization"):
            with pytest.raises(ParameterError, match=r"star symbol is a value of the column 'x'.*the 'star' parameter"):
                shoal.anonymize(data, **request, star=star, recoding=recoding)
            shoal.anonymize(data, **request, star="#", recoding=recoding)

    def test_a_star_elsewhere_is_a_value_like_any_other(self) -> None:
        data = table().with_columns(disease=pl.Series(["*", "a", "b"]).gather(pl.Series(range(ROWS)) % 3))
        made = shoal.anonymize(data, **REQUEST)
        assert sorted(made.data["disease"]) == sorted(data["disease"])

    def test_a_value_that_reads_like_an_interval_of_the_release(self) -> None:
        data = pl.DataFrame({"q": ["a", "b", "{a, b}", "{a, b}"], "s": [1, 2, 1, 2]})
        request: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": "s", "privacy": shoal.LDiversity(2)}
        with pytest.raises(DataError, match=r"'q' has a value that reads like one of the intervals or sets") as raised:
            shoal.anonymize(data, **request, recoding="generalization", exact_ends=True)
        assert "{a, b}" not in str(raised.value)
        assert shoal.anonymize(data, **request).certificate.achieved["groups"] == 2

    def test_empty_and_missing_are_two_values_that_csv_cannot_tell_apart(self, tmp_path: Path) -> None:
        data = table().with_columns(x=pl.Series(["", None]).gather(pl.Series(range(ROWS)) % 2))
        made = shoal.anonymize(data, **REQUEST, insensitive=["x"])
        with pytest.raises(DataError, match="'x' holds missing values and empty texts"):
            made.save(tmp_path / "out")
        assert list(tmp_path.iterdir()) == []
        made.save(tmp_path / "out", format="parquet")

    def test_a_set_does_not_list_thousands_of_values(self) -> None:
        data = pl.DataFrame({"a": [f"v{row}" for row in range(2_000)], "s": [row % 4 for row in range(2_000)]})
        request: dict[str, Any] = {"quasi_identifiers": ["a"], "sensitive": "s", "recoding": "generalization"}
        large = shoal.anonymize(data, **request, privacy=shoal.KAnonymity(400), algorithm="mondrian")
        assert large.data["a"].unique().to_list() == ["*"]
        small = shoal.anonymize(data, **request, privacy=shoal.KAnonymity(50), algorithm="mondrian")
        assert small.data["a"].str.len_chars().max() < 256 * 7


class TestIndexesOfPandas:
    """The index of a frame is no column: it is neither read nor published, whatever it is."""

    @pytest.mark.drawn
    @every(
        "change",
        [
            lambda frame: frame.set_index(pd.Index(np.arange(1_000, 1_000 + ROWS)[::-1])),
            lambda frame: frame.set_index(pd.Index([7] * ROWS)),
            lambda frame: frame.set_index(pd.Index([f"{SECRET} {row}" for row in range(ROWS)], name="name")),
            lambda frame: frame.set_index(pd.MultiIndex.from_product([range(6), range(10)], names=["age", "zip"])),
            lambda frame: frame.set_index(pd.date_range("2020", periods=ROWS)),
            lambda frame: frame.set_index(pd.Index([np.nan] * ROWS)),
        ],
    )
    def test_it_has_no_effect(self, change: Any) -> None:
        frame = table().to_pandas()
        expected = shoal.anonymize(frame, **REQUEST).data
        made = shoal.anonymize(change(frame), **REQUEST)
        pd.testing.assert_frame_equal(made.data, expected)
        assert made.data.index.equals(pd.RangeIndex(ROWS))
        roles = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease"}
        assert shoal.audit(change(expected), **roles) == shoal.audit(expected, **roles)

    def test_a_filtered_and_sorted_frame(self) -> None:
        frame = table().to_pandas()
        part = frame[frame["age"] != frame["age"][0]].sort_values("disease")
        expected = shoal.anonymize(part.reset_index(drop=True), **REQUEST)
        made = shoal.anonymize(part, **REQUEST)
        pd.testing.assert_frame_equal(made.data, expected.data)
        assert sorted(made.rows.tolist()) == list(range(len(part)))
        for place, row in enumerate(made.rows):
            assert made.data["disease"][place] == part["disease"].iloc[row]

    def test_an_index_that_became_a_column_needs_a_role(self) -> None:
        with pytest.raises(ColumnError, match="no role: 'index'"):
            shoal.anonymize(table().to_pandas().reset_index(), **REQUEST)

    def test_columns_of_several_levels_are_refused(self) -> None:
        frame = table().to_pandas()
        frame.columns = pd.MultiIndex.from_product([["x"], frame.columns])
        with pytest.raises(ColumnError, match="not text"):
            shoal.anonymize(frame, **REQUEST)


class TestMissingQuasiIdentifiers:
    """A missing value is a value of its own: no row is dropped, and no group hides behind it."""

    HOLES = pl.DataFrame(
        {
            "age": [None, None, None, 30, 30, 30, 40, 40, 40, None],
            "zip": ["1", "1", "1", "1", "1", "1", "2", "2", "2", None],
            "disease": list("abcabcabca"),
        }
    )

    @every("algorithm", MONOTONE, drawn=True)
    @every("recoding", ["suppression", "generalization"])
    @every("kind", ["polars", "pandas", "floats", "csv"])
    def test_they_are_protected_like_others(self, tmp_path: Path, algorithm: str, recoding: Any, kind: str) -> None:
        data: Any = self.HOLES
        if kind == "pandas":
            data = self.HOLES.to_pandas()
        elif kind == "floats":
            data = self.HOLES.with_columns(pl.col("age").cast(pl.Float64).fill_null(float("nan")))
        elif kind == "csv":
            data = tmp_path / "in.csv"
            self.HOLES.write_csv(data)
        request = REQUEST | {"algorithm": algorithm, "recoding": recoding}
        made = shoal.anonymize(data, **request)
        assert made.frame.height == 10
        assert made.certificate.achieved["l"]["frequency"] >= 2
        # The last row is alone with its missing ZIP code: it must not be published as it is.
        assert made.frame["zip"].null_count() == 0
        assert "*" in made.frame["zip"].cast(pl.String).to_list()

    def test_a_group_that_misses_them_all_keeps_them_missing(self) -> None:
        made = shoal.anonymize(self.HOLES[:9], **REQUEST)
        assert made.certificate.cost.stars == 0
        assert made.data["age"].null_count() == 3

    def test_the_audit_counts_them(self) -> None:
        missing = pl.DataFrame({"a": [None, float("nan"), 1.0, 1.0, 1.0], "s": list("abcde")})
        for data in (missing, missing.to_pandas(), missing.to_arrow()):
            audit = shoal.audit(data, quasi_identifiers=["a"], sensitive="s", privacy=shoal.KAnonymity(2))
            assert (audit.rows, audit.achieved.k, audit.achieved.groups) == (5, 2, 2)
            assert (audit.unique_rows, audit.violations) == (0, ())
        alone = shoal.audit(self.HOLES, quasi_identifiers=["age", "zip"], sensitive="disease")
        assert (alone.achieved.k, alone.unique_rows) == (1, 1)


class TestFiles:
    @every(
        "content",
        [
            b"",
            b"age,zip,disease\n",
            f"age,zip,disease\n{SECRET},1\n".encode(),
            f"age,zip,disease\n{SECRET},1,2,3\n".encode(),
            f"age,age,disease\n{SECRET},1,2\n".encode(),
            f"age,,disease\n{SECRET},1,2\n".encode(),
            f'age,zip,disease\n"{SECRET},1,2\n'.encode(),
            f"age,zip,disease\n{SECRET}\0,1,2\n".encode(),
            f"age,zip,disease\n{SECRET},é,ü\n".encode() + b"\xff\xc3,1,2\n" + "é,ü,é\n".encode() * 9,
            f"age,zip,disease\n{SECRET},1,2\n".encode("utf-16-le"),
        ],
    )
    def test_none_of_them_is_read_as_something_else(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "in.csv"
        path.write_bytes(content)
        for call in (shoal.anonymize, shoal.audit, shoal.explore):
            with pytest.raises((DataError, ColumnError)) as raised:
                call(path, **REQUEST)
            assert SECRET not in str(raised.value)
            assert "in.csv" in str(raised.value)
        for command, more in (("anonymize", ("-o", tmp_path / "out")), ("audit", ()), ("explore", ())):
            code, said = cli(command, path, "--qi", "age,zip", "--sensitive", "disease", "-l", 2, *more)
            assert code == 2, said
            assert SECRET not in said
        assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]

    @pytest.mark.parametrize("header", [f"{SECRET},47,10457\n", "2024-05-17,10456,48\n"])
    def test_without_a_line_of_names_cells_are_not_shown_as_names(self, tmp_path: Path, header: str) -> None:
        (tmp_path / "in.csv").write_text(header + "a,2,3\n")
        with pytest.raises(ColumnError, match="names seem to be a row of the table") as raised:
            shoal.anonymize(tmp_path / "in.csv", **REQUEST)
        assert not any(cell in str(raised.value) for cell in header.strip().split(","))

    def test_a_wrong_encoding_that_was_asked_for(self, tmp_path: Path) -> None:
        (tmp_path / "in.csv").write_text(f"age,zip,disease\n{SECRET} é,1,2\n", encoding="latin-1")
        words = ("anonymize", tmp_path / "in.csv", "--qi", "age,zip", "--sensitive", "disease", "-l", 1)
        code, said = cli(*words, "--encoding", "utf-8", "-o", tmp_path / "out")
        assert (code, "Line 2" in said, SECRET in said) == (2, True, False)
        assert cli(*words, "--encoding", "latin-1", "-o", tmp_path / "out")[0] == 0
        assert "é" in (tmp_path / "out/release.csv").read_text(encoding="utf-8")

    @pytest.mark.parametrize("output", ["x" * 300, "in.csv/out"])
    def test_folders_that_cannot_be(self, tmp_path: Path, output: str) -> None:
        table().write_csv(tmp_path / "in.csv")
        words = ("anonymize", tmp_path / "in.csv", "--qi", "age,zip", "--sensitive", "disease", "-l", 2)
        code, said = cli(*words, "-o", tmp_path / output)
        assert code == 2, said
        assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]

    @pytest.mark.drawn
    def test_a_disk_that_fills_up(self, tmp_path: Path) -> None:
        table(100_000).write_csv(tmp_path / "in.csv")
        words = ["anonymize", "in.csv", "--qi", "age,zip", "--sensitive", "disease", "-l", "2", "-o", "out"]
        limit = 2_000_000  # less than the release, more than any file of compiled code
        found = subprocess.run(
            [sys.executable, "-m", "shoal", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        assert found.returncode == 2, found.stderr
        assert "space" in found.stderr
        assert SECRET not in found.stderr + found.stdout
        assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


def test_a_panic_of_compiled_code_is_a_bug_and_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shoal.verbs.anonymize

    def panic(*_: Any, **__: Any) -> None:
        raise pl.exceptions.PanicException(f"index out of bounds: {SECRET}")

    monkeypatch.setattr(shoal.verbs.anonymize, "anonymize", panic)
    code, said = cli("anonymize", "in.csv", "--qi", "age", "-k", 2, "-o", tmp_path / "out")
    assert (code, SECRET in said) == (70, False), said


class TestManyValues:
    @pytest.mark.drawn
    @pytest.mark.parametrize("role", ["quasi_identifiers", "sensitive", "insensitive"])
    def test_a_column_of_very_many_values(self, role: str) -> None:
        rng = np.random.default_rng(1)
        n = few(600_000)
        data = pl.DataFrame(
            {
                "a": rng.integers(0, 50, n),
                "s": rng.integers(0, 40, n),
                "x": pl.Series(rng.permutation(n)).cast(pl.String) + "x",
            }
        )
        roles = {"quasi_identifiers": ["a"], "sensitive": ["s"]}
        roles[role] = ["x"] if role == "sensitive" else [*roles.get(role, []), "x"]
        data = data.drop("s") if role == "sensitive" else data
        made = shoal.anonymize(data, **roles, privacy=shoal.LDiversity(4), recoding="suppression")
        expected = n if role == "quasi_identifiers" else 0
        assert made.certificate.cost.stars == expected
        assert made.certificate.cost.optimal

    def test_rows_that_are_all_alike(self) -> None:
        data = pl.concat([table()[:1]] * 500)
        made = shoal.anonymize(data, **REQUEST | {"privacy": shoal.KAnonymity(500)})
        assert made.certificate.cost.optimal
        with pytest.raises(InfeasibleError, match="largest feasible l is 1"):
            shoal.anonymize(data, **REQUEST)

    def test_the_commonest_value_has_exactly_its_share(self) -> None:
        rng = np.random.default_rng(2)
        values = np.r_[np.zeros(200), rng.integers(1, 50, 800)].astype(int)
        data = pl.DataFrame({"a": rng.integers(0, 9, 1_000), "b": rng.integers(0, 9, 1_000), "s": values})
        request: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "sensitive": "s"}
        for algorithm in MONOTONE:
            made = shoal.anonymize(data, **request, privacy=shoal.LDiversity(5), algorithm=algorithm)
            assert made.certificate.achieved["l"]["frequency"] == 5.0
            with pytest.raises(InfeasibleError, match="largest feasible l is 5"):
                shoal.anonymize(data, **request, privacy=shoal.LDiversity(6), algorithm=algorithm)


def places_of(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places below a value of JSON, the first four of each list."""
    keys = list(node) if isinstance(node, dict) else range(min(len(node), 4)) if isinstance(node, list) else ()
    return [found for key in keys for found in ((*path, key), *places_of(node[key], (*path, key)))]


def test_damaged_plans_and_certificates_are_errors_of_ours(tmp_path: Path) -> None:
    """One place is removed, or has a value of another kind: no raw exception, and no internal error."""
    data = pl.DataFrame({"age": [20 + at % 30 for at in range(ROWS)], "ill": ["xyz"[at % 3] for at in range(ROWS)]})
    data.write_csv(tmp_path / "in.csv")
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill", "k": 3, "seed": 1}
    made = shoal.anonymize(data, **asked, coarsen={"age": shoal.Bins(10)}, recoding="generalization")
    made.save(tmp_path / "out")
    odd: list[Any] = [None, True, -1, 10**30, 1.5, "", "x", [], {}, [None], {"x": 1}, [[]], ["x", "x"]]
    plan, certificate = tmp_path / "out.private/plan.json", tmp_path / "out/certificate.json"
    doors = [
        (plan, ["apply", str(plan), str(tmp_path / "in.csv"), "-o", str(tmp_path / "new"), "--force"]),
        (certificate, ["audit", str(tmp_path / "out")]),
        (certificate, ["report", str(tmp_path / "out"), "--utility", str(tmp_path / "in.csv")]),
        (certificate, ["report", str(tmp_path / "out"), "--metadata", "croissant"]),
    ]
    for number in range(few(80)):
        rng, (file, words) = np.random.default_rng(number), doors[number % len(doors)]
        whole = file.read_text("utf-8")
        if number < len(doors):
            assert CliRunner().invoke(app, words).exit_code == 0, words
        facts = json.loads(whole)
        paths = places_of(facts)
        *path, last = paths[rng.integers(len(paths))]
        node = facts
        for key in path:
            node = node[key]
        if rng.random() < 0.25:
            del node[last]
        else:
            node[last] = odd[rng.integers(len(odd))]
        file.write_text(json.dumps(facts), "utf-8")
        done = CliRunner().invoke(app, words)
        assert done.exit_code in (0, 1, 2, 3), (words[0], path, last, done.output)
        file.write_text(whole, "utf-8")
