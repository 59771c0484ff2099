"""Equivalents of each screen outside the studio: a command, a spec file, and Python code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from shoal._core.quoting import listed_names, quote_for_shell
from shoal._core.validation import number_in
from shoal.request.notation import option_words, python_call, toml_key, toml_lines
from shoal.studio.attack_choice import ATTACKS_OF_PLAN, choose_attacks
from shoal.studio.plan import Plan
from shoal.studio.requests import arguments_in, flag
from shoal.studio.state import Review

SPEC_FILE = "release.toml"
"""Name of the spec file in commands."""
_HEAD = f"# Run it with: shoal anonymize --spec {SPEC_FILE}"
_WIDTH = 100


_CLEANING = ("replace_values", "derive")
"""The options that change a table when it is opened."""


@dataclass(frozen=True, kw_only=True)
class Equivalents:
    """Equivalents of a screen."""

    command: str
    """The command line, to be run in the folder of the studio."""
    spec: str
    """The text of the spec file of the request so far."""
    python: str
    """The Python code."""


def of_inspecting(plan: Plan, *, output: str) -> Equivalents:
    """Build the equivalents of inspecting a table."""
    options = [(flag(name), value) for name, value in plan.reading.items() if value]
    options += [(f"{flag('dates')}.{toml_key(name)}", form) for name, form in plan.dates.items()]
    options += _cleaning(plan)
    # Of two tables each is inspected by itself; the spec file of both is shown below the commands.
    files = [(flag("spec_out"), SPEC_FILE)] if not plan.second else []
    tables = [plan.shown, plan.second_shown] if plan.second else [plan.shown]
    commands = [_command(["shoal", "inspect", one], [*options, *files]) for one in tables]
    return Equivalents(
        command=_first(plan) + "\n".join(commands),
        spec=spec_of(plan, output=output),
        python=_program(plan, "inspection = shoal.inspect", plan.read_arguments, []),
    )


def _cleaning(plan: Plan) -> list[tuple[str, str]]:
    """List the options that replace values and derive columns."""
    texts = {"replace_values": plan.replaced, "derive": plan.read_arguments.get("derive", {})}
    return [(f"{flag(key)}.{toml_key(name)}", text) for key in _CLEANING for name, text in texts[key].items()]


def of_risk(plan: Plan, *, suda: int | None, output: str) -> Equivalents:
    """Build the equivalents of measuring the risk of the original table; of two tables those of a release."""
    if plan.second:  # `risk` takes one table
        return of_publishing(plan, output=output)
    quasi, sensitive = plan.names_of("quasi_identifier"), plan.names_of("sensitive")
    arguments: dict[str, Any] = {"quasi_identifiers": quasi}
    options = [(flag("columns.quasi_identifiers"), listed_names(quasi))]
    if sensitive:
        options.append((flag("columns.sensitive"), listed_names(sensitive)))
        arguments["sensitive"] = sensitive
    if plan.person:
        options.append((flag("columns.person"), listed_names([plan.person])))
        arguments["person"] = plan.person
    if plan.sampling_fraction:
        options.append((flag("sampling_fraction"), plan.sampling_fraction))
        arguments["sampling_fraction"] = number_in(plan.sampling_fraction)
    if suda is not None:
        options.append((flag("suda"), str(suda)))
        arguments["suda"] = suda
    # `risk` reads the raw table, so it takes no date formats or decimal sign.
    for name, value in _reading(plan).items():
        options.append((flag(name), str(value)))
        arguments[name] = value
    options += _cleaning(plan)
    arguments |= {name: plan.read_arguments[name] for name in _CLEANING if name in plan.read_arguments}
    return Equivalents(
        command=_first(plan) + _command(["shoal", "risk", plan.shown], options),
        spec=spec_of(plan, output=output),
        python=_program(plan, "risk = shoal.risk", arguments, ["print(*risk.sentences(), sep='\\n')"]),
    )


def of_publishing(plan: Plan, *, output: str) -> Equivalents:
    """Build the equivalents of making the release.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    content = plan.content(output=output)
    arguments = {name: value for name, value in arguments_in(plan.work).items() if name != "data"}
    if plan.second:
        arguments["rows"] = plan.second_shown
    # The publisher's words are an argument of `save`, because the report holds them and not the release.
    words = ", ".join(f"{name}={value!r}" for name, value in content.get("report", {}).items())
    about = f", about=shoal.About({words})" if words else ""
    saved = [f"release.save({output!r}{about})"]
    python = _program(plan, "release = shoal.anonymize", arguments, saved)
    return Equivalents(
        command=_first(plan) + _asking("anonymize", content), spec=spec_of(plan, output=output), python=python
    )


