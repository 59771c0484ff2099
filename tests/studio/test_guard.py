"""Who may ask, from where, how much, and what a browser may do with the answer: each test fails without its measure."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.every import every

import shoal.studio
from shoal.studio import guard as guarding
from shoal.studio.app import application
from shoal.studio.server import _listening
from shoal.studio.state import Studio

HERE = "http://127.0.0.1:8123"
_ROUTES = [(route.path, route.methods) for route in application(Studio(paths=None, worker=None)).routes]
PAGES = [path for path, methods in _ROUTES if "GET" in methods and "{" not in path]
FORMS = [path for path, methods in _ROUTES if "POST" in methods]
TEMPLATES = sorted((Path(shoal.studio.__file__).parent / "templates").glob("*.j2"))


def test_every_page_and_form_is_among_those_that_are_tried():
    assert {"/", "/goal", "/attack", "/series", "/release.zip", "/work", "/release.toml"} <= {*PAGES}
    assert {
        "/goal/shape",
        "/goal/shape/file",
        "/goal/shape/use",
        "/attack/together",
        "/series/start",
        "/open/dropped",
    } <= {*FORMS}


@every("path", [*PAGES, "/assets/studio.js", "/release/public/release.csv", "/hierarchy/a.csv", "/goal/0.svg"])
def test_nobody_without_the_cookie_sees_anything(browser, path):
    assert browser.client.get(path).status_code == 403
    assert browser.client.get(path, headers={"cookie": "shoal-studio-8123=guess"}).status_code == 403
    assert browser.client.post(path, headers={"origin": HERE}).status_code == 403


def test_a_wrong_token_opens_nothing_and_leaves_the_right_one(browser):
    assert browser.client.get("/?token=guess").status_code == 403
    assert browser.client.get("/table", params={"token": browser.guard.entrance.partition("=")[2]}).status_code == 403
    browser.enter()


def test_the_token_works_once(browser):
    entrance = browser.guard.entrance
    browser.enter()
    browser.client.cookies.clear()
    assert browser.client.get(entrance).status_code == 403


def test_the_token_is_not_in_what_the_page_may_pass_on(browser):
    answer = browser.client.get(browser.guard.entrance, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_tokens_and_sessions_are_not_the_same_twice(browser):
    others = {guarding.Guard(browser.guard._app, port=1, max_upload=1).entrance for _ in range(5)}
    assert len(others) == 5
    assert browser.guard.entrance.partition("=")[2] != browser.guard._session
    assert len(browser.guard._session) >= 43  # 256 bits


def test_the_flags_of_the_cookie(browser):
    cookie = browser.client.get(browser.guard.entrance, follow_redirects=False).headers["set-cookie"]
    name, *flags = [one.strip() for one in cookie.split(";")]
    assert name.startswith("shoal-studio-8123=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(flags)  # no Domain: no other host


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:80", "127.0.0.1", "127.0.0.1:8123.evil.example", ""])
def test_a_name_that_somebody_else_resolves_to_this_machine_is_refused(browser, host):
    entrance = browser.guard.entrance
    refused = browser.client.get(entrance, headers={"host": host}, follow_redirects=False)
    assert refused.status_code in (400, 421)
    assert "set-cookie" not in refused.headers
    browser.enter()
    assert browser.client.get("/", headers={"host": host}).status_code in (400, 421)
    assert browser.client.get("/", headers={"host": "localhost:8123"}).status_code in (200, 403)


@pytest.mark.drawn
@every("path", FORMS)
@every("origin", [None, "null", "http://evil.example", "http://127.0.0.1:9000", "https://127.0.0.1:8123"])
def test_forms_of_other_pages_change_nothing(browser, path, origin):
    browser.enter()
    headers = {} if origin is None else {"origin": origin}
    assert browser.client.post(path, data={"path": "patients.csv"}, headers=headers).status_code == 400
    assert len(browser.studio.history.steps) == 1


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/", "/work", "/table"])
def test_other_pages_load_nothing_of_it(browser, site, path):
    browser.enter()
    assert browser.client.get(path, headers={"sec-fetch-site": site}).status_code == 400
    assert browser.client.get("/", headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(browser, method):
    browser.enter()
    answer = browser.client.request(method, "/")
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_other_methods_and_large_bodies_do_not_even_reach_the_screens(method):
    reached = []

    async def anything(scope, receive, send):
        reached.append(scope["method"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    guard = guarding.Guard(anything, port=8123, max_upload=1)
    client = TestClient(guard, base_url=HERE)
    assert client.get(guard.entrance).status_code == 200
    assert client.request(method, "/").status_code == 405
    large = {"origin": HERE, "content-length": str(guarding.FORM_LIMIT + 1)}
    assert client.post("/", content=b"", headers=large).status_code == 413, "before anything of it is read"
    assert reached == ["GET"]


def test_no_web_socket(browser):
    from starlette.websockets import WebSocketDisconnect

    browser.enter()
    with pytest.raises(WebSocketDisconnect), browser.client.websocket_connect("ws://127.0.0.1:8123/work"):
        pass


def test_every_answer_says_what_a_browser_may_do_with_it(browser):
    answers = [browser.client.get("/"), browser.client.get("/", headers={"host": "evil.example"})]
    answers += [browser.client.get(browser.guard.entrance, follow_redirects=False)]
    answers += [browser.client.get(path) for path in ("/", "/nowhere", "/work", "/assets/studio.css")]
    answers += [browser.send("/open", {"path": "/etc/passwd"}), browser.send("/open", {"path": "x" * 2_000_000})]
    assert {403, 421, 303, 200, 404, 422, 413} <= {one.status_code for one in answers}
    for answer in answers:
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@every("template", TEMPLATES)
def test_pages_have_nothing_that_the_policy_forbids_nor_anything_from_elsewhere(template):
    text = re.sub(r"""'[^']*' \| safe""", "", template.read_text())  # what the template itself says
    # The last page has its styles in itself; its policy permits that, and no script at all.
    text = text.replace("<style>{{ style | safe }}</style>", "") if template.name == "closed.html.j2" else text
    assert not re.findall(r"\sstyle\s*=|\son[a-z]+\s*=|<style|javascript:|\|\s*safe", text)
    assert not re.findall(r"https?://|src=\"//", text)
    for script in re.findall(r"<script[^>]*>", text):
        assert 'src="/assets/' in script


