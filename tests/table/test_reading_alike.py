"""Values that read alike, against definitions in plain Python."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal._messages import PYTHON
from shoal.errors import DataError
from shoal.table import check_distinguishable, count_alike, normalize_columns

SHOWN = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that have a shape."""
IGNORED = {0x34F, 0x115F, 0x1160, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x180B}
"""Invisible characters that are neither format nor control characters."""
HIDDEN = "\u200b\u200d\u00ad\u202e\ufeff\ufe0f\U000e0041\x00\x1b\u3164\u034f\u2066"
BLANKS = " \t\n\u00a0\u2003\u3000\u2800"
NUMBERS = "0015.,-+\u2013\u2019\u0661"
LETTERS = "\u041d\u0421\u0441\u0391\u03bfcCoaAhHbß\u017f\u03c2\u03c3\u03a3ée\u0301\ufb01\uff48\uff111½x\u0601"
LIKE_LATIN = str.maketrans("\u041d\u0421\u0441\u0391\u03bf", "HCcAo")
"""Some Cyrillic and Greek letters that look like Latin ones."""
TEXTS = st.text(st.sampled_from(HIDDEN + BLANKS + NUMBERS + LETTERS), max_size=6)


def plain(text: str) -> str:
    def invisible(one: str) -> bool:
        return (
            not one.isspace()
            and ord(one) not in SHOWN
            and (unicodedata.category(one) in ("Cf", "Cc") or ord(one) in IGNORED)
        )

    return unicodedata.normalize("NFC", "".join(one for one in text if not invisible(one)).strip(BLANKS))


def folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", plain(text))
    scripts = {unicodedata.name(one, "").split()[0] for one in text if one.isalpha()}
    if scripts & {"CYRILLIC", "GREEK"} and re.search("[A-Za-z]", text):
        text = text.translate(LIKE_LATIN)
    text = unicodedata.normalize("NFKC", text.casefold())
    text = " ".join("".join(" " if one in BLANKS else one for one in text).split())
    return of_words(
        of_number(text.replace("i\u0307", "i").translate({0x2044: "/", 0x2013: "-", 0x2019: "'", 0x661: "1"}))
    )


def of_words(text: str) -> str:
    """Drop punctuation between and around words, but not between digits."""
    if not any(one.isalpha() for one in text):
        return text

    def dropped(run: re.Match[str]) -> str:
        before, after = text[: run.start()], text[run.end() :]
        return run[0] if re.search("[0-9]$", before) and re.match("[0-9]", after) else ""

    stopped = re.sub("[.,']+", dropped, text)
    return re.sub(r"(?<=[^\W\d_])-(?=[^\W_])|(?<=[0-9])-(?=[^\W\d_])", "", stopped).strip(" ")


def of_number(text: str) -> str:
    if re.fullmatch("[+-]?[0-9]{1,3}([ ',][0-9]{3})+", text):
        text = re.sub("[ ',]", "", text)
    number = re.fullmatch("[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+|[0-9]+([.,][0-9]+)?e[+-]?[0-9]{1,2})", text)
    if re.fullmatch("[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}|[0-9]{4}(-[0-9]{1,2}){2}", text):
        return re.sub(r"\b0([0-9])", r"\1", text)
    # An equals sign keeps 0.5 from the text 1/2.
    return f"={Fraction(text.replace(',', '.'))}" if number else text


def normalized(values: list[str | None], kind: Any = pl.String) -> list[str | None]:
    return normalize_columns(pl.LazyFrame({"*": pl.Series(values, dtype=kind)}), ["*"]).collect()["*"].to_list()


def test_letters_of_another_alphabet_within_latin_text_read_alike() -> None:
    assert count_alike(pl.Series(["HIV", "\u041dIV", "5 mg", "5 \u03bcg", "\u0421\u041e\u041d"]))[0] == 1
    assert count_alike(pl.Series(["COH", "\u0421\u041e\u041d"]))[0] == 0, "a word of one alphabet is what it is"


