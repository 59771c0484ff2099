"""Files for the publisher alone: pages, as one file or as a folder with the JSON of the same facts, and tables."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoal._core.outcome import get_reads, reason_of
from shoal._core.private_files import open_private, write_private_text
from shoal._messages import Suggestion
from shoal._version import __version__
from shoal.cli.command import option
from shoal.errors import OutputError

if TYPE_CHECKING:
    import polars as pl

Attacks = Annotated[
    list[Path] | None,
    option(
        "--attack",
        metavar="FOLDER",
        help="Show the result of `shoal attack RELEASE --method NAME -o FOLDER` in the private report; repeat it for "
        "others.",
        panel="Files",
    ),
]
"""Results of attacks that a page shows."""
Page = Annotated[
    Path | None,
    option("--output", "-o", metavar="OUT", help="Write a page: the file OUT.html, or the folder OUT."),
]
_SUFFIXES = (".html", ".htm")


def check_page(path: Path | None, *, force: bool) -> None:
    """Check that a page, a file or a folder, can be written before the work starts.

    Raises
    ------
    OutputError
        If something exists at the path and must not be replaced.
    """
    from shoal.io import check_free

    if path is not None and path.suffix.lower() in _SUFFIXES:
        check_file(path, force=force)
    elif path is not None:
        check_free(path, private=False, force=force)


def check_file(path: Path | None, *, force: bool) -> None:
    """Check that a file does not exist, or may be replaced because the call does not read it."""
    from shoal.io import paths_in

    if path is None or not os.path.exists(path):
        return
    if not force:
        raise OutputError(f"'{path}' exists. Name another one, or replace it with ", Suggestion("force", True), ".")
    if path.resolve() in paths_in(get_reads()):
        raise OutputError(f"'{path}' is read by this command, so it is not replaced. Choose another name.")


def write_page(path: Path, name: str, page: str, facts: str, *, force: bool) -> list[Path]:
    """Write a page that only its owner can read, and return the written files.

    Parameters
    ----------
    path : Path
        A file that ends in .html, or a folder for the page and its JSON.
    name : str
        The name of the page in a folder.
    page, facts : str
        The page, and the same facts as JSON.
    force : bool
        Whether to replace an existing folder.
    """
    from shoal.io import write_folder

    try:
        # A single file, or a folder with the page and its JSON.
        if path.suffix.lower() in _SUFFIXES:
            write_private_text(path, page)
            return [path]
        named = {"shoal": __version__, "files": [f"{name}.html"], **json.loads(facts)}
        texts = {f"{name}.html": page, "result.json": json.dumps(named, indent=2, ensure_ascii=False) + "\n"}
        made = {file: partial(write_private_text, text=text) for file, text in texts.items()}
        folder = write_folder(path, made, force=force)
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {reason_of(error)}.") from error
    return [folder / file for file in made]


def write_private(path: Path, frame: pl.DataFrame) -> None:
    """Write a table to a new CSV file that only its owner can read.

    Raises
    ------
    OutputError
        If the file exists, or cannot be written.
    """
    try:
        # The file is created with restricted permissions, never changed afterwards.
        with open_private(path, "wb", new=True) as file:
            frame.write_csv(file)
    except FileExistsError:
        raise OutputError(f"'{path}' exists and is not replaced. Choose another name.") from None
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {reason_of(error)}.") from error
