"""Names of several files as a pattern, such as `data/2023-*.csv`."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from shoal.errors import DataError


def files_of_pattern(path: Path) -> list[Path]:
    """List the files of a pattern by name; empty if the path is none, or is a file or folder of that very name.

    Raises
    ------
    DataError
        If a pattern matches no file.
    """
    if not glob.has_magic(str(path)) or os.path.lexists(path):
        return []
    found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if os.path.isfile(name)]
    if not found:
        raise DataError(f"No file matches '{path}'.")
    return found