def test_the_script_makes_no_code_of_text():
    script = (TEMPLATES[0].parents[1] / "assets/studio.js").read_text()
    assert not re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://", script
    )


def test_a_form_that_is_too_large_is_refused_whatever_it_says_of_its_length(browser):
    browser.enter()
    assert browser.send("/open", {"path": "x" * guarding.FORM_LIMIT}).status_code == 413

    def parts():
        for _ in range(12):
            yield b"x" * 100_000

    headers = {"origin": HERE, "content-type": "application/x-www-form-urlencoded"}
    assert browser.client.post("/open", content=parts(), headers=headers).status_code == 413
    assert browser.client.post("/open", content=b"", headers={**headers, "content-length": "-5"}).status_code == 400


def test_a_form_of_very_many_fields_is_refused(browser):
    browser.enter()
    headers = {"origin": HERE, "content-type": "application/x-www-form-urlencoded"}
    assert browser.client.post("/open", content=b"a&" * 30_000, headers=headers).status_code == 400
    assert browser.client.post("/open", content=b"path=%ff", headers=headers).status_code == 400
    plain = {**headers, "content-type": "text/plain"}  # what a form of another page could send without asking
    assert browser.client.post("/open", content=b"path=patients.csv", headers=plain).status_code == 400
    assert len(browser.studio.history.steps) == 1


