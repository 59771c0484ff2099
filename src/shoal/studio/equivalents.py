"""Equivalents of each screen outside the studio, made from its request: a command, a spec file, and Python code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from shoal._core.quoting import listed_names, quote_for_shell
from shoal._core.validation import number_in
from shoal.request.notation import option_words, python_call, toml_lines
from shoal.studio.attack_choice import ATTACKS_OF_PLAN, choose_attacks
from shoal.studio.plan import Plan
from shoal.studio.requests import arguments_in
from shoal.studio.state import Review

SPEC_FILE = "release.toml"
"""Name of the spec file in commands."""
_HEAD = f"# Run it with: shoal anonymize --spec {SPEC_FILE}"
_WIDTH = 100
_SENTENCES = "print(*{}.sentences(), sep='\\n')"
_Options = Sequence[tuple[str, str | None]]


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
    # Of two tables each is inspected by itself; the spec file of both is shown below the commands.
    options: _Options = [*_options(plan.reading_content), *([] if plan.second else [("--spec-out", SPEC_FILE)])]
    tables = [plan.shown, plan.second_shown] if plan.second else [plan.shown]
    return Equivalents(
        command=_first(plan) + "\n".join(_command(["shoal", "inspect", one], options) for one in tables),
        spec=spec_of(plan, output=output),
        python=_program(plan, "inspection = shoal.inspect", plan.read_arguments, []),
    )


def of_risk(plan: Plan, *, suda: int | None, output: str) -> Equivalents:
    """Build the equivalents of measuring the risk of the original table; of two tables those of a release."""
    from shoal.request.request_fields import fields_in
    from shoal.request.words import Words

    if plan.second:  # `risk` takes one table
        return of_publishing(plan, output=output)
    # `risk` reads the raw table, so it takes no date formats or decimal sign.
    taken = {"quasi_identifiers", "sensitive", "person", *fields_in("reading", "cleaning")}
    words = Words({key: one for key, one in Words.of_content(plan.content()).said.items() if key in taken})
    fraction = plan.sampling_fraction
    more = {"--sampling-fraction": fraction or None, "--suda": suda}
    options = [*words.options(), *((flag, str(one)) for flag, one in more.items() if one is not None)]
    own = {"sampling_fraction": number_in(fraction) if fraction else None, "suda": suda}
    arguments = words.fields() | {name: one for name, one in own.items() if one is not None}
    return Equivalents(
        command=_first(plan) + _command(["shoal", "risk", plan.shown], options),
        spec=spec_of(plan, output=output),
        python=_program(plan, "risk = shoal.risk", arguments, [_SENTENCES.format("risk")]),
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
    words = _keywords(content.get("report", {}))
    saved = f"release.save({output!r}{f', about=shoal.About({words})' if words else ''})"
    return Equivalents(
        command=_first(plan) + _asking("anonymize", content),
        spec=spec_of(plan, output=output),
        python=_program(plan, "release = shoal.anonymize", arguments, [saved]),
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
    replaced = ("k", "l") if l else ("k", "l", "harmless")
    others = {name: value for name, value in content["privacy"].items() if name not in replaced}
    return Equivalents(
        command=_first(plan) + _asking("explore", {**content, "privacy": others}, options),
        spec=spec_of(plan, output=output),
        python=_program(plan, "found = shoal.explore", arguments, [_SENTENCES.format("found")]),
    )


@dataclass(frozen=True, kw_only=True)
class _Attacked:
    """A release that is attacked, and what the adversary knows."""

    release: str
    table: str
    """The original table; empty if it is not at hand."""
    identifier: str
    """The column that names each person; empty if there is none."""
    person: str
    """The column that identifies persons with several records; empty if each record is a person."""
    aimed: bool
    """Whether attacks on values take the people of the table as targets."""
    options: _Options = ()
    """Further options of each command."""
    kept: bool = False
    """Whether each command writes its result to a folder."""
    arguments: str = ""
    """Further arguments of each call."""

    def command(self, name: str, *more: tuple[str, str]) -> str:
        """Write the command of an attack."""
        whose = _options(_columns(person=[self.person])) if self.person else []
        known: _Options = []
        if name == "linking":
            known = [("--population", self.table), ("--id", self.identifier), *whose]
        elif self.needs_table(name):
            known = [("--targets", self.table), *more, *whose]
        written = [("--output", name)] * self.kept
        named = ["shoal", "attack", self.release, "--method", name]
        return _command(named, [*known, *self.options, *written])

    def call(self, name: str) -> str:
        """Write the call of an attack; without an identifier its people are numbered."""
        from shoal.attacks import ATTACKS

        numbered = ("people", self.identifier) if self.identifier else ("people.with_row_index('record')", "record")
        given = {
            "linking": f", {numbered[0]}, identifier={numbered[1]!r}",
            "singling-out": ", people",
        }.get(name, ", targets=people")
        whose = f", person={self.person!r}" if self.person else ""
        known = given + whose if self.needs_table(name) else ""
        return f"attacks.{ATTACKS[name].function}({self.release!r}{known}{self.arguments})"

    def needs_table(self, name: str) -> bool:
        """Check whether an attack uses the original table."""
        return name in ("linking", "singling-out", "inference") or (
            self.aimed and name in ("homogeneity", "background")
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
    # As in the job: persons are attacked if a column identifies them, and only the attacks that can run.
    request = arguments_in(plan.work)
    link, person = bool(request.get("link")), plan.person if request.get("person") else ""
    chosen = choose_attacks(ATTACKS_OF_PLAN, link=link, sensitive=bool(plan.names_of("sensitive")))
    others = asked.get("others", "")
    attacked = _Attacked(
        release=output,
        table=plan.shown,
        identifier=person or asked.get("identifier", ""),
        person=person,
        aimed=not link and request.get("rows_per_person") is None,
    )
    # Linking needs an identifier at the command line, whereas Python can number the rows; others need one table.
    left_out = {"linking"} if not attacked.identifier else set()
    left_out |= set() if others else {"inference"}
    commands = [] if made else [_asking("anonymize", plan.content(output=output))]
    commands += [
        attacked.command(name, *([("--controls", others)] if name == "inference" else []))
        for name in chosen
        if name not in left_out and not (plan.second and attacked.needs_table(name))
    ]
    # Intersection: the populations are listed in the order of the releases.
    if together is not None:
        columns = _columns(plan.names_of("quasi_identifier"), plan.names_of("sensitive"))
        options = [("--population", one or plan.shown) for one in together["tables"]]
        options += [("--id", together["identifier"]), *_options(columns)]
        commands.append(_command(["shoal", "attack", *together["releases"], "--method", "intersection"], options))
    # Python: all attacks of the screen but inference, which has its own release there.
    shown = [name for name in chosen if name != "inference"]
    reading = _people_in_python(plan) if any(map(attacked.needs_table, shown)) else []
    lines = ["from shoal import attacks", "", *reading, *(_SENTENCES.format(attacked.call(name)) for name in shown)]
    return Equivalents(
        command=_first(plan) + "\n".join(commands), spec=spec_of(plan, output=output), python="\n".join(lines)
    )


def _people_in_python(plan: Plan) -> list[str]:
    """Write the lines of Python that read the table with parsed dates and numbers."""
    from shoal.request.request_fields import fields_in

    given = plan.read_arguments
    raw = {name: value for name, value in given.items() if name in fields_in("reading")}
    arguments = f", {_keywords(raw)}" if raw else ""
    quasi, parsed = plan.names_of("quasi_identifier"), {"dates": dict(plan.dates), "decimal": given.get("decimal")}
    forms = _keywords({name: value for name, value in parsed.items() if value})
    imports, lines = ["from shoal.io import read, understand"], [f"people = read({plan.shown!r}{arguments})"]
    # An attack knows the records of persons with the columns of both tables.
    if plan.second:
        lines.append(f"people = people.join(read({plan.second_shown!r}{arguments}), on={plan.person!r})")
    if replaced := given.get("replace_values"):
        imports.append("from shoal.table import replace_values")
        lines.append(f"people = replace_values(people.lazy(), {replaced!r}).collect()")
    if derived := given.get("derive"):
        imports.append("from shoal.pipeline.deriving import derive_columns")
        lines.append(f"people, _ = derive_columns(people, {derived!r})")
    lines.append(f"people = understand(people, {quasi!r}{f', {forms}' if forms else ''}).frame")
    return [*imports, "", *lines]


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
    named = [("--series", series), *([] if key is None else [("--key", key)])]
    quasi, sensitive = plan.names_of("quasi_identifier"), plan.names_of("sensitive")
    identifier, *dropped = left_out_of_series(plan) or ["ID"]
    table = plan.shown or "FILE.csv"
    opening = repr(ledger) + ("" if key is None else f", key={key!r}")
    commands, begin = [], f"series = ledger.series({series!r})"
    # A series is started only once.
    if not started:
        columns = _options(_columns(quasi or ["COLUMN"], sensitive or ["COLUMN"]))
        drop = [("--drop", listed_names(dropped))] if dropped else []
        commands = [
            _command(
                ["shoal", "series", "start", ledger], [*named, ("--id", identifier), *columns, *drop, ("-m", str(m))]
            )
        ]
        roles = {"identifier": identifier, "quasi_identifiers": quasi, "sensitive": sensitive}
        roles |= {"direct_identifiers": dropped} if dropped else {}
        begin = f"series = ledger.start({series!r}, {_keywords({'m': m, **roles})})"
    publish = [*named, ("--output", output), ("--min-real", "2")]
    commands.append(_command(["shoal", "series", "publish", ledger, table], publish))
    commands.append(_command(["shoal", "series", "verify", ledger], named))
    lines = [
        *("import shoal", ""),
        f"with shoal.Ledger({opening}{'' if started else ', create=True'}) as ledger:",
        f"    {begin}",
        f"    series.publish({table!r}, {output!r}, min_real=2)",
        "    print(*series.verify().problems, sep='\\n')",
    ]
    return Equivalents(command=_first(plan) + "\n".join(commands), spec="", python="\n".join(lines))


def of_reviewing(review: Review, counted: Mapping[str, Any], tested: Mapping[str, Any] | None) -> Equivalents:
    """Build the equivalents of reviewing a release: its audit, the attacks, and the document of the decision."""
    # Columns that the certificate states need not be repeated.
    named = review.quasi_identifiers is not None
    content = _columns(counted["quasi_identifiers"], counted["sensitive"]) if named else {}
    columns: Mapping[str, Any] = content.get("columns", {})
    roles = _options(content)
    trees = [("--hierarchy", f"{name}={file}") for name, file in review.hierarchies.items()]
    attacked = _Attacked(
        release=review.shown,
        table=review.original or "",
        identifier=review.person or "",
        person=review.person or "",
        aimed=bool(tested and tested["aimed"]),
        options=[*roles, *trees],
        kept=True,
        arguments=(f", {_keywords(columns)}" if columns else "") + (", hierarchies=trees" if trees else ""),
    )
    # The attacks that ran; linking needs an identifier at the command line.
    ran = [one["name"] for one in tested["attacks"]] if tested else []
    ran = [name for name in ran if name != "linking" or review.person]
    # The command line: each attack writes a folder, from which the audit takes its result.
    commands = [attacked.command(name) for name in ran]
    report = {"report": dict(review.words)} if review.words else {}
    shown = [*roles, *(("--attack", name) for name in ran), *_options(report)]
    shown += [("--output", "review")] if report else []
    commands.append(_command(["shoal", "audit", review.shown], shown))
    # Python: the same objects without files.
    lines = [python_call("audit = shoal.audit", columns, first=[repr(review.shown)])]
    if ran:
        lines += ["", "from shoal import attacks"]
        if any(map(attacked.needs_table, ran)):
            lines += ["from shoal.io import read", "", f"people = read({review.original!r})"]
        if trees:
            read = (f"{name!r}: shoal.Hierarchy.from_csv({file!r})" for name, file in review.hierarchies.items())
            lines.append(f"trees = {{{', '.join(read)}}}")
        lines += ["found = [", *(f"    {attacked.call(name)}," for name in ran), "]"]
        lines += ["for one in found:", f"    {_SENTENCES.format('one')}"]
    if report:
        results = ", attacks=[one.to_dict() for one in found]" if ran else ""
        title = f"Review of {PurePath(review.shown).name}"
        lines += ["", "from pathlib import Path", "from shoal.report import render_audit", ""]
        lines.append(f"about = shoal.About({_keywords(review.words)})")
        lines.append(f"page = render_audit(audit.to_dict(), title={title!r}, about=about{results})")
        lines.append("Path('review.html').write_text(page)")
    # The spec file: roles and words, for `shoal audit --spec`.
    head = f"# Run it with: shoal audit {quote_for_shell(review.shown)} --spec {SPEC_FILE}"
    spec = "\n".join([head, *toml_lines({**content, **report})])
    return Equivalents(command="\n".join(commands), spec=spec, python="\n".join(lines))


def spec_of(plan: Plan, *, output: str) -> str:
    """Write the spec file of a plan."""
    return "\n".join([_HEAD, *toml_lines(plan.content(output=output))])


def _columns(
    quasi_identifiers: Collection[str] = (), sensitive: Collection[str] = (), person: Collection[str] = ()
) -> dict[str, Any]:
    """Write the roles of columns as the content of a spec file."""
    roles = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "person": person}
    return {"columns": {name: [*names] for name, names in roles.items() if names}}


def _options(content: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """List the options of a command for the content of a spec file."""
    if not content:  # the first screen has none, so it loads no table library
        return []
    from shoal.request.words import Words

    return Words.of_content(content).options()


def _asking(command: str, content: Mapping[str, Any], more: _Options = ()) -> str:
    return _command(["shoal", command, content["input"]], [*_options(content), *more])


def _first(plan: Plan) -> str:
    """Write the command that creates the demo table; empty if another table is open."""
    return _command(["shoal", "datasets", plan.shown], []) + "\n" if plan.demo else ""


def _command(words: Sequence[str], options: _Options) -> str:
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


def _keywords(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _program(plan: Plan, function: str, arguments: Mapping[str, Any], after: Sequence[str]) -> str:
    """Write a program that calls a function with the table; it creates the demo table first."""
    before = [f"shoal.datasets.write_dataset({plan.shown!r})"] * plan.demo
    return "\n".join([python_call(function, arguments, first=[repr(plan.shown)], before=before), *after])
