"""Whatever goes wrong has a message without cells, an exit code, and a JSON form."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from tests.every import every

from shoal import errors
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.cli.main import app

CELL = "cell-of-somebody"
CALL = ("anonymize", "in.csv", "--qi", "age", "-k", "2", "-o", "out-that-is-not-there")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make the library fail in a given way."""

    def fail_with(error: BaseException) -> None:
        def anonymize(*_: Any, **__: Any) -> None:
            raise error

        fake = types.ModuleType("shoal.verbs.anonymize")
        fake.anonymize = anonymize  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "shoal.verbs.anonymize", fake)

    return fail_with


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InfeasibleError("No release can do it: l is at most 3."), 1),
        (errors.ParameterError("The 'k' parameter must be an int."), 2),
        (errors.ColumnError("There is no column 'aeg'."), 2),
        (errors.DataError("Line 7 has 3 fields."), 2),
        (errors.UnsupportedError("tp cannot serve it."), 2),
        (errors.OutputError("The folder exists."), 2),
        (errors.ReleaseUnsafeError("Nothing was written."), 3),
        (errors.InternalError("impossible"), 70),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_every_error_has_its_code(shoal: Any, failing: Any, error: errors.ShoalError, code: int) -> None:
    failing(error)
    plain, for_programs = shoal(*CALL), shoal(*CALL, "--json")
    assert (plain.code, plain.out) == (code, "")
    assert plain.err == f"Error: {error}\n"
    assert for_programs.code == code
    assert for_programs.json == {"error": str(error), "exit_code": code}
    assert for_programs.err == plain.err


def test_a_bug_says_where_but_not_what(shoal: Any, failing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    failing(KeyError(CELL))
    found = shoal(*CALL, "--json")
    assert found.code == 70
    assert found.json["exit_code"] == 70
    assert "KeyError" in found.err
    assert "bug in shoal" in found.err
    assert CELL not in found.out + found.err
    assert "Traceback" not in found.err


def test_errors_of_a_ledger_end_with_what_is_there(shoal: Any, failing: Any) -> None:
    for error in (errors.LedgerError("It is damaged. ", "Restore it."), errors.PeopleError("2 people are in another.")):
        failing(error)
        assert shoal(*CALL).err == f"Error: {error} Nothing was published.\n"


def test_too_little_memory_is_no_bug(shoal: Any, failing: Any) -> None:
    failing(MemoryError(CELL))
    found = shoal(*CALL, "--json")
    assert (found.code, found.json["exit_code"]) == (2, 2)
    assert "not enough memory" in found.err
    assert "Nothing was published." in found.err
    assert CELL not in found.out + found.err


def test_debugging_shows_the_traceback(shoal: Any, failing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    failing(KeyError(CELL))
    assert "Traceback" in shoal(*CALL).err


def _struck_in_compiled_code() -> SystemError:
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort(), _struck_in_compiled_code()])
def test_an_interrupt_is_130(shoal: Any, failing: Any, error: BaseException) -> None:
    failing(error)
    found = shoal(*CALL, "--json")
    assert found.code == 130
    assert found.json["exit_code"] == 130
    assert "Interrupted" in found.err


def test_messages_cannot_steer_the_terminal(shoal: Any, failing: Any) -> None:
    failing(errors.ColumnError("There is no column 'a\x1b[2Jge'."))
    found = shoal(*CALL, "--json")
    assert "\x1b" not in found.err + found.out
    assert found.json["error"] == "There is no column 'a\x1b[2Jge'."


