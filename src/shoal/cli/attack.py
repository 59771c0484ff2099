"""The command group `shoal attack`: attacks on published tables by any tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal._core.progress import silent
from shoal.cli import options
from shoal.cli.cell_reading import Cells, Nodes, cells_of, trees_of_cells
from shoal.cli.command import Group, argument, option
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.private_file import write_private
from shoal.errors import ColumnError, DataError, OutputError, ParameterError, near_matches
from shoal.request.texts import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

__all__ = ["attack"]

attack = Group("attack", help="Attack published tables (by any tool) to learn what they reveal.", no_args_is_help=True)


Releases = Annotated[
    list[str],
    argument(metavar="RELEASE...", help="The releases in order: folders written by shoal, or files."),
]
Population = Annotated[
    list[str],
    option(
        "--population",
        metavar="FILE",
        help="People in the releases, with true quasi-identifiers: one file for all, or the option once per release.",
    ),
]
Identifier = Annotated[str, option("--id", metavar="NAME", help="The column that identifies each person.")]
Present = Annotated[
    str | None,
    option(
        "--present",
        metavar="NAME",
        help="With one population: the column with the releases of each person, such as 1-3 5. Default: all releases.",
    ),
]
Persons = Annotated[
    Path | None,
    option(
        "--persons",
        metavar="FILE.csv",
        help="Write the vulnerable people with their disclosed value. Keep the file as secret as the microdata.",
    ),
]


@attack.add
def intersection(
    context: click.Context,
    *,
    sources: Releases,
    population: Population,
    identifier: Identifier,
    quasi_identifiers: options.QuasiIdentifiers = None,
    sensitive: options.Sensitive = None,
    present: Present = None,
    persons: Persons = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
    star: options.Star = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Intersect what several releases of one table reveal about each person.

    Example: shoal attack intersection q1/ q2/ --population people.csv --id patient_id --present releases

    The adversary knows the quasi-identifiers of all people and the releases that
    contain them. Exit code 0 for any result; 2 if cells are ambiguous, with advice
    how to declare their meaning.
    """
    from shoal.attacks import intersection_attack
    from shoal.io import read
    from shoal.verification.published_folder import read_published

    terminal: Terminal = context.obj
    # Read the releases; the first certificate provides the names of the columns.
    releases = [read_published(source, delimiter=delimiter, encoding=encoding) for source in sources]
    # Options take precedence over the certificate of the first release.
    names = names_in("--qi", quasi_identifiers) or releases[0].columns("quasi_identifiers")
    secrets = names_in("--sensitive", sensitive) or releases[0].columns("sensitive")
    if not names or not secrets:
        raise ColumnError("No certificate names the columns. Name them with --qi and --sensitive.")
    # The list of persons is private, so an existing file is never replaced.
    if persons is not None and persons.exists():
        raise OutputError(f"'{persons}' exists and is not replaced. Choose another name.")
    people = [read(one, delimiter=delimiter, encoding=encoding) for one in population]
    with terminal.progress() as progress:
        found = intersection_attack(
            [release.frame for release in releases],
            _populations(people, len(releases), present),
            identifier=identifier,
            quasi_identifiers=names,
            sensitive=secrets,
            star=star or releases[0].star,
            certificates=[release.certificate for release in releases],
            hierarchies=trees_of_cells(hierarchies, names),
            cells=cells_of(cells, names),
            progress=progress or silent,
        )
    if persons is not None:
        write_private(persons, found.disclosed())
    # Results are printed as plain sentences, then as facts, then as exact sentences.
    facts = found.to_dict()
    if terminal.json:
        terminal.result(facts)
        return
    from shoal.attacks import ATTACKS
    from shoal.report import describe_attack

    sentences = map(plain, ATTACKS["intersection"].sentences(facts))
    terminal.say("", *map(plain, describe_attack(facts)), "", lines_of(_lines(facts)), "", *sentences)
    terminal.say(*([] if persons is None else [path_line("persons", persons)]), "")
    for number, count in enumerate(facts["not_covered"], start=1):
        if count:
            terminal.note(f"No group of release {number} covers {count:,} of the people who should be in it.")


def _populations(people: Sequence[pl.DataFrame], releases: int, present: str | None) -> list[pl.DataFrame]:
    """Return the people in each release."""
    # Either one population per release, or one with a column of releases.
    if len(people) == releases and present is None:
        return list(people)
    if len(people) != 1:
        raise ParameterError(
            f"Give one --population for all releases, or one for each. Got {len(people)} for {releases} release(s)."
        )
    if present is None:
        return [people[0]] * releases
    import polars as pl

    if present not in people[0].columns:
        raise ColumnError(
            f"There is no column '{present}' in the population. It must list the releases of each person, "
            f"such as '1-3 5'. {near_matches(present, people[0].columns)}"
        )
    cells = people[0].get_column(present).cast(pl.String).fill_null("")
    numbers = {text: _numbers(text, releases) for text in cells.unique().to_list()}
    return [
        people[0].filter(cells.is_in([text for text, listed in numbers.items() if number in listed]))
        for number in range(1, releases + 1)
    ]


def _numbers(text: str, releases: int) -> set[int]:
    """Parse the release numbers in a cell such as `1-3 5` or `1,2,3,5`."""
    found: set[int] = set()
    for part in text.replace(",", " ").replace(";", " ").split():
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise DataError("A cell with the releases of a person must have the form '1-3 5' or '1,2,3,5'.")
        found.update(range(int(first), min(int(last or first), releases) + 1))
    return found


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the results of the attack as lines of a name and a text."""
    # With several sensitive attributes, the figures are those of the worst.
    confidence = facts["confidence"]
    several = [("worst of", f"{len(facts['each'])}: {plain(' & '.join(facts['sensitive']))}")] if facts["each"] else []
    lines = [
        *several,
        ("releases", f"{facts['releases']:,}"),
        ("people", f"{facts['people']:,}"),
        ("vulnerable", f"{facts['vulnerable']:,} (their sensitive value is certain)"),
        ("by one release", ", ".join(f"{count:,}" for count in facts["vulnerable_in_one_release"])),
    ]
    if confidence["max"] is not None:
        lines.append(("confidence", f"at most {confidence['max']:.3f}, on average {confidence['mean']:.3f}"))
    sizes = ", ".join(f"{size}: {people:,}" for size, people in facts["candidates"].items())
    lines.append(("values left", plain(sizes)))
    if facts["contradicted"]:
        lines.append(("contradicted", f"{facts['contradicted']:,} (no value is left: the tables disagree)"))
    return lines
