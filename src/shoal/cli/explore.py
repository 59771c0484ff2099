"""The command `shoal explore`: levels of protection, algorithms and coarsenings of one table side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal._core.figures import check_picture_name
from shoal._core.quoting import quote_for_shell
from shoal.cli.anonymize import save
from shoal.cli.asking import folder_of, request_in, source_of
from shoal.cli.command import RELEASE, Number, option, takes
from shoal.cli.console import Terminal, path_line, plain, warning_lines
from shoal.errors import UsageError
from shoal.request.texts import as_number, column_and_words, named_values, names_in

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal._messages import Audience
    from shoal.request.words import Words
    from shoal.verbs.explore import Exploration

_SHOWN = 12
"""Coarsenings that the table shows at most."""
_PANEL = "What varies"

Levels = Annotated[
    list[str] | None,
    option(
        "--levels",
        metavar="NAME=NUMBERS",
        help="Levels of k or l, such as k=3,5,10; repeat it to combine both. l=1 means none. Default without any "
        "privacy model: k=3,5,10,20,50.",
        panel=_PANEL,
    ),
]
Algorithms = Annotated[
    list[str] | None,
    option(
        "--algorithms",
        metavar="NAMES",
        help="Algorithms, separated by commas, or all that support the request and are fast. Default: all, if nothing "
        "else varies.",
        panel=_PANEL,
    ),
]
Choose = Annotated[
    str | None,
    option(
        "--choose",
        metavar="CHOICE",
        help="With -o OUT: publish a release, such as k=10, k=10,l=2, algorithm=tp or best (the lowest loss).",
        panel=_PANEL,
    ),
]
Chart = Annotated[
    Path | None,
    option(
        "--chart",
        metavar="FILE",
        help="Write a chart of risk and loss, .svg or .png; an existing file is replaced.",
        panel="Files",
    ),
]


_OPTIONS = (
    option("--coarsenings", kind=bool, help="Search for the coarsening with the lowest loss.", panel=_PANEL),
    option("--seconds", metavar="NUMBER", kind=Number, help="The time limit of the search. Default: 30.", panel=_PANEL),
    option(
        "--loss",
        metavar="NAME",
        help="The metric that compares; gcp by default. See `shoal list metrics`.",
        panel=_PANEL,
    ),
    option(
        "--utility",
        kind=bool,
        help="Also measure what analysts lose: propensity score, marginals, correlations, a regression.",
        panel=_PANEL,
    ),
    option(
        "--attacks",
        kind=bool,
        help="Also attack each release with knowledge of the whole table, and show the rates. A dash: not measured.",
        panel=_PANEL,
    ),
)
"""The options that are parameters of `shoal.explore`."""


@takes(*RELEASE, options=_OPTIONS)
def explore(
    terminal: Terminal,
    words: Words,
    *,
    levels: Levels = None,
    algorithms: Algorithms = None,
    chart: Chart = None,
    choose: Choose = None,
    **measured: Any,
) -> None:
    """Compare the risk and the loss of several releases of a table, and choose one to publish.

    \b
    shoal explore patients.csv --qi age,zip --sensitive disease --levels k=3,5,10
    shoal explore patients.csv --qi age,zip --sensitive disease -l 4 --chart chart.svg
    shoal explore patients.csv --qi age,zip --sensitive disease -l 4 --coarsenings
    shoal explore ... --levels k=3,5,10 --choose k=10 -o out

    Levels are combined with algorithms; other models (-t, --model alpha=...) hold at every
    level. The knee marks the bend of the curve if there is one; the acceptable risk is
    your decision.

    A search for coarsenings is never worse than none. Columns with --hierarchy are
    coarsened to its levels, others to suitable bins, prefixes or classes; those with
    --coarsen keep that coarsening. Ctrl-C keeps the best result so far.

    Each release is verified. Without --choose, -o OUT.html writes a private page. All
    figures are for you alone: those of unpublished releases reveal more than the
    published release.

    Exit codes: 0 done; 1 no release is feasible; 2 wrong usage or bad input; 3 the verification failed; 70 a bug.
    """  # noqa: D301 - the character keeps lines apart
    from shoal.io import check_free
    from shoal.verbs.explore import explore as compare_releases

    # With a choice, the output is the folder of its release; else it is a page.
    chosen, output = _parse_choice(choose), words.get("output")
    if choose is not None and output is None:
        raise UsageError("Name the folder for the chosen release with -o OUT.")
    page = None if choose is not None or output is None else Path(output)
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise UsageError("Name the release to publish with --choose, or a page with -o OUT.html.")
    if chart is not None:
        check_picture_name(chart)
    if output is not None:
        check_free(Path(output), force=bool(words.get("force")))
    names = names_in("--algorithms", algorithms)
    numbers = _parse_levels(levels)
    # Models need some k and l to be built; the levels replace them.
    models = words.models(**{name: max(found) for name, found in numbers.items()})
    request = request_in(words, models=models, algorithm=None if names is None else "auto")
    arguments: dict[str, Any] = {**numbers, **measured}
    if names is not None:
        arguments["algorithms"] = "all" if names == ("all",) else words.algorithms(*names)
    with terminal.progress() as progress:
        found = compare_releases(
            source_of(words, "explore"), replace(request, output=None), progress=progress, **arguments
        )
    # Print the table, write the requested files, publish the chosen release.
    facts = found.to_dict()
    if not terminal.json:
        terminal.say("", _table_of(found), *_remarks(found, terminal.audience), "")
    for write, path in ((found.save_plot, chart), (found.report, page)):
        if path is not None:
            write(path)
            terminal.say(path_line("written", path))
    if choose is not None:
        folder = folder_of(words)
        with terminal.progress() as progress:
            facts["certificate"] = save(terminal, found.choose(**chosen, progress=progress), folder, words)
        if not terminal.json:
            from shoal.cli.summary import summary_of

            terminal.say(*summary_of(facts["certificate"], folder))
    if terminal.json:
        terminal.result(facts)


def _pairs(flag: str, text: str, names: tuple[str, ...]) -> dict[str, str]:
    found = named_values(flag, text, "k=10")
    for name in found:
        if name not in names:
            raise UsageError(f"{flag} names {' or '.join(names)}. Got '{name}'.")
    return found


def _parse_levels(levels: list[str] | None) -> dict[str, list[Any]]:
    """Parse the levels of k and of l."""
    texts = {name: text for level in levels or () for name, text in _pairs("--levels", level, ("k", "l")).items()}
    return {name: [as_number("--levels", one.strip()) for one in text.split(",")] for name, text in texts.items()}


def _parse_choice(choose: str | None) -> dict[str, Any]:
    """Parse the level and the algorithm of --choose; `best` names none."""
    if choose is None or choose.strip() == "best":
        return {}
    texts = _pairs("--choose", choose, ("k", "l", "algorithm"))
    return {name: text if name == "algorithm" else as_number("--choose", text) for name, text in texts.items()}


def _remarks(found: Exploration, audience: Audience) -> list[RenderableType]:
    """Return the sentences, the guarantees of algorithms, and the reasons why something was not made or measured."""
    remarks = list(found.sentences())
    for row in found.rows if found.searched is None else ():
        if row.error is not None:
            remarks.append(f"{row.text}: {row.error.render(audience)}")
        elif "algorithm" in found.varied:
            remarks.append(f"{row.text}: {row.figures.get('guarantee') or 'no guarantee of its cost'}")
    # Each attack without a rate has its reason, once for all candidates that share it.
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        for name, attack in (row.attacks or {}).items():
            if attack["rate"] is None:
                reasons.setdefault((name, attack["not_measured"]), []).append(row.text)
    remarks += [f"{name} was not measured ({', '.join(of)}): {reason}" for (name, reason), of in reasons.items()]
    lines: list[RenderableType] = [*map(plain, remarks), *warning_lines(found.warnings, audience)]
    # Coarsenings without a text form can only be used in Python.
    flags = [
        f"--coarsen {quote_for_shell(column_and_words(name, text, listed=True))}" for name, text in found.words.items()
    ]
    return [*lines, *([path_line("best", " ".join(flags))] if flags else [])]


def _table_of(found: Exploration) -> RenderableType:
    """Return the candidates as a table: the best and the knee are bold, beaten ones are dim."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    shown = list(found.shown)
    columns = {**found.columns(), "": [found.mark(row) for row in shown]}
    for at, (title, cells) in enumerate(columns.items()):
        least = 24 if title == "setting" else max(map(len, [*title.split(), *cells]))
        side: Any = "left" if at in (0, len(columns) - 1) else "right"
        table.add_column(title, justify=side, min_width=least, overflow="fold")
    # Of many coarsenings the ends are shown, the others evenly spread, and the best.
    places = set(range(len(shown)))
    if found.searched is not None and len(shown) > _SHOWN:
        places = {round(at * (len(shown) - 1) / (_SHOWN - 2)) for at in range(_SHOWN - 1)}
        places |= {at for at, row in enumerate(shown) if row is found.best}
    styles = {"best": "bold", "knee": "bold", "beaten": "dim", "no release": "dim"}
    for at, (*cells, mark) in enumerate(zip(*columns.values(), strict=True)):
        if at in places:
            table.add_row(*map(plain, cells), mark, style=styles.get(mark))
    return table
