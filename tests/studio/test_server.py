"""The command: what it needs, where it listens, and how soon its first screen is there."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import shoal.studio
from shoal.cli.main import app
from shoal.studio.server import _listening


def test_the_first_screen_waits_for_no_table_library(home):
    """What takes seconds to import is imported by the worker meanwhile."""
    script = f"""
import sys
from pathlib import Path
from shoal.studio import screens
from shoal.studio.app import application
from shoal.studio.server import studio_of
import uvicorn
studio = studio_of(home=Path({str(home)!r}), table=None,
                   allowed=[], max_upload=1)
application(studio)
assert "patients.csv" in screens.opening(studio, {{}})
print([name for name in ("numpy", "polars", "numba", "scipy", "pyarrow", "matplotlib") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_port_that_is_taken(home, monkeypatch):
    monkeypatch.chdir(home)
    with _listening(0) as taken:
        outcome = CliRunner().invoke(app, ["studio", "--no-browser", "--port", str(taken.getsockname()[1])])
    assert outcome.exit_code == 2
    assert "cannot be used" in outcome.stderr


def test_a_table_that_is_none(home, monkeypatch):
    monkeypatch.chdir(home)
    outcome = CliRunner().invoke(app, ["studio", "--no-browser", "nowhere.csv"])
    assert outcome.exit_code == 2
    assert "no such file" in outcome.stderr


@pytest.mark.parametrize("absent", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_how_to_get_it(absent, monkeypatch):
    monkeypatch.setitem(sys.modules, absent, None)
    outcome = CliRunner().invoke(app, ["studio", "--no-browser"])
    assert outcome.exit_code == 2
    assert "pip install 'shoal-privacy[studio]'" in outcome.stderr


def test_names_that_are_no_text_are_not_listed(browser, home):
    try:
        (home / os.fsdecode(b"\xff.csv")).write_text("a,b\n1,2\n")
    except OSError:
        pytest.skip("this file system has no such names")
    browser.enter()
    text = browser.look("/").text
    assert "patients.csv" in text
    assert "\\xff" not in text


def needed(*extras: str) -> set[str]:
    """Return the distributions that shoal needs by itself and by given extras, and what these need in turn."""
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    found: set[str] = set()
    waiting = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    while waiting:
        one = Requirement(waiting.pop())
        plain = canonicalize_name(one.name)
        if plain == project["name"]:  # an extra that includes others
            waiting += [each for extra in sorted(one.extras) for each in project["optional-dependencies"][extra]]
        elif plain not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(plain)
            waiting += metadata.requires(plain) or ()
    return found


def test_the_extra_adds_less_than_20_mb():
    """Counted from the installed files of what it needs, and neither shoal nor other extras do, and its own assets."""
    added = needed("studio") - needed("plots", "excel", "ledger")
    assert {"starlette", "uvicorn"} <= added, "or nothing was counted"
    files = {name: [Path(str(one.locate())) for one in metadata.files(name) or ()] for name in added}
    sizes = {name: sum(path.stat().st_size for path in paths if path.is_file()) for name, paths in files.items()}
    assert all(size > 1_000 for size in sizes.values())
    own = sum(path.stat().st_size for path in Path(shoal.studio.__file__).parent.rglob("*") if path.suffix != ".pyc")
    assert sum(sizes.values()) + own < 20_000_000, sizes
