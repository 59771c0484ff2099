"""Options of commands that are not words of a request, or belong to commands without one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shoal.cli.command import argument, option, word

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
Seed = Annotated[int | None, word("seed")]
