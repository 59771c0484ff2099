"""The studio in a real browser: the whole way from a file to a release, by mouse and by keyboard, without a network.

SHOAL_PICTURES=FOLDER keeps pictures of every screen, wide and narrow, light and dark. SHOAL_DOCS_PICTURES=FOLDER writes
the small ones of the documentation: `make pictures` does.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoal.cli.main import app
from shoal.io import read

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
        if (found := shutil.which(name))
    ),
    None,
)
if CHROMIUM is None and os.environ.get("SHOAL_NEEDS_BROWSER") == "1":
    pytest.fail("No Chromium was found, and SHOAL_NEEDS_BROWSER=1 says that there must be one.", pytrace=False)
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="NO CHROMIUM WAS FOUND: the studio was NOT tested in a browser. Install it: apt-get install chromium",
    ),
    pytest.mark.xdist_group("browser"),
]
PATIENCE = int(os.environ.get("SHOAL_PATIENCE", "120")) * 1000
"""Milliseconds for work that compiles on a busy machine."""
PICTURES = os.environ.get("SHOAL_PICTURES")
DOCS_PICTURES = os.environ.get("SHOAL_DOCS_PICTURES")
FOR_WHOM = "For whom is it, and how safe must it be?"
MUCH_LOST = 0.35
"""Loss of a release that its trial calls "much"."""
LARGEST_PICTURE = 60_000
"""Bytes of a picture of the documentation."""


@dataclass
class Opened:
    """A studio in a process of its own, and a page that entered it."""

    page: Any
    home: Path
    process: subprocess.Popen[str] | None = None
    address: str = ""
    requested: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def screen(self, heading: str | re.Pattern[str]) -> None:
        self.page.get_by_role("heading", name=heading, level=1).wait_for(timeout=PATIENCE)
        # Its script runs when the whole page has arrived: a file that is chosen before is not noticed.
        self.page.wait_for_load_state("domcontentloaded")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    clicks: int = 0
    """Clicks of a mouse in pages so far."""

    def table(self, words: str = "records, ") -> None:
        """Wait for the screen of the table, with its risk."""
        self.screen(re.compile(words))
        self.settle()

    def settle(self) -> None:
        """Wait until no part of the page waits for work."""
        self.page.locator("body:not(:has([data-wait], #working, .busy))").wait_for(timeout=PATIENCE)

    def go(self, path: str, heading: str) -> None:
        """Go to a screen by its address."""
        self.page.goto(self.address.split("?")[0] + path)
        self.screen(heading)
        self.settle()

    def picture(self, name: str, *, document: bool = True) -> None:
        """Keep pictures of a screen where somebody wants them; nothing of it is wider than the window."""
        for width in (1280, 400):
            self.page.set_viewport_size({"width": width, "height": 900})
            root = "document.documentElement"
            self.page.wait_for_function(f"window.innerWidth === {width}")  # a busy browser takes a while to lay it out
            self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            wide = (
                "[...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > innerWidth)"
            )
            cut = self.page.evaluate(f"{wide}.slice(0, 5).map(one => one.outerHTML.slice(0, 200))")
            assert self.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), f"{name} at {width}: {cut}"
            for scheme in ("light", "dark") if PICTURES else ():
                self.page.emulate_media(color_scheme=scheme)
                self.page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{scheme}.png", full_page=True)
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": 1280, "height": 900})
        if DOCS_PICTURES and document:
            self.document(name)

    def document(self, name: str) -> None:
        """Write a small picture of a screen, as far as it is seen without scrolling: few colours, no date."""
        from PIL import Image

        self.page.set_viewport_size({"width": 1000, "height": 720})
        self.page.evaluate("(document.getElementById('levels') || document.body).scrollIntoView()")
        with Image.open(io.BytesIO(self.page.screenshot())) as taken:
            small = taken.convert("RGB").quantize(
                colors=64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
        path = Path(DOCS_PICTURES) / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        small.save(path, optimize=True)
        assert path.stat().st_size < LARGEST_PICTURE, name
        self.page.set_viewport_size({"width": 1280, "height": 900})

    def accessible(self) -> None:
        """Nothing is found by axe, in the light and in the dark."""
        from axe_playwright_python.sync_playwright import Axe

        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            found = Axe().run(self.page).response["violations"]
            assert [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in found] == []
        self.page.emulate_media(color_scheme="light")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Opened]:
    write_hospital(tmp_path / "hospital.csv")
    context = chromium.new_context(accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    studio = Opened(page=page, home=tmp_path)
    context.on("request", lambda request: studio.requested.append(request.url))
    page.expose_function("clicked", lambda: setattr(studio, "clicks", studio.clicks + 1))
    page.add_init_script("window.addEventListener('click', (one) => one.detail && window.clicked(), true)")
    page.on("console", lambda message: studio.said.append(message.text))
    page.on("pageerror", lambda error: studio.said.append(str(error)))
    start_studio(studio, tmp_path)
    yield studio
    context.close()
    studio.process.terminate()
    studio.process.communicate(timeout=30)


def start_studio(studio: Opened, folder: Path) -> None:
    """Start a process, and enter it."""
    command = [sys.executable, "-m", "shoal", "studio", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    studio.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
    assert studio.process.stdout is not None
    studio.address = re.search(r"http://\S+", studio.process.stdout.readline()).group()
    studio.page.goto(studio.address)


def write_hospital(path: Path, rows: int = 600) -> None:
    """Write a hospital's table of 12 columns: what people are, when they came, what they had, what it cost."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "Name",
                "Insurance no",
                "Born",
                "Sex",
                "ZIP",
                "Admitted",
                "Ward",
                "Diagnosis",
                "Days",
                "Cost",
                "Insurer",
                "Country",
            ]
        )
        for row in range(rows):
            mixed = row * 7919 % 10007
            writer.writerow([
                f"Person {row}", f"A{100000 + row}", f"{1930 + mixed % 70}-{1 + mixed % 12:02}-{1 + mixed % 28:02}",
                "fm"[mixed % 2], 10100 + mixed % 40, f"2025-{1 + mixed % 9:02}-{1 + mixed % 27:02}",
                ("surgery", "medicine", "eyes")[mixed % 3], f"diagnosis {mixed % 17 % 9}", 1 + mixed % 13,
                500 + mixed % 900, ("public", "private")[mixed % 5 == 0], "here",
            ])  # fmt: skip


