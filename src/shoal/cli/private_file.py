"""Files about individual people, readable by their owner only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal._core.private_files import open_private
from shoal.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


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
        raise OutputError(f"'{path}' cannot be written: {error.strerror}.") from error