@pytest.mark.parametrize(
    "words",
    [
        ("anonimize",),
        ("anonymize", "--sed", "7"),
        ("anonymize", "in.csv", "--seed", "seven"),
        ("anonymize", "in.csv", "more.csv"),
        ("audit",),
        ("explore", "in.csv", "--qi", "age", "-l", "four"),
        ("anonymize", "in.csv", "--qi", 'age,"zip', "-k", "2", "-o", "out"),
        ("anonymize", "in.csv", "--qi", "age,,zip", "-k", "2", "-o", "out"),
    ],
    ids=" ".join,
)
def test_wrong_calls_are_2(shoal: Any, words: tuple[str, ...]) -> None:
    plain, for_programs = shoal(*words), shoal(*words, "--json")
    assert (plain.code, plain.out) == (2, "")
    assert plain.err
    assert for_programs.json["exit_code"] == for_programs.code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("anonymize", "in.csv", "-k", "2", "-o", "out"), "--qi"),
        (("anonymize", "in.csv", "--qi", "age", "-o", "out"), "-k 10, -l 4"),
        (("anonymize", "in.csv", "--qi", "age", "-k", "2"), "-o OUT"),
        (("anonymize", "--qi", "age", "-k", "2", "-o", "out"), "INPUT"),
        (("anonymize", "in.csv", "--qi", "age", "--alpha", "1/3", "-o", "out"), "--model alpha needs -k"),
        (("anonymize", "in.csv", "--qi", "age", "--e", "10", "-o", "out"), "--model e needs -k"),
        (
            ("anonymize", "in.csv", "--qi", "age", "-k", "2", "--l-variant", "distinct", "-o", "out"),
            "--model l_variant needs -l",
        ),
        (
            ("anonymize", "in.csv", "--qi", "age", "-k", "2", "--beta-variant", "basic", "-o", "out"),
            "needs --model beta",
        ),
    ],
)
def test_incomplete_calls_say_what_to_add(shoal: Any, words: tuple[str, ...], said: str) -> None:
    found = shoal(*words)
    assert found.code == 2
    assert said in found.err


COMMANDS = [
    "anonymize",
    "apply",
    "attack",
    "audit",
    "datasets",
    "demo",
    "explore",
    "group",
    "hierarchy",
    "inspect",
    "list",
    "report",
    "risk",
    "schema",
    "series",
    "studio",
    "warm-up",
]


def all_options() -> list[tuple[str, Any]]:
    context = click.Context(app)
    commands = {name: app.get_command(context, name) for name in app.list_commands(context)}
    return [(name, option) for name, one in commands.items() for option in getattr(one, "whole", one.params)]


def test_every_command_and_option_is_explained() -> None:
    context = click.Context(app)
    assert sorted(app.list_commands(context)) == COMMANDS
    assert all(app.get_command(context, name).help for name in COMMANDS)
    unexplained = [f"{name} {option.name}" for name, option in all_options() if not getattr(option, "help", None)]
    assert unexplained == []
    assert len(all_options()) > 60


@every("command", COMMANDS)
def test_help_is_shown(shoal: Any, command: str) -> None:
    options = [option for name, option in all_options() if name == command and isinstance(option, click.Option)]
    named = [option.opts[0] for option in options if not option.hidden and option.opts[0].startswith("--")]
    found = shoal(command, "--help")
    assert found.code == 0
    assert "Usage" in found.out
    assert [flag for flag in named if f"{flag} " not in found.out] == [], "no name is cut off in 80 columns"


def test_the_help_is_one_list(shoal: Any) -> None:
    for name in ("anonymize", "audit", "risk"):
        shown = shoal(name, "--help").out
        assert 10 <= len(re.findall(r"^  -", shown, re.MULTILINE)) <= 40
        assert "Example: shoal" in shown
        assert "--set KEY=VALUE" in shown
        assert not {"--encoding", "--title", "--help-all"} & set(re.findall(r"--[a-z-]+", shown))


def test_the_help_of_algorithm_names_each_of_them() -> None:
    said = [option.help for _, option in all_options() if "--algorithm" in option.opts]
    assert len(said) == 2
    for text in said:
        assert set(re.findall(r"[a-z][a-z+-]+", text)) >= {"auto", *ALGORITHMS}


def test_version(shoal: Any) -> None:
    assert shoal("--version").out.startswith("shoal 1.")
    assert shoal("version").code == 2


def run(code: str, *words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, **settings)


