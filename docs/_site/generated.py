"""Pages of the reference that are made of the program: what is declared there once is not written here again.

`write_pages` puts them into `reference/generated`, which is not kept in the repository: the public names of
`shoal/__init__.pyi`, every command with its options, and the tables of algorithms, models, metrics, measures
and attacks.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import shoal

__all__ = ["setup", "write_pages"]


def write_pages(folder: Path) -> None:
    """Write every page whose text is new, so that a second build reads nothing again."""
    made = {**_catalogues(), **_interface(), **_commands()}
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def _interface() -> dict[str, str]:
    """Return a page for each kind of public names, and for each package of names."""
    pages = {}
    sections: dict[str, list[str]] = {}
    for module, name in _PUBLIC.findall(Path(shoal.__file__).with_suffix(".pyi").read_text(encoding="utf-8")):
        if module:
            sections.setdefault(_SECTIONS.get(module.split(".")[0], _FIRST), []).append(name)
        else:
            pages[f"python-{name}.rst"] = _page(f"shoal.{name}", f"shoal.{name}", getattr(shoal, name).__all__)
    for title, names in sections.items():
        stem = re.sub(r"\W+", "-", title.lower())
        pages[f"python-{stem}.rst"] = _page(title, "shoal", names)
    return pages


_PUBLIC = re.compile(r"^from \.([\w.]*) import \w+ as ([a-zA-Z]\w*)$", re.MULTILINE)
_FIRST = "Functions and results"
_SECTIONS = {
    "algorithms": "Algorithms",
    "grouping": "Coarsenings and hierarchies",
    "hierarchy": "Coarsenings and hierarchies",
    "models": "Privacy models",
    "republication": "Series of releases",
}
"""The page of the public names that a package has; all others are on the first page."""


def _page(title: str, module: str, names: list[str]) -> str:
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    if module != "shoal":
        lines += [f".. automodule:: {module}", "   :no-members:", ""]
    for name in names:
        found = getattr(importlib.import_module(module), name)
        if module != "shoal" and getattr(shoal, name, None) is found:
            lines += [f":py:obj:`shoal.{name}` is a public name of shoal itself.", ""]
        elif isinstance(found, type):
            lines += [f".. autoclass:: {module}.{name}", "   :members:"]
            lines += ["   :inherited-members: Exception, tuple, Protocol", ""]
        elif callable(found):
            lines += [f".. autofunction:: {module}.{name}", ""]
        else:
            lines += [
                f".. py:data:: {module}.{name}",
                "",
                *(f"   {line}" for line in _told_of(found, name, module)),
                "",
            ]
    return "\n".join(lines)


def _told_of(value: Any, name: str, package: str) -> list[str]:
    """Return the docstring of a constant, which stands in the module that defines it."""
    for stem, module in list(sys.modules.items()):
        if stem.startswith(f"{package}.") and getattr(module, name, None) is value:
            told: dict[tuple[str, str], list[str]] = ModuleAnalyzer.for_module(stem).find_attr_docs()
            if ("", name) in told:
                return told["", name]
    return []


def _commands() -> dict[str, str]:
    """Return a page for each command, with all its options."""
    import click

    from shoal.cli.main import app

    context = click.Context(app)
    pages = {}
    for name in app.list_commands(context):
        command: Any = app.get_command(context, name)
        lines = [f"# shoal {name}", ""]
        within = getattr(command, "commands", None)
        if within:
            lines += [_told(command), ""]
            lines += [
                line
                for path, one in _leaves(name, within)
                for line in ("", f"## shoal {path}", "", *_command(path, one))
            ]
        else:
            lines += _command(name, command)
        pages[f"command-{name}.md"] = "\n".join(lines) + "\n"
    return pages


def _leaves(path: str, commands: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, command in commands.items():
        if getattr(command, "commands", None):
            yield from _leaves(f"{path} {name}", command.commands)
        else:
            yield f"{path} {name}", command


def _told(command: Any) -> str:
    """Return what a command says of itself, its examples as they are typed."""
    import inspect

    lines = []
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        example = re.match(r"Example: (shoal .*)", part, re.DOTALL)
        typed_part = part.startswith("\b") or example
        if typed_part:
            lines += ["```text", example[1] if example else part.strip("\b\n"), "```", ""]
        else:
            lines += [_plain(part), ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return text as Markdown that shows what it says."""
    return re.sub(r"([*_<>|\\\[\]])", r"\\\1", text)


