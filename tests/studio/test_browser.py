"""The studio in a real browser: the whole way from a file to a release, by mouse and by keyboard, without a network.

SHOAL_PICTURES=FOLDER keeps pictures of every screen, wide and narrow, light and dark.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app

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
PATIENCE = 300_000
"""Milliseconds for work that compiles on a busy machine."""
PICTURES = os.environ.get("SHOAL_PICTURES")


@dataclass
class Opened:
    """A studio in a process of its own, and a page that entered it."""

    page: Any
    home: Path
    process: subprocess.Popen[str]
    address: str
    requested: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def screen(self, heading: str) -> None:
        self.page.get_by_role("heading", name=heading, level=1).wait_for(timeout=PATIENCE)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def picture(self, name: str) -> None:
        """Keep pictures of a screen where somebody wants them; nothing of it is wider than the window."""
        for width in (1280, 400):
            self.page.set_viewport_size({"width": width, "height": 900})
            root = "document.documentElement"
            assert self.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), f"{name} at {width}"
            for scheme in ("light", "dark") if PICTURES else ():
                self.page.emulate_media(color_scheme=scheme)
                self.page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{scheme}.png", full_page=True)
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": 1280, "height": 900})

    def accessible(self) -> None:
        """Nothing serious is found by axe, in the light and in the dark."""
        from axe_playwright_python.sync_playwright import Axe

        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            found = Axe().run(self.page).response["violations"]
            serious = [
                (one["id"], [node["html"] for node in one["nodes"][:3]])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == []
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
    command = [sys.executable, "-m", "shoal", "studio", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    address = re.search(r"http://\S+", process.stdout.readline()).group()
    context = chromium.new_context(accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    studio = Opened(page=page, home=tmp_path, process=process, address=address)
    context.on("request", lambda request: studio.requested.append(request.url))
    page.on("console", lambda message: studio.said.append(message.text))
    page.on("pageerror", lambda error: studio.said.append(str(error)))
    page.goto(address)
    yield studio
    context.close()
    process.terminate()
    process.communicate(timeout=30)


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
    opened.screen("Who could know what?")
    opened.picture("2-columns")
    opened.accessible()
    page.get_by_label("What Ward is", exact=True).select_option("Leave it out")
    page.get_by_label("What Insurer is", exact=True).select_option("Leave it out")
    opened.press("These are right: show the risk")
    opened.screen("How easily are people found now?")
    opened.picture("3-risk")
    opened.accessible()
    page.get_by_role("button", name="What does this mean: Average risk?").click()
    assert page.locator("#ask-average").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#ask-average").is_visible()
    page.get_by_role("link", name="Choose how safe it must be").click()
    opened.screen("For whom is it, and how safe must it be?")
    page.fill("#k", "10")
    page.fill("#l", "3")
    page.get_by_text("at least 9 others").wait_for()
    page.get_by_text("at most 1 in 3").wait_for()
    opened.picture("4-goal")
    opened.accessible()
    opened.press("Use these numbers")
    opened.screen("Make columns coarser first")
    page.get_by_label("Born", exact=True).select_option("date:year")
    opened.press("Count the groups again")
    opened.screen("Make columns coarser first")
    opened.picture("5-coarser")
    opened.accessible()
    opened.press("Compare levels of protection first")
    opened.screen("What does more protection cost?")
    page.fill("#k", "5, 10")
    opened.press("Compare")
    page.get_by_role("button", name="Choose k = 10, l = 3").wait_for(timeout=PATIENCE)
    assert page.locator("img").evaluate("picture => picture.naturalWidth") > 100
    opened.picture("6-compare")
    opened.accessible()
    opened.press("Choose k = 10, l = 3")
    opened.screen("Make the release")
    page.reload()
    page.get_by_text("The same without the studio").click()
    assert "shoal anonymize hospital.csv" in page.locator('[data-same="command"]').inner_text()
    opened.picture("7-publish")
    opened.accessible()
    made_for_a_board(opened)
    assert opened.said == []
    port = opened.address.split("?")[0]
    assert [url for url in opened.requested if not url.startswith(port)] == [], "nothing is loaded from the network"


def made_for_a_board(opened: Opened) -> None:
    page = opened.page
    page.fill("#folder", "board")
    with page.expect_navigation():
        opened.press("Make the release")
    page.reload()  # the work goes on, and is found again
    page.get_by_text("Verified and written").wait_for(timeout=PATIENCE)
    opened.picture("8-release")
    opened.accessible()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="look at it").click()
    assert popup.value.get_by_role("heading", level=1).inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="release.csv").click()
    assert Path(download.value.path()).read_bytes() == (opened.home / "board/release.csv").read_bytes()
    page.get_by_role("link", name="History").click()
    opened.screen("What you decided")
    opened.picture("9-history")
    columns = json.loads((opened.home / "board/certificate.json").read_text())["columns"]
    roles = ["--qi", ",".join(columns["quasi_identifiers"]), "--sensitive", ",".join(columns["sensitive"])]
    audit = CliRunner().invoke(app, ["audit", str(opened.home / "board/release.csv"), *roles, "-k", "10", "-l", "3"])
    assert audit.exit_code == 0, audit.stdout


def test_by_keyboard_alone(opened):
    page = opened.page
    opened.screen("Which table do you want to publish?")

    def go_to(name: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                "(document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || '').trim()"
            )
            if focused == name:
                return
        raise AssertionError(f"{name} is not reached")

    go_to("hospital.csv")
    page.keyboard.press("Enter")
    opened.screen("Who could know what?")
    go_to("What does this mean: Different values?")
    page.keyboard.press("Enter")
    assert page.locator("#ask-values").is_visible()
    page.keyboard.press("Escape")
    go_to("These are right: show the risk")
    page.keyboard.press("Enter")
    opened.screen("How easily are people found now?")
    go_to("Choose how safe it must be")
    page.keyboard.press("Enter")
    opened.screen("For whom is it, and how safe must it be?")


def test_hostile_names_do_nothing_in_a_browser(opened):
    page = opened.page
    name = "<img src=x onerror=document.title='hit'>"
    with (opened.home / "hostile.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name, "<script>document.title='hit'</script>", "\u202edesrever", "disease"])
        writer.writerows([[f"a{row % 3}", f"b{row % 2}", "c", f"<b>d{row % 4}</b>"] for row in range(60)])
    page.reload()
    opened.press("hostile.csv")
    opened.screen("Who could know what?")
    opened.press("Show the most frequent ones")
    opened.screen("Who could know what?")
    assert page.get_by_text(name).first.is_visible()
    assert page.get_by_text("<b>d1</b>").is_visible()
    assert page.get_by_text("\\u202edesrever").first.is_visible()
    assert "hit" not in page.title()
    assert page.locator("img, main script").count() == 0
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
    opened.screen("Who could know what?")
    opened.press("Close the studio")
    opened.screen("The studio is closed")
    end = time.monotonic() + 30
    while opened.process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    assert opened.process.returncode == 0
