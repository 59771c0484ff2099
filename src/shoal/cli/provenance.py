"""The command `shoal provenance`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.errors import ReleaseUnsafeError
from shoal.request.texts import columns_and_words, replacements_in

if TYPE_CHECKING:
    from shoal.cli.console import Terminal

__all__ = ["provenance"]

Table = Annotated[str, argument(metavar="INPUT", help="The table: any input that anonymize reads.")]
Certificate = Annotated[
    Path, argument(metavar="CERTIFICATE", help="OUT.private of the release, or the certificate.json in it.")
]
Salt = Annotated[
    str | None,
    option("--salt", metavar="DIGITS", help="The salt. Default: salt.txt in the folder of the certificate."),
]


def provenance(
    context: click.Context,
    *,
    source: Table,
    certificate: Certificate,
    salt: Salt = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    header_row: options.HeaderRow = None,
    replace_values: options.ReplaceValues = None,
    derive: options.Derive = None,
    json: options.Json = None,
) -> None:
    """Check whether a release was made from a table, by the salted hash in its private certificate.

    Example: shoal provenance patients.csv out.private

    With the certificate and the salt, other tables can be tested, too: give them only
    to people who may see the table. Columns with direct identifiers may be missing.

    Exit codes: 0 it was; 3 it was made from another table, or the salt is wrong; 2 wrong usage or bad input.
    """
    from shoal.verbs.provenance import provenance as shown

    terminal: Terminal = context.obj
    # The exit code states the result, so that scripts need no output.
    given = columns_and_words("--replace", replace_values) or {}
    replaced = {name: replacements_in(text) for name, text in given.items()}
    reading: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    derived = columns_and_words("--derive", derive)
    same = shown(source, certificate, salt=salt, **reading, replace_values=replaced, derive=derived)
    if terminal.json:
        terminal.result({"same": same})
    else:
        terminal.say("The release was made from this table." if same else "The release was made from another table.")
    if not same:
        raise click.exceptions.Exit(ReleaseUnsafeError.exit_code)
