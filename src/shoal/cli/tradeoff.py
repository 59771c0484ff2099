"""The command `shoal tradeoff`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal._core.figures import check_picture_name
from shoal.cli.anonymize import save
from shoal.cli.asking import folder_of, request_in, source_of
from shoal.cli.command import RELEASE, option, takes
from shoal.cli.console import Terminal, path_line, plain, warning_lines
from shoal.errors import OutputError, UsageError
from shoal.request.texts import as_number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal.models import PrivacyModel
    from shoal.request.words import Words
    from shoal.verbs.tradeoff import TradeOff

__all__ = ["tradeoff"]

_LEVELS = "Levels of protection"

# Levels and the choice of one.
Ks = Annotated[
    str | None,
    option(
        "--k",
        "-k",
        metavar="NUMBERS",
        help="Levels of k, separated by commas. Default: 3,5,10,20,50 if no level is given.",
        panel=_LEVELS,
    ),
]
Ls = Annotated[
    str | None,
    option(
        "--l",
        "-l",
        metavar="NUMBERS",
        help="Levels of l, separated by commas; 1 means none. Each level of k is combined with each level of l.",
        panel=_LEVELS,
    ),
]
Choose = Annotated[
    str | None,
    option(
        "--choose",
        metavar="K[,L]",
        help="With -o: publish the measured release of this level.",
        panel=_LEVELS,
    ),
]
# Private output.
Chart = Annotated[
    Path | None,
    option(
        "--chart",
        metavar="FILE",
        help="Write a chart of risk and loss, .svg or .png; an existing file is replaced.",
        panel="Files",
    ),
]
Page = Annotated[
    Path | None,
    option(
        "--page",
        metavar="FILE.html",
        help="Write a private page with the chart and all figures; an existing file is replaced.",
        panel="Files",
    ),
]


@takes(*RELEASE)
def tradeoff(
    terminal: Terminal,
    words: Words,
    *,
    k: Ks = None,
    l: Ls = None,
    choose: Choose = None,
    chart: Chart = None,
    page: Page = None,
) -> None:
    """Compare the risk and the loss of several levels of protection, and choose one to publish.

    Example: shoal tradeoff patients.csv --qi age,zip --sensitive disease --k 3,5,10,20 --choose 10 -o out

    Each level is released and verified. Other models (-t, --alpha, ...) hold at every
    level. The knee marks the bend of the curve if there is one; the acceptable risk is
    your decision.

    All figures are for you alone: those of unpublished levels reveal more than the
    published release.

    Exit codes: 0 done; 1 no level is feasible; 2 wrong usage or bad input; 3 the verification failed; 70 a bug.
    """
    from shoal.io import check_free
    from shoal.verbs.tradeoff import tradeoff as compare_levels

    # A level can only be published to a folder, and a folder needs a level.
    level = _chosen_level(choose, k, l)
    if (choose is None) != (words.get("output") is None):
        raise UsageError(
            "Name the folder for the chosen release with -o OUT."
            if choose is not None
            else "Name the level to publish with --choose, or leave -o out to compare first."
        )
    if chart is not None:
        check_picture_name(chart)
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"A page is written as .html. Got '{page.name}'.")
    request = request_in(words, models=_other_models(words, k, l))
    if choose is not None:
        check_free(folder_of(words), force=bool(words.get("force")))
    with terminal.progress() as progress:
        found = compare_levels(
            source_of(words, "tradeoff"),
            replace(request, output=None),
            k=_numbers("--k", k),
            l=_numbers("--l", l),
            progress=progress,
        )
    # Print the table, write the requested files, publish the chosen level.
    facts = found.to_dict()
    if not terminal.json:
        terminal.say("", _table_of(found), *(plain(sentence) for sentence in _sentences(found, terminal)), "")
    for write, path in ((found.save_plot, chart), (found.report, page)):
        if path is not None:
            write(path)
            terminal.say(path_line("written", path))
    if choose is not None:
        facts["certificate"] = _published(terminal, found, level, words)
    if terminal.json:
        terminal.result(facts)


def _published(terminal: Terminal, found: TradeOff, level: dict[str, Any], words: Words) -> dict[str, Any]:
    """Save the release of a level, print its summary, and return its certificate."""
    folder = folder_of(words)
    facts = save(terminal, found.choose(**level), folder, words)
    if not terminal.json:
        from shoal.cli.summary import summary_of

        terminal.say(*summary_of(facts, folder))
    return facts


def _chosen_level(choose: str | None, k: str | None, l: str | None) -> dict[str, Any]:
    """Return the level of --choose: its k and its l, or the l alone if only levels of l are given."""
    if choose is None:
        return {}
    names = ("l",) if k is None and l is not None else ("k", "l")
    numbers = _numbers("--choose", choose) or []
    if len(numbers) > len(names):
        raise UsageError("--choose names more than one level. Write K, or K,L.")
    return dict(zip(names, numbers, strict=False))


def _other_models(words: Words, k: str | None, l: str | None) -> list[PrivacyModel]:
    """Return the models that hold at every level, with placeholders for k and l, which the levels replace."""
    from shoal.verbs.tradeoff import USUAL

    # Models need some k and l to be built; the levels replace them.
    levels = {name: _numbers(f"--{name}", given) for name, given in (("k", k), ("l", l))}
    highest = {name: max(numbers) for name, numbers in levels.items() if numbers is not None}
    if not highest and words.get("k") is None:
        highest["k"] = USUAL[0]
    return words.models(**highest)


def _numbers(option: str, given: str | None) -> list[Any] | None:
    """Parse the numbers of an option."""
    return None if given is None else [as_number(option, one.strip()) for one in given.split(",")]


def _sentences(found: TradeOff, terminal: Terminal) -> list[str]:
    """Return the sentences of the result, and the errors of levels without a release."""
    failed = [choice for choice in found.choices if choice.error is not None]
    return [
        *found.sentences(),
        *(f"{choice.text}: {choice.error.render(terminal.audience)}" for choice in failed if choice.error is not None),
        *warning_lines(found.warnings, terminal.audience),
    ]


def _table_of(found: TradeOff) -> RenderableType:
    """Return the choices as a table: the knee is bold, beaten levels are dim."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    columns = {**found.columns(), "": [found.mark(choice) for choice in found.choices]}
    for title, cells in columns.items():
        least = max(map(len, [*title.split(), *cells]))
        table.add_column(title, justify="left" if title in ("level", "") else "right", min_width=least)
    # Highlight the suggested choice, and dim the choices that another one beats.
    styles = {"knee": "bold", "beaten": "dim", "no release": "dim"}
    for *cells, mark in zip(*columns.values(), strict=True):
        table.add_row(*map(plain, cells), mark, style=styles.get(mark))
    return table
