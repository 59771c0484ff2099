"""Pages for the publisher, as one file or as a folder with the facts for programs beside it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from shoal._core.private_files import write_private_text
from shoal._messages import Suggestion
from shoal.errors import OutputError

__all__ = ["check_page", "write_page"]

_SUFFIXES = (".html", ".htm")


def check_page(path: Path | None, *, force: bool) -> None:
    """Check that nothing is in the place of a page, before the work rather than after it.

    Raises
    ------
    OutputError
        Where something is, and must not be replaced.
    """
    if path is not None and os.path.exists(path) and not force:
        raise OutputError(f"'{path}' exists. Name another one, or replace it with ", Suggestion("force", True), ".")


def write_page(path: Path, name: str, page: str, facts: str, *, force: bool) -> list[Path]:
    """Write a page that only its owner can read, and return the files.

    Parameters
    ----------
    path : Path
        A file that ends in .html, or a folder for the page and its facts.
    name : str
        What the page is called in a folder.
    page, facts : str
        The page, and the same as JSON.
    force : bool
        Whether to replace a folder that is there.
    """
    from shoal.io import write_folder

    try:
        if path.suffix.lower() in _SUFFIXES:
            write_private_text(path, page)
            return [path]
        texts = {f"{name}.html": page, "result.json": facts + "\n"}
        made = {file: partial(write_private_text, text=text) for file, text in texts.items()}
        folder = write_folder(path, made, force=force)
    except OSError as error:
        raise OutputError(f"'{error.filename}' cannot be written: {error.strerror}.") from error
    return [folder / file for file in made]