def test_a_dropped_file_that_is_too_large_leaves_nothing(browser, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    browser.enter()

    def parts():
        for _ in range(30):
            yield b"a,b\n" * 250

    answer = browser.client.post("/open/dropped?name=big.csv", content=parts(), headers={"origin": HERE})
    assert answer.status_code == 413
    assert not list(tmp_path.glob("shoal-studio-*"))
    assert not browser.studio.plan.source


def test_a_hierarchy_that_is_too_large_is_refused(browser, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    browser.decided()

    def parts():
        for _ in range(30):
            yield b"a;b;*\n" * 250

    answer = browser.client.post("/goal/shape/file?column=0", content=parts(), headers={"origin": HERE})
    assert answer.status_code == 413
    assert not browser.studio.plan.trees
    assert not list(tmp_path.glob("shoal-studio-*"))
    assert guarding.HIERARCHY_LIMIT > guarding.FORM_LIMIT


def test_a_dropped_file_is_for_its_owner_alone_and_gone_at_the_end(browser, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    browser.enter()
    content = b"age,disease\n" + b"30,x\n31,y\n" * 20
    answer = browser.client.post("/open/dropped?name=../../mine.csv", content=content, headers={"origin": HERE})
    assert (answer.status_code, answer.text) == (200, "/table")
    path = Path(browser.studio.plan.source)
    assert path.read_bytes() == content
    assert path.parent.parent == tmp_path
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    browser.studio.paths.close()
    assert not path.parent.exists()


@pytest.mark.parametrize(
    "path",
    [
        "../outside.csv",
        "/etc/passwd",
        "/etc/passwd.csv",
        "link.csv",
        "linked/outside.csv",
        "~/x.csv",
        "a\0.csv",
        "",
        ".",
    ],
)
def test_paths_outside_the_folder_are_refused(browser, home, path):
    (home.parent / "outside.csv").write_text("secret,column\n1,2\n")
    os.symlink(home.parent / "outside.csv", home / "link.csv")
    os.symlink(home.parent, home / "linked")
    browser.enter()
    answer = browser.send("/open", {"path": path})
    assert answer.status_code == 422
    assert not browser.studio.plan.source
    assert "outside.csv" not in re.sub(r'value="[^"]*"', "", answer.text), "but for what was typed"
    assert "link.csv" not in browser.look("/").text


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///../outside.db::patients",
        "sqlite:////etc/outside.db::patients",
        "sqlite:///patients.db?mode=rwc::patients",
        "sqlite:///patients.db",
        "sqlite:///missing.db::patients",
        "mysql://somebody@host/database::patients",
        "file:///etc/passwd::x",
        "http://127.0.0.1:1/x::y",
    ],
)
def test_databases_elsewhere_are_refused(browser, home, address):
    for path in (home.parent / "outside.db", home / "patients.db"):
        path.write_bytes(b"")
    browser.enter()
    assert browser.send("/open", {"path": address}).status_code == 422
    assert not browser.studio.plan.source


@pytest.mark.parametrize(
    "address", ["postgresql://me:Secret1@host/db::t", "postgresql://me@host/db?password=Secret1::t"]
)
def test_a_password_is_taken_into_no_history_and_no_command(browser, address):
    browser.enter()
    answer = browser.send("/open", {"path": address})
    assert answer.status_code == 422
    assert "PGPASSWORD" in answer.text or "Leave the password out" in answer.text
    assert "Secret1" not in answer.text + browser.look("/table").text
    assert not browser.studio.plan.source


@pytest.mark.drawn
@pytest.mark.parametrize(
    "words", ["level:../tree.csv:1", "level:/etc/passwd:1", "regions:../edges.csv:5", "level:no.csv:1"]
)
def test_coarsenings_read_no_files_elsewhere(browser, home, words):
    (home.parent / "tree.csv").write_text("F;x;*\nM;x;*\n")
    (home.parent / "edges.csv").write_text("a,b\nF,M\n")
    browser.decided()
    page = browser.look("/goal?column=1").text
    of = re.search('name="of" value="([^"]*)"', page).group(1)
    answer = browser.send("/goal/shape/use", {"of": of, "column": "1", "words": words})
    assert answer.status_code == 422
    assert "folder" in answer.text
    assert browser.studio.plan.coarsen["gender"] == ""
    coarser = re.search('name="of" value="([^"]*)"', browser.look("/goal").text).group(1)
    assert browser.send("/goal", {"of": coarser, "coarsen-1": words, "do": "preview"}).status_code == 422


@pytest.mark.drawn
@pytest.mark.parametrize(
    "name", ["../x.db", "/tmp/x.db", "x", ".x.db", "-x.db", "a b/c.db", "link.db", "x.db\0", "postgresql://h/d.db"]
)
def test_ledgers_lie_in_the_folder(browser, home, name):
    (home.parent / "x.db").write_bytes(b"SQLite format 3\x00")
    os.symlink(home.parent / "x.db", home / "link.db")
    browser.decided()
    assert browser.send("/series/open", {"ledger": name}).status_code == 422
    assert "link.db" not in browser.look("/series").text
    form = {"ledger": name, "name": "s", "identifier": "0", "m": "2"}
    assert browser.send("/series/start", form).status_code == 422
    assert browser.studio.ordered is None


@pytest.mark.parametrize("table", ["../outside.csv", "/etc/passwd.csv"])
def test_attacks_read_no_tables_elsewhere(browser, home, table):
    (home.parent / "outside.csv").write_text("a\n1\n")
    browser.decided()
    assert browser.send("/attack", {"others": table}).status_code == 422
    assert browser.studio.attack is None


def test_what_was_allowed_may_be_opened(browser, home):
    allowed = home.parent / "allowed"
    allowed.mkdir()
    (allowed / "more.csv").write_text("age,disease\n1,x\n2,y\n")
    browser.enter()
    assert browser.send("/open", {"path": str(allowed / "more.csv")}).status_code == 422
    browser.studio.paths.allowed = (allowed,)
    assert browser.send("/open", {"path": str(allowed / "more.csv")}).status_code == 200


@pytest.mark.drawn
@pytest.mark.parametrize(
    "folder",
    ["", "..", ".", "../x", "/tmp/x", "a/b", "a\\b", ".hidden", "-o", "a\x1b[2J", "\u202ex", "taken", "x" * 300],
)
def test_folders_of_releases_are_new_ones_in_the_folder(browser, home, folder):
    (home / "taken.private").mkdir()
    browser.decided()
    before = set(home.parent.rglob("*"))
    answer = browser.send("/publish", {"folder": folder})
    assert answer.status_code == 422
    assert browser.studio.publication is None
    assert set(home.parent.rglob("*")) == before


@pytest.mark.drawn
@pytest.mark.parametrize(
    "path",
    [
        "/release/public/..%2fpatients.csv",
        "/release/public/patients.csv",
        "/release/secret/salt.txt",
        "/release/public/%2e%2e/patients.csv",
        "/assets/..%2fapp.py",
        "/assets/app.py",
    ],
)
def test_only_files_of_the_release_and_the_assets_are_handed_out(browser, path):
    browser.decided()
    assert browser.look(path).status_code == 404


def test_it_listens_to_this_machine_only():
    with _listening(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        assert listening.family == socket.AF_INET