def test_from_a_file_to_a_release_for_a_board(opened):
    page = opened.page
    opened.screen("Which table do you want to publish?")
    opened.picture("1-open")
    opened.accessible()
    page.set_input_files("#file", opened.home / "hospital.csv")
    opened.table("600 records, 12 columns")
    assert page.locator(".grid tbody tr").count() == 25
    assert page.get_by_text("Person 7").count() == 0, "cells of columns that are left out are hidden"
    opened.picture("2-table")
    opened.accessible()
    # The reason of a role is shown on focus; another role changes the risk at once.
    page.get_by_role("link", name="Ward", exact=True).focus()
    assert page.locator("#why-6").is_visible()
    before = page.locator("#risk").inner_text()
    page.get_by_label("What Ward is", exact=True).select_option("direct_identifier")
    page.get_by_label("What Insurer is", exact=True).select_option("direct_identifier")
    opened.settle()
    page.get_by_role("link", name="Diagnosis", exact=True).click()
    page.locator("#column").get_by_role("heading", name="Diagnosis").wait_for()
    page.get_by_role("link", name="Born", exact=True).click()
    page.locator("#column").get_by_role("heading", name="Born").wait_for()
    assert page.locator("[name=until]").is_visible()
    page.locator("[name=end]").select_option("Admitted")
    assert page.locator("[name=until]").is_hidden(), "a column is the end, and no date"
    opened.settle()
    assert page.locator("#risk").inner_text() == before, "each record is alone with a date of birth"
    opened.picture("2-column", document=False)
    opened.accessible()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    opened.settle()
    page.get_by_role("button", name=re.compile("^Everyone")).click()
    page.get_by_text("at least 9 others").wait_for()
    page.get_by_text("at most 1 in 3").wait_for()
    opened.settle()
    for k, others in (("12", "at least 11 others"), ("10", "at least 9 others")):
        page.fill("#k", k)
        page.keyboard.press("Tab")
        page.get_by_text(others).wait_for()
    opened.settle()
    opened.picture("4-goal")
    opened.accessible()
    assert page.locator("#some-rows tbody tr").count() == 10
    assert page.locator("#some-rows del").count() > 0
    # A slider is counted at once, without a button.
    before = page.locator("#seen").inner_text()
    page.get_by_label("How coarse ZIP is").fill("9")
    page.wait_for_function(
        "text => (document.querySelector('#seen') || {innerText: text}).innerText !== text", arg=before
    )
    opened.settle()
    page.get_by_label("How coarse ZIP is").fill("0")
    opened.settle()
    shaped_by_hand(opened)
    compared(opened)
    attacked(opened)
    page.reload()
    page.get_by_text("The same without the studio").click()
    assert "shoal anonymize hospital.csv" in page.locator('[data-same="command"]').inner_text()
    opened.picture("8-publish")
    opened.accessible()
    made_for_a_board(opened)
    assert opened.said == []
    port = opened.address.split("?")[0]
    assert [url for url in opened.requested if not url.startswith(port)] == [], "nothing is loaded from the network"


def shaped_by_hand(opened: Opened) -> None:
    page = opened.page
    page.get_by_text("Shape a column yourself").click()
    width = page.locator("main").evaluate("one => one.clientWidth")
    page.get_by_role("link", name="Shape Sex yourself").click()
    opened.press("Propose: By hand")
    page.get_by_text("Groups by hand").click()
    assert page.locator("main").evaluate("one => one.clientWidth") == width, "a hierarchy changes no width"
    for value in ("f", "m"):
        page.get_by_label(value, exact=True).check()
    page.get_by_label("The chosen ones become").fill("any sex")
    opened.press("Put them together")
    page.get_by_role("cell", name="any sex").first.wait_for()
    opened.picture("5-shape")
    opened.accessible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save Sex.hierarchy.csv").click()
    assert sorted(Path(download.value.path()).read_text().split("\n")) == ["", "f;any sex;*", "m;any sex;*"]
    page.locator("#tree").focus()  # as after a dialog for files
    page.set_input_files("#tree", files=[{"name": "a.csv", "mimeType": "text/csv", "buffer": b"f;one;*\nm;one;*\n"}])
    page.get_by_role("cell", name="one", exact=True).first.wait_for()  # what was unfolded stays so
    opened.settle()


def compared(opened: Opened) -> None:
    page = opened.page
    opened.press("Compare levels")
    opened.screen("What does more protection cost?")
    page.fill("#k", "5, 10")
    opened.press("Compare")
    page.get_by_role("button", name="Choose k = 10, l = 3").wait_for(timeout=PATIENCE)
    opened.picture("6-compare")
    opened.accessible()
    page.locator(".drawing .point .reach").nth(
        1
    ).click()  # of the drawing: the one that is found most easily stands last
    opened.screen("Make the release")
    assert "10 or more records" not in page.inner_text("main")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Compare levels").click()
    page.locator("table").get_by_role("button", name="Choose k = 10, l = 3").click()
    opened.screen("Make the release")


