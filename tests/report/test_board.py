"""The first sheet of a report, its figures of before and after, and making it again."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli.main import app
from shoal.errors import DataError, ParameterError
from shoal.release.report_facts import facts_for_publisher
from shoal.report import facts_in, render_again, size_shares

SECRET = "Zyzzyva"
ABOUT = shoal.About(title="Visits & more", institution="St. Mary's", notes="Seen by the board.", signatures=("Head",))


def release_of(table: pl.DataFrame, **request: Any) -> shoal.Release:
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "sensitive": "s", "privacy": shoal.KAnonymity(3)}
    return shoal.anonymize(table, seed=0, algorithm="mondrian", **asked | request)


def facts_of(release: shoal.Release, tmp_path: Path) -> Any:
    release.save(tmp_path / "out", force=True, about=ABOUT)
    return facts_in((tmp_path / "out.private/report.json").read_bytes())


TOWNS = ["Aach", "Bonn", "Celle", SECRET]
PEOPLE = pl.DataFrame(
    {
        "age": [20 + row * 7 % 50 for row in range(60)],
        "town": [TOWNS[row * 5 % 3] for row in range(59)] + [SECRET],
        "s": ["xyz"[row * 11 % 3] for row in range(60)],
    }
)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_figures_are_their_definitions(data: st.DataObject) -> None:
    rows = data.draw(st.integers(6, 14))
    ages = data.draw(st.lists(st.integers(20, 90), min_size=rows, max_size=rows))
    towns = data.draw(st.lists(st.sampled_from("ab"), min_size=rows, max_size=rows))
    table = pl.DataFrame({"age": ages, "town": towns, "s": [data.draw(st.sampled_from("xy")) for _ in range(rows)]})
    release = release_of(table, recoding="generalization")
    facts = facts_for_publisher(release, release.certificate, None)
    age, town = facts.distributions
    for one, name in ((age, "age"), (town, "town")):
        assert one.told == pytest.approx((release.data[name].cast(pl.String) != "*").mean())
    for one in (age, town):
        assert bool(one.bars) == (one.told > 0)
        assert not one.bars or sum(bar.before for bar in one.bars) == pytest.approx(1)
        assert not one.bars or sum(bar.after for bar in one.bars) == pytest.approx(1)
    expected: dict[int, float] = defaultdict(float)
    shown = release.data["age"].cast(pl.String)
    shown = shown.filter(shown != "*")
    for cell in shown:
        found = re.fullmatch(r"\[(\d+), (\d+)\]", cell)
        low, high = map(int, found.groups()) if found else (int(cell), int(cell))
        covered = [value for value in sorted(set(ages)) if low <= value <= high]
        for value in covered:
            expected[value] += 1 / len(covered) / len(shown)
    for bar in age.bars:
        ends = [int(end) for end in bar.label.split(" to ")]
        inside = [value for value in expected if ends[0] <= value <= ends[-1]]
        assert bar.after == pytest.approx(sum(expected[value] for value in inside))
        assert bar.before == pytest.approx(sum(ends[0] <= value <= ends[-1] for value in ages) / rows)
    for when, frame in (("before", table), ("after", release.data)):
        groups: dict[Any, list[str]] = defaultdict(list)
        for row in frame.rows():
            groups[row[:2]].append(row[2])
        most = [max(Counter(values).values()) for values in groups.values()]
        sizes = [len(values) for values in groups.values()]
        (sure,) = facts.sureness
        assert getattr(sure, f"highest_{when}") == pytest.approx(
            max(one / size for one, size in zip(most, sizes, strict=True))
        )
        assert getattr(sure, f"average_{when}") == pytest.approx(sum(most) / rows)
        for one in facts.sizes:
            share = sum(size for size in sizes if one.low <= size <= one.high) / rows
            assert getattr(one, when) == pytest.approx(share)


def test_sizes_have_round_bounds_and_every_record() -> None:
    shares = size_shares({1: 3, 7: 2, 1234: 1}, {90: 13, 81: 1})
    bounds = [(one.low, one.high) for one in shares]
    assert bounds[:6] == [(1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49)]
    assert all(before[1] + 1 == after[0] for before, after in pairwise(bounds))
    assert bounds[-1][0] <= 1234 <= bounds[-1][1]
    assert sum(one.before for one in shares) == pytest.approx(1)
    assert sum(one.after for one in shares) == pytest.approx(1)


def test_values_are_named_only_where_they_are_published(tmp_path: Path) -> None:
    release = release_of(PEOPLE, privacy=shoal.LDiversity(2))
    assert SECRET not in release.data.write_csv()
    release.save(tmp_path / "out")
    for path in [*(tmp_path / "out").iterdir(), *(tmp_path / "out.private").iterdir()]:
        if path.name == "plan.json":
            continue  # it says which values became what
        assert SECRET not in path.read_text(encoding="utf-8"), path.name
    page = (tmp_path / "out.private/report.html").read_text(encoding="utf-8")
    assert "How values are spread" in page


@pytest.mark.parametrize(
    ("name", "values", "labels"),
    [
        ("zip", [f"021{row:02}" for row in range(60)], ["0210...", "0211...", "0212..."]),
        (
            "born",
            pl.date_range(pl.date(1950, 1, 1), pl.date(2009, 1, 1), "1y", eager=True),
            ["1950 to 1954", "1955 to 1959"],
        ),
        ("pay", [row * 12.5 for row in range(60)], ["0 to below 100", "100 to below 200"]),
        ("children", [row % 3 for row in range(60)], ["0", "1", "2"]),
    ],
)
def test_values_have_ranges_that_fit_them(name: str, values: Any, labels: list[str], tmp_path: Path) -> None:
    table = pl.DataFrame({name: values, "s": ["x", "y"] * 30})
    release = release_of(table, quasi_identifiers=[name], recoding="generalization", exact_ends=True)
    (found,) = facts_of(release, tmp_path).distributions
    assert [bar.label for bar in found.bars][: len(labels)] == labels


def test_the_publisher_says_more_than_readers_are_told(tmp_path: Path) -> None:
    release_of(PEOPLE).save(tmp_path / "out", about=ABOUT)
    private = (tmp_path / "out.private/report.html").read_text(encoding="utf-8")
    public = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    for page in (private, public):
        assert "<h1>Visits &amp; more</h1>" in page
        assert "<script" not in page
    assert re.search(r"<dt>Date</dt><dd>\d{4}-\d\d-\d\d</dd>", private)
    for said in ("Seen by the board.", '<span class="line"></span>Head'):
        assert said in private
        assert said not in public
    assert "<dt>Date</dt>" not in public
    assert "before" not in public.partition("How easily records are found")[2].partition("guarantees")[0]


def test_reports_are_made_again_with_other_words(tmp_path: Path) -> None:
    out, private = tmp_path / "out", tmp_path / "out.private"
    release_of(PEOPLE).save(out, about=ABOUT)
    before = {path: path.read_bytes() for path in (*out.iterdir(), *private.iterdir())}
    assert render_again(out) == [out / "report.html", private / "report.html"]
    assert {path: path.read_bytes() for path in before} == before, "nothing else is said, and nothing changes"
    words = ["report", str(out), "--contact", "data@example.org", "--title", "Other", "--signature", "One, two"]
    told = CliRunner().invoke(app, [*words, "--json"])
    assert told.exit_code == 0
    assert json.loads(told.stdout) == {"written": [str(out / "report.html"), str(private / "report.html")]}
    for folder, mode in ((out, 0o644), (private, 0o600)):
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "<h1>Other</h1>" in page
        assert "data@example.org" in page
        assert "St. Mary" in page, "what is not said again stays"
        assert ("One, two" in page) == (folder == private)
        for name in ("report.html", "report.json"):
            assert (folder / name).stat().st_mode & 0o777 & ~mode == 0
        assert sorted(path.name for path in folder.iterdir()) == sorted(p.name for p in before if p.parent == folder)
    assert render_again(private) == [private / "report.html"]


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no report\.json"):
        render_again(tmp_path)
    for text in ("{", "[]", '{"format": 1}', '{"format": 1, "private": true}', '{"format": 99, "private": true}'):
        with pytest.raises(DataError, match=r"not one that shoal wrote|later version"):
            facts_in(text)
    with pytest.raises(ParameterError, match="'signatures' parameter of About"):
        shoal.About(signatures="Head")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'about' parameter of save"):
        release_of(PEOPLE).save(tmp_path / "out", about="Visits")  # type: ignore[arg-type]


def test_many_sensitive_columns_and_warnings_of_one_kind_fit_on_the_first_sheet(tmp_path: Path) -> None:
    several = {f"s{at}": ["x", "y", "z", "x" if at < 4 else "y"] * 15 for at in range(5)}
    table = PEOPLE.drop("s").with_columns(pl.Series(name, values) for name, values in several.items())
    release = release_of(table, sensitive=[*several], insensitive=[], privacy=shoal.KAnonymity(3))
    release.report(tmp_path / "report.html")
    first, _, technical = (tmp_path / "report.html").read_text(encoding="utf-8").partition("Technical part")
    assert sum(f"the value of &#39;{name}&#39; is guessed rightly: the highest" in first for name in several) == 3
    assert "2 more are in the technical part" in first
    assert all(f'<th scope="row">{name}</th>' in technical for name in several)
    raised = [one.code for one in release.warnings]
    assert raised.count("small_l") == 1, "one for all columns"
    assert first.count("Some groups share a sensitive value") == 1
    named = first.partition("share one value, which is certain")[2]
    assert sum(f"&#39;{name}&#39; (" in named for name in several) > 1


def test_what_was_coarsened_is_not_as_it_was(tmp_path: Path) -> None:
    codes = [f"{'ABCD'[row % 4]}-Zyz" for row in range(60)]
    table = pl.DataFrame({"age": [30 + row % 2 for row in range(60)], "town": codes, "s": ["x", "y", "z"] * 20})
    release = release_of(table, coarsen={"town": shoal.Prefix(1)}, recoding="generalization")
    assert release.data["town"].unique().sort().to_list() == [*"ABCD"], "each stands for one code"
    facts = facts_of(release, tmp_path)
    age, town = facts.losses
    assert (age.coarsened, age.changed, town.coarsened, town.changed, town.stars) == (False, 0, True, 60, 0)
    assert [bar.label for bar in facts.distributions[1].bars] == ["4 others"], "no code that is not published is named"
    for folder in ("out", "out.private"):
        page = (tmp_path / folder / "report.html").read_text(encoding="utf-8")
        assert '<th scope="row">town <small>coarsened</small></th>' in page
        assert '<th scope="row">age</th>' in page
        assert not any(code in page for code in codes)


@pytest.mark.drawn
def test_a_first_sheet_stays_short_where_there_are_many_columns() -> None:
    from shoal.report import ReportFacts, render

    table = PEOPLE.with_columns(pl.Series(f"q_{at}", range(60)) for at in range(20))
    names = [f"q_{at}" for at in range(20)]
    release = release_of(table, quasi_identifiers=names, insensitive=["age", "town"], recoding="suppression")
    facts = facts_for_publisher(release, release.certificate, None)
    assert isinstance(facts, ReportFacts)
    first, _, technical = render(facts).partition("Technical part</h2>")
    assert first.count('scope="row">q_<wbr>') == 12
    assert technical.count('scope="row">q_<wbr>') == 20
    assert "Of 20 columns these lose most" in first
    # Warnings of one kind are one sentence, with the figure of each column.
    assert first.count("of the records show a star for") == 1
    sentence = first.partition("of the records show a star for")[2].partition("</")[0]
    assert len(set(re.findall(r"&#39;q_\d+&#39; \(\d", sentence))) == 19, "the first is in the sentence itself"


def test_no_prefix_names_a_code_that_is_not_published() -> None:
    codes = [f"{1_000 + 811 * (row % 30):05d}" for row in range(60)]
    table = pl.DataFrame({"age": [30] * 60, "town": codes, "s": ["xyz"[row % 3] for row in range(60)]})
    release = release_of(table, coarsen={"town": shoal.Prefix(1)})
    _, town = facts_for_publisher(release, release.certificate, None).distributions
    named = [bar.label.removesuffix("...") for bar in town.bars if bar.label.endswith("...")]
    assert named, "codes are told by their beginnings"
    assert all(len({code for code in codes if code.startswith(start)}) > 1 for start in named)
