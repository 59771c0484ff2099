"""The command `shoal series query`."""

from __future__ import annotations

from typing import Annotated

import click

from shoal.cli import options
from shoal.cli.cell_reading import Cells, Nodes, cells_of, trees_of_cells
from shoal.cli.command import argument, option
from shoal.cli.console import Terminal, plain
from shoal.errors import ColumnError, ParameterError
from shoal.request.texts import names_in

Release = Annotated[
    str, argument(metavar="RELEASE", help="A folder written by shoal, or a file with a published table.")
]
Question = Annotated[
    str,
    argument(
        metavar="QUESTION", help='Conditions joined by "and": age in [30, 50) and disease in {flu, "cough, dry"}.'
    ),
]
Domains = Annotated[
    list[str] | None,
    option(
        "--domain",
        metavar="NAME=CELL",
        help='The values that a star may represent: age="[17, 95]", gender="{f, m}". Default: any.',
    ),
]


def query(
    context: click.Context,
    *,
    source: Release,
    question: Question,
    quasi_identifiers: options.QuasiIdentifiers = None,
    domains: Domains = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
    star: options.Star = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Count the people of a published table who satisfy conditions, corrected for counterfeits.

    Example: shoal series query q3/ "age in [30, 50) and disease = flu"

    The estimate assumes that the people of a group are evenly distributed over its
    intervals and sets. The bounds hold for all possible values of the cells. Ambiguous
    cells are an error, with advice how to declare their meaning.
    """
    from shoal.republication.queries import PublishedGroups
    from shoal.verification.published_folder import read_published

    terminal: Terminal = context.obj
    release = read_published(source, delimiter=delimiter, encoding=encoding)
    # Options take precedence over the certificate.
    names = names_in("--qi", quasi_identifiers) or release.columns("quasi_identifiers")
    if not names:
        raise ColumnError("No certificate names the quasi-identifiers. Name them with --qi.")
    # Meanings of cells, domains of stars and counterfeits determine the bounds.
    groups = PublishedGroups(
        release.frame,
        quasi_identifiers=names,
        counterfeits=release.counterfeits,
        star=star or release.star,
        domains=dict(_domain(text) for text in domains or ()),
        meanings=release.meanings(names, trees=trees_of_cells(hierarchies, names), cells=cells_of(cells, names)),
        empty_is_missing=release.empty_is_missing,
    )
    answer = groups.count(question)
    # A misspelled value would silently count no one, so it is reported.
    for name in groups.find_unknown_values(question):
        who = "only stars may hide it" if answer.at_most else "no one has it"
        terminal.note(
            f"The question names a value of '{name}' that is not in the release or its domain: {who}. Check "
            "that it is spelled as in the release."
        )
    if terminal.json:
        terminal.result({"question": question, **answer.to_dict()})
        return
    terminal.say(
        "",
        plain(f"About {answer.estimate:,.1f} people: at least {answer.at_least:,}, at most {answer.at_most:,}."),
        "",
    )


def _domain(text: str) -> tuple[str, str]:
    name, sign, cell = text.partition("=")
    if not sign or not name.strip() or not cell.strip():
        raise ParameterError('A domain is given as --domain NAME=CELL, such as --domain age="[17, 95]".')
    return name.strip(), cell.strip()