def attacked(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("button", name="Attack it first").click()
    opened.screen("What would somebody find out?")
    page.get_by_label("Names people by").select_option("Insurance no")
    opened.press("Attack it")
    page.get_by_role("heading", name="Inference").wait_for(timeout=PATIENCE)
    opened.picture("7-attack")
    opened.accessible()
    page.get_by_role("link", name="Go on: publish").click()
    opened.screen("Make the release")


def write_quarter(path: Path, people: Sequence[int], corrected: int | None = None) -> None:
    """Write the table of a quarter of a registry: one row for each person."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Insurance no", "Sex", "ZIP", "Diagnosis"])
        for person in people:
            diagnosis = "diagnosis 7" if person == corrected else f"diagnosis {person % 5}"
            writer.writerow([f"A{1000 + person}", "fm"[person // 5 % 2], 10100 + person * 31 % 101, diagnosis])


def test_four_quarters_of_a_registry_by_mouse(opened):
    """A correction, a deletion and a wrong file, the way through Open and back each time."""
    page, vault = opened.page, opened.home / "vault"
    vault.mkdir(mode=0o700)
    write_quarter(opened.home / "q1.csv", range(80))
    page.reload()
    opened.press("q1.csv")
    opened.table()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Series", exact=True).click()
    opened.screen("The same people, again and again")
    # The place of the key is chosen before there is a ledger.
    page.fill("#name", "admissions")
    page.fill("#m", "3")
    opened.press("Start the series")
    page.get_by_text("Choose where the key of the new ledger is kept.").wait_for()
    assert not list(opened.home.glob("*.db"))
    page.get_by_label("in another place:").fill(str(vault / "r.key"))
    opened.press("Start the series")
    page.get_by_text("The series 'admissions' is started.").wait_for()
    for row, path in (("Ledger", "releases.db"), ("Key", "vault/r.key"), ("Anchor", "vault/r.anchor")):
        page.get_by_role("row", name=f"{row} {opened.home / path}").wait_for()
        assert (opened.home / path).is_file()
    page.get_by_text("Never keep the ledger and its key in one place:").wait_for()
    # The first quarter, and its file once more.
    publish_quarter(opened, "Release 1 of 'admissions' is written.", "admissions-1")
    opened.picture("9-series")
    opened.accessible()
    with page.expect_popup() as report:
        page.get_by_role("link", name="report for readers of release 1", exact=True).click()
    report.value.get_by_role("heading", name="admissions: release 1").wait_for()
    report.value.close()
    publish_quarter(opened, "is it the same file?")
    correct_and_delete(opened)
    take_a_wrong_file_back(opened)
    opened.press("Check the whole series")
    page.get_by_text("Nothing is wrong: 4 of 4 releases were looked at again.").wait_for()
    assert sorted(path.name for path in opened.home.glob("admissions-?")) == [f"admissions-{n}" for n in range(1, 6)]
    for path in opened.home.glob("admissions-?/*"):
        assert not re.search(rb"A1\d\d\d\b", path.read_bytes()), f"{path} has an id"
    open_with_its_key(opened, vault / "r.key")
    # A refused form has the status 422, and its field the focus unless the test was faster.
    assert {one for one in opened.said if "422" not in one and "Autofocus" not in one} == set()


def publish_quarter(opened: Opened, answer: str, folder: str | None = None) -> None:
    """Publish the open table into the proposed folder; nothing is written if no folder is given."""
    page, before = opened.page, set(opened.home.iterdir())
    # The form is folded after the table has been published.
    if not page.get_by_role("button", name="Publish the next release").is_visible():
        page.get_by_text("Publish the same table again").click()
    opened.press("Publish the next release")
    page.get_by_text(answer).wait_for()
    made = {path.name for path in set(opened.home.iterdir()) - before}
    assert made == ({folder, f"{folder}.private"} if folder else set())
    assert page.get_by_text("Nothing was published.").count() == (folder is None)


def open_quarter(opened: Opened, name: str, people: Sequence[int], corrected: int | None = None) -> None:
    """Open the table of another quarter, and go back to the series."""
    write_quarter(opened.home / name, people, corrected)
    following = opened.page.get_by_role("link", name="Open the next table")
    (following if following.count() else opened.page.get_by_role("link", name="Another table")).click()
    opened.screen("Which table do you want to publish?")
    opened.press(name)
    opened.page.get_by_text(f"Everybody in {name}, a line for each person.").wait_for()


def erase(opened: Opened, person: str, answer: str) -> None:
    """Erase a person, by id."""
    if not opened.page.get_by_label("Their ids, one per line").is_visible():
        opened.page.get_by_text("Erase people", exact=True).click()
    opened.page.get_by_label("Their ids, one per line").fill(person)
    opened.page.get_by_label("This cannot be undone.").check()
    opened.press("Erase them")
    opened.page.get_by_text(answer).wait_for()


def correct_and_delete(opened: Opened) -> None:
    """The second quarter corrects a value; in the third, somebody wants to be deleted."""
    page = opened.page
    open_quarter(opened, "q2.csv", range(5, 85), corrected=11)
    publish_quarter(opened, "1 of 75 people who were published before has another sensitive value now.")
    assert not page.get_by_text("A1011").is_visible(), "whose value it is, is shown on request"
    page.get_by_text("Show the ids (1, for you alone)").click()
    page.get_by_text("A1011").wait_for()
    opened.accessible()
    erase(opened, "nobody", "The series does not know 1 of 1 people.")
    page.get_by_text("Show the ids (1, for you alone)").click()
    page.get_by_role("listitem").get_by_text("nobody").wait_for()
    erase(opened, "A1011", "People erased from 'admissions' in all: 1;")
    open_quarter(opened, "q2b.csv", [one for one in range(5, 85) if one != 11])
    publish_quarter(opened, "Release 2 of 'admissions' is written.", "admissions-2")
    # The table of the third quarter still has the deleted person.
    erase(opened, "A1020", "People erased from 'admissions' in all: 2;")
    open_quarter(opened, "q3.csv", range(15, 95))
    publish_quarter(opened, "1 of 80 people was erased from the series earlier.")
    opened.press("Publish without this person")  # nothing has to be removed elsewhere
    page.get_by_text("Release 3 of 'admissions' is written.").wait_for()
    assert "A1020" not in (opened.home / "admissions-3/release.csv").read_text()


def take_a_wrong_file_back(opened: Opened) -> None:
    """The fourth quarter: a wrong file, which nobody outside has seen, and the right one."""
    page = opened.page
    open_quarter(opened, "wrong.csv", range(60, 95))
    publish_quarter(opened, "Release 4 of 'admissions' is written.", "admissions-4")
    page.get_by_text("Take the last release back", exact=True).click()
    opened.press("Take it back")
    page.get_by_text("A release that someone has cannot be taken back").wait_for()
    page.get_by_label("Nobody outside has seen it.").check()
    opened.press("Take it back")
    page.get_by_text("Release 4 of 'admissions' was taken back.").wait_for()
    page.get_by_role("row", name="4 taken back").wait_for()
    assert page.get_by_role("link", name="of release 4").count() == 0
    open_quarter(opened, "q4.csv", range(25, 100))
    publish_quarter(opened, "Release 5 of 'admissions' is written.", "admissions-5")


def open_with_its_key(opened: Opened, key: Path) -> None:
    """Start another studio, which asks for the key; a wrong path is an error at its field."""
    page = opened.page
    page.goto("about:blank")  # a page that still loads something would find no server
    opened.process.terminate()
    opened.process.communicate(timeout=30)
    start_studio(opened, opened.home)
    page.get_by_role("link", name="Series").first.click()
    page.get_by_text("needs its key, which does not lie beside it").wait_for()
    for path, answer in ((key.with_name("no.key"), "There is no such file."), (key, "Never keep the ledger")):
        page.get_by_label("File of its key").fill(str(path))
        opened.press("Open")
        page.get_by_text(answer).wait_for()
    assert page.get_by_role("link", name="table of release").count() == 4
    with page.expect_download() as download:
        page.get_by_role("link", name="table of release 5", exact=True).click()
    assert download.value.path().read_bytes() == next((opened.home / "admissions-5").glob("release.*")).read_bytes()


def made_for_a_board(opened: Opened) -> None:
    page = opened.page
    page.fill("#folder", "board")
    with page.expect_navigation():
        opened.press("Make the release")
    page.reload()  # the work goes on, and is found again
    page.get_by_text("What was asked for is met").wait_for(timeout=PATIENCE)
    widths = "all => all.map(one => Math.round(one.getBoundingClientRect().width))"
    assert len({*page.locator(".sides rect.track").evaluate_all(widths)}) == 1, "all bars have one scale"
    opened.picture("8-release")
    opened.accessible()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="look at it").click()
    assert popup.value.get_by_role("heading", level=1).inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="release.csv").click()
    assert Path(download.value.path()).read_bytes() == (opened.home / "board/release.csv").read_bytes()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the ZIP").click()
    with zipfile.ZipFile(download.value.path()) as packed:
        assert {*packed.namelist()} == {f"board/{one.name}" for one in (opened.home / "board").iterdir()}
    page.get_by_text("More", exact=True).click()
    page.get_by_role("heading", name="What you decided").wait_for()
    opened.accessible()
    columns = json.loads((opened.home / "board/certificate.json").read_text())["columns"]
    roles = ["--qi", ",".join(columns["quasi_identifiers"]), "--sensitive", ",".join(columns["sensitive"])]
    audit = CliRunner().invoke(app, ["audit", str(opened.home / "board/release.csv"), *roles, "-k", "10", "-l", "3"])
    assert audit.exit_code == 0, audit.stdout


def test_a_wrong_word_is_said_where_it_was_typed(opened):
    """On the screens with a script, too: the page stays, the field has the focus, and the next word is taken."""
    page = opened.page
    opened.press("hospital.csv")
    opened.table()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    root = opened.address.split("?")[0]
    page.goto(root + "goal?column=1#shape")
    page.get_by_role("heading", name="How may Sex become coarser?").wait_for()
    opened.settle()
    page.get_by_label("Coarsening").fill("bins:10")
    page.locator("form", has=page.get_by_label("Coarsening")).get_by_role("button", name="Take it").click()
    page.locator("#refused").wait_for(timeout=PATIENCE)
    page.get_by_role("heading", name="How may Sex become coarser?").wait_for()
    field = page.get_by_label("Coarsening")
    assert field.input_value() == "bins:10"
    assert field.evaluate("field => field === document.activeElement")
    box = page.locator("#refused").bounding_box()
    assert box is not None
    assert abs(box["y"] - field.bounding_box()["y"]) < 150, "beside its field"
    opened.picture("5-refused")
    opened.accessible()
    opened.go("goal", FOR_WHOM)
    assert page.locator("#refused").count() == 0
    page.get_by_text("More: how cells become less precise").click()
    page.get_by_label("As stars: a cell is as it was, or a *.", exact=False).check()
    opened.settle()
    page.fill("#k", "many")
    opened.press("Go on: publish")
    page.locator("#refused").wait_for()
    assert page.locator("#k").input_value() == "many"
    assert page.locator("input[type=radio][value=suppression]").is_checked()
    opened.said.clear()  # the browser notes that an answer was a refusal


def test_a_workbook_with_a_cover_sheet(opened):
    import xlsxwriter

    path = opened.home / "book.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Cover").write_string(2, 3, "Hospital")
        notes = book.add_worksheet("Notes")
        notes.write_row(0, 0, ("title", "year"))
        notes.write_row(1, 0, ("Patients of the hospital", 2025))
        sheet = book.add_worksheet("Patients")
        rows = [("age", "zip", "disease"), *((20 + at % 30, 10001 + at % 3, f"d{at % 4}") for at in range(60))]
        for row, values in enumerate(rows):
            for place, value in enumerate(values):
                sheet.write(row, place, value)
    page = opened.page
    page.set_input_files("#file", path)
    # The sheet with the most cells is read; another one may be chosen.
    opened.table("60 records, 3 columns")
    for sheet in ("Cover", "Notes"):
        page.get_by_role("link", name="Read it in another way").click()
        page.get_by_role("heading", name="How is book.xlsx read?").wait_for(timeout=PATIENCE)
        listed = page.locator("#reading select[name=sheet]")
        listed.select_option(
            label=next(one for one in listed.locator("option").all_inner_texts() if one.startswith(sheet))
        )
        if sheet == "Cover":
            opened.picture("1-sheets")
            opened.accessible()
        opened.press("Read it so")
        page.locator("#refused").wait_for(timeout=PATIENCE) if sheet == "Cover" else opened.table("1 record, 2")
        page.goto(opened.address.split("?")[0] + "table")
    opened.said.clear()  # the browser notes that an answer was a refusal


def write_german(path: Path, patients: int = 120) -> None:
    """Write a German workbook of visits: a cover sheet, names in row 3, decimal commas, codes and spellings."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Deckblatt").write_string(2, 3, "Klinikum")
        sheet = book.add_worksheet("Besuche")
        sheet.write_string(0, 0, "Station 7, drittes Quartal")
        sheet.write_row(2, 0, ("Patienten-Nr", "Name", "Alter", "Geschlecht", "PLZ", "Kosten", "Diagnose"))
        for row in range(3 * patients):
            person = row // 3
            age = "k.A." if person % 17 == 5 else 20 + person * 7 % 60
            sex = ("w", "weiblich", "m", "W")[person % 4]
            cost = f"{100 + row * 37 % 900},{row % 9}5"
            known = (f"P{person:04}", f"Frau {person}", age, sex, f"{10115 + person % 9}")
            sheet.write_row(row + 3, 0, (*known, cost, f"d{row * 7 % 5}"))


