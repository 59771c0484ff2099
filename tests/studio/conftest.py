"""A studio over a folder with a table, asked as a browser asks; one worker process serves all tests of a run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from shoal.studio.app import application
from shoal.studio.guard import Guard
from shoal.studio.server import studio_of
from shoal.studio.worker import Worker

if TYPE_CHECKING:
    from shoal.studio.state import Studio

PORT = 8123
HERE = f"http://127.0.0.1:{PORT}"
SECRET = "Zyzzyva"
"""Part of every name and disease of the table."""
ROWS = 120
FILES = ["patients.csv", "patients.shoal.toml"]
"""The folder of a studio that has published nothing: the table, and what was decided."""
MAX_UPLOAD = 20_000

_MARKED = {
    "/goal": "/goal",
    "/publish": "/publish",
    "/attack": "/attack",
    "/attack/together": "/attack",
    "/series/start": "/series",
    "/open/reading": "/?reading=yes",
    **dict.fromkeys(("/table", "/table/column", "/table/replace", "/table/derive"), "/table"),
    **dict.fromkeys(("/goal/shape", "/goal/shape/use"), "/goal?column=0"),
}
"""Forms that say for which columns their page was made, and that page."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a table of 120 patients; they miss nothing."""
    folder = tmp_path / "home"
    folder.mkdir()
    lines = ["name,age,gender,zip,disease"]
    for row in range(ROWS):
        age, gender, zip_code = 20 + row * 7 % 40, "FM"[row % 2], 10001 + row % 3
        lines.append(f"{SECRET}{row},{age},{gender},{zip_code},{SECRET}-disease-{row * 7 % 11 % 6}")
    (folder / "patients.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    shared = Worker()
    yield shared
    shared.close()


@dataclass
class Browser:
    """Asks as a browser does: with the cookie, and forms with their origin."""

    client: TestClient
    guard: Guard
    studio: Studio

    def enter(self) -> None:
        assert self.client.get(self.guard.entrance).status_code == 200

    def look(self, path: str) -> Any:
        """Ask for a page, until it is there."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            answer = self.client.get(path)
            if 'id="working"' not in answer.text and " data-wait" not in answer.text:
                return answer
            while self.studio.worker.job is not None and time.monotonic() < end:
                time.sleep(0.01)
        raise AssertionError(f"{path} is still at work")

    def send(self, path: str, form: dict[str, str] | None = None, **extra: Any) -> Any:
        """Send a form, and follow where it leads until that is there."""
        headers = {"origin": HERE}
        page = _MARKED.get(path)
        if page is not None and form is not None and "of" not in form:
            found = re.search('name="of" value="([^"]*)"', self.look(page).text)
            form = {**form, "of": "" if found is None else found.group(1)}
        answer = self.client.post(path, data=form or {"": ""}, headers=headers, follow_redirects=False, **extra)
        return self.look(answer.headers["location"]) if answer.status_code == 303 else answer

    def decided(self) -> None:
        """Open the table and take the proposals."""
        self.enter()
        self.send("/open", {"path": "patients.csv"})
        self.send("/table", {"do": "next"})


@pytest.fixture
def browser(home: Path, worker: Worker) -> Iterator[Browser]:
    studio = studio_of(home=home, table=None, allowed=[], max_upload=MAX_UPLOAD)
    studio.worker = worker
    guard = Guard(application(studio), port=PORT, max_upload=MAX_UPLOAD)
    with TestClient(guard, base_url=f"http://127.0.0.1:{PORT}") as client:
        yield Browser(client=client, guard=guard, studio=studio)
    end = time.monotonic() + 20
    while worker.job is not None and time.monotonic() < end:  # to stop a job is to start another process
        time.sleep(0.01)
    worker.cancel()
    studio.paths.close()
