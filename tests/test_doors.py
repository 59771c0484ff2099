"""What installs and runs shoal elsewhere, an image, a hook and an action, names commands and extras that there are."""

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app

HOME = Path(shoal.__file__).parents[2]
pytestmark = pytest.mark.skipif(not (HOME / "Dockerfile").exists(), reason="an installed package has no checkout")


def test_the_image_installs_extras_that_there_are_and_starts_a_command() -> None:
    text = (HOME / "Dockerfile").read_text("utf-8")
    extras = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = re.search(r"pip install --no-cache-dir '\.\[([a-z,]+)\]'", text)
    assert named is not None
    assert set(named[1].split(",")) <= set(extras)
    for path in re.findall(r"^COPY ([\w. ]+) \./$", text, flags=re.MULTILINE):
        assert all((HOME / name).exists() for name in path.split())
    commands = CliRunner().invoke(app, ["--help"]).stdout
    assert 'CMD ["studio", "--no-browser"]' in text
    assert all(re.search(rf"^  {name} ", commands, flags=re.MULTILINE) for name in ("studio", "audit", "warm-up"))


@pytest.mark.parametrize(("l", "code"), [("2", 0), ("5", 3)])
def test_the_hook_and_the_action_are_a_gate(l: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text("age,ill\n" + "[20-29],flu\n[20-29],cold\n" * 3)
    hook = (HOME / ".pre-commit-hooks.yaml").read_text("utf-8")
    entry = re.search(r"^  entry: shoal (.+)$", hook, flags=re.MULTILINE)
    assert entry is not None
    words = [entry[1], str(tmp_path / "published.csv"), "--qi", "age", "--sensitive", "ill", "-k", "5", "-l", l]
    assert CliRunner().invoke(app, words).exit_code == code


def test_the_action_takes_quoted_arguments_as_a_shell_does(tmp_path: Path) -> None:
    text = (HOME / "action.yml").read_text("utf-8")
    (step,) = re.findall(r"- shell: python\n(?:.*#.*\n)?      run: \|\n((?:        .*\n)+)", text)
    (tmp_path / "shoal").write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
    (tmp_path / "shoal").chmod(0o755)
    named = {"ARGUMENTS": "--qi 'zip code,*' -k 5 \"$HOME\" ; true", "TABLE": "-a table.csv"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(step)],
        env={**os.environ, **named, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    words = ["audit", "--qi", "zip code,*", "-k", "5", "$HOME", ";", "true", "--", "-a table.csv"]
    assert done.stdout.strip() == str(words)


def test_workflows_run_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([\w-]+):", (HOME / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    text = (HOME / ".github/workflows/ci.yml").read_text("utf-8")
    named = [name for line in re.findall(r"run: make ([\w -]+)$", text, flags=re.MULTILINE) for name in line.split()]
    assert {"lint", "types", "imports", "docs", "demo", "test", "package"} == set(named) <= targets
