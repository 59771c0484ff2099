"""The command `shoal risk`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.asking import (
    Cells,
    Nodes,
    Released,
    arguments_for,
    cells_of,
    keep_said,
    named_by_certificate,
    trees_of_cells,
)
from shoal.cli.command import Number, option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import Page, check_page, write_page, write_private
from shoal.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.request.words import Words

_KNOWN, _MEASURES = "Population", "Measures"
_MAX_SHOWN_COMBINATIONS = 10

_OPTIONS = (
    option(
        "--population",
        metavar="FILE",
        help="A table of the population, including the people of the table, with the same quasi-identifiers: "
        "journalist and marketer risk, k-map, delta-presence.",
        panel=_KNOWN,
    ),
    option(
        "--sampling-fraction",
        metavar="SHARE",
        kind=Number,
        help="The share of the population that is in the table, such as 1/100: population uniques, estimated k-map.",
        panel=_KNOWN,
    ),
    option(
        "--weights",
        metavar="NAME",
        help="The column of survey weights, at least 1 each: individual risk.",
        panel=_KNOWN,
    ),
    option(
        "--household",
        metavar="NAME",
        help="With --weights: the column that identifies the household of each person.",
        panel=_KNOWN,
    ),
    option(
        "--stars",
        metavar="own|wildcard",
        help="own (default): a star, an interval or a set matches only itself; wildcard: it matches every value that "
        "it can stand for.",
        panel=_KNOWN,
    ),
    option(
        "--threshold",
        metavar="NUMBER",
        kind=Number,
        help="The acceptable risk of re-identification, up to 1. Default: 0.2.",
        panel=_MEASURES,
    ),
    option(
        "-l",
        metavar="NUMBER",
        kind=Number,
        help="The acceptable confidence in a sensitive value is 1 / l. Default: l = 2.",
        panel=_MEASURES,
    ),
    option(
        "--significance",
        metavar="NUMBER",
        kind=Number,
        help="The error probability of the estimated k-map for a class. Default: 0.01.",
        panel=_MEASURES,
    ),
    option(
        "--suda",
        metavar="SIZE",
        kind=Number,
        help="Find special uniques of up to this many columns.",
        panel=_MEASURES,
    ),
    option(
        "--log-linear",
        metavar="independence|two-way",
        help="With --sampling-fraction: fit a log-linear model, of main effects or of all two-way interactions.",
        panel=_MEASURES,
    ),
    option(
        "--combinations",
        metavar="SIZE",
        kind=Number,
        help="Rank combinations of up to this many columns. Default: 3, fewer for very many columns.",
        panel=_MEASURES,
    ),
)
"""The options that are parameters of `shoal.risk`."""
Explain = Annotated[
    bool,
    option(
        "--explain",
        help="Show the assumptions, the formula and the reference of each measure.",
        panel=_MEASURES,
    ),
]
# Private output.
Records = Annotated[
    Path | None,
    option(
        "--records",
        metavar="FILE.csv",
        help="For the publisher only: write the risk of each record. Keep the file as secret as the microdata.",
        panel="Files",
    ),
]
Force = Annotated[
    bool,
    option("--force/--no-force", help="Replace the page OUT if it exists. FILE.csv is never replaced.", panel="Files"),
]


@takes(
    *("quasi_identifiers", "sensitive", "person", "units", "qi_sets", "knows", "star"),
    *("forms", "reading", "cleaning", "spec", "json"),
    options=_OPTIONS,
)
def risk(
    terminal: Terminal,
    words: Words,
    *,
    source: Released,
    hierarchies: Nodes = None,
    cells: Cells = None,
    explain: Explain = False,
    records: Records = None,
    output: Page = None,
    force: Force = False,
    **measured: Any,
) -> None:
    """Measure and estimate the disclosure risk of any table, original or published.

    Example: shoal risk survey.csv --qi age,gender,zip --sensitive disease --sampling-fraction 0.01 --suda 3

    By default, a star, an interval and a missing value are ordinary values, which match only
    themselves; see --stars. `shoal list measures` explains the measures.

    Exit code 0 for any risk.
    """
    from shoal.verbs.risk import risk as assess

    check_page(output, force=force)
    if records is not None and records.exists():
        raise OutputError(f"'{records}' exists and is not replaced. Choose another name.")
    named = named_by_certificate(source)
    arguments = arguments_for(words, assess, source=source, named=named)
    names = arguments.get("quasi_identifiers", named)
    if named:  # a release does not have those of a spec file
        keep_said(arguments, ("person", "units", "header_row", "dates", "decimal", "replace_values", "derive"))
    # Hierarchies of a spec file are for anonymizing.
    if measured.get("stars") != "wildcard":
        arguments.pop("hierarchies", None)
    arguments |= {"hierarchies": trees} if (trees := trees_of_cells(hierarchies, names)) else {}
    with terminal.progress() as progress:
        found = assess(source, progress=progress, cells=cells_of(cells, names), **measured, **arguments)
    facts = found.to_dict()
    # Files are written before anything is printed.
    pages = [] if output is None else _write_page(output, facts, source, force=force)
    if records is not None:
        write_private(records, found.records)
    if terminal.json:
        terminal.result(facts)
        return
    written = [("records", records)] if records is not None else []
    written += [("written", page) for page in pages]
    for one in (facts, *facts["further"]):
        terminal.say("", lines_of(_list_figures(one)), "", *_list_sentences(one, explain=explain))
    terminal.say("", _build_ranking(facts["quasi_identifiers"]), "", *(path_line(name, path) for name, path in written))
    for one in facts["identifiers"]:
        terminal.note(f"Warning: {one['text']}")


def _list_figures(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the figures, as a label and a text each."""
    from shoal._core.words import number, percent
    from shoal.disclosure_risk.measure_sentences import name_counted, total_of

    counted = name_counted(facts, 2, "row")

    def probabilities(figures: Mapping[str, Any]) -> str:
        return (
            f"at most {percent(figures['highest'])}, on average {percent(figures['average'])}; above "
            f"{percent(figures['threshold'])}: {percent(figures['records_above'])} of the {counted}"
        )

    # Counts first, then the risks that the available knowledge allows.
    rows, classes, smallest = (number(facts[name]) for name in ("rows", "classes", "smallest_class"))
    whose = [] if facts["unit"] is None else [(counted, f"{number(total_of(facts))} (by {plain(facts['unit'])})")]
    of_whom = f" {name_counted(facts, 1)}(s)" if whose else ""
    lines = [
        *whose,
        ("rows", f"{rows} in {classes} classes, the smallest of {smallest}{of_whom}"),
        ("stars", "values of their own" if facts["stars"] == "own" else "any of their values (wildcards)"),
        ("unique in the file", f"{percent(facts['sample_uniques'])} of the {counted}"),
        ("prosecutor risk", probabilities(facts["prosecutor"])),
    ]
    if facts["known_sets"] is not None:
        sets = facts["known_sets"]
        lines.append(("unique in some set", f"{percent(sets['uniques'])} (of {number(sets['sets'])} sets)"))
    if facts["journalist"] is not None:
        lines.append(("journalist risk", probabilities(facts["journalist"])))
        lines.append(("marketer risk", percent(facts["marketer"]["average"])))
    if facts["k_map"] is not None:
        levels = {"counted": facts["k_map"]["k"], "estimated": facts["k_map"]["estimated"]}
        lines.append(("k-map", ", ".join(f"{number(k)} {how}" for how, k in levels.items() if k is not None)))
    if facts["population_uniques"] is not None:
        estimates = {name: share for name, share in facts["population_uniques"].items() if share is not None}
        lines.append(
            ("unique in the population", ", ".join(f"{percent(share)} ({name})" for name, share in estimates.items()))
        )
    for name, title in (("individual", "individual risk"), ("household", "household risk")):
        if facts[name] is not None:
            average, expected = percent(facts[name]["global"]), number(round(facts[name]["expected"], 1))
            lines.append((title, f"{average} on average; {expected} {counted} expected to be found"))
    for name, figures in facts["attribute_disclosure"].items():
        lines.append((f"confidence in {plain(name)}", probabilities(figures)))
    return lines


