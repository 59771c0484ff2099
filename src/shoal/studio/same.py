"""Equivalents of each screen outside the studio: a command, a spec file, and Python code."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from shoal.request.texts import listed_name
from shoal.studio.requests import arguments_in, flag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shoal.studio.plan import Plan

__all__ = [
    "Same",
    "left_out_of_series",
    "of_attacking",
    "of_comparing",
    "of_inspecting",
    "of_publishing",
    "of_risk",
    "of_series",
    "spec_of",
]

SPEC_FILE = "release.toml"
"""Name of the spec file in commands."""
_HEAD = f"# Run it with: shoal anonymize --spec {SPEC_FILE}"
_WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class Same:
    """Equivalents of a screen."""

    command: str
    """The command line, to be run in the folder of the studio."""
    spec: str
    """The text of the spec file of the request so far."""
    python: str
    """The Python code."""


def of_inspecting(plan: Plan, *, output: str) -> Same:
    """Build the equivalents of inspecting a table."""
    options = [(flag(name), value) for name, value in plan.reading.items() if value]
    options += [(flag("dates"), f"{name}={form}") for name, form in plan.dates.items()]
    arguments = {name: repr(value) for name, value in plan.read_arguments.items()}
    return Same(
        command=_first(plan) + _command(["shoal", "inspect", plan.shown], [*options, (flag("spec_out"), SPEC_FILE)]),
        spec=spec_of(plan.content(output=output)),
        python=_program(plan, "inspection", "inspect", arguments, []),
    )


def of_risk(plan: Plan, *, suda: int | None, output: str) -> Same:
    """Build the equivalents of measuring the risk of the original table."""
    quasi, sensitive = plan.names_of("quasi_identifier"), plan.names_of("sensitive")
    arguments: dict[str, str] = {"quasi_identifiers": repr(quasi)}
    options = [(flag("columns.quasi_identifiers"), _names(quasi))]
    if sensitive:
        options.append((flag("columns.sensitive"), _names(sensitive)))
        arguments["sensitive"] = repr(sensitive)
    if plan.person:
        options.append((flag("columns.person"), _names([plan.person])))
        arguments["person"] = repr(plan.person)
    if plan.sampling_fraction:
        options.append((flag("sampling_fraction"), plan.sampling_fraction))
        arguments["sampling_fraction"] = plan.sampling_fraction
    if suda is not None:
        options.append((flag("suda"), str(suda)))
        arguments["suda"] = str(suda)
    # `risk` reads the raw table, so it takes no date formats or decimal sign.
    for name in ("delimiter", "encoding", "sheet"):
        if plan.reading.get(name):
            options.append((flag(name), plan.reading[name]))
            arguments[name] = repr(plan.reading[name])
    return Same(
        command=_first(plan) + _command(["shoal", "risk", plan.shown], options),
        spec=spec_of(plan.content(output=output)),
        python=_program(plan, "risk", "risk", arguments, ["print(*risk.sentences(), sep='\\n')"]),
    )


def of_publishing(plan: Plan, *, output: str) -> Same:
    """Build the equivalents of making the release.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    content = plan.content(output=output)
    made = {**arguments_in(plan.work), "data": plan.shown}
    imported: set[str] = set()
    arguments = {name: _said(value, imported) for name, value in made.items() if name != "data"}
    # Notes are an argument of `save`, because the report holds them and not the release.
    about = f", about=shoal.About(notes={plan.whose!r})" if plan.rows else ""
    saved = [f"release.save({output!r}{about})"]
    python = _program(plan, "release", "anonymize", arguments, saved, sorted(imported))
    return Same(command=_first(plan) + _asking("anonymize", content), spec=spec_of(content), python=python)


