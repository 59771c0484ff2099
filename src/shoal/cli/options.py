"""Options of commands that are no words of a request, or are taken by commands without one."""

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
_NAMES = "Separated by commas, or the option repeated; a name with a comma stands in double quotes."
OUT_HELP = "Folder for the release: all of it may be published. What only you may see goes to OUT.private beside it."
"""What -o says wherever a release is written."""
Released = Annotated[
    str,
    argument(
        metavar="FILE", help="The table to judge, whoever made it: what anonymize reads, or the folder of a release."
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
    option("--output", "-o", metavar="OUT", help="Write a page: OUT.html, or OUT as a folder for it."),
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
        help="Format of the release: csv, parquet, xlsx or ods; as the input's unless given.",
        panel=_FILES,
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates the fields of a CSV input; detected unless given.",
        panel=_FILES,
    ),
]
Encoding = Annotated[
    str | None,
    option("--encoding", metavar="NAME", help="Encoding of a CSV input; detected unless given.", panel=_FILES),
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
    option("--json", help="Print one JSON object on standard output and nothing else there.", panel=_FILES),
]
QuasiIdentifiers = Annotated[
    list[str] | None,
    option(
        "--qi",
        metavar="NAMES",
        help=f"Quasi-identifiers: what an adversary may know of a person. {_NAMES}",
        panel=_COLUMNS,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    option(
        "--sensitive",
        metavar="NAMES",
        help="Sensitive attributes: what must not be linked to a person.",
        panel=_COLUMNS,
    ),
]
Star = Annotated[
    str | None,
    option("--star", metavar="SYMBOL", help="The symbol of a suppressed cell, * unless given.", panel=_COLUMNS),
]
Algorithms = Annotated[
    list[str] | None,
    option(
        "--algorithms",
        metavar="NAMES",
        help="The algorithms to compare, separated by commas; all that fit and are quick unless given.",
        panel=METHOD_PANEL,
    ),
]
ComparedLoss = Annotated[
    str | None,
    option(
        "--loss",
        metavar="NAME",
        help="The metric that the chart shows against the time; gcp unless given. `shoal list metrics` tells them.",
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
        help="What to minimize: gcp unless given, kl_divergence or non_uniform_entropy.",
        panel=METHOD_PANEL,
    ),
]
Seconds = Annotated[
    str | None,
    option("--seconds", metavar="NUMBER", help="How long to search; 30 unless given.", panel=METHOD_PANEL),
]
Seed = Annotated[
    int | None,
    option(
        "--seed",
        metavar="NUMBER",
        help="Make the release reproducible; from the operating system unless given.",
        panel=METHOD_PANEL,
    ),
]
