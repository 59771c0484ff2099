"""Files that only their owner can read: what is told of single people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shoal.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["write_private"]


def write_private(path: Path, frame: pl.DataFrame) -> None:
    """Write a table to a new CSV file that nobody but its owner can read.

    Raises
    ------
    OutputError
        Where the file exists, or cannot be written.
    """
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            frame.write_csv(file)
    except FileExistsError:
        raise OutputError(f"'{path}' exists already and is kept. Choose another name.") from None
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {error.strerror}.") from error