@every(
    "twins",
    [
        *(["1", "1.0", "01", "+1", "1,00", "1."], ["1000", "1,000", "1 000", "1'000", "1e3"], ["0", "-0", "0.0"]),
        *(["\u00bd", "1/2"], ["HIV-1", "HIV\u20131", "HIV\u20101"], ["O'x", "O\u2019x"]),
        *(["3", "\u0663"], ["i", "\u0131"], ["HIV", "HIV.", "(hiv)", "H.I.V."], ["flu, acute", "flu acute"]),
        *(["X-ray", "Xray"], ["n.a.", "NA"], ["a-b-c", "abc"]),
        *(["1.2.1990", "01.02.1990"], ["1990-2-1", "1990-02-01"], ["NA", "null", None], [0.3, 0.1 + 0.2]),
        ["12345678901234567890", "12345678901234567890.0"],
    ],
)  # fmt: skip
def test_forms_of_a_value_read_alike(twins: list[Any]) -> None:
    pairs, alike = count_alike(pl.Series(twins))
    assert pairs == len(twins) * (len(twins) - 1) // 2
    assert set(alike) == set(twins) - {None}
    made = shoal.anonymize(
        pl.DataFrame({"zip": [1] * 10 * len(twins), "disease": twins * 10}),
        quasi_identifiers=["zip"], sensitive="disease", l=len(twins), missing_sensitive="value",
    )  # fmt: skip
    assert "values_read_alike" in made.public_certificate.to_json()


@every(
    "different",
    [["1", "10", "100"], ["12345678901234567890", "12345678901234567891"], ["1.2.3", "1.2.30"], ["a0", "a"],
     ["AB", "AB-", "AB+"], ["e11.9", "e119"], ["1.5 mg", "15 mg"], ["1e-20", "1e20"], ["c", "c#"],
     ["1", "-1"], ["a", None], [0.3, 0.3000001], ["1.2.1990", "2.1.1990"], ["none", None]],
)  # fmt: skip
def test_other_values_do_not(different: list[Any]) -> None:
    assert count_alike(pl.Series(different))[0] == 0


@given(values=st.lists(TEXTS, min_size=1, max_size=8))
@example(["A", "A\u2019"])
@example(["1e1", "10", "1E+1", ".5", "\u00bd"])
def test_normalization_and_pairs_are_those_of_the_definition(values: list[str]) -> None:
    assert normalized(list(values)) == [plain(text) or None for text in values]
    pairs = [(one, other) for one, other in combinations(sorted(set(values)), 2) if folded(one) == folded(other)]
    count, alike = count_alike(pl.Series(values))
    assert count == len(pairs)
    assert set(alike) == {one for pair in pairs for one in pair}
    again = len(set(values)) - len(set(map(plain, values)))
    column = [("s", pl.Series(sorted(set(values))))]
    if again:
        with pytest.raises(DataError, match=rf"^{again} value\(s\) of the sensitive column 's' read like another one"):
            check_distinguishable(column)
    else:
        check_distinguishable(column)


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["b", "a ", "a", " "])])
def test_types_stay_and_text_of_blanks_is_missing(kind: Any) -> None:
    assert normalized(["a ", "a", "b", None, " "], kind) == ["a", "a", "b", None, None]
    frame = pl.LazyFrame({"s": pl.Series(["a ", "b"], dtype=kind), "n": [1, 2]})
    made = normalize_columns(frame, ["s", "n"]).collect()
    assert made.schema["s"].base_type() == pl.Series([], dtype=kind).dtype.base_type()
    assert made["n"].to_list() == [1, 2]
    if isinstance(kind, pl.Enum):
        assert made["s"].dtype == pl.Enum(["b", "a"]), "the order of the categories stays"


TWINS = [
    "HIV ",
    "HIV\u00a0",
    "\u200bHIV",
    "HI\u00adV",
    "\ufeffHIV",
    "HIV\ufe0f",
    "\u202aHIV",
    "HIV\U000e0041",
    "HIV\x00",
]
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["zip"],
    "sensitive": "disease",
    "privacy": shoal.LDiversity(2),
    "seed": 1,
}


