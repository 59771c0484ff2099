"""Hierarchies of columns: proposed, made by hand, from files and as files, and what their levels cost."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal import hierarchy
from shoal.cli.main import app

from .conftest import HERE

pytestmark = pytest.mark.drawn

AGE, GENDER, ZIP = "0", "1", "2"


def figures(page: str) -> list[list[str]]:
    """Return the cells of the table of levels."""
    section = re.search(r'<h3 id="levels">.*?</table>', page, re.S).group()
    rows = re.findall(r"<tr.*?</tr>", section.partition("<tbody>")[2], re.S)
    cells = [re.findall(r'<td class="n">(.*?)</td>', row) for row in rows]
    return [[cell.replace(",", "") for cell in row] for row in cells]


def nodes(page: str) -> set[str]:
    """Return the values or groups that can be put together."""
    return {html.unescape(one) for one in re.findall(r'for="node-\d+"><bdi>(.*?)</bdi>', page)}


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("column", "form", "made"),
    [
        (AGE, {"how": "prefixes"}, hierarchy.prefix_hierarchy),
        (ZIP, {"how": "prefixes"}, hierarchy.prefix_hierarchy),
        (GENDER, {"how": "rare"}, hierarchy.frequency_hierarchy),
        (GENDER, {"how": "by hand"}, hierarchy.flat_hierarchy),
    ],
)
def test_a_proposal_is_that_of_the_library_and_every_level_says_what_it_costs(browser, home, column, form, made):
    browser.decided()
    page = browser.send("/goal/shape", {"column": column, "do": "propose", **form}).text
    name = browser.studio.plan.names_of("quasi_identifier")[int(column)]
    values = shoal.datasets and __import__("polars").read_csv(home / "patients.csv")[name]
    tree = made(values)
    levels = figures(page)
    assert len(levels) == tree.height + 1
    for number, (left, fewest, _, _) in enumerate(levels):
        nodes = [row[number] for row in tree.rows() for _ in range((values.cast(str) == row[0]).sum())]
        assert int(left) == len(set(nodes))
        assert int(fewest) == min(nodes.count(node) for node in set(nodes))
    assert levels[0][3] == "0%"
    assert levels[-1][3] == "100%"


@pytest.mark.parametrize(
    ("how", "typed", "words"),
    [("bins", {"width": "10"}, "bins:10"), ("cuts", {"cuts": "30, 40"}, "cuts:30, 40"),
     ("quantiles", {"quantiles": "4"}, "quantiles:4")],
)  # fmt: skip
def test_numbers_are_cut_without_a_hierarchy_and_attacks_read_the_ranges(browser, home, how, typed, words):
    """Nodes of a hierarchy have no order, so that no attack could read sets of them."""
    browser.decided()
    form = {"column": AGE, "do": "propose", "how": how}
    assert "Take: " in browser.look(f"/goal?column={AGE}").text
    browser.send("/goal/shape/use", {**form, **typed})
    assert browser.studio.plan.coarsen["age"] == words
    assert not browser.studio.plan.trees
    page = browser.send("/publish", {"folder": "made"}).text
    assert "What was asked for is met" in page
    assert "not understood" not in browser.send("/review", {"source": "made"}).text
    assert "are not understood" not in browser.send("/review/attack", {"original": "patients.csv"}).text


def test_a_column_may_be_called_as_its_counts_are(browser, home):
    (home / "patients.csv").write_text("count,sex\n" + "".join(f"v{row % 6},{'fm'[row % 2]}\n" for row in range(60)))
    browser.decided()
    place = browser.studio.plan.coarsenable.index("count")
    page = browser.send("/goal/shape", {"column": str(place), "do": "propose", "how": "prefixes"}).text
    assert [row[0] for row in figures(page)] == ["6", "1", "1"]


@pytest.mark.drawn
def test_a_level_is_taken_shown_as_a_command_and_published(browser, home, monkeypatch):
    browser.decided()
    browser.send("/goal/shape", {"column": AGE, "do": "propose", "how": "prefixes"})
    coarser = browser.send("/goal/shape/use", {"column": AGE, "level": "1"})
    assert "level 1 of age.hierarchy.csv" in coarser.text
    assert "--coarsen age=level:age.hierarchy.csv:1" in coarser.text.replace("&#39;", "'")
    assert "shoal.Level(&#39;age.hierarchy.csv&#39;, 1)" in coarser.text
    file = browser.client.get("/hierarchy/age.hierarchy.csv")
    assert "attachment" in file.headers["content-disposition"]
    assert "What was asked for is met" in browser.send("/publish", {"folder": "made"}).text
    published = (home / "made/release.csv").read_text()
    assert {"2*", "3*"} <= {row.split(",")[0] for row in published.splitlines()}
    # The same at the command line, with the file that was saved.
    monkeypatch.chdir(home)
    (home / "age.hierarchy.csv").write_bytes(file.content)
    (home / "release.toml").write_text(browser.client.get("/release.toml").text)
    again = CliRunner().invoke(app, ["anonymize", "--spec", "release.toml", "--output", "again", "--seed", "1"])
    assert again.exit_code == 0, again.stdout
    assert "\n2*," in (home / "again/release.csv").read_text()
    # The release of another table is not the last one of the table that is open.
    (home / "other.csv").write_bytes((home / "patients.csv").read_bytes())
    assert "The last release" in browser.look("/publish").text
    browser.send("/open", {"path": "other.csv"})
    browser.send("/table", {"do": "next"})
    assert "The last release" not in browser.look("/publish").text


@pytest.mark.drawn
def test_a_hierarchy_that_was_not_taken_is_not_offered(browser):
    browser.decided()
    browser.send("/goal/shape", {"column": AGE, "do": "propose", "how": "prefixes"})
    assert "level:age.hierarchy.csv" not in browser.look("/goal").text
    assert "Save age.hierarchy.csv" in browser.look(f"/goal?column={AGE}").text
    browser.send("/goal/shape/use", {"column": AGE, "level": "1"})
    assert "level:age.hierarchy.csv:1" in browser.look("/goal").text


@pytest.mark.drawn
def test_groups_by_hand(browser):
    browser.decided()
    page = browser.send("/goal/shape", {"column": ZIP, "do": "propose", "how": "by hand"}).text
    numbers = {text: at for at, text in re.findall(r'for="node-(\d+)"><bdi>(\d+)</bdi>', page)}
    assert set(numbers) == {"10001", "10002", "10003"}
    form = {"column": ZIP, "do": "join", "level": "1", "name": "north"}
    assert "Choose the values" in browser.send("/goal/shape", form).text
    chosen = {f"node-{numbers[value]}": "on" for value in ("10001", "10003")}
    page = browser.send("/goal/shape", {**form, **chosen}).text
    assert page.count("<td><bdi>north</bdi></td>") == 2
    assert [row[0] for row in figures(page)] == ["3", "2", "1"]
    told = browser.client.get("/hierarchy/zip.hierarchy.csv").text
    assert sorted(told.split()) == ["10001;north;*", "10002;10002;*", "10003;north;*"]
    # Going back is undoing, of hierarchies too.
    browser.send("/history", {"step": str(browser.studio.history.at - 1)})
    assert [row[0] for row in figures(browser.look(f"/goal?column={ZIP}").text)] == ["3", "1"]
    # A step that makes no hierarchy says so, and is taken back.
    taken = browser.send("/goal/shape", {**form, "name": "10002", f"node-{numbers['10001']}": "on"})
    assert taken.status_code == 422
    assert "10001" not in re.search(r"<[^>]*id=\"refused\".*?</", taken.text, re.S).group()
    assert [row[0] for row in figures(browser.look(f"/goal?column={ZIP}").text)] == ["3", "1"]


@pytest.mark.drawn
def test_more_levels_and_groups_of_groups(browser):
    browser.decided()
    browser.send("/goal/shape", {"column": AGE, "do": "propose", "how": "prefixes"})
    height = len(browser.studio.plan.trees["age"].steps)
    browser.send("/goal/shape", {"column": AGE, "do": "level", "level": "2"})
    assert len(browser.studio.plan.trees["age"].steps) == height + 1
    assert {"2*", "3*"} <= nodes(browser.look(f"/goal?column={AGE}&level=2").text)
    assert nodes(browser.look(f"/goal?column={AGE}&level=2&find=2").text) == {"2*"}


def test_hierarchies_come_from_files_and_go_to_files(browser, home):
    browser.decided()
    content = b"F;person;*\nM;person;*\n"
    headers = {"origin": HERE, "content-type": "application/octet-stream"}
    answer = browser.client.post(f"/goal/shape/file?column={GENDER}", content=content, headers=headers)
    assert (answer.status_code, answer.text) == (200, f"/goal?column={GENDER}")
    assert [row[0] for row in figures(browser.look(answer.text).text)] == ["2", "1", "1"]
    assert browser.client.get("/hierarchy/gender.hierarchy.csv").content == content
    assert shoal.Hierarchy.from_csv(Path(browser.studio.plan.trees["gender"].path)).height == 2
    assert browser.client.get("/hierarchy/other.csv").status_code == 404
    before = browser.studio.plan.trees["gender"]
    browser.client.post(f"/goal/shape/file?column={GENDER}", content=b"F;*\n", headers=headers)
    wrong = browser.look(f"/goal?column={GENDER}")
    assert "misses 1 of the 2 values" in wrong.text
    assert browser.client.post("/goal/shape/file?column=9", content=content, headers=headers).status_code == 422
    browser.send("/history", {"step": str(next(
        at for at, (_, plan) in enumerate(browser.studio.history.steps) if plan.trees.get("gender") == before
    ))})  # fmt: skip
    assert [row[0] for row in figures(browser.look(f"/goal?column={GENDER}").text)] == ["2", "1", "1"]


@pytest.mark.drawn
def test_coarsenings_that_draw_themselves_are_shown(browser, home):
    browser.decided()
    page = browser.send("/goal", {"coarsen-0": "", "coarsen-1": "", "coarsen-2": "labels:50", "do": "preview"})
    assert 'src="/goal/0.svg"' in page.text
    drawn = browser.client.get("/goal/0.svg")
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert "<svg" in drawn.text
    assert "sandbox" in drawn.headers["content-security-policy"]
    assert browser.client.get("/goal/9.svg").status_code == 404
    assert browser.client.get("/goal/x.svg").status_code == 404


def test_an_old_page_shapes_no_other_column(browser):
    browser.decided()
    form = {"of": "0" * 16, "column": AGE, "do": "propose", "how": "prefixes"}
    assert browser.send("/goal/shape", form).status_code == 422
    assert browser.send("/goal/shape/use", {"of": "0" * 16, "column": AGE, "words": "any"}).status_code == 422
    assert not browser.studio.plan.trees
    assert browser.look("/goal?column=77").status_code == 422
    assert browser.look("/goal?column=x").status_code == 422


def test_what_was_made_is_gone_when_the_studio_is_closed(browser, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    browser.decided()
    browser.send("/goal/shape", {"column": ZIP, "do": "propose", "how": "by hand"})
    path = Path(browser.studio.plan.trees["zip"].path)
    assert path.is_file()
    browser.studio.paths.close()
    assert not list(tmp_path.glob("shoal-studio-*"))
