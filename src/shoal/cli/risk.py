"""`shoal risk`: what somebody could find out from a table, whoever made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli import options
from shoal.cli.asking import arguments_for
from shoal.cli.cell_reading import Cells, Nodes, cells_of, named_by_certificate, trees_of_cells
from shoal.cli.command import option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import check_page, write_page
from shoal.cli.private_file import write_private
from shoal.errors import OutputError
from shoal.request.texts import as_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.request.words import Words

__all__ = ["risk"]

_KNOWN, _MEASURES = "What is known", "Measures"
_SHOWN_COMBINATIONS = 10

Population = Annotated[
    str | None,
    option(
        "--population",
        metavar="FILE",
        help="Everybody who may be meant, the people of the table among them, with the same quasi-identifiers: "
        "journalist and marketer risk, k-map, delta-presence.",
        panel=_KNOWN,
    ),
]
SamplingFraction = Annotated[
    str | None,
    option(
        "--sampling-fraction",
        metavar="SHARE",
        help="The share of the population that is in the table (0.01, 1/100): population uniques, estimated k-map.",
        panel=_KNOWN,
    ),
]
Weights = Annotated[
    str | None,
    option(
        "--weights",
        metavar="NAME",
        help="The column of survey weights, at least 1 each: individual risk.",
        panel=_KNOWN,
    ),
]
Household = Annotated[
    str | None,
    option(
        "--household",
        metavar="NAME",
        help="With --weights: the column with the household of each person.",
        panel=_KNOWN,
    ),
]
Stars = Annotated[
    str | None,
    option(
        "--stars",
        metavar="own|wildcard",
        help="A star (an interval, a set) is a value of its own, unless given, or stands for any of its values, as "
        "somebody assumes who joins tables.",
        panel=_KNOWN,
    ),
]
Threshold = Annotated[
    str | None,
    option(
        "--threshold",
        metavar="NUMBER",
        help="The risk of re-identification that is still acceptable, up to 1; 0.2 unless given.",
        panel=_MEASURES,
    ),
]
L = Annotated[
    str | None,
    option(
        "-l",
        metavar="NUMBER",
        help="A confidence of 1 in l in a sensitive value is still acceptable; l = 2 unless given.",
        panel=_MEASURES,
    ),
]
Significance = Annotated[
    str | None,
    option(
        "--significance",
        metavar="NUMBER",
        help="The error that the estimated k-map is allowed for a class; 0.01 unless given.",
        panel=_MEASURES,
    ),
]
Suda = Annotated[
    str | None,
    option(
        "--suda",
        metavar="SIZE",
        help="Look for special uniques of up to so many columns.",
        panel=_MEASURES,
    ),
]
LogLinear = Annotated[
    str | None,
    option(
        "--log-linear",
        metavar="independence|two-way",
        help="With --sampling-fraction: fit a log-linear model, of main effects or of all two-way interactions.",
        panel=_MEASURES,
    ),
]
Combinations = Annotated[
    str | None,
    option(
        "--combinations",
        metavar="SIZE",
        help="Rank combinations of up to so many columns; 3 unless given, or fewer where there are very many.",
        panel=_MEASURES,
    ),
]
Explain = Annotated[
    bool,
    option(
        "--explain",
        help="Say of each measure what it assumes, its formula and its reference.",
        panel=_MEASURES,
    ),
]
Records = Annotated[
    Path | None,
    option(
        "--records",
        metavar="FILE.csv",
        help="For the publisher only: write the risk of each row of the input. Keep it as secret as the microdata.",
        panel="Files",
    ),
]
Force = Annotated[bool, option("--force/--no-force", help="Replace OUT if it exists.", panel="Files")]


@takes("quasi_identifiers", "sensitive", "star", "reading", "spec", "json")
def risk(
    terminal: Terminal,
    words: Words,
    *,
    source: options.Released,
    population: Population = None,
    sampling_fraction: SamplingFraction = None,
    weights: Weights = None,
    household: Household = None,
    stars: Stars = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
    threshold: Threshold = None,
    l: L = None,
    significance: Significance = None,
    suda: Suda = None,
    log_linear: LogLinear = None,
    combinations: Combinations = None,
    explain: Explain = False,
    records: Records = None,
    output: options.Page = None,
    force: Force = False,
) -> None:
    """Measure and estimate the disclosure risk of a table, whoever made it.

    Example: shoal risk survey.csv --qi age,gender,zip --sensitive disease --sampling-fraction 0.01 --suda 3

    Cells are compared as they stand, unless stars are wildcards: a star, an
    interval and a missing value are values like any other. `shoal list measures`
    says what is measured.

    Exit code 0, however high the risk is.
    """
    from shoal.verbs.risk import risk as assess

    check_page(output, force=force)
    if records is not None and records.exists():
        raise OutputError(f"'{records}' exists already and is kept. Choose another name.")
    named = named_by_certificate(source)
    asked = arguments_for(words, assess, source=source, named=named)
    names = asked.get("quasi_identifiers", named)
    if stars != "wildcard":
        asked.pop("hierarchies", None)  # those of a spec file are for anonymizing
    asked |= {"hierarchies": trees} if (trees := trees_of_cells(hierarchies, names)) else {}
    texts = {
        "population": population,
        "weights": weights,
        "household": household,
        "log_linear": log_linear,
        "stars": stars,
    }
    said: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    numbers = {
        "sampling_fraction": ("--sampling-fraction", sampling_fraction),
        "threshold": ("--threshold", threshold),
        "l": ("-l", l),
        "significance": ("--significance", significance),
        "suda": ("--suda", suda),
        "combinations": ("--combinations", combinations),
    }
    said |= {name: as_number(flag, text) for name, (flag, text) in numbers.items() if text is not None}
    with terminal.progress() as progress:
        found = assess(source, progress=progress, cells=cells_of(cells, names), **said, **asked)
    facts = found.to_dict()
    pages = [] if output is None else _page(output, facts, source, force=force)
    if records is not None:
        write_private(records, found.records)
    if terminal.json:
        terminal.result(facts)
        return
    written = [("records", records)] if records is not None else []
    written += [("written", page) for page in pages]
    terminal.say("", lines_of(_lines(facts)), "", *_said(facts, explain=explain))
    terminal.say("", _ranking(facts["quasi_identifiers"]), "", *(path_line(name, path) for name, path in written))
    for one in facts["identifiers"]:
        terminal.note(f"Warning: {one['text']}")


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures, one measure a line."""
    from shoal._core.words import number, percent

    def probabilities(figures: Mapping[str, Any]) -> str:
        return (
            f"at most {percent(figures['highest'])}, on average {percent(figures['average'])}; above "
            f"{percent(figures['threshold'])}: {percent(figures['records_above'])} of the rows"
        )

    rows, classes, smallest = (number(facts[name]) for name in ("rows", "classes", "smallest_class"))
    lines = [
        ("rows", f"{rows} in {classes} classes, the smallest of {smallest}"),
        ("stars", "values of their own" if facts["stars"] == "own" else "any of their values (wildcards)"),
        ("alone in the file", percent(facts["sample_uniques"])),
        ("prosecutor risk", probabilities(facts["prosecutor"])),
    ]
    if facts["journalist"] is not None:
        lines.append(("journalist risk", probabilities(facts["journalist"])))
        lines.append(("marketer risk", percent(facts["marketer"]["average"])))
    if facts["k_map"] is not None:
        told = {"counted": facts["k_map"]["k"], "estimated": facts["k_map"]["estimated"]}
        lines.append(("k-map", ", ".join(f"{number(k)} {how}" for how, k in told.items() if k is not None)))
    if facts["population_uniques"] is not None:
        estimates = {name: share for name, share in facts["population_uniques"].items() if share is not None}
        lines.append(("alone outside", ", ".join(f"{percent(share)} ({name})" for name, share in estimates.items())))
    for name, title in (("individual", "individual risk"), ("household", "household risk")):
        if facts[name] is not None:
            average, expected = percent(facts[name]["global"]), number(round(facts[name]["expected"], 1))
            lines.append((title, f"{average} on average; {expected} rows expected to be found"))
    for name, figures in facts["attribute_disclosure"].items():
        lines.append((f"sure of {plain(name)}", probabilities(figures)))
    return lines


