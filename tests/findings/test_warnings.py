"""Each warning is raised where it should be, in the words of those who read it, and tells readers nothing new."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import shlex
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal._core.words import visible
from shoal._messages import PYTHON, Suggestion
from shoal.cli.command import Flags
from shoal.cli.main import app
from shoal.errors import DataError, WarnedError
from shoal.findings import WARNINGS, alike_warnings, column_warnings, how_to_coarsen, published_warnings
from shoal.models.feasible import drop_columns
from shoal.models.requirement import Requirement
from shoal.request.texts import columns_and_words, names_in
from shoal.studio.words import SCREENS
from shoal.table import Schema, find_separator
from shoal.verification import Achieved, MeasuredTable
from shoal.wording import sentence, sentences

ROWS = 40
SECRET = "Zyzzyva"
FLAGS = Flags(
    {
        "k": "-k",
        "quasi_identifiers": "--qi",
        "l": "-l",
        "t": "-t",
        "direct_identifiers": "--id",
        "coarsen": "--coarsen",
        "hierarchies": "--hierarchy",
        "largest_set": "--largest-set",
        "exact_ends": "--exact-ends",
        "recoding": "--recoding",
        "dates": "--date",
        "normalize": "--normalize",
        "spreadsheet_safe": "--spreadsheet-safe",
        "person": "--person",
        "rows_per_person": "--rows-per-person",
        "lists": "--list",
    }
)
PLAIN = {"sex": ["f", "m"] * (ROWS // 2), "disease": [f"d{row // 2 % 4}" for row in range(ROWS)]}


ASKED: dict[str, Any] = {
    "quasi_identifiers": ["sex"],
    "sensitive": "disease",
    "privacy": shoal.KAnonymity(5),
    "seed": 0,
}


def released(table: dict[str, Any], **request: Any) -> shoal.Release:
    return shoal.anonymize(pl.DataFrame(PLAIN | table), **ASKED | request)


def test_nothing_to_warn_of() -> None:
    release = released({"ward": ["a", "b", "b", "a"] * (ROWS // 4)}, insensitive=["ward"])
    assert release.warnings == ()
    assert release.certificate.to_dict()["warnings"] == release.public_certificate.to_dict()["warnings"] == []


STREETS = [f"{SECRET} {row:02}" for row in range(ROWS)]
CASES: list[tuple[str, str | None, dict[str, Any], dict[str, Any], str, str]] = [
    (
        *("published_names", "LAST"),
        {"LAST": [f"{SECRET}{'abcdefgh'[row // 5]}" for row in range(ROWS)]},
        {"quasi_identifiers": ["sex", "LAST"], "recoding": "generalization"},
        *("direct_identifiers=['LAST']", "--id LAST"),
    ),
    (
        *("lists_in_cells", "codes"),
        {"codes": [("I10;E11", "E11;I10", "I10", "J45;I10")[row % 4] for row in range(ROWS)]},
        {"sensitive": ["disease", "codes"]},
        *("lists={'codes': ';'}", "--list 'codes=;'"),
    ),
    (
        *("lists_in_cells", "codes"),
        {"codes": [("I10;E11", "E11;I10", "I10", "J45;I10")[row % 4] for row in range(ROWS)]},
        {"quasi_identifiers": ["sex", "codes"], "recoding": "generalization"},
        *("one column of each value", "one column of each value"),
    ),
    (
        *("no_quasi_identifiers", None),
        {},
        {"quasi_identifiers": [], "sensitive": ["sex", "disease"]},
        *("the 'quasi_identifiers' parameter", "--qi"),
    ),
    # Code, column, table, request, and what is advised in Python and by flags.
    (
        *("near_unique_insensitive", "note"),
        {"note": [*range(21), *[99] * 19]},
        {"insensitive": ["note"]},
        *("direct_identifiers=['note']", "--id note"),
    ),
    (
        *("near_unique_insensitive", "hour"),
        {"hour": [row // 5 for row in range(ROWS)], "ward": [row % 5 for row in range(ROWS)]},
        {"insensitive": ["hour", "ward"]},
        *("a quasi-identifier", "or drop it"),
    ),
    (
        *("near_unique_insensitive", None),
        {"hour": [row // 8 for row in range(ROWS)], "ward": [*[0] * 38, 1, 2]},
        {"insensitive": ["hour", "ward"]},
        *("direct_identifiers=['ward']", "--id ward"),
    ),
    (
        *("near_unique_sensitive", "pay"),
        {"pay": [row * 1.25 for row in range(ROWS)]},
        {"sensitive": ["disease", "pay"], "privacy": shoal.KAnonymity(5)},
        *("direct_identifiers=['pay']", "--id pay"),
    ),
    (
        *("large_sets", "street"),
        {"street": STREETS},
        {
            "quasi_identifiers": ["sex", "street"],
            "recoding": "generalization",
            "algorithm": "mondrian",
            "exact_ends": True,
        },
        *("largest_set=4", "--largest-set 4"),
    ),
    (
        *("exact_ends", None),
        {"age": [20 + row for row in range(ROWS)]},
        {"quasi_identifiers": ["sex", "age"], "recoding": "generalization", "exact_ends": True},
        *("without exact_ends=True", "without --exact-ends"),
    ),
    (
        *("mostly_stars", "age"),
        {"age": [20 + row for row in range(ROWS)]},
        {"quasi_identifiers": ["sex", "age"], "recoding": "suppression"},
        *("coarsen={'age': shoal.Bins(10)}", "--coarsen age=bins:10"),
    ),
    (
        *("mostly_stars", "street"),
        {"street": STREETS},
        {"quasi_identifiers": ["sex", "street"], "recoding": "suppression"},
        *("hierarchies={'street': 'FILE'} with recoding='generalization'", "--hierarchy street=FILE with --recoding"),
    ),
    (
        *("mostly_stars", "age"),
        {"age": [20 + row for row in range(ROWS)]},
        {"quasi_identifiers": ["sex", "age"], "coarsen": {"age": shoal.Round(2)}, "recoding": "suppression"},
        *("direct_identifiers=['age']", "coarser still, or drop it (--id age)"),
    ),
    (
        *("small_k", None),
        {"sex": [*["f"] * 38, *["m"] * 2]},
        {"privacy": shoal.KAnonymity(2)},
        *("shoal.KAnonymity(5)", "-k 5"),
    ),
    (*("small_l", "disease"), {"disease": PLAIN["sex"]}, {}, "shoal.LDiversity(2)", "-l 2"),
    (
        *("dominant_value", "disease"),
        {"disease": [*["flu"] * 30, *"abcdefghij"]},
        {},
        *("shoal.TCloseness(0.2)", "-t 0.2"),
    ),
    (
        *("values_read_alike", "disease"),
        {"disease": [["asthma", "Asthma", "cough", "cold  sore", "cold sore"][row // 2 % 5] for row in range(ROWS)]},
        {},
        *("normalize=True", "--normalize"),
    ),
    (
        *("values_read_alike", "sex"),
        {"sex": [["f", "m", "f ", "\uff4d"][row % 4] for row in range(ROWS)]},
        {},
        *("normalize=True", "--normalize"),
    ),
    (
        *("formula_cells", "disease"),
        {"disease": [["=1+1", "@x", "-5", "+4,5"][row // 2 % 4] for row in range(ROWS)]},
        {},
        *("release.save(..., spreadsheet_safe=True)", "--spreadsheet-safe"),
    ),
    (
        *("formula_cells", "note"),
        {"note": ["\tx", "y"] * (ROWS // 2)},
        {"insensitive": ["note"]},
        *("release.save(..., spreadsheet_safe=True)", "--spreadsheet-safe"),
    ),
    (
        *("repeated_person", "patient_id"),
        {"patient_id": [row // 2 for row in range(ROWS)]},
        {"direct_identifiers": ["patient_id"]},
        *("person='patient_id': groups count persons", "Name the column of persons, --person patient_id"),
    ),
    (
        *("respelled_persons", "pcode"),
        {"pcode": [f"{'pP'[row % 2]}{row // 4}" for row in range(ROWS)]},
        {"person": "pcode", "privacy": [shoal.KAnonymity(2)]},
        *("write them alike in the input", "20 values of 'pcode' differ"),
    ),
    (
        *("sure_of_persons", "disease"),
        {"pcode": [row // 4 for row in range(ROWS)], "disease": ["a", "b", "c", "d"] * (ROWS // 4)},
        {"person": "pcode", "privacy": [shoal.KAnonymity(2), shoal.LDiversity(4)]},
        *("rows_per_person=1", "10 of 10 persons (pcode), all their records together reveal some value of 'disease'"),
    ),
    (
        *("uncounted_persons", None),
        {"pcode": [row // 4 for row in range(ROWS)], "disease": ["a", "b", "c", "d"] * (ROWS // 4)},
        {"person": "pcode", "privacy": [shoal.LDiversity(4)]},
        *("as well: k=5.", "as well: -k 5."),
    ),
    (
        *("published_person", "pcode"),
        {
            "pcode": [row // 4 for row in range(ROWS)],
            "stay": [f"s{row // 4}" for row in range(ROWS)],
            "age": [row // 4 % 3 for row in range(ROWS)],
            "sex": ["fm"[row // 4 % 2] for row in range(ROWS)],
            "disease": ["a", "b", "c", "d"] * (ROWS // 4),
        },
        {"quasi_identifiers": ["sex", "age"], "person": "stay", "insensitive": ["pcode"], "k": 2, "privacy": []},
        *("direct_identifiers=['pcode']", "--id pcode"),
    ),
    (
        *("unread_dates", "born"),
        {"born": [*[f"{1 + row % 28}.12.1980" for row in range(ROWS - 1)], "unknown"]},
        {"quasi_identifiers": ["sex", "born"]},
        *("dates={'born':", "--date born="),
    ),
    (
        *("derived_missing", "years"),
        {"born": [*[f"{1 + row % 28}.12.1980" for row in range(ROWS - 2)], "unknown", "1.1.2026"]},
        {
            "quasi_identifiers": ["sex", "years"],
            "direct_identifiers": ["born"],
            "derive": {"years": "years:born:2025-12-31:%d.%m.%Y"},
        },
        *("missing in 2 record(s): in 1 a date", "in 1 the second date is before the first."),
    ),
]  # fmt: skip


@pytest.mark.drawn
@every(("code", "column", "table", "request_", "python", "flags"), CASES)
def test_each_is_raised_with_what_to_do_in_two_voices(
    code: str, column: str | None, table: dict[str, Any], request_: dict[str, Any], python: str, flags: str
) -> None:
    release = released(table, **request_)
    found = [one for one in release.warnings if (one.code, one.column) == (code, column)]
    assert len(found) == 1, [one.text for one in release.warnings]
    remark = found[0]
    assert python in remark.render(PYTHON)
    assert python in remark.text
    assert flags in remark.render(FLAGS)
    assert remark.render(FLAGS).endswith(".")
    written = next(one for one in release.certificate.to_dict()["warnings"] if one["text"] == remark.text)
    assert (written["code"], written["column"]) == (code, column)
    assert sentences((written["found"], written["advice"])) == remark.text, "the codes and the sentences are the same"
    told = [one for one in release.public_certificate.to_dict()["warnings"] if one["code"] == code]
    assert bool(told) == WARNINGS[code].public
    for one in told:
        assert one["text"] in [sentence(raised.found) for raised in release.warnings]
        assert python not in one["text"]
        assert one["text"] == sentence(one["found"])
    everything = json.dumps(
        [release.certificate.to_dict()["warnings"], [one.render(FLAGS) for one in release.warnings]]
    )
    assert SECRET not in everything
    assert "flu" not in everything


def test_every_warning_of_a_release_has_a_case_and_the_page_lists_all() -> None:
    of_files = {"rows_below"}  # tests/io/test_workbooks.py
    assert {case[0] for case in CASES} | of_files == {one.code for one in WARNINGS.values() if "release" in one.by}
    page = (Path(__file__).parents[2] / "docs/guide/warnings.md").read_text(encoding="utf-8")
    rows = [f"| `{one.code}` | {one.when} | {one.why} |" for one in WARNINGS.values()]
    assert [row for row in page.splitlines() if row.startswith("| `")] == rows
    listed = CliRunner().invoke(app, ["list", "warnings", "--json"])
    assert [one["name"] for one in json.loads(listed.stdout)["warnings"]] == list(WARNINGS)


@pytest.mark.drawn
def test_an_evaluation_names_all_that_a_release_warns_of_except_what_its_groups_show() -> None:
    of_groups = {"large_sets", "exact_ends", "mostly_stars", "small_k", "small_l"}
    for code, column, table, request_, _, _ in CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = released(table, **request_)
        evaluation = shoal.evaluate(pl.DataFrame(PLAIN | table), **ASKED | request_)
        named = {(one.code, one.column) for one in evaluation.warnings}
        missed = {(one.code, one.column) for one in release.warnings if one.code not in of_groups} - named
        assert not missed, (code, column)
        assert all("inspect" in WARNINGS[one].by for one, _ in named)


def test_pairs_and_records_are_counted() -> None:
    table = {"disease": [*["Flu"] * 10, *["flu"] * 10, *["FLU"] * 5, *["cough"] * 15]}
    (remark,) = (one for one in released(table).warnings if one.code == "values_read_alike")
    assert remark.text.startswith("3 pair(s) of values of 'disease'")
    assert " and 25 records show one of them." in remark.text


def test_published_sets_and_intervals_read_like_no_value() -> None:
    for cells in (["{asian, white}", "asian, white"], ["[1, 2)", "(1, 2)"]):
        assert not [*alike_warnings(pl.Series("x", cells))], cells
        assert not [*alike_warnings(pl.Series("x", [*cells, "NA"]))], cells
    for cells in (["(hiv)", "hiv"], ["asian, white", "asian white"], ["{a, b}", "flu", "Flu"]):
        assert [one.code for one in alike_warnings(pl.Series("x", cells))] == ["values_read_alike"], cells


def test_dates_that_cannot_be_read_are_counted_in_records_also_if_equal_rows_were_counted() -> None:
    dates = ["01/02/2020", "05/02/2020"] * 20 + ["9999-99-99"] * 30
    data = pl.DataFrame({"died": dates, "age": [1, 2, 1, 2, 1] * 14})
    roles = {"quasi_identifiers": ["died", "age"], "k": 2, "seed": 1}
    for engine, place in (("memory", ", the first in row 41"), ("stream", "")):
        found = shoal.anonymize(data if engine == "memory" else data.lazy(), engine=engine, **roles).warnings
        (remark,) = (one for one in found if "looks like dates" in one.text)
        assert f"30 of its values are none{place}: it is taken" in remark.text
    with pytest.raises(DataError, match=r"of the format '%d/%m/%Y'\."):
        shoal.anonymize(data.lazy(), engine="stream", dates={"died": "%d/%m/%Y"}, **roles)


def test_numbers_are_no_formulas_and_files_for_spreadsheets_have_none(tmp_path: Path) -> None:
    numbers = ["-5", "+3", "-1.5", "-1,234.5", "+.5", "-2e-3", "-7%", "5"]
    assert released({"disease": [numbers[row // 2 % 8] for row in range(ROWS)]}).warnings == ()
    release = released({"disease": [["=1+1", "+49 (0)", "-x", "d"][row // 2 % 4] for row in range(ROWS)]})
    (remark,) = release.warnings
    assert (remark.code, remark.text[:12]) == ("formula_cells", "30 record(s)")
    with pytest.raises(WarnedError, match="formula"):
        release.save(tmp_path / "refused", strict=True)
    assert [one["code"] for one in release.save(tmp_path / "plain").to_dict()["warnings"]] == ["formula_cells"]
    answers: list[dict[str, Any]] = [{"spreadsheet_safe": True}, {"format": "parquet"}, {"format": "xlsx"}]
    for number, answer in enumerate(answers):
        assert release.save(tmp_path / f"safe-{number}", strict=True, **answer).to_dict()["warnings"] == []
        public = json.loads((tmp_path / f"safe-{number}" / "certificate.json").read_text("utf-8"))
        assert public["warnings"] == []


def test_strictness_writes_nothing(tmp_path: Path) -> None:
    release = released({"note": range(ROWS)}, insensitive=["note"])
    with pytest.raises(WarnedError, match=r"(?s)1 warning, .*direct_identifiers=\['note'\]") as refused:
        release.save(tmp_path / "out", strict=True)
    assert refused.value.warnings == release.warnings
    assert "(--id note" in refused.value.render(FLAGS).replace("\n", " ")
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    assert list(tmp_path.iterdir()) == []
    release.save(tmp_path / "out")
    released({}).save(tmp_path / "clean", strict=True)


def test_the_command_line_says_them_in_flags_and_so_do_its_files(tmp_path: Path) -> None:
    table = pl.DataFrame(PLAIN | {"note": range(ROWS), "born": [*["31.12.1980"] * (ROWS - 1), "unknown"]})
    table.write_csv(tmp_path / "in.csv")
    words = f"anonymize {tmp_path}/in.csv --qi sex,born --sensitive disease --insensitive note -k 5 -o {tmp_path}/out"
    told = CliRunner().invoke(app, words.split())
    assert told.exit_code == 0
    said = " ".join(told.stdout.split())
    assert "Warning: 100% of the records have a value of 'note' of their own" in said
    assert "--id note" in said
    assert "'born' looks like dates" in told.stderr
    assert "'born' looks like dates" not in said, "it was said when the file was read"
    private = json.loads((tmp_path / "out.private/certificate.json").read_text())
    assert [one["code"] for one in private["warnings"]] == ["near_unique_insensitive", "unread_dates"]
    assert "--id note" in private["warnings"][0]["text"]
    assert "born=%d.%m.%Y" in private["warnings"][1]["text"]
    public = json.loads((tmp_path / "out/certificate.json").read_text())
    assert [one["code"] for one in public["warnings"]] == ["near_unique_insensitive"]
    assert "--" not in public["warnings"][0]["text"]
    refused = CliRunner().invoke(app, [*words.split(), "--strict", "--force"])
    assert refused.exit_code == 1
    assert "2 warnings" in refused.stderr
    assert json.loads((tmp_path / "out.private/certificate.json").read_text()) == private


def test_sets_in_quotes_and_missing_members_are_counted() -> None:
    cells = [f'{{"a, {row}", b{row}, c{row}, "d\\"{row}", e{row}}}' for row in range(4)]
    frame = pl.DataFrame({"q": [cell for cell in cells for _ in range(5)]})
    found = list(
        published_warnings(
            MeasuredTable(frame, ["q"]),
            Schema(quasi_identifiers=("q",)),
            star="*",
            coarse=(),
            coarser=lambda name: how_to_coarsen(pl.Series(["a", "b"]), name, recoding="generalization"),
        )
    )
    assert [one.code for one in found] == ["large_sets"]
    assert "100% of the records" in found[0].text
    assert "20 different ones" in found[0].text
    intervals = pl.DataFrame({"q": ['{"[1, 2]", "[5, 6]"}', "[1, 2]", "*", None]})
    assert not list(
        published_warnings(
            MeasuredTable(pl.concat([intervals] * 5), ["q"]),
            Schema(quasi_identifiers=("q",)),
            star="*",
            coarse=(),
            coarser=lambda name: name,
        )
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_shares_are_their_definitions(data: st.DataObject) -> None:
    rows = data.draw(st.integers(5, 14))
    values = st.none() | st.integers(0, 6)
    table = {name: data.draw(st.lists(values, min_size=rows, max_size=rows)) for name in "ab"}
    frame = pl.DataFrame({"q": ["x"] * rows, **table}, schema_overrides={"a": pl.Int64, "b": pl.Int64})
    found = list(
        published_warnings(
            MeasuredTable(frame, ["q"]),
            Schema(quasi_identifiers=("q",), insensitive=("a", "b")),
            star="*",
            coarse=(),
            coarser=lambda name: name,
        )
    )
    alone = {name: Counter(column) for name, column in table.items()}
    own = {
        name: sum(alone[name][value] == 1 for value in column if value is not None) / rows
        for name, column in table.items()
    }
    expected = [name for name in "ab" if own[name] >= 0.5]
    pairs = list(zip(table["a"], table["b"], strict=True))
    together = sum(pairs.count(pair) == 1 for pair in pairs if pair != (None, None)) / rows
    distinct = len(alone["a"]) * len(alone["b"])
    warned = [own[name] for name in expected]
    if not expected and together >= 0.5 and distinct >= 0.5 * rows:
        expected, warned = ["a"], [together]
    # All columns together are a warning if they make more records unique than the others state.
    assert [one.column for one in found] == [*expected, *[None] * (together > max(warned, default=0))]
    outside = shoal.audit(frame, quasi_identifiers=["q"]).warnings
    assert [(one.column, one.found) for one in outside] == [(one.column, one.found) for one in found]
    # Rows with multiplicities stand for as many records.
    cells = frame.group_by("a", "b").len()
    assert list(column_warnings(cells, ["a", "b"], times=cells["len"].cast(pl.Int64))) == found


def test_the_guide_has_the_catalogue() -> None:
    guide = (Path(__file__).parents[2] / "docs/guide/warnings.md").read_text("utf-8")
    assert "\n".join(f"| `{one.code}` | {one.when} | {one.why} |" for one in WARNINGS.values()) in guide
    assert ", ".join(f"`{one.code}`" for one in WARNINGS.values() if one.public) in guide


@pytest.mark.parametrize(
    ("cells", "l", "code"), [("hiv;b HIV;c", 2, "values_read_alike"), ("a;b a;c", None, "small_l")]
)
def test_values_within_lists(cells: str, l: int | None, code: str) -> None:
    """The cells differ, and single values read alike, or are those of all records of a group."""
    frame = pl.DataFrame({"age": [row // 4 for row in range(40)], "codes": cells.split() * 20})
    request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "codes", "k": 4, "l": l, "seed": 1}
    made = shoal.anonymize(frame, **request, lists={"codes": ";"})
    (found,) = [one for one in made.warnings if one.code == code]
    assert found.column == "codes"
    assert (
        "Some records with the same published quasi-identifiers all have one value of"
        if code == "small_l"
        else "40 records show one of them"
    ) in found.text
    assert "Each list of values was attacked as one value" in " ".join(
        shoal.attacks.homogeneity_attack(made).sentences()
    )
    assert code not in [one.code for one in shoal.anonymize(frame, **request).warnings]


def test_a_column_of_numbers_with_a_code_is_to_be_replaced_before_it_is_coarsened() -> None:
    numbers = [f"{weight},5" for weight in range(50, 99)]
    found = how_to_coarsen(pl.Series([*numbers, "Zyzzyva"]), "weight", recoding="generalization")
    assert sentence(found).startswith("replace_values={'weight': {'TEXT': None}}")
    assert "Zyzzyva" not in repr(found)
    few = how_to_coarsen(pl.Series([*numbers[:9], "a", "b", "c"]), "weight", recoding="generalization")
    assert "replace" not in str(few)


@every("name", ["a,b", "x=y", 'say "so"', "it's", "a:b", "age\u202e"])
def test_advice_about_columns_is_a_command_that_names_them(name: str) -> None:
    coarsen = how_to_coarsen(pl.Series(range(0, 900, 7)), name, recoding="suppression")
    assert isinstance(coarsen, Suggestion)
    given = _word_of(coarsen)
    ((names, words),) = columns_and_words("--coarsen", [given], listed=True).items()
    assert (names_in("--coarsen", [names]), words[:5]) == ((name,), "bins:")
    # The studio shows the name itself, with escapes of what is invisible.
    assert visible(name) + ": " in coarsen.render(SCREENS)
    hierarchy = how_to_coarsen(pl.Series(["a", "b"]), name, recoding="generalization")
    assert columns_and_words("--hierarchy", [_word_of(hierarchy)]) == {name: "FILE"}
    dropped = drop_columns([name, "other"])
    assert names_in("--drop", [_word_of(dropped)]) == (name, "other")


def _word_of(suggestion: Any) -> str:
    """Return the word that a shell makes of a suggested value."""
    text = str(suggestion.value)
    if text.startswith("$'"):
        return text[2:-1].encode().decode("unicode_escape")
    (word,) = shlex.split(text)
    return word


def test_advice_names_the_sensitive_column_that_alone_is_at_the_limit() -> None:
    frame = pl.DataFrame({"q": ["*"] * 40, "cost": ["a"] * 39 + ["b"]})
    said = []
    for t, requested in ((0.199, 0.2), (0.05, 0.2), (0.199, None)):
        asked = [Requirement.of(shoal.TCloseness(requested), ["cost"])] if requested else []
        table = MeasuredTable(frame, ["q"], ["cost"], *asked)
        vars(table)["achieved"] = Achieved(k=40, groups=1, l_frequency=1, t={"cost": t, "other": 0.058})
        found = published_warnings(
            table,
            Schema(quasi_identifiers=("q",), sensitive=("cost",)),
            star="*",
            coarse=(),
            coarser=lambda name: how_to_coarsen(pl.Series(["a", "b"]), name, recoding="suppression"),
        )
        said.append(" ".join(one.text for one in found))
    assert "because of 'cost' (t = 0.199 of 0.2; the others at most 0.058)" in said[0]
    assert "because of" not in said[1]
    assert "groups that are like the table" not in said[0], "it was requested"
    assert "because of" not in said[2]
    assert "groups that are like the table" in said[2]


def list_checked() -> list[tuple[str, pl.DataFrame, dict[str, Any], str]]:
    """Tables on which nobody asked for persons, names or lists: the code of the warning and a part of its text."""
    days = pl.int_range(600, eager=True)
    many = pl.DataFrame({"ward": days % 4, "shift": days % 3, "pulse": days % 7})
    people = pl.DataFrame({"age": 20 + days % 50, "sex": days % 2})
    of_row = [dt.date(2020, 1, 1) + dt.timedelta(days=at // 2) for at in range(600)]
    two_dates = people.with_columns(diagnosed=pl.Series(of_row), operated=pl.Series(of_row[1:] + of_row[:1]))
    names = people.with_columns(LAST=pl.Series([f"Name{'abcdefghij'[at % 10]}" for at in range(600)]))
    lists = people.with_columns(codes=pl.Series([("I10;E11", "E11;J45", "J45;I10")[at % 3] for at in range(600)]))
    return [
        (
            "repeated_person",
            # Few persons with many rows, each of whom has one shift.
            many.with_columns(patient_id=days // 24),
            {"quasi_identifiers": ["ward", "shift"], "sensitive": "pulse", "direct_identifiers": ["patient_id"]},
            "600 rows of 25 values of 'patient_id', at most 24 of one, and the group with the fewest of them has 25",
        ),
        (
            "near_unique_insensitive",
            two_dates,
            {"quasi_identifiers": ["age", "sex"], "sensitive": ["diagnosed", "operated"]},
            "600 records are unique by the columns that are published as they are, all together: 'diagnosed' and",
        ),
        (
            "near_unique_insensitive",
            two_dates,
            {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosed", "insensitive": ["operated"]},
            "600 records are unique by the columns that are published as they are, all together: ",
        ),
        ("published_names", names, {"quasi_identifiers": ["age", "sex", "LAST"]}, "'LAST' seems to hold names"),
        ("published_names", names, {"quasi_identifiers": ["age", "sex"], "insensitive": ["LAST"]}, "'LAST'"),
        ("lists_in_cells", lists, {"quasi_identifiers": ["age", "sex"], "sensitive": "codes"}, "values with ';'"),
    ]


@pytest.mark.drawn
def test_one_check_when_a_table_is_published_in_every_engine(tmp_path: Path) -> None:
    for code, table, asked, text in list_checked():
        for engine in ("memory", "stream"):
            release = shoal.anonymize(table, **asked, k=5, seed=1, recoding="generalization", engine=engine)
            (found,) = (one for one in release.warnings if one.code == code)
            assert text in found.text, (engine, found.text)
            assert code in [one["code"] for one in release.certificate.to_dict()["warnings"]]
            with pytest.raises(WarnedError):
                release.save(tmp_path / "out", strict=True)


def test_lists_declared_and_names_of_towns_are_no_alarm() -> None:
    table = pl.DataFrame({"age": [20, 30] * 30, "codes": ["I10;E11", "E11;I10", "J45"] * 20})
    release = shoal.anonymize(table, quasi_identifiers=["age"], sensitive="codes", k=5, lists={"codes": ";"})
    assert not release.warnings
    for cells in (["Bonn, NRW", "Köln, NRW"], ["03/04/2020", "04/03/2020"], ["120/80", "80/120"], ["a", "b"]):
        assert find_separator(pl.Series(cells * 10)) is None


def test_an_audit_has_the_check_of_a_release() -> None:
    """Sensitive columns together, names of persons and lists, in any column of a table of any tool."""
    frame = pl.DataFrame(
        {
            "age": [row // 10 for row in range(ROWS)],
            "ill": [row % 8 for row in range(ROWS)],
            "seen": [row // 5 for row in range(ROWS)],
            "codes": [("I10;E11", "E11;I10")[row % 2] for row in range(ROWS)],
            "LAST": [f"{SECRET}{'abcdefgh'[row % 8]}" for row in range(ROWS)],
        }
    )
    found = shoal.audit(frame, quasi_identifiers=["age"], sensitive=["ill", "seen"]).warnings
    assert {("near_unique_insensitive", None), ("published_names", "LAST"), ("lists_in_cells", "codes")} <= {
        (one.code, one.column) for one in found
    }
    assert SECRET not in " ".join(one.text for one in found)


def test_all_candidates_for_the_persons_are_named() -> None:
    frame = pl.DataFrame(
        {"age": [20 + row // 4 for row in range(80)], "patient_id": [row // 4 for row in range(80)]}
    ).with_columns(mail=pl.format("a{}@example.org", "patient_id"), ill=pl.int_range(80) % 5)
    made = shoal.anonymize(
        frame, quasi_identifiers=["age"], sensitive="ill", direct_identifiers=["patient_id", "mail"], k=5, seed=1
    )
    (one,) = [one for one in made.warnings if one.code == "repeated_person"]
    assert one.text.count("'patient_id'") >= 1
    assert "'mail'" in one.text


def test_values_that_need_no_protection_are_no_finding() -> None:
    table = pl.DataFrame({"age": [20 + row % 40 for row in range(400)], "hiv": ["yes", *["no"] * 9] * 40})
    asked = {"quasi_identifiers": ["age"], "sensitive": "hiv", "k": 5, "seed": 1}
    plain = shoal.anonymize(table, **asked)
    assert {one.code for one in plain.warnings} == {"small_l", "dominant_value"}
    assert shoal.anonymize(table, **asked, l=2, harmless="no").warnings == ()