def test_a_steward_publishes_visits_of_a_german_workbook_in_fifteen_clicks(opened):
    page, path = opened.page, opened.home / "besuche.xlsx"
    write_german(path)
    page.set_input_files("#file", path)
    opened.table("360 records, 7 columns")
    assert page.get_by_text("names of columns in row 3").is_visible()
    assert page.get_by_text("decimals behind a comma").is_visible()
    assert page.get_by_text("360 records of 120 persons, by Patienten-Nr").is_visible()
    # What a person would mend is a button.
    assert page.get_by_text("w for weiblich").is_visible()
    page.evaluate("window.stays = true")
    opened.press("Make them one")
    opened.settle()
    assert page.get_by_text("w for weiblich").count() == 0
    assert page.evaluate("window.stays"), "the page stays where it is"
    opened.press("All of them mean missing")
    opened.table("360 records, 7 columns")
    opened.picture("2-table-german", document=False)
    opened.accessible()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    page.get_by_role("button", name=re.compile("^Researchers under a contract")).click()
    opened.settle()
    opened.press("Go on: publish")
    opened.screen("Make the release")
    opened.press("Make the release")
    page.get_by_text("What was asked for is met").wait_for(timeout=PATIENCE)
    assert opened.clicks <= 15, opened.clicks
    certificate = json.loads((opened.home / "release.private/certificate.json").read_text())
    assert sorted(certificate["parameters"]["replaced"]) == ["Alter", "Geschlecht"]
    assert certificate["persons"][0]["least_in_group"] >= 5
    text = read(opened.home / "release/release.xlsx").write_csv()
    assert not re.search(r"Frau|P0|k\.A\.", text)
    assert opened.said == []