def people(twin: str, rows: int = 40) -> pl.DataFrame:
    return pl.DataFrame({"zip": [str(row // 4) for row in range(rows)], "disease": ["HIV", twin] * (rows // 2)})


@every("twin", TWINS, drawn=True)
@every("engine", ["memory", "stream"])
def test_twins_are_refused_and_normalization_makes_them_one(twin: str, engine: Any) -> None:
    with pytest.raises(DataError, match="read like another one") as refused:
        shoal.anonymize(people(twin), engine=engine, **ASKED)
    assert "normalize=True" in refused.value.render(PYTHON)
    assert "HI" not in str(refused.value)
    with pytest.raises(shoal.errors.InfeasibleError):  # it is one disease
        shoal.anonymize(people(twin), engine=engine, normalize=True, **ASKED)
    table = people(twin).with_columns(disease=pl.col("disease").replace({"HIV": "flu"}), zip=" " + pl.col("zip"))
    table = pl.concat(
        [table, table.with_columns(pl.col("disease").replace({twin: "HIV\u200c"}), pl.col("zip") + "\u00a0")]
    )
    release = shoal.anonymize(table, engine=engine, normalize=True, **ASKED)
    shown = release.data if engine == "memory" else release.data.collect()
    assert set(shown["disease"]) == {"HIV", "flu"}
    assert shown["zip"].str.contains(r"[^0-9*]").any() is False
    assert release.public_certificate.to_dict()["parameters"]["normalize"] is True
    if engine == "memory":
        assert shoal.provenance(table, release.certificate.to_dict(), salt=release.salt)
        assert not shoal.provenance(table[1:], release.certificate.to_dict(), salt=release.salt)
        again = shoal.apply(release.plan, table)
        assert set(again.data["disease"]) == {"HIV", "flu"}


def test_cells_that_are_counted_in_memory_are_normalized_first() -> None:
    rows = 1 << 18
    table = pl.DataFrame({"zip": ["1", "1 "] * (rows // 2), "disease": ["a", "b", "b ", "c"] * (rows // 4)})
    release = shoal.anonymize(table, normalize=True, **ASKED)
    assert release.certificate.achieved["groups"] == 1
    assert dict(release.data["disease"].value_counts().iter_rows()) == {"a": rows // 4, "b": rows // 2, "c": rows // 4}
    with pytest.raises(DataError, match="1 value"):
        shoal.anonymize(table, **ASKED)


def test_insensitive_values_beside_a_normalized_stream_stay(tmp_path: Any) -> None:
    table = people("flu").with_columns(note=pl.Series([f" {row} " for row in range(40)]), zip=pl.col("zip") + " ")
    table.write_parquet(tmp_path / "in.parquet")
    path = tmp_path / "in.parquet"
    release = shoal.anonymize(path, engine="stream", insensitive=["note"], normalize=True, **ASKED)
    shown = release.data.collect()
    assert sorted(shown["note"]) == sorted(table["note"])
    assert not shown["zip"].str.ends_with(" ").any()


def test_without_twins_blanks_are_published_as_they_are() -> None:
    release = shoal.anonymize(people("flu ").with_columns(disease=pl.col("disease") + " "), **ASKED)
    assert set(release.data["disease"]) == {"HIV ", "flu  "}
    assert "normalize" not in release.certificate.to_dict()["parameters"]


def test_a_missing_value_reads_like_an_empty_one() -> None:
    table = pl.DataFrame({"zip": ["1"] * 8, "disease": [None, " "] * 4})
    with pytest.raises(DataError, match="1 value"):
        shoal.anonymize(table, missing_sensitive="value", **ASKED)


def test_an_audit_of_a_foreign_table_warns() -> None:
    found = shoal.audit(people("hiv "), quasi_identifiers=["zip"], sensitive="disease")
    assert [(one.code, one.column) for one in found.warnings] == [("values_read_alike", "disease")]
    assert found.to_dict()["warnings"][0]["text"].startswith("1 pair(s)")
    assert "Warning: 1 pair(s)" in found._repr_html_()
    assert shoal.audit(people("flu"), quasi_identifiers=["zip"], sensitive="disease").warnings == ()


def test_comparisons_and_searches_normalize() -> None:
    table = people("flu").with_columns(
        zip=pl.Series(["1", "1\u200b", "2", "2 "] * 10), disease=pl.col("disease") + "\u00a0"
    )
    twins = table.with_columns(disease=pl.Series(["HIV", "flu", "HIV\u00a0", "flu"] * 10))
    asked = {name: value for name, value in ASKED.items() if name != "seed"}
    compared = shoal.explore(twins, algorithms=["mondrian"], normalize=True, **asked)
    assert compared.choose().metrics.stars == 0
    assert shoal.explore(twins, k=[2, 3], quasi_identifiers=["zip"], sensitive="disease", normalize=True) is not None
    with pytest.raises(DataError, match="read like another"):
        shoal.explore(twins, algorithms=["mondrian"], **asked)