def of_comparing(plan: Plan, *, k: Sequence[int], l: Sequence[int], output: str) -> Equivalents:
    """Build the equivalents of comparing levels of protection.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    from shoal.models import KAnonymity, LDiversity

    content = {name: value for name, value in plan.content().items() if name != "report"}
    levels = {name: list(one) for name, one in (("k", k), ("l", l)) if one}
    options = [("--levels", f"{name}={','.join(map(str, one))}") for name, one in levels.items()]
    made = arguments_in(plan.work)
    # The compared levels replace the models of the plan for k and l; the others, and harmless values, stay.
    kept = [one for one in made["privacy"] if not isinstance(one, KAnonymity if l else KAnonymity | LDiversity)]
    arguments = {name: one for name, one in made.items() if name not in ("data", "privacy")}
    arguments |= levels | ({"privacy": kept} if kept else {})
    others = {name: value for name, value in content["privacy"].items() if name not in ("k", "l")}
    if not l:
        others.pop("harmless", None)
    after = ["print(*found.sentences(), sep='\\n')"]
    return Equivalents(
        command=_first(plan) + _asking("explore", {**content, "privacy": others}, options),
        spec=spec_of(plan, output=output),
        python=_program(plan, "found = shoal.explore", arguments, after),
    )


def of_attacking(
    plan: Plan,
    *,
    asked: Mapping[str, str],
    together: Mapping[str, Any] | None,
    output: str,
    made: bool,
) -> Equivalents:
    """Build the equivalents of attacking a release; they begin with making it unless `made` is true.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    sensitive = plan.names_of("sensitive")
    # As in the job: persons are attacked if a column identifies them, and only the attacks that can run.
    request = arguments_in(plan.work)
    linked, person = bool(request.get("link")), request.get("person")
    chosen = choose_attacks(ATTACKS_OF_PLAN, linked=linked, sensitive=bool(sensitive))
    identifier, others = plan.person if person else asked.get("identifier", ""), asked.get("others", "")
    whose = [(flag("columns.person"), listed_names([plan.person]))] if person else []
    of_persons = f", person={plan.person!r}" if person else ""
    known_people = [(flag("attack.targets"), plan.shown)]
    all_published = not linked and request.get("rows_per_person") is None
    population = [(flag("attack.population"), plan.shown), (flag("attack.identifier"), identifier)]
    known = {
        "linking": [*population, *whose],
        "refinement": [],
        "singling-out": [*known_people, *whose],
        "homogeneity": [*known_people, *whose] if all_published else [],
        "inference": [*known_people, (flag("attack.controls"), others), *whose],
    }
    # Linking needs an identifier at the command line, whereas Python can number the rows; others need one table.
    left_out = {name for name, needed in (("linking", identifier), ("inference", others)) if not needed}
    commands = [] if made else [_asking("anonymize", plan.content(output=output))]
    commands += [
        _command(["shoal", "attack", output, "--method", name], known[name])
        for name in chosen
        if name not in left_out and (not plan.second or not known[name])
    ]
    # Python: all attacks of the screen but inference, which has its own release there.
    numbered = ("people", repr(identifier)) if identifier else ("people.with_row_index('record')", "'record'")
    targets = f", targets=people{of_persons}" if all_published else ""
    calls = {
        "linking": f"linking_attack({output!r}, {numbered[0]}, identifier={numbered[1]}{of_persons})",
        "refinement": f"refinement_attack({output!r})",
        "singling-out": f"singling_out_attack({output!r}, people{of_persons})",
        "homogeneity": f"homogeneity_attack({output!r}{targets})",
    }
    shown = [calls[name] for name in chosen if name in calls]
    reading = _people_in_python(plan) if any("people" in one for one in shown) else []
    lines = ["from shoal import attacks", "", *reading]
    lines += [f"print(*attacks.{one}.sentences(), sep='\\n')" for one in shown]
    # Intersection: the populations are listed in the order of the releases.
    if together is not None:
        tables = [one or plan.shown for one in together["tables"]]
        options = [(flag("attack.population"), one) for one in tables]
        options.append((flag("attack.identifier"), together["identifier"]))
        options += [
            (flag("columns.quasi_identifiers"), listed_names(plan.names_of("quasi_identifier"))),
            (flag("columns.sensitive"), listed_names(sensitive)),
        ]
        commands.append(_command(["shoal", "attack", *together["releases"], "--method", "intersection"], options))
    return Equivalents(
        command=_first(plan) + "\n".join(commands),
        spec=spec_of(plan, output=output),
        python="\n".join(lines),
    )


