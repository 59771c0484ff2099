"""Names of columns and files are data wherever they are shown, whatever is in them."""

from __future__ import annotations

import csv
import html
import re
import subprocess

import pytest
from tests.every import every

from shoal._core.quoting import quote_for_shell
from shoal._core.words import visible

pytestmark = pytest.mark.drawn

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "a'b\"c`d$e",
    "\u202eegassem",
    "line\u2028end\u200b",
    'comma, quote " and = sign',
    " spaces ",
    "--force",
]


@pytest.fixture
def hostile(home):
    with (home / "<b>'hostile\".csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*HOSTILE, "disease"])
        for row in range(60):
            writer.writerow([*(f"v{row % 3}" for _ in HOSTILE), f"<i>d{row % 5}</i>"])
    return home


def test_hostile_names_on_every_screen(browser, hostile):
    browser.enter()
    pages = [browser.look("/"), browser.send("/open", {"path": "<b>'hostile\".csv"})]
    pages.append(browser.send("/table/cells", {"show": "yes"}))
    roles = {f"role-{place}": "quasi_identifier" for place in range(len(HOSTILE))}
    roles["role-4"] = "direct_identifier"
    pages.append(browser.send("/table", {**roles, f"role-{len(HOSTILE)}": "sensitive", "do": "next"}))
    pages += [browser.look("/goal"), browser.look("/goal"), browser.look("/publish"), browser.look("/table")]
    for column in ("0", "5"):
        pages.append(browser.send("/goal/shape", {"column": column, "do": "propose", "how": "by hand"}))
        chosen = {"node-0": "on", "node-1": "on", "name": "<img src=x>\u202e"}
        pages.append(browser.send("/goal/shape", {"column": column, "do": "join", "level": "1", **chosen}))
        assert "&lt;img src=x&gt;\\u202e" in pages[-1].text
        pages.append(browser.send("/goal/shape/use", {"column": column, "level": "1"}))
    assert all(re.fullmatch(r"[\w.-]+", tree.name) for tree in browser.studio.plan.trees.values())
    pages.append(
        browser.send(
            "/series/start", {"ledger": "l.db", "name": "<b>'x", "identifier": "0", "m": "2", "place": "beside"}
        )
    )
    pages.append(browser.send("/series", {"series": "<b>'x", "do": "publish", "folder": "q1"}))
    pages.append(browser.send("/publish", {"folder": "made"}))
    assert "What was asked for is met" in pages[-1].text
    pages.append(browser.send("/attack", {"identifier": "0"}))
    pages.append(browser.look("/table"))
    for page in pages:
        assert page.status_code == 200, page.text
        for raw in ("<script>alert", "<img", "<b>'", "<i>d", "\u202e", "\u2028", "\u200b", "49"):
            if raw != "49" or "{{ 7" in html.unescape(page.text):
                assert raw not in page.text.replace("4999", "") or raw == "49", (page.url, raw)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in pages[1].text
    assert "\\u202eegassem" in pages[1].text
    assert "{{ 7 * 7 }}" in pages[1].text
    names = re.findall(r'name="([^"]*)"', "".join(page.text for page in pages))
    assert all(re.fullmatch(r"[a-z_]+(-\d+)?", name) for name in names), "no name of a column is one of a field"


def test_hidden_marks_are_seen():
    assert visible("a\u202eb\u200bc\x1bd") == "a\\u202eb\\u200bc\\x1bd"
    assert visible("Größe 年齢") == "Größe 年齢"


@every("word", [*HOSTILE, "a\\b\x1b'c", "\U000e0041"])
def test_a_shell_reads_names_as_they_are(word):
    quoted = quote_for_shell(word)
    assert quoted.isprintable(), "nothing of a command is hidden from who copies it"
    read = subprocess.run(
        ["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert read.stdout.decode() == word
