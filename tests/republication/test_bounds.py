"""Bounds that hold: random questions to releases of tables with every coarsening, against counting in the original."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, every, few, some

import shoal
from shoal.errors import NotUnderstoodError
from shoal.grouping import Labels, Ordered, Points, Regions
from shoal.hierarchy import (
    Bins,
    BottomCode,
    DatePart,
    Hierarchy,
    Level,
    OneValue,
    Prefix,
    Round,
    ThreeDigitZip,
    TopCode,
    interval_hierarchy,
)
from shoal.republication.queries import PublishedGroups
from shoal.republication.questions import read_question
from shoal.verification import collect_meanings
from shoal.verification.published_folder import read_published

ROWS, QUESTIONS = 120, few(150, least=40)
CODES = ["02139", "02140", "03601", "10001", "10456", "90210"]
JOBS = ["cook", "nurse", "pilot", "smith, black"]
TREE = Hierarchy.from_rows([(job, "indoors" if job < "p" else "outdoors", "*") for job in JOBS])
SIZES = ["S", "M", "L", "XL"]


def table() -> pl.DataFrame:
    rng = np.random.default_rng(11)
    days = [dt.date(2003, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, ROWS)]
    return pl.DataFrame(
        {
            "yrs": rng.integers(0, 111, ROWS),
            "weight": rng.integers(0, 1200, ROWS) / 10,
            "zip": rng.choice(CODES, ROWS),
            "day": pl.Series(days),
            "job": rng.choice(JOBS, ROWS),
            "size": pl.Series(rng.choice(SIZES, ROWS), dtype=pl.Enum(SIZES)),
            "s": rng.choice(["flu", "gout"], ROWS),
        }
    ).with_columns(
        pl.when(pl.Series(rng.random(ROWS) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("weight", "job")
    )


TABLE = table()
KINDS: list[tuple[str, Any]] = [
    *((name, how) for name in ("yrs", "weight") for how in (Bins(10), Bins(cuts=[4, 65]), Bins(quantiles=3), Round(5))),
    *(("yrs", how) for how in (Round(0.5), TopCode(65), TopCode(65, label="old"), BottomCode(18), Ordered(k=8))),
    *(("zip", how) for how in (Prefix(2), Prefix(3), ThreeDigitZip(), Labels(k=20), OneValue())),
    ("zip", Regions([*pairwise(CODES)], k=20)),
    *(("day", DatePart(part)) for part in ("year", "quarter", "month")),
    *(("day", how) for how in (DatePart("year", earliest=2003), Ordered(k=9))),
    *(("job", how) for how in (Level(TREE, 1), Labels(k=20))),
    ("size", Ordered(k=20)),
    *((name, None) for name in ("yrs", "weight", "zip", "day", "job", "size")),
]


def quoted(value: Any) -> str:
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def asked(rng: np.random.Generator, name: str) -> str:
    """Return a random condition on a column; some of its values are near those of the table only."""
    known = TABLE[name].drop_nulls().cast(pl.String).to_list()
    near = {"yrs": ["101", "4", "64.5"], "weight": ["90", "101.05"], "zip": ["10455", "2139", "104"]}
    near |= {"day": ["2003-12-31", "2004-01-01", "2003-03-31"], "job": ["indoors", "clerk"]}
    a, b = (quoted(rng.choice(near.get(name, known) if rng.random() < 0.3 else known)) for _ in range(2))
    match rng.integers(0, 6):
        case 0:
            return f"{name} in {{{a}, {b}}}"
        case 1:
            return f"{name} {rng.choice(['in [', 'in ('])}{a}, {b}{rng.choice([']', ')'])}"
        case _:
            return f"{name} {rng.choice(['=', '!=', '<', '<=', '>', '>='])} {a}"


def fulfils(question: str) -> int:
    """Return how many people of the table fulfil a question, text being compared as text where it is no number."""
    good = pl.Series([True]).new_from_index(0, ROWS)
    for one in read_question(question):
        texts = TABLE[one.column].cast(pl.String)
        held = {text: one.holds(text) for text in texts.unique()}
        good &= pl.Series([held[text] for text in texts])
    return int(good.sum())


@every("recoding", ["generalization", "suppression"])
def test_the_truth_is_within_the_bounds_for_every_kind_of_cell(recoding: Any) -> None:
    rng = np.random.default_rng(3)
    exact = 0
    kinds = some(KINDS)
    for name, how in kinds:
        made = shoal.anonymize(
            TABLE.select(name, "s"),
            quasi_identifiers=[name],
            sensitive="s",
            privacy=shoal.KAnonymity(9),
            algorithm="mondrian",
            recoding=recoding,
            coarsen={} if how is None else {name: how},
            seed=1,
        )
        said = json.loads(made.certificate.to_json())["parameters"]
        meanings = collect_meanings([name], said, trees={name: TREE} if isinstance(how, Level) else {})
        groups = PublishedGroups(made.data, quasi_identifiers=[name], meanings=meanings)
        questions = [asked(rng, name) + " and s = flu" * int(rng.integers(0, 2)) for _ in range(QUESTIONS)]
        # A question that is drawn twice is counted once.
        for question, times in Counter(questions).items():
            found, truth = groups.count(question), fulfils(question)
            assert found.at_least <= truth <= found.at_most, (name, how, question, found)
            assert found.at_least - 1e-9 <= found.estimate <= found.at_most + 1e-9
            exact += times * (found.at_least == found.at_most)
    assert exact > len(kinds) * QUESTIONS / 5 or not THOROUGH, "bounds that say something"


@pytest.mark.drawn
def test_rectangles_and_columns_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    columns = ["yrs", "weight", "zip", "day"]
    present = TABLE.filter(pl.col("weight").is_not_null())
    shoal.anonymize(
        present.select(*columns, "s"),
        quasi_identifiers=columns,
        sensitive="s",
        privacy=shoal.KAnonymity(4),
        algorithm="mondrian",
        recoding="generalization",
        coarsen={("yrs", "weight"): Points(k=3), "zip": Prefix(2), "day": DatePart("quarter")},
        hierarchies={},
        seed=1,
    ).save(tmp_path / "out")
    release = read_published(tmp_path / "out")
    groups = PublishedGroups(release.frame, quasi_identifiers=columns, meanings=release.meanings(columns))
    texts = {name: present[name].cast(pl.String).to_list() for name in columns}
    for _ in range(QUESTIONS):
        question = " and ".join(asked(rng, name) for name in rng.choice(columns, 2, replace=False))
        conditions = read_question(question)
        truth = sum(all(one.holds(texts[one.column][row]) for one in conditions) for row in range(present.height))
        found = groups.count(question)
        assert found.at_least <= truth <= found.at_most, (question, found)


@pytest.mark.drawn
@pytest.mark.parametrize("tree", [interval_hierarchy(TABLE["yrs"], 10), TREE])
def test_nodes_of_hierarchies(tree: Hierarchy, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    name = "job" if tree is TREE else "yrs"
    shoal.anonymize(
        TABLE.select(name, "s"),
        quasi_identifiers=[name],
        sensitive="s",
        privacy=shoal.KAnonymity(9),
        algorithm="mondrian",
        recoding="generalization",
        hierarchies={name: tree},
        seed=1,
    ).save(tmp_path / "out")
    release = read_published(tmp_path / "out")
    given = PublishedGroups(
        release.frame, quasi_identifiers=[name], meanings=release.meanings([name], trees={name: tree})
    )
    alone = PublishedGroups(release.frame, quasi_identifiers=[name], meanings=release.meanings([name]))
    for _ in range(QUESTIONS):
        question = asked(rng, name)
        truth, found = fulfils(question), given.count(question)
        assert found.at_least <= truth <= found.at_most, (question, found)
        if tree is TREE:  # names that say nothing
            with pytest.raises(NotUnderstoodError, match=r"hierarchies=\{'job': ...\}"):
                alone.count(question)
        else:  # intervals, of which the certificate says that they are true
            found = alone.count(question)
            assert found.at_least <= truth <= found.at_most, (question, found)


def counted(frame: pl.DataFrame, question: str, **said: Any) -> tuple[int, int]:
    found = PublishedGroups(frame, quasi_identifiers=[frame.columns[0]], **said).count(question)
    return found.at_least, found.at_most


def test_a_star_may_be_any_value_unless_a_domain_is_given() -> None:
    release = pl.DataFrame({"age": ["*"] * 5 + ["20"] * 3, "s": ["a"] * 8})
    assert counted(release, "age > 90") == (0, 5)
    assert counted(release, "age > 90", domains={"age": "[17, 90]"}) == (0, 0)
    assert counted(release, "age < 95", domains={"age": "[17, 90]"}) == (8, 8)
    assert counted(release, "age < 95") == (3, 8)
    some = release.with_columns(age=pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise("age"))
    assert counted(some, "age < 95", domains={"age": "[17, 90]"}) == (2, 7), "a star may hide a missing value, too"


def test_numbers_between_the_digits_that_are_shown() -> None:
    release = pl.DataFrame({"weight": ["[60, 61]"] * 4, "s": ["a"] * 4})
    assert counted(release, "weight > 60.2 and weight < 60.8") == (0, 4)
    assert counted(release, "weight >= 60") == (4, 4)
    assert counted(release, "weight > 60") == (0, 4)
    assert counted(release, "weight in {60.5, 70}") == (0, 4)
    assert counted(release, "weight != 60.5 and weight < 61.5") == (0, 4)
    assert counted(release, "weight != 65") == (4, 4)


def test_forms_of_other_tools() -> None:
    release = pl.DataFrame({"age": ["20-29", "<20", "30+", "[30, 40[", "30..39"], "s": ["a"] * 5})
    assert counted(release, "age >= 30") == (3, 3)
    assert counted(release, "age < 20") == (1, 1)
    assert counted(release, "age = 25") == (0, 1)
    masks = pl.DataFrame({"zip": ["104**", "10***", "10456"], "s": ["a"] * 3})
    assert counted(masks, "zip = 10456") == (1, 3)
    assert counted(masks, "zip = 20456") == (0, 0)
    assert counted(masks, "zip != 20456") == (3, 3)


def test_cells_of_which_nobody_says_what_they_are() -> None:
    prefixes = pl.DataFrame({"zip": ["104", "021"], "s": ["a"] * 2})
    with pytest.raises(
        NotUnderstoodError, match=r"'zip': .*cells=\{'zip': shoal.Prefix\(3\)\}.*cells=\{'zip': 'values'\}"
    ) as caught:
        counted(prefixes, "zip = 10456")
    assert caught.value.columns == ("zip",)
    said = {"meanings": collect_meanings(["zip"], None, cells={"zip": Prefix(3)})}
    assert counted(prefixes, "zip = 10456", **said) == (0, 1)
    assert counted(prefixes, "zip = 02139", **said) == (0, 1)
    assert counted(prefixes, "zip = 2139", **said) == (0, 1), "or was it 02139?"
    values = {"meanings": collect_meanings(["zip"], None, cells={"zip": "values"})}
    assert counted(prefixes, "zip = 10456", **values) == (0, 0)
    mixed = pl.DataFrame({"age": ["20-29", "grown up"], "s": ["a"] * 2})
    with pytest.raises(NotUnderstoodError, match="1 of the values that its cells show are names, next to intervals"):
        counted(mixed, "age > 20")
    assert counted(mixed, "s = a") == (2, 2), "what is not asked for need not be understood"


def test_dates_and_numbers_in_the_form_of_the_input() -> None:
    parameters = {"read_as": {"born": {"dates": "%d.%m.%Y"}, "paid": {"decimal": ",", "thousands": "."}}}
    born = pl.DataFrame({"born": ["31.12.1980", "01.02.1981", "*"], "s": ["a"] * 3})
    said = {"meanings": collect_meanings(["born"], parameters)}
    assert counted(born, "born < 1981-01-01", **said) == (1, 2)
    assert counted(born, "born = 01.02.1981", **said) == (1, 2)
    paid = pl.DataFrame({"paid": ["1.234,5", "999,0"], "s": ["a"] * 2})
    said = {"meanings": collect_meanings(["paid"], parameters)}
    assert counted(paid, "paid > 1000", **said) == (1, 1)
    assert counted(paid, 'paid = "1.234,5"', **said) == (1, 1)


def test_names_in_an_order_that_is_given() -> None:
    release = pl.DataFrame({"size": ["[S, L]", "M", "XL"], "s": ["a"] * 3})
    said = {"meanings": collect_meanings(["size"], None, cells={"size": SIZES})}
    assert counted(release, "size in {S, M, L}", **said) == (2, 2)
    assert counted(release, "size in {S, M, L}") == (1, 2)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_empty_text_may_be_what_csv_has_as_missing(ending: str, tmp_path: Path) -> None:
    """`""` fulfils `job != cook`, a missing value does not, and a file of CSV writes neither."""
    rows = 40
    jobs = ["cook", "", "cook", "nurse"] * (rows // 4)
    original = pl.DataFrame({"job": jobs, "s": ["flu", "", "gout", ""] * (rows // 4)})
    release = shoal.anonymize(original, quasi_identifiers=["job"], sensitive="s", privacy=shoal.KAnonymity(5), seed=1)
    release.save(tmp_path / "out", format=ending)
    read = read_published(tmp_path / "out")
    groups = PublishedGroups(read.frame, quasi_identifiers=["job"], empty_is_missing=read.empty_is_missing)
    exact = PublishedGroups(original, quasi_identifiers=["job"])
    questions = ["job != cook", "s != flu", "s != flu and job != nurse", "job != cook and s != gout", "job < nurse"]
    for question in questions:
        true, found = exact.count(question), groups.count(question)
        assert true.at_least == true.at_most
        assert found.at_least <= true.at_least <= found.at_most
        assert ending == "csv" or found == true, "Parquet says which is which"
    assert groups.count("job != cook").at_least == (10 if ending == "csv" else 20)