def _people_in_python(plan: Plan) -> list[str]:
    """Write the lines of Python that read the table with parsed dates and numbers."""
    reading = {"dates": dict(plan.dates), "decimal": plan.reading.get("decimal")}
    arguments = "".join(f", {name}={value!r}" for name, value in _reading(plan).items())
    forms = "".join(f", {name}={value!r}" for name, value in reading.items() if value)
    given = plan.read_arguments.get("replace_values")
    replaced = [f"people = replace_values(people.lazy(), {given!r}).collect()"] if given else []
    asked = plan.read_arguments.get("derive")
    derived = [f"people, _ = derive_columns(people, {asked!r})"] if asked else []
    # An attack knows the records of persons with the columns of both tables.
    second = f"people.join(read({plan.second_shown!r}{arguments}), on={plan.person!r})"
    joined = [f"people = {second}"] if plan.second else []
    return [
        "from shoal.io import read, understand",
        *(["from shoal.pipeline.deriving import derive_columns"] if derived else []),
        *(["from shoal.table import replace_values"] if replaced else []),
        "",
        f"people = read({plan.shown!r}{arguments})",
        *joined,
        *replaced,
        *derived,
        f"people = understand(people, {plan.names_of('quasi_identifier')!r}{forms}).frame",
    ]


def _reading(plan: Plan) -> dict[str, Any]:
    """Return the options of reading a raw table that the user set."""
    from shoal.request.request_fields import fields_in

    return {name: value for name, value in plan.read_arguments.items() if name in fields_in("reading")}


def left_out_of_series(plan: Plan) -> list[str]:
    """List the columns that a series does not publish, including the one that identifies each person.

    A series publishes groups of quasi-identifiers and sensitive values, so insensitive columns are dropped as well.
    """
    return [*plan.identifiers, *plan.names_of("insensitive")]


def of_series(
    plan: Plan, *, ledger: str, series: str, m: int, started: bool, output: str, key: str | None
) -> Equivalents:
    """Build the equivalents of starting a series, publishing its next release, and verifying it.

    Raises
    ------
    UsageError
        If the request is invalid.
    """
    named, keyed = (flag("ledger.series"), series), ((flag("ledger.key"), key),) * (key is not None)
    quasi, sensitive = plan.names_of("quasi_identifier"), plan.names_of("sensitive")
    direct = left_out_of_series(plan)
    identifier = direct[0] if direct else "ID"
    options = [
        named,
        *keyed,
        (flag("ledger.identifier"), identifier),
        (flag("columns.quasi_identifiers"), listed_names(quasi or ["COLUMN"])),
        (flag("columns.sensitive"), listed_names(sensitive or ["COLUMN"])),
        *((flag("ledger.drop"), listed_names(direct[1:])),) * bool(direct[1:]),
        (flag("ledger.m"), str(m)),
    ]
    # A series is started only once.
    commands = [] if started else [_command(["shoal", "series", "start", ledger], options)]
    table = plan.shown or "FILE.csv"
    publish = [named, *keyed, (flag("output"), output), ("--min-real", "2")]
    commands.append(_command(["shoal", "series", "publish", ledger, table], publish))
    commands.append(_command(["shoal", "series", "verify", ledger], [named, *keyed]))
    opening = repr(ledger) + (f", key={key!r}" if key is not None else "")
    lines = ["import shoal", "", f"with shoal.Ledger({opening}{'' if started else ', create=True'}) as ledger:"]
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
    lines += [
        f"    series.publish({table!r}, {output!r}, min_real=2)",
        "    print(*series.verify().problems, sep='\\n')",
    ]
    return Equivalents(
        command=_first(plan) + "\n".join(commands),
        spec="",
        python="\n".join(lines),
    )


