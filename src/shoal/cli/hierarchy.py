"""The command `shoal hierarchy`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoal._core.outcome import reason_of
from shoal.cli.asking import reading_of, source_of
from shoal.cli.command import option, takes
from shoal.cli.console import Terminal, path_line
from shoal.cli.pages import check_file
from shoal.errors import OutputError

if TYPE_CHECKING:
    from shoal.request.words import Words

Column = Annotated[str, option("--column", metavar="NAME", help="The column.")]
How = Annotated[
    str,
    option(
        "--as",
        metavar="WORDS",
        help="intervals:WIDTH, cuts:18,30,65;65 (a level for each list), quantiles:PARTS, dates, prefixes, rare (rare "
        "values join first), together (values with like sensitive values join first) or flat.",
    ),
]
Sensitive = Annotated[str | None, option("--sensitive", metavar="NAME", help="The sensitive column, for together.")]
File = Annotated[Path, option("--output", "-o", metavar="FILE", help="The file of the hierarchy, for --hierarchy.")]


@takes("input", "forms", "reading", "cleaning", "force", "json")
def hierarchy(
    terminal: Terminal,
    words: Words,
    *,
    column: Column,
    how: How,
    output: File,
    sensitive: Sensitive = None,
) -> None:
    """Make the file of a hierarchy of a column, one line per value.

    Example: shoal hierarchy patients.csv --column age --as intervals:10 -o ages.csv

    The file holds the values of the table, so only you can read it. Change it by hand if need be, and use it with
    shoal anonymize --hierarchy age=ages.csv --recoding generalization.
    """
    from shoal.hierarchy import propose_hierarchy
    from shoal.io import understand
    from shoal.pipeline.input import open_data
    from shoal.table import roles

    check_file(output, force=bool(words.get("force")))
    # Read the columns as a release does.
    reading = reading_of(words)
    forms = {name: reading.pop(name) for name in ("dates", "decimal") if name in reading}
    frame = open_data(source_of(words, "hierarchy"), **reading).frame
    names = [column, *([sensitive] if sensitive is not None else [])]
    roles(names, None).check_known(frame.columns)
    parsed = understand(frame, names, **forms).frame
    other = None if sensitive is None else parsed.get_column(sensitive)
    tree = propose_hierarchy(how, parsed.get_column(column), other)
    try:
        tree.to_csv(output)
    except OSError as error:
        raise OutputError(f"'{output}' cannot be written: {reason_of(error)}.") from error
    if terminal.json:
        terminal.result({"values": len(tree.rows()), "height": tree.height, "file": str(output)})
    else:
        terminal.say("", path_line("written", f"{output} ({len(tree.rows())} values, {tree.height} levels)"), "")
