"""Options of commands that are not words of a request, or belong to commands without one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shoal.cli.command import argument, option

__all__ = [
    "Algorithms",
    "Chart",
    "ComparedLoss",
    "Delimiter",
    "DemoOutput",
    "Encoding",
    "Force",
    "Format",
    "Json",
    "METHOD_PANEL",
    "OUT_HELP",
    "Page",
    "QuasiIdentifiers",
    "Released",
    "Seconds",
    "Seed",
    "Sensitive",
    "SpreadsheetSafe",
    "Star",
    "TunedLoss",
]
_COLUMNS = "Columns"
METHOD_PANEL = "Method"
_FILES = "Files"
_NAMES = "Separated by commas, or the option repeated. Put a name with a comma in double quotes."
OUT_HELP = "Folder for the release: all of it may be published. Private files go to OUT.private in the same place."
"""The help of -o for every command that writes a release."""
# Arguments and outputs of several commands.
Released = Annotated[
    str,
    argument(
        metavar="FILE", help="The table to measure, by any tool: any input of anonymize, or the folder of a release."
    ),
]
DemoOutput = Annotated[
    Path,
    option(
        "--output",
        "-o",
        metavar="OUT",
        help=OUT_HELP,
        panel=_FILES,
    ),
]
Page = Annotated[
    Path | None,
    option("--output", "-o", metavar="OUT", help="Write a page: the file OUT.html, or the folder OUT."),
]
Force = Annotated[
    bool | None,
    option("--force/--no-force", help="Replace OUT and OUT.private if they exist.", panel=_FILES),
]
Format = Annotated[
    str | None,
    option(
        "--format",
        metavar="FORMAT",
        help="Format of the release: csv, parquet, xlsx or ods; by default that of the input.",
        panel=_FILES,
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        metavar="CHARACTER",
        help="The delimiter of a CSV input. Default: detected.",
        panel=_FILES,
    ),
]
Encoding = Annotated[
    str | None,
    option("--encoding", metavar="NAME", help="The encoding of a CSV input. Default: detected.", panel=_FILES),
]
SpreadsheetSafe = Annotated[
    bool | None,
    option(
        "--spreadsheet-safe/--no-spreadsheet-safe",
        help="Quote cells that a spreadsheet would run as a formula.",
        panel=_FILES,
    ),
]
Json = Annotated[
    bool | None,
    option("--json", help="Print exactly one JSON object on standard output.", panel=_FILES),
]
# Options about columns, for commands without a request.
QuasiIdentifiers = Annotated[
    list[str] | None,
    option(
        "--qi",
        metavar="NAMES",
        help=f"Quasi-identifiers: columns that an adversary may know. {_NAMES}",
        panel=_COLUMNS,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    option(
        "--sensitive",
        metavar="NAMES",
        help="Sensitive attributes: columns that must not be linked to a person.",
        panel=_COLUMNS,
    ),
]
Star = Annotated[
    str | None,
    option("--star", metavar="SYMBOL", help="The symbol of a suppressed cell. Default: *.", panel=_COLUMNS),
]
# Options about the method.
Algorithms = Annotated[
    list[str] | None,
    option(
        "--algorithms",
        metavar="NAMES",
        help="The algorithms to compare, separated by commas; by default all that support the request and are fast.",
        panel=METHOD_PANEL,
    ),
]
ComparedLoss = Annotated[
    str | None,
    option(
        "--loss",
        metavar="NAME",
        help="The metric that the chart shows against the time; gcp by default. See `shoal list metrics`.",
        panel=METHOD_PANEL,
    ),
]
Chart = Annotated[
    Path | None,
    option(
        "--chart",
        metavar="FILE",
        help="Draw loss against time into a file, .svg or .png; it is replaced if it exists.",
        panel=_FILES,
    ),
]
TunedLoss = Annotated[
    str | None,
    option(
        "--loss",
        metavar="NAME",
        help="The loss to minimize: gcp (default), kl_divergence or non_uniform_entropy.",
        panel=METHOD_PANEL,
    ),
]
Seconds = Annotated[
    str | None,
    option("--seconds", metavar="NUMBER", help="The time limit of the search. Default: 30.", panel=METHOD_PANEL),
]
Seed = Annotated[
    int | None,
    option(
        "--seed",
        metavar="NUMBER",
        help="Makes the release reproducible. Default: randomness from the operating system.",
        panel=METHOD_PANEL,
    ),
]