def _said(facts: Mapping[str, Any], *, explain: bool) -> list[str]:
    """Return what the figures mean, in sentences, and where asked for what each measure rests on."""
    from shoal.disclosure_risk import MEASURES

    said = []
    for measure in MEASURES:
        sentence = None if measure.name == "identifiers" else measure.sentence(facts)
        if sentence is None:
            continue
        said.append(plain(f"- {sentence}"))
        if explain:
            said += [
                f"  {measure.title}: {measure.meaning}",
                f"  Assumptions: {measure.assumptions}",
                f"  Formula: {measure.formula}",
                f"  Reference: {measure.reference}",
                "",
            ]
    return said


def _ranking(ranked: Sequence[Mapping[str, Any]]) -> Any:
    """Return the combinations that tell most rows apart, as a table."""
    from rich.table import Table

    from shoal._core.words import percent

    table = Table(title="Which columns identify", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for header, right in (("columns", False), ("pairs told apart", True), ("distinct", True)):
        table.add_column(header, justify="right" if right else "left", overflow="fold")
    shown = [one for one in ranked if len(one["columns"]) == 1] + [one for one in ranked if len(one["columns"]) > 1]
    for one in shown[:_SHOWN_COMBINATIONS]:
        told = "-" if one["separation"] is None else percent(one["separation"])
        distinct = "-" if one["distinction"] is None else percent(one["distinction"])
        within = f" (± {100 * one['error']:.1f})" if one["error"] else ""
        table.add_row(plain(", ".join(one["columns"])), told + within, distinct)
    return table


def _page(output: Path, facts: Mapping[str, Any], source: str, *, force: bool) -> list[Path]:
    """Write the figures as JSON and as a page, for the publisher: what they are made of is no release yet."""
    import json

    from shoal.report import render_risk

    page = render_risk(facts, title=f"Disclosure risk of {Path(source).name or Path(source).resolve().name}")
    return write_page(output, "report", page, json.dumps(facts, indent=2, ensure_ascii=False), force=force)