def of_comparing(plan: Plan, *, k: Sequence[int], l: Sequence[int], output: str) -> Same:
    """Build the equivalents of comparing levels of protection.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    from shoal.models import KAnonymity, LDiversity

    content = {name: value for name, value in plan.content().items() if name != "report"}
    levels = {name: list(one) for name, one in (("k", k), ("l", l)) if one}
    options = [(flag(f"levels.{name}"), ",".join(map(str, one))) for name, one in levels.items()]
    made = arguments_in(plan.work)
    # The compared levels replace the models of the plan for k and l; the other models stay.
    kept = [one for one in made["privacy"] if not isinstance(one, KAnonymity | LDiversity)]
    imported: set[str] = set()
    values = {name: one for name, one in made.items() if name not in ("data", "privacy")}
    values |= levels | ({"privacy": kept} if kept else {})
    arguments = {name: _said(value, imported) for name, value in values.items()}
    others = {name: value for name, value in plan.privacy.items() if name not in levels}
    after = ["print(*found.sentences(), sep='\\n')"]
    return Same(
        command=_first(plan) + _asking("tradeoff", {**content, "privacy": others}, options),
        spec=spec_of(plan.content(output=output)),
        python=_program(plan, "found", "tradeoff", arguments, after, sorted(imported)),
    )


def of_attacking(
    plan: Plan,
    *,
    asked: Mapping[str, str],
    together: Mapping[str, Any] | None,
    output: str,
    made: bool,
) -> Same:
    """Build the equivalents of attacking a release; they begin with making it unless `made` is true.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    sensitive = plan.names_of("sensitive")
    identifier, others = asked.get("identifier", ""), asked.get("others", "")
    commands = [] if made else [_asking("anonymize", plan.content(output=output))]
    lines = ["from shoal import attacks", "", *_people_in_python(plan)]
    # Linking: the command needs an identifier, whereas Python can number the rows.
    if identifier:
        named = [(flag("attack.population"), plan.shown), (flag("attack.identifier"), identifier)]
        commands.append(_command(["shoal", "attack", "linking", output], named))
    known = repr(identifier) if identifier else "'record'"
    population = "people" if identifier else "people.with_row_index('record')"
    lines.append(f"found = attacks.linking_attack({output!r}, {population}, identifier={known})")
    lines.append("print(*found.sentences(), sep='\\n')")
    # Homogeneity and inference need a sensitive column.
    if sensitive:
        known_people = [(flag("attack.targets"), plan.shown)]
        commands.append(_command(["shoal", "attack", "homogeneity", output], known_people))
        lines.append(f"found = attacks.homogeneity_attack({output!r}, targets=people)")
        lines.append("print(*found.sentences(), sep='\\n')")
        if others:
            both = [*known_people, (flag("attack.controls"), others)]
            commands.append(_command(["shoal", "attack", "inference", output], both))
    # Intersection: the populations are listed in the order of the releases.
    if together is not None:
        tables = [one or plan.shown for one in together["tables"]]
        options = [(flag("attack.population"), one) for one in tables]
        options.append((flag("attack.identifier"), together["identifier"]))
        options += [
            (flag("columns.quasi_identifiers"), _names(plan.names_of("quasi_identifier"))),
            (flag("columns.sensitive"), _names(sensitive)),
        ]
        commands.append(_command(["shoal", "attack", "intersection", *together["releases"]], options))
    return Same(
        command=_first(plan) + "\n".join(commands),
        spec=spec_of(plan.content(output=output)),
        python="\n".join(lines),
    )


def _people_in_python(plan: Plan) -> list[str]:
    """Write the lines of Python that read the table with parsed dates and numbers."""
    reading = {name: repr(plan.reading[name]) for name in ("delimiter", "encoding", "sheet") if plan.reading.get(name)}
    said = {"dates": repr(dict(plan.dates))} if plan.dates else {}
    if plan.reading.get("decimal"):
        said["decimal"] = repr(plan.reading["decimal"])
    arguments = "".join(f", {name}={value}" for name, value in reading.items())
    forms = "".join(f", {name}={value}" for name, value in said.items())
    return [
        "from shoal.io import read, understand",
        "",
        f"people = read({plan.shown!r}{arguments})",
        f"people = understand(people, {plan.names_of('quasi_identifier')!r}{forms}).frame",
    ]


