"""The command `shoal apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.anonymize import save
from shoal.cli.asking import folder_of, reading_of
from shoal.cli.command import argument, option, takes
from shoal.cli.console import Terminal, plain
from shoal.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal.release.plan import ReleasePlan
    from shoal.request.words import Words

_SHOWN = 20
"""Forms of a plan that the terminal shows at most."""

PlanFile = Annotated[
    Path,
    argument(metavar="PLAN.json", help="A release's plan: OUT.private/plan.json."),
]
Misfits = Annotated[
    str | None,
    option(
        "--misfits",
        metavar="refuse|suppress",
        help="Rows that no form covers, and groups that do not satisfy the models: refuse (default) is an error, "
        "suppress publishes stars.",
        panel="Method",
    ),
]


@takes("input", "model", "seed", "keep_order", "output", "reading", "cleaning", "json")
def apply(terminal: Terminal, words: Words, *, plan: PlanFile, misfits: Misfits = None) -> None:
    """Publish another table in the published forms of a release. Without INPUT: show the plan.

    Example: shoal apply out.private/plan.json next.csv -o next

    A plan records the published form of each class of quasi-identifiers. The new
    rows get these forms, and the result is verified like any release. If the plan
    does not suit the table, nothing is published.

    By default, the models are those of the plan's release. If the table has the
    same people, it is a second release of them: see shoal series.

    Exit codes: 0 done; 1 the plan does not fit; 2 wrong usage or bad input; 3 the verification failed; 70 a bug.
    """
    from shoal.io import check_free
    from shoal.release.plan import ReleasePlan
    from shoal.verbs.apply import apply as apply_plan

    # Without an input, the command only describes the plan.
    opened = ReleasePlan.load(plan)
    if words.get("input") is None:
        if words.get("output") is not None:
            raise UsageError("Name the table to publish: shoal apply PLAN.json INPUT -o OUT.")
        _show_plan(terminal, opened)
        return
    # Check the output first, then apply the plan to the table.
    folder = folder_of(words)
    check_free(folder, force=bool(words.get("force")))
    own = {"misfits": misfits, "seed": words.get("seed"), "keep_order": words.get("keep_order"), **reading_of(words)}
    arguments: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    # Models of the call replace those of the plan.
    models = words.models()
    if models:
        arguments["privacy"] = models
    with terminal.progress() as progress:
        release = apply_plan(opened, words.get("input"), progress=progress, **arguments)
        facts = save(terminal, release, folder, words)
    # The certificate is the result for programs, the summary the one for people.
    if terminal.json:
        terminal.result(facts)
        return
    from shoal._core.words import number
    from shoal.cli.summary import summary_of

    # The certificate counts rows that the plan does not fit.
    details = facts["details"]
    terminal.say(
        *summary_of(facts, folder),
        f"{number(details['rows_of_unknown_classes'])} rows have quasi-identifiers that are unknown to the plan; "
        f"{number(details['rows_that_became_stars'])} rows were suppressed because they do not fit it.",
        "",
    )


def _show_plan(terminal: Terminal, plan: ReleasePlan) -> None:
    """Print the description of a plan: its columns, its models and its most frequent forms."""
    if terminal.json:
        terminal.result({"sentences": list(plan.sentences()), "forms": plan.to_frame().to_dicts()})
        return
    terminal.say("", *map(plain, plan.sentences()), _forms_of(plan), "")


def _forms_of(plan: ReleasePlan) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from shoal._core.words import number

    # The most frequent forms come first, a line of dots marks the omission.
    forms = plan.to_frame()
    names = list(plan.schema.quasi_identifiers)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(plain(name), overflow="fold")
    table.add_column("rows", justify="right")
    for *cells, rows in forms.head(_SHOWN).iter_rows():
        table.add_row(*("" if cell is None else plain(cell) for cell in cells), number(rows))
    if forms.height > _SHOWN:
        table.add_row(*("..." for _ in names), "...")
    return table