def _command(path: str, command: Any) -> list[str]:
    panels: dict[str, list[str]] = {}
    words = []
    for one in command.whole:
        name = one.metavar or (one.name or "").upper()
        if one.param_type_name == "argument":
            words.append(name)
            panels.setdefault("Arguments", []).append(_row(name, one.help))
        elif not getattr(one, "hidden", False):
            flags = ", ".join([*one.opts, *one.secondary_opts])
            shown = flags if one.is_flag else f"{flags} {_metavar(one)}"
            panels.setdefault(getattr(one, "panel", "Options"), []).append(_row(shown, one.help))
    lines = ["```text", " ".join(["shoal", path, *words, "[OPTIONS]"]), "```", "", _told(command)]
    for panel, rows in panels.items():
        lines += [f"**{panel}**", "", "| option | meaning |", "|---|---|", *rows, ""]
    return lines


def _row(shown: str, told: str | None) -> str:
    return f"| `{shown.replace('|', chr(92) + '|')}` | {_cell(told)} |"


def _metavar(option: Any) -> str:
    return str(option.metavar or option.type.name.upper())


def _cell(text: str | None) -> str:
    return _plain((text or "").replace("\n", " ").replace("\b", ""))


def _catalogues() -> dict[str, str]:
    """Return the tables of what there is to choose from."""
    from shoal._core.validation import parameters_of
    from shoal.algorithms.algorithm_list import CATALOGUE
    from shoal.attacks import ATTACKS
    from shoal.disclosure_risk import MEASURES
    from shoal.metrics import METRICS
    from shoal.models.model_list import MODELS
    from shoal.models.promises import FEATURES, PROMISES

    def declared(owner: Any) -> str:
        return " ".join(f"`{one.flag or name}`: {_cell(one.help)}" for name, one in parameters_of(owner).items())

    def table(*header: str, rows: Iterator[tuple[str, ...]]) -> str:
        lines = [header, ("---",) * len(header), *rows]
        return "{.wordy}\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"

    return {
        "table-algorithms.txt": table(
            "name", "what it does", "its parameters",
            rows=((f"`{one.algorithm.name}`", _cell(one.help), declared(one.algorithm)) for one in CATALOGUE),
        ),
        "table-promises.txt": table(
            "promise", "why it holds", *("proven", "measured, not claimed", "refused"),
            rows=(
                (
                    f"{_cell(one.title)} (`{name}`)",
                    _cell(one.proof),
                    *(
                        "; ".join(
                            _cell(FEATURES[feature] + (f" ({why})" if why else ""))
                            for feature in FEATURES
                            for found, why in [one.judge(feature)]
                            if found == judged
                        )
                        for judged in ("proven", "measured", "refused")
                    ),
                )
                for name, one in PROMISES.items()
            ),
        ),
        "table-models.txt": table(
            "model", "what it asks of every group", "its parameters",
            rows=((name, _cell(str(one.__doc__).partition("\n")[0]), declared(one)) for name, one in MODELS.items()),
        ),
        "table-metrics.txt": table(
            "name", "what it measures", "better",
            rows=(
                (f"`{one.name}`", _cell(f"{one.title}: {one.meaning}"), "higher" if one.higher_is_better else "lower")
                for one in METRICS.values()
            ),
        ),
        "table-measures.txt": table(
            "name", "what it says", "formula",
            rows=((f"`{one.name}`", _cell(one.meaning), f"`{one.formula}`".replace("|", "\\|")) for one in MEASURES),
        ),
        "table-attacks.txt": table(
            "name", "what it asks", "function",
            rows=((f"`{one.name}`", _cell(one.meaning), f"`{one.function}`") for one in ATTACKS.values()),
        ),
    }  # fmt: skip


def setup(app: Any) -> dict[str, bool]:
    """Register it with Sphinx: the pages are there before it looks for pages."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir, "reference/generated")))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