def write_wide(path: Path, rows: int, columns: int) -> None:
    """Write encounters: an age, a sex, a region, an admission, a diagnosis, and measurements."""
    names = ["age", "sex", "region", "admitted", "diagnosis", *(f"lab {at}" for at in range(columns - 5))]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in range(rows):
            mixed = row * 7919 % 10007
            known = [20 + mixed % 60, "fm"[mixed % 2], f"R{mixed % 9}", f"2025-{1 + mixed % 12:02}-{1 + mixed % 28:02}"]
            measured = [mixed * (at + 3) % (17 + at) for at in range(columns - 5)]
            writer.writerow([*known, f"d{mixed % 17 % 6}", *measured])


def records_before_and_after(opened: Opened, picture: str) -> None:
    page = opened.page
    page.get_by_text("10 records, before and after").click()
    assert page.locator(".beside tbody tr").count() == 10
    opened.picture(picture, document=False)
    opened.accessible()


def test_a_hundred_thousand_records_of_forty_columns_to_a_good_release_in_twenty_clicks(opened):
    page = opened.page
    write_wide(opened.home / "encounters.csv", 100_000, 40)
    page.reload()
    opened.press("encounters.csv")
    opened.table()
    opened.picture("2-table-wide", document=False)
    opened.accessible()
    # A wrong word says so beside its field and changes nothing.
    page.get_by_text("Find columns, set several at once").click()
    page.get_by_label("What these columns are").select_option("direct_identifier")
    page.locator("input[name=find]").fill("many")
    opened.press("Set them")
    page.locator("#refused").wait_for()
    assert page.locator("input[name=find]").input_value() == "many"
    page.locator("input[name=find]").fill("6-40")
    opened.press("Set them")
    page.locator("body:not(:has(#refused))").wait_for()
    opened.table()
    # Some measurements are found by their names and kept.
    page.get_by_text("Find columns, set several at once").click()
    page.locator("input[name=find]").fill("lab 1")
    opened.press("Show these")
    page.get_by_text("11 of 40 columns are shown.").wait_for()
    page.get_by_label("What these columns are").select_option("sensitive")
    opened.press("Set them")
    page.wait_for_url("**/table#columns")
    opened.table()
    assert page.get_by_label("What lab 12 is", exact=True).input_value() == "sensitive"
    # Undo stands beside it.
    opened.press("Undo")
    opened.table()
    assert page.get_by_label("What lab 12 is", exact=True).input_value() == "direct_identifier"
    page.get_by_label("What diagnosis is", exact=True).select_option("sensitive")
    opened.settle()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    opened.settle()
    before = page.locator(".beside").inner_text()
    page.get_by_label("How coarse admitted is").fill("3")  # the records follow at once
    page.wait_for_function(
        "text => (document.querySelector('.beside') || {innerText: text}).innerText !== text", arg=before
    )
    opened.settle()
    opened.press("Go on: publish")
    opened.screen("Make the release")
    opened.press("Make the release")
    page.get_by_text("What was asked for is met").wait_for(timeout=PATIENCE)
    assert opened.clicks <= 20, opened.clicks
    certificate = json.loads((opened.home / "release.private/certificate.json").read_text())
    assert certificate["output"]["files"]["release.csv"]["rows"] == 100_000
    assert certificate["cost"]["gcp"] < MUCH_LOST
    records_before_and_after(opened, "8-release-rows")
    header = (opened.home / "release/release.csv").read_text().splitlines()[0].split(",")
    assert set(header) <= {"age", "sex", "region", "admitted", "diagnosis"}
    opened.said.clear()  # the browser notes that an answer was a refusal


