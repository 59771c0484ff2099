"""Nothing can be done in the studio only: each of its forms has a command, and a function or class of Python."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click
from tests.every import every

from shoal.cli.main import app
from shoal.studio.app import _FORMS

from .test_persons import text_of

OF_BROWSER = {"/open/demo", "/cancel", "/history", "/table/cells"}
"""Forms that undo, stop work, show part of a screen, or open made-up patients."""
DOORS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "/open": ("inspect", ("--sheet",), "shoal.inspect"),
    "/open/project": ("anonymize", ("--spec",), "shoal.Request.from_toml"),
    "/table": ("anonymize", ("--qi", "--sensitive", "--id", "--person", "--link", "--rows"), "shoal.anonymize"),
    "/open/reading": ("inspect", ("--sheet", "--header-row"), "shoal.inspect"),
    "/table/share": ("risk", ("--sampling-fraction",), "shoal.risk"),
    "/table/column": ("anonymize", ("--date",), "shoal.anonymize"),
    "/table/replace": ("anonymize", ("--replace",), "shoal.anonymize"),
    "/table/derive": ("anonymize", ("--derive",), "shoal.pipeline.deriving.derive_columns"),
    "/goal": ("anonymize", ("-k", "-l", "-t", "--knows", "--weight", "--coarsen"), "shoal.KAnonymity"),
    "/goal/mend": ("anonymize", ("--dry-run",), "shoal.evaluate"),
    "/goal/shape": ("hierarchy", ("--column", "--as"), "shoal.hierarchy.propose_hierarchy"),
    "/goal/shape/use": ("anonymize", ("--hierarchy",), "shoal.Hierarchy.to_csv"),
    "/compare": ("explore", ("--levels",), "shoal.explore"),
    "/compare/choose": ("explore", ("--choose",), "shoal.explore"),
    "/compare/algorithms": ("explore", ("--algorithms",), "shoal.explore"),
    "/compare/algorithm": ("anonymize", ("--algorithm",), "shoal.anonymize"),
    "/attack": ("attack", ("--population",), "shoal.attacks.linking_attack"),
    "/attack/together": ("attack", ("--population",), "shoal.attacks.intersection_attack"),
    "/publish": ("anonymize", ("-o", "--title"), "shoal.Release.save"),
    "/series": ("series publish", ("-o",), "shoal.Ledger"),
    "/series/open": ("series history", ("--key",), "shoal.Ledger"),
    "/series/start": ("series start", ("--id", "-m"), "shoal.Ledger.start"),
    "/review": ("audit", ("--qi",), "shoal.audit"),
    "/review/columns": ("audit", ("--qi", "--sensitive"), "shoal.audit"),
    "/review/attack": ("audit", ("--attack",), "shoal.attacks.refinement_attack"),
    "/review/decision": ("audit", ("--decision", "-o"), "shoal.report.render_audit"),
}
"""The command, its options, and the Python of each form."""
GUIDE = (Path(__file__).parents[2] / "docs/guide/studio.md").read_text("utf-8")


def test_every_form_has_other_doors() -> None:
    assert set(_FORMS) - OF_BROWSER <= set(DOORS), "name the command and the Python here, and in docs/guide/studio.md"


@every("form", DOORS)
def test_the_command_and_the_python_exist(form: str) -> None:
    command, flags, python = DOORS[form]
    found: click.Command = app
    for name in command.split():
        assert isinstance(found, click.Group)
        found = found.commands[name] if name in found.commands else found.get_command(click.Context(found), name)
    options = {flag for one in found.get_params(click.Context(found)) for flag in one.opts}
    assert set(flags) <= options, (command, options)
    module, *names = python.split(".")
    value = import_module(module)
    for at, name in enumerate(names):
        value = getattr(value, name, None) or import_module(".".join([module, *names[: at + 1]]))
    assert callable(value)
    table = GUIDE[GUIDE.index("| in the studio |") :]
    assert command.split()[0] in table or flags[0] in table


def test_a_table_that_is_elsewhere_is_no_dead_end(browser, home) -> None:
    browser.enter()
    browser.send("/open", {"path": "patients.csv"})
    assert f"the tables of the folder {home}" in text_of(browser.look("/table"))
    (home / "visits.csv").write_text("name,visit\na,1\n")
    assert ">visits.csv</option>" in browser.look("/table").text
    browser.send("/table", {"answer": "persons", "do": "next"})
    assert f"the tables of the folder {home}" in text_of(browser.look("/attack"))