def left_out_of_series(plan: Plan) -> list[str]:
    """List the columns that a series does not publish, including the one that identifies each person.

    A series publishes groups of quasi-identifiers and sensitive values, so insensitive columns are dropped as well.
    """
    return [*plan.identifiers, *plan.names_of("insensitive")]


def of_series(plan: Plan, *, ledger: str, series: str, m: int, started: bool, output: str) -> Same:
    """Build the equivalents of starting a series, publishing its next release, and verifying it.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    named = (flag("ledger.series"), series)
    quasi, sensitive = plan.names_of("quasi_identifier"), plan.names_of("sensitive")
    direct = left_out_of_series(plan)
    identifier = direct[0] if direct else "ID"
    options = [
        named,
        (flag("ledger.identifier"), identifier),
        (flag("columns.quasi_identifiers"), _names(quasi or ["COLUMN"])),
        (flag("columns.sensitive"), _names(sensitive or ["COLUMN"])),
        *((flag("ledger.drop"), _names(direct[1:])),) * bool(direct[1:]),
        (flag("ledger.m"), str(m)),
    ]
    # A series is started only once.
    commands = [] if started else [_command(["shoal", "republish", "init", ledger], options)]
    table = plan.shown or "FILE.csv"
    publish = [named, (flag("output"), output)]
    commands.append(_command(["shoal", "republish", "publish", ledger, table], publish))
    commands.append(_command(["shoal", "republish", "verify", ledger], [named]))
    lines = ["import shoal", "", f"with shoal.Ledger({ledger!r}, create=True) as ledger:"]
    if started:
        lines.append(f"    series = ledger.series({series!r})")
    else:
        lines += [
            "    series = ledger.start(",
            f"        {series!r},",
            f"        m={m},",
            f"        identifier={identifier!r},",
            f"        quasi_identifiers={quasi!r},",
            f"        sensitive={sensitive!r},",
            *((f"        direct_identifiers={direct[1:]!r},",) * bool(direct[1:])),
            "    )",
        ]
    lines += [f"    series.publish({table!r}, {output!r})", "    print(*series.verify().problems, sep='\\n')"]
    return Same(
        command=_first(plan) + "\n".join(commands),
        spec="# Ledgers and series have no spec file: the ledger remembers what a series was started with.",
        python="\n".join(lines),
    )


def spec_of(content: Mapping[str, Any]) -> str:
    """Write the text of a spec file.

    Examples
    --------
    >>> print(spec_of({"input": "a.csv", "columns": {"sensitive": ["d"]}, "privacy": {"k": "5"}}))
    # Run it with: shoal anonymize --spec release.toml
    input = "a.csv"
    columns.sensitive = ["d"]
    privacy.k = 5
    """
    return "\n".join([_HEAD, *_lines(content)])


def _lines(content: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for key, value in content.items():
        named = before + (key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key))
        if isinstance(value, dict):
            yield from _lines(value, f"{named}.")
        elif isinstance(value, list):
            one_line = f"{named} = [{', '.join(map(_quoted, value))}]"
            yield (
                one_line
                if len(one_line) <= _WIDTH
                else f"{named} = [\n" + "".join(f"  {_quoted(one)},\n" for one in value) + "]"
            )
        else:
            yield f"{named} = {value if before == 'privacy.' and _is_number(value) else _quoted(value)}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


def _quoted(text: str) -> str:
    """Quote a string for TOML; escape all characters that are not printable."""
    return "".join(one if one.isprintable() else _escaped(one) for one in json.dumps(text, ensure_ascii=False))


def _escaped(one: str) -> str:
    return f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"


def _asking(command: str, content: Mapping[str, Any], more: Sequence[tuple[str, str]] = ()) -> str:
    if any("=" in name for key in ("coarsen", "dates") for name in content.get(key, {})):
        # On the command line the name of a column ends at the first equals sign, so such names need a spec file.
        return _command(["shoal", command], [(flag("spec"), SPEC_FILE), *more])
    options = []
    for key, value in content.items():
        if key in ("columns", "privacy", "report"):
            said = ((f"{key}.{name}", _names(one) if isinstance(one, list) else one) for name, one in value.items())
            options += [(flag(name), one) for name, one in said]
        elif isinstance(value, dict):
            options += [(flag(key), f"{name}={words}") for name, words in value.items()]
        elif key != "input":
            options.append((flag(key), value))
    return _command(["shoal", command, content["input"]], [*options, *more])


def _first(plan: Plan) -> str:
    """Write the command that creates the demo table; empty if another table is open."""
    return _command(["shoal", "datasets", plan.shown], []) + "\n" if plan.demo else ""


def _command(words: Sequence[str], options: Sequence[tuple[str, object]]) -> str:
    # A switch has no value.
    given = (flag if value is True else f"{flag} {_shell(str(value))}" for flag, value in options)
    parts = [" ".join(map(_shell, words)), *given]
    lines, line = [], parts[0]
    # Break the command between options so that it fits the page.
    for part in parts[1:]:
        if len(line) + len(part) + 3 > _WIDTH:
            lines.append(f"{line} \\")
            line = f"   {part}"
        else:
            line += f" {part}"
    return "\n".join([*lines, line])


def _shell(word: str) -> str:
    """Quote a word for the shell; characters that are not printable are escaped in the syntax of bash and zsh."""
    if word.isprintable():
        return shlex.quote(word)
    inside = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(one if one.isprintable() else _escaped(one) for one in inside) + "'"


def _names(names: Sequence[str]) -> str:
    """Join names into the value of an option: a line of CSV."""
    return ",".join(map(listed_name, names))


def _program(
    plan: Plan,
    made: str,
    function: str,
    arguments: Mapping[str, str],
    after: Sequence[str],
    imported: Sequence[str] = (),
) -> str:
    lines = ["import shoal", *(f"import {one}" for one in imported), ""]
    if plan.demo:
        lines.append(f"shoal.datasets.write_dataset({plan.shown!r})")
    lines += [f"{made} = shoal.{function}(", f"    {plan.shown!r},"]
    lines += [f"    {name}={value}," for name, value in arguments.items()]
    return "\n".join([*lines, ")", *after])


def _said(value: Any, imported: set[str]) -> str:
    """Write a value as Python source: models and coarsenings as calls without default arguments."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_said(key, imported)}: {_said(one, imported)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(_said(one, imported) for one in value)
        return (
            f"[{inside}]" if isinstance(value, list) or all(isinstance(one, str) for one in value) else f"({inside},)"
        )
    if type(value).__name__ == "Hierarchy":
        return repr(value.source)  # the name of its file, in the folder of the table
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    # Required fields are positional; the others are keywords, if they differ from their defaults.
    taken = [one for one in fields(value) if one.init]
    needed = [one for one in taken if one.default is MISSING and not one.kw_only]
    given = [one for one in taken if one not in needed and getattr(value, one.name) != one.default]
    words = [_said(getattr(value, one.name), imported) for one in needed]
    words += [f"{one.name}={_said(getattr(value, one.name), imported)}" for one in given]
    return f"{_home(type(value).__name__, imported)}({', '.join(words)})"


def _home(name: str, imported: set[str]) -> str:
    """Return the qualified name of a class of the library, and add the module to import to `imported`."""
    import shoal
    from shoal import hierarchy, models

    if hasattr(shoal, name):
        return f"shoal.{name}"
    home = next(one for one in (hierarchy, models) if hasattr(one, name))
    imported.add(home.__name__)
    return f"{home.__name__}.{name}"