def of_reviewing(review: Review, counted: Mapping[str, Any], tested: Mapping[str, Any] | None) -> Equivalents:
    """Build the equivalents of reviewing a release: its audit, the attacks, and the document of the decision."""
    quasi, sensitive = counted["quasi_identifiers"], counted["sensitive"]
    # Columns that the certificate states need not be repeated.
    named = review.quasi_identifiers is not None
    columns = {"quasi_identifiers": quasi, **({"sensitive": sensitive} if sensitive else {})} if named else {}
    roles = [(flag(f"columns.{name}"), listed_names(names)) for name, names in columns.items()]
    # The attacks that ran; linking needs an identifier at the command line.
    whose = [(flag("columns.person"), listed_names([review.person]))] if review.person else []
    of_persons = f", person={review.person!r}" if review.person else ""
    people = [(flag("attack.targets"), review.original or ""), *whose]
    aimed = (people, f", targets=people{of_persons}") if tested and tested["aimed"] else ([], "")
    calls: dict[str, tuple[str, list[tuple[str, str]], str]] = {
        "refinement": ("refinement_attack", [], ""),
        "singling-out": ("singling_out_attack", people, f", people{of_persons}"),
        "homogeneity": ("homogeneity_attack", *aimed),
        "background": ("background_knowledge_attack", *aimed),
    }
    if review.person:
        population = [(flag("attack.population"), review.original or ""), (flag("attack.identifier"), review.person)]
        calls["linking"] = (
            "linking_attack",
            [*population, *whose],
            f", people, identifier={review.person!r}{of_persons}",
        )
    ran = [one["name"] for one in tested["attacks"]] if tested else []
    attacks = [(name, *calls[name]) for name in ran if name in calls]
    # The files of hierarchies, which every attack reads.
    trees = [(flag("attack.hierarchies"), f"{name}={file}") for name, file in review.hierarchies.items()]
    given_trees = ", hierarchies=trees" if trees else ""
    # The command line: each attack writes a folder, from which the audit takes its result.
    commands = [
        _command(["shoal", "attack", review.shown, "--method", name], [*known, *roles, *trees, (flag("output"), name)])
        for name, _, known, _ in attacks
    ]
    shown = [("--attack", name) for name, *_ in attacks]
    words = [(flag(f"report.{name}"), one) for name, one in review.words.items()]
    written = [(flag("output"), "review")] if words else []
    commands.append(_command(["shoal", "audit", review.shown], [*roles, *shown, *words, *written]))
    # Python: the same objects without files.
    lines = [python_call("audit = shoal.audit", columns, first=[repr(review.shown)])]
    if attacks:
        lines += ["", "from shoal import attacks"]
        if any(more for *_, more in attacks):
            lines += ["from shoal.io import read", "", f"people = read({review.original!r})"]
        given = "".join(f", {name}={names!r}" for name, names in columns.items()) + given_trees
        if trees:
            read_trees = ", ".join(
                f"{name!r}: shoal.Hierarchy.from_csv({file!r})" for name, file in review.hierarchies.items()
            )
            lines += [f"trees = {{{read_trees}}}"]
        lines.append("found = [")
        lines += [f"    attacks.{function}({review.shown!r}{more}{given})," for _, function, _, more in attacks]
        lines += ["]", "for one in found:", "    print(*one.sentences(), sep='\\n')"]
    if words:
        about = ", ".join(f"{name}={one!r}" for name, one in review.words.items())
        results = ", attacks=[one.to_dict() for one in found]" if attacks else ""
        lines += ["", "from pathlib import Path", "from shoal.report import render_audit", ""]
        lines.append(f"about = shoal.About({about})")
        title = f"Review of {PurePath(review.shown).name}"
        lines.append(f"page = render_audit(audit.to_dict(), title={title!r}, about=about{results})")
        lines.append("Path('review.html').write_text(page)")
    # The spec file: roles and words, for `shoal audit --spec`.
    content = {**({"columns": columns} if columns else {}), **({"report": dict(review.words)} if words else {})}
    head = f"# Run it with: shoal audit {quote_for_shell(review.shown)} --spec {SPEC_FILE}"
    return Equivalents(
        command="\n".join(commands), spec="\n".join([head, *toml_lines(content)]), python="\n".join(lines)
    )


def spec_of(plan: Plan, *, output: str) -> str:
    """Write the spec file of a plan."""
    return "\n".join([_HEAD, *toml_lines(plan.content(output=output))])


def _asking(command: str, content: Mapping[str, Any], more: Sequence[tuple[str, str]] = ()) -> str:
    from shoal.request.words import Words

    words = Words.of_content(content)
    return _command(["shoal", command, words.get("input")], [*words.options(), *more])


def _first(plan: Plan) -> str:
    """Write the command that creates the demo table; empty if another table is open."""
    return _command(["shoal", "datasets", plan.shown], []) + "\n" if plan.demo else ""


def _command(words: Sequence[str], options: Sequence[tuple[str, str | None]]) -> str:
    # A switch has no value.
    given = (" ".join(map(quote_for_shell, option_words(flag, value))) for flag, value in options)
    parts = [" ".join(map(quote_for_shell, words)), *given]
    lines, line = [], parts[0]
    # Break the command between options so that it fits the page.
    for part in parts[1:]:
        if len(line) + len(part) + 3 > _WIDTH:
            lines.append(f"{line} \\")
            line = f"   {part}"
        else:
            line += f" {part}"
    return "\n".join([*lines, line])


def _program(plan: Plan, function: str, arguments: Mapping[str, Any], after: Sequence[str]) -> str:
    """Write a program that calls a function with the table; it creates the demo table first."""
    before = [f"shoal.datasets.write_dataset({plan.shown!r})"] * plan.demo
    return "\n".join([python_call(function, arguments, first=[repr(plan.shown)], before=before), *after])
