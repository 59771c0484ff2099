"""Options of commands that are not words of a request, or belong to commands without one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shoal.cli.command import argument, option, word

__all__ = [
    "Algorithms",
    "Chart",
    "ComparedAttacks",
    "ComparedLoss",
    "ComparedUtility",
    "Delimiter",
    "DemoOutput",
    "Encoding",
    "Force",
    "Format",
    "HeaderRow",
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
METHOD_PANEL = "Method"
_FILES = "Files"
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
Force = Annotated[bool | None, word("force")]
Format = Annotated[str | None, word("format")]
Delimiter = Annotated[str | None, word("delimiter")]
Encoding = Annotated[str | None, word("encoding")]
HeaderRow = Annotated[int | None, word("header_row")]
SpreadsheetSafe = Annotated[bool | None, word("spreadsheet_safe")]
Json = Annotated[
    bool | None,
    option("--json", help="Print exactly one JSON object on standard output.", panel=_FILES),
]
# Options about columns, for commands without a request.
QuasiIdentifiers = Annotated[list[str] | None, word("quasi_identifiers")]
Sensitive = Annotated[list[str] | None, word("sensitive")]
Star = Annotated[str | None, word("star")]
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
ComparedUtility = Annotated[
    bool | None,
    option(
        "--utility",
        help="Also measure what analysts lose: propensity score, marginals, correlations, a regression.",
        panel=METHOD_PANEL,
    ),
]
ComparedAttacks = Annotated[
    bool | None,
    option(
        "--attacks",
        help="Also attack each release with knowledge of the whole table, and show the rates. A dash: not measured.",
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
Seed = Annotated[int | None, word("seed")]