def test_a_project_is_closed_and_opened_again(opened, tmp_path):
    page = opened.page
    opened.press("hospital.csv")
    opened.table()
    page.get_by_label("What Insurer is", exact=True).select_option("direct_identifier")
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    page.fill("#k", "9")
    opened.press("Go on: publish")
    opened.screen("Make the release")
    page.get_by_text("More", exact=True).click()
    page.get_by_text("Close the studio", exact=True).click()
    opened.press("Close it now")
    opened.screen("The studio is closed")
    assert page.get_by_text("hospital.shoal.toml").is_visible()
    opened.process.wait(timeout=30)
    opened.process.stdout.close()
    opened.said.clear()  # the icon of the last page comes too late
    start_studio(opened, tmp_path)
    opened.screen("Which table do you want to publish?")
    opened.picture("1-open-recent", document=False)
    opened.accessible()
    opened.press("hospital")
    opened.table()
    assert page.get_by_label("What Insurer is", exact=True).input_value() == "direct_identifier"
    page.get_by_text("More", exact=True).click()
    assert page.get_by_text("Goal: k = 9").first.is_visible()
    page.goto(opened.address.split("?")[0] + "publish")
    opened.screen("Make the release")
    opened.press("Make the release")
    page.get_by_text("What was asked for is met").wait_for(timeout=PATIENCE)
    page.get_by_role("link", name="shoal studio").first.click()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="report for readers").click()
    assert popup.value.get_by_role("heading", level=1).inner_text()
    assert opened.said == []