def test_the_version_is_told_without_loading_what_is_heavy() -> None:
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules}))))\n"
        "sys.argv = ['shoal', '--version']\n"
        "from shoal.cli.main import run; run()"
    )
    version, modules = run(code).stdout.splitlines()
    assert version.startswith("shoal 1.")
    heavy = {"numpy", "numba", "polars", "pandas", "pyarrow", "narwhals", "jinja2", "msgspec", "sqlalchemy", "scipy"}
    heavy |= {"rich", "matplotlib", "pytest"}
    assert heavy & set(json.loads(modules)) == set()


def test_the_package_runs_as_a_module() -> None:
    found = subprocess.run([sys.executable, "-m", "shoal", "--version"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("shoal 1.")
    assert found.stderr == ""


def run_unread(stream: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a stream (1: output, 2: errors) that is closed at the other end from the start."""
    code = (
        "import os, sys\n"
        f"read, write = os.pipe(); os.close(read); os.dup2(write, {stream})\n"
        "sys.argv = ['shoal', *sys.argv[1:]]\n"
        "from shoal.cli.main import run; run()"
    )
    return run(code, *words)


@every(
    "words",
    [("--version",), ("list", "keys", "--json"), ("anonymize", "--help"), ("audit", "in.csv", "--qi", "age")],
    drawn=True,
)
def test_a_reader_that_leaves_is_no_bug(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age\n1\n1\n")
    found = run_unread(1, *(str(tmp_path / word) if word == "in.csv" else word for word in words))
    assert found.returncode == 141
    assert found.stderr == ""


ABSENT = ("anonymize", "not-there.csv", "--qi", "age", "-k", "2", "-o", "out")


@every(
    ("stream", "words"),
    [(1, (*ABSENT, "--json")), (2, (*ABSENT, "--json")), (2, ABSENT), (2, ("anonymize", "--no-such-option"))],
    drawn=True,
)
def test_a_failure_that_nobody_reads_is_a_failure(stream: int, words: tuple[str, ...]) -> None:
    found = run_unread(stream, *words)
    assert found.returncode == 2
    assert stream == 2 or found.stderr == "Error: There is no file 'not-there.csv'.\n"
    assert stream == 1 or words[-1] != "--json" or json.loads(found.stdout)["exit_code"] == 2


@pytest.mark.drawn
def test_without_any_output_the_code_still_tells() -> None:
    code = (
        "import os, sys\n"
        "os.close(1); os.close(2)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'shoal', *sys.argv[1:]])"
    )
    assert run(code, "--version").returncode == 0
    assert run(code, *ABSENT, "--json").returncode == 2


@pytest.mark.drawn
def test_an_interrupt_from_the_keyboard_ends_the_process_quietly() -> None:
    code = (
        "import signal, sys, types\n"
        "fake = types.ModuleType('shoal.verbs.anonymize')\n"
        "fake.anonymize = lambda *a, **b: signal.raise_signal(signal.SIGINT)\n"
        "sys.modules['shoal.verbs.anonymize'] = fake\n"
        f"sys.argv = ['shoal', *{CALL!r}]\n"
        "from shoal.cli.main import run; run()"
    )
    found = run(code)
    assert found.returncode == 128 + signal.SIGINT
    assert found.stdout == ""
    assert "Traceback" not in found.stderr


def test_words_are_completed_in_three_shells() -> None:
    def complete(**environ: str) -> str:
        call = [sys.executable, "-c", "import sys; sys.argv[0] = 'shoal'; from shoal.cli.main import run; run()"]
        return subprocess.run(call, env={**os.environ, **environ}, capture_output=True, text=True, check=True).stdout

    for shell, start in {"bash": "_shoal_completion() {", "zsh": "#compdef shoal", "fish": "function _shoal_"}.items():
        assert complete(_SHOAL_COMPLETE=f"{shell}_source").strip().startswith(start)
    found = complete(_SHOAL_COMPLETE="bash_complete", COMP_WORDS="shoal ins", COMP_CWORD="1")
    assert found == "plain,inspect\n"
    found = complete(_SHOAL_COMPLETE="fish_complete", COMP_WORDS="shoal anonymize --recod", COMP_CWORD="--recod")
    assert "--recoding" in found