def _list_sentences(facts: Mapping[str, Any], *, explain: bool) -> list[str]:
    """List sentences about the figures, with the basis of each measure if requested."""
    from shoal.disclosure_risk import MEASURES
    from shoal.wording import say

    sentences: list[str] = []
    if explain and "of" not in facts:
        sentences += [say("rests_on_records" if facts["unit"] is None else "rests_on_persons"), ""]
    # Possible identifiers are printed as warnings instead.
    for measure in MEASURES:
        sentence = None if measure.name == "identifiers" else measure.sentence(facts)
        if sentence is None:
            continue
        sentences.append(plain(f"- {sentence}"))
        if explain:
            sentences += [
                f"  {measure.title}: {measure.meaning}",
                f"  Assumptions: {measure.assumptions}",
                f"  Formula: {measure.formula}",
                f"  Reference: {measure.reference}",
                "",
            ]
    return sentences


def _build_ranking(ranked: Sequence[Mapping[str, Any]]) -> Any:
    """Build a table of the combinations of columns that distinguish most rows."""
    from rich.table import Table

    from shoal._core.words import percent

    # Single columns first, then combinations.
    table = Table(title="Which columns identify", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for header, right in (("columns", False), ("pairs distinguished", True), ("distinct", True)):
        table.add_column(header, justify="right" if right else "left", overflow="fold")
    shown = [one for one in ranked if len(one["columns"]) == 1] + [one for one in ranked if len(one["columns"]) > 1]
    for one in shown[:_MAX_SHOWN_COMBINATIONS]:
        apart = "-" if one["separation"] is None else percent(one["separation"])
        distinct = "-" if one["distinction"] is None else percent(one["distinction"])
        within = f" (± {100 * one['error']:.1f})" if one["error"] else ""
        table.add_row(plain(", ".join(one["columns"])), apart + within, distinct)
    return table


def _write_page(output: Path, facts: Mapping[str, Any], source: str, *, force: bool) -> list[Path]:
    """Write the figures as JSON and as a page; they are for the publisher, because the table may be an original."""
    import json

    from shoal.report import render_risk

    page = render_risk(facts, title=f"Disclosure risk of {Path(source).name or Path(source).resolve().name}")
    return write_page(output, "report", page, json.dumps(facts, indent=2, ensure_ascii=False), force=force)