def write_visits(path: Path, people: int = 60) -> None:
    """Write visits of patients: some have one, some have eight, and nearly every visit has another diagnosis."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Fall-Nr", "Patienten-Nr", "age", "gender", "zip", "admitted", "disease"])
        for person in range(people):
            for visit in range(1 + person * 7 % 8):
                day = f"2025-{1 + (person + visit) % 12:02}-{1 + person * 5 % 28:02}"
                number, seen = f"P{person * 37 % 1000:04}", f"d{(person + visit) % 7}"
                row = [person * 8 + visit, number, 20 + person % 40, "FM"[person % 2], 10001 + person % 4, day, seen]
                writer.writerow(row)


def test_visits_of_patients_to_a_release_that_protects_patients(opened):
    page = opened.page
    write_visits(opened.home / "visits.csv")
    page.reload()
    opened.press("visits.csv")
    opened.table()
    assert page.get_by_text("274 records of 60 persons, by Patienten-Nr").is_visible()
    assert page.locator("#answer").input_value() == "one", "it is proposed"
    opened.picture("2-persons-several")
    opened.accessible()
    for answer, banner, of in (
        ("one", "one record of each is published", "one_record_each"),
        ("counted", "the smallest group counts persons", "persons"),
        ("linked", "the records of each are linked by a pseudonym", "linked_persons"),
    ):
        opened.go("table", re.compile("records, "))
        page.locator("#answer").select_option(answer)
        opened.settle()
        page.get_by_label("What admitted is", exact=True).select_option("direct_identifier")
        opened.settle()
        opened.press("Go on: for whom")
        opened.screen(FOR_WHOM)
        assert page.get_by_text(banner).is_visible()
        page.fill("#k", "3")
        page.fill("#l", "2")
        page.keyboard.press("Tab")
        opened.settle()
        opened.picture(f"4-goal-{of}", document=False)
        opened.accessible()
        opened.press("Go on: publish")
        opened.screen("Make the release")
        opened.picture(f"8-publish-{of}", document=False)
        page.fill("#folder", of)
        opened.press("Make the release")
        page.get_by_text("What was asked for is met").wait_for(timeout=PATIENCE)
        opened.picture(f"8-release-{of}", document=False)
        opened.accessible()
        certificate = json.loads((opened.home / f"{of}.private/certificate.json").read_text())
        assert certificate["requested"][0]["of"] == of
        assert certificate["persons"][0]["least_in_group"] >= 3
        assert "P0" not in (opened.home / of / "release.csv").read_text()
    assert opened.said == []


def test_an_officer_reviews_the_release_of_somebody_else(opened, tmp_path):
    page = opened.page
    names = ["--id", "Name,Insurance no,Born,Admitted,Days,Cost,Insurer,Country", "--qi", "Sex,ZIP,Ward"]
    command = ["anonymize", str(opened.home / "hospital.csv"), *names, "--sensitive", "Diagnosis", "-k", "4", "-l", "2"]
    assert CliRunner().invoke(app, [*command, "-o", str(tmp_path / "theirs")]).exit_code == 0
    shutil.rmtree(tmp_path / "theirs.private")
    page.get_by_role("link", name="Review a release").click()
    opened.screen("Review a release")
    opened.press("theirs")
    page.get_by_text("The cells have the figures that the certificate states.").wait_for(timeout=PATIENCE)
    page.get_by_label("Made from").select_option("hospital.csv")
    opened.press("Attack it")
    page.get_by_role("heading", name="Homogeneity").wait_for(timeout=PATIENCE)
    page.get_by_role("radio", name="Approved with conditions").check()
    page.get_by_label("Conditions, or reasons").fill("Delete it after the study.")
    page.get_by_label("Valid until").fill("2028-01-31")
    page.get_by_label("Reviewed by").fill("A. Officer")
    opened.press("Keep the decision")
    opened.picture("10-review")
    opened.accessible()
    with page.expect_popup() as document:
        page.get_by_role("link", name="Open the document to print it").click()
    sheet = document.value
    sheet.emulate_media(media="print")
    signed = sheet.get_by_role("region", name="Decision").inner_text()
    for shown in (
        "Approved with conditions",
        "Delete it after the study.",
        "2028-01-31",
        "A. Officer",
        "Residual risk",
    ):
        assert shown in signed, shown
    if PICTURES:
        sheet.screenshot(path=Path(PICTURES) / "10-document.png", full_page=True)
    sheet.close()
    assert opened.said == []


def test_screens_with_everything_unfolded(opened):
    (opened.home / "visits.csv").write_text("Name,Ward\nPerson 1,eyes\n")
    page = opened.page
    page.set_input_files("#file", opened.home / "hospital.csv")
    opened.table()
    opened.press("Go on: for whom")
    for path, heading in (
        ("table?measured=yes", re.compile("records, ")),
        ("goal", FOR_WHOM),
        ("goal?column=0", FOR_WHOM),
        ("compare", "What does more protection cost?"),
    ):
        opened.go(path, heading)
        high = "one => one.getBoundingClientRect().height"
        assert page.locator(".top").evaluate(high) < 2.2 * page.locator(".top nav li").last.evaluate(high), "one line"
        _look_unfolded(opened, f"unfolded-{path.partition('?')[0]}")
    # A wrong word of a folded part is shown where it was typed.
    opened.go("goal", FOR_WHOM)
    page.locator("details.more summary").first.click()
    page.fill("#weight-0", "much")
    opened.press("Go on: publish")
    assert page.locator("#weight-0[aria-invalid=true]").is_visible()
    assert page.locator("#refused").is_visible()


def _look_unfolded(opened: Opened, name: str) -> None:
    """Unfold all parts of a screen, and check its width and its accessibility."""
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    opened.picture(name, document=False)
    opened.accessible()


def test_columns_of_screens_are_aligned_and_an_action_keeps_the_place(opened):
    page = opened.page
    opened.press("hospital.csv")
    opened.table()
    beyond = page.locator(".grid").evaluate(
        "one => [one.scrollWidth > one.clientWidth, getComputedStyle(one).backgroundAttachment]"
    )
    assert beyond == [True, "local, local, scroll, scroll, scroll"], "a shadow says that columns go on"
    lefts = "all => all.map(one => Math.round(one.getBoundingClientRect().left))"
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    opened.settle()
    assert len(set(page.locator(".coarsenings input[type=range]").evaluate_all(lefts)) - {0}) == 1
    fits = "one => { one.textContent = 'cut at ' + '18,30,45,'.repeat(9); return one.scrollWidth <= one.clientWidth; }"
    assert page.locator(".coarsenings output").first.evaluate(fits), "many cuts stay in their column"
    root = opened.address.split("?")[0]
    page.fill("#k", "many")
    opened.press("Go on: publish")
    page.locator("#refused").wait_for()
    places = "all => all.map(one => one.getBoundingClientRect()).map(({top, bottom}) => [top, bottom])"
    field, mark = page.locator("#k, [popovertarget=ask-k]").evaluate_all(places)
    assert field[0] < mark[0] < mark[1] < field[1], "the message leaves the sign beside the field"
    opened.said.clear()  # the refused form
    page.goto(root + "compare")
    opened.screen("What does more protection cost?")
    opened.press("Compare")
    page.get_by_role("button", name="Choose k = 10").first.wait_for(timeout=PATIENCE)
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        edges = page.locator(".levels .taken button").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(({left, right}) => [left, right])"
        )
        assert edges
        assert all(0 <= left < right <= width for left, right in edges), "each choice is in sight"
    sides = "({left, right, top, bottom}) => [left, right, top, bottom]"
    boxes = page.locator(".drawing text").evaluate_all(
        f"all => all.map(one => one.getBoundingClientRect()).map({sides})"
    )
    overlapping = [
        (one, other)
        for place, one in enumerate(boxes)
        for other in boxes[:place]
        if one[0] < other[1] and other[0] < one[1] and one[2] + 2 < other[3] and other[2] + 2 < one[3]
    ]
    assert overlapping == []
    opened.accessible()
    assert opened.said == []


def test_what_is_typed_is_kept_and_what_follows_from_it_is_shown_at_once(opened):
    page = opened.page
    opened.press("hospital.csv")
    opened.table()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    opened.settle()
    page.get_by_text("The same without the studio").click()
    page.fill("#k", "7")
    page.keyboard.press("Tab")
    page.locator("[data-same=command]").get_by_text("-k 7").wait_for()
    assert "k = 7" in page.locator(".undo").inner_text()
    page.locator(".same .copy").first.wait_for()
    opened.settle()
    opened.press("Undo")
    opened.screen(FOR_WHOM)
    assert page.input_value("#k") == "5"
    # Words for the report are stored in whichever way the screen is left.
    page.get_by_role("link", name="Publish").click()
    opened.screen("Make the release")
    page.fill("#title", "Stays of 2025")
    page.get_by_text("The same without the studio").click()
    page.locator(".undo").get_by_text("Words for the report").wait_for()
    assert page.locator(".same[open]").count() == 1, "what is pressed while an answer comes is pressed"
    page.fill("#folder", "stays")
    page.get_by_role("link", name="For whom").click()
    opened.screen(FOR_WHOM)
    page.get_by_role("link", name="Publish").click()
    opened.screen("Make the release")
    assert (page.input_value("#title"), page.input_value("#folder")) == ("Stays of 2025", "stays")
    assert opened.said == []


def test_by_keyboard_alone_to_a_release(opened):
    page, keys = opened.page, 0
    opened.screen("Which table do you want to publish?")

    def go_to(name: str, *, back: bool = False) -> None:
        nonlocal keys
        for _ in range(80):
            page.keyboard.press("Shift+Tab" if back else "Tab")
            keys += 1
            focused = page.evaluate(
                "(document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || '').trim()"
            )
            if focused == name:
                page.keyboard.press("Enter")
                keys += 1
                return
        raise AssertionError(f"{name} is not reached")

    go_to("hospital.csv")
    opened.table()
    go_to("Go on: for whom", back=True)
    opened.screen(FOR_WHOM)
    opened.settle()
    go_to("Go on: publish", back=True)
    opened.screen("Make the release")
    go_to("Make the release", back=True)
    page.get_by_text("What was asked for is met").wait_for(timeout=PATIENCE)
    assert keys <= 100
    # The other screens, too.
    opened.go("goal", FOR_WHOM)
    opened.settle()
    go_to("Shape a column yourself")
    go_to("Shape Sex yourself")
    page.get_by_role("heading", name="How may Sex become coarser?").wait_for()
    opened.settle()
    go_to("Propose: Rare with rare")
    page.get_by_role("heading", name="The levels").wait_for()
    go_to("Take everything the same")
    opened.screen(FOR_WHOM)
    opened.settle()
    assert page.locator("#c-1").input_value() == "any"
    go_to("What does this mean: The smallest group (k)?")
    assert page.locator("#ask-k").is_visible()
    page.keyboard.press("Escape")
    opened.go("attack", "What would somebody find out?")
    go_to("Attack it", back=True)
    page.get_by_role("heading", name="Homogeneity").wait_for(timeout=PATIENCE)


def test_what_is_made_is_what_was_shown(opened):
    """Another window changes the plan: the page of the first one is refused in a sentence, and nothing is made."""
    page = opened.page
    opened.press("hospital.csv")
    opened.table()
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    page.fill("#k", "10")
    opened.press("Go on: publish")
    opened.screen("Make the release")
    other = page.context.new_page()
    other.goto(opened.address.split("?")[0] + "goal")
    other.fill("#k", "2")
    other.get_by_role("button", name="Go on: publish").click()
    other.get_by_role("heading", name="Make the release").wait_for()
    opened.press("Make the release")
    page.get_by_text("The plan has changed since this page was made.").wait_for()
    assert not (opened.home / "release").exists()
    assert page.get_by_text("which of 2 or more").is_visible()
    opened.said.clear()  # the browser notes that an answer was a refusal


def test_hostile_names_do_nothing_in_a_browser(opened):
    page = opened.page
    name = "<img src=x onerror=document.title='hit'>"
    with (opened.home / "hostile.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name, "<script>document.title='hit'</script>", "\u202edesrever", "disease"])
        writer.writerows([[f"a{row % 3}", f"b{row % 2}", "c", f"<b>d{row % 4}</b>"] for row in range(60)])
    page.reload()
    opened.press("hostile.csv")
    opened.table()
    opened.press("Show the cells of columns that are left out")
    opened.table()
    assert page.locator(".grid").get_by_text(name).first.is_visible()
    assert page.locator(".grid").get_by_text("<b>d1</b>").first.is_visible()
    assert page.locator(".grid").get_by_text("\\u202edesrever").first.is_visible()
    assert "hit" not in page.title()
    assert page.locator("img, main script").count() == 0
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    for path in ("goal", "table?column=0", "goal?column=0", "attack", "series"):
        page.goto(opened.address.split("?")[0] + path)
        page.locator("main:not(:has(#working)) h1").wait_for()
        assert "hit" not in page.title()
        assert page.locator("img, main script").count() == 0
    opened.go("table", re.compile("records, "))
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}))"
    )
    assert page.title() != "1", "an inline script is not run, however it came into the page"
    opened.said.clear()


def test_another_browser_does_not_get_in_and_other_pages_cannot_ask(opened, chromium):
    opened.screen("Which table do you want to publish?")
    other = chromium.new_context()
    page = other.new_page()
    assert page.goto(opened.address).status == 403
    assert page.goto(opened.address.split("?")[0]).status == 403
    other.close()
    second = opened.page.context.new_page()  # a second window of the same browser sees the same
    assert second.goto(opened.address.split("?")[0]).status == 200
    assert opened.page.evaluate("document.cookie") == "", "scripts do not see the cookie"
    elsewhere = opened.page.context.new_page()
    elsewhere.goto(
        "data:text/html,<form method=post action='" + opened.address.split("?")[0] + "close'><button>go</button></form>"
    )
    elsewhere.get_by_role("button").click()
    elsewhere.wait_for_load_state()
    assert "The studio is closed" not in elsewhere.content()
    assert opened.process.poll() is None


def test_the_studio_is_closed_from_its_page_and_leaves_nothing_of_what_was_dropped(opened):
    opened.screen("Which table do you want to publish?")
    opened.page.set_input_files("#file", opened.home / "hospital.csv")
    opened.table()
    opened.page.get_by_text("More", exact=True).click()
    opened.page.get_by_text("Close the studio", exact=True).click()
    assert opened.process.poll() is None, "it asks first"
    opened.press("Close it now")
    opened.screen("The studio is closed")
    assert opened.page.locator("main").evaluate("one => getComputedStyle(one).maxWidth") == "960px", "with its styles"
    end = time.monotonic() + 30
    while opened.process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    assert opened.process.returncode == 0


def test_the_first_screen_is_there_before_anything_heavy_is(opened):
    opened.screen("Which table do you want to publish?")
    fields = Path(f"/proc/{opened.process.pid}/stat")
    if not fields.exists():
        pytest.skip("The processor time of another process is known on Linux only.")
    ticks = sum(map(int, fields.read_text().rpartition(")")[2].split()[11:13]))
    assert ticks / os.sysconf("SC_CLK_TCK") < 1.5, (
        "seconds of the processor; a machine with two free cores needs no more"
    )


def test_a_million_rows_and_a_stop(opened):
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    rows = 1_000_000
    pl.DataFrame({
        "age": rng.integers(0, 100, rows),
        "zip": rng.integers(10_000, 10_400, rows),
        "sex": rng.integers(0, 2, rows),
        "disease": rng.integers(0, 40, rows),
    }).write_parquet(opened.home / "large.parquet")  # fmt: skip
    page = opened.page
    page.reload()
    opened.press("large.parquet")
    opened.table()
    assert "1,000,000 records" in page.inner_text("main")
    page.get_by_label("What disease is", exact=True).select_option("sensitive")
    opened.press("Go on: for whom")
    opened.screen(FOR_WHOM)
    page.goto(opened.address.split("?")[0] + "goal?column=0")
    # What is refused stays to be read when the other parts of the page have come.
    opened.press("Propose: First characters")
    refused = page.get_by_text("these are numbers of different lengths")
    refused.wait_for(timeout=PATIENCE)
    opened.settle()
    assert refused.is_visible()
    opened.said.clear()  # the browser notes that an answer was a refusal
    opened.press("Propose: By hand")
    page.get_by_role("heading", name="The levels").wait_for(timeout=PATIENCE)
    page.goto(opened.address.split("?")[0] + "attack")
    opened.screen("What would somebody find out?")
    opened.press("Attack it")
    page.get_by_role("button", name="Stop").wait_for()
    # The question whether to close the studio stays open if the work ends.
    page.get_by_text("More", exact=True).click()
    page.get_by_text("Close the studio", exact=True).click()
    page.route("**/work", lambda asked: asked.fulfill(body="null", content_type="application/json"))
    page.wait_for_timeout(1_000)
    assert page.get_by_role("button", name="Close it now").is_visible()
    page.unroute("**/work")
    page.reload()
    page.get_by_role("button", name="Stop").click()
    opened.screen("What would somebody find out?")
    assert page.get_by_role("button", name="Attack it", exact=True).is_visible()
    assert opened.process.poll() is None
