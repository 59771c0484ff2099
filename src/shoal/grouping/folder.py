"""The folder that a grouping is saved to: who is in which class, what it is worth, and a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.private_files import privately
from shoal._version import __version__
from shoal.io import write_folder, write_table

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from shoal.grouping.base import Grouping

__all__ = ["result_of", "save_grouping"]


def result_of(grouping: Grouping) -> dict[str, Any]:
    """Return what `result.json` holds."""
    return {"shoal": __version__, **grouping.to_dict()}


def save_grouping(
    grouping: Grouping,
    folder: str | PathLike[str],
    *,
    tables: Mapping[str, pl.DataFrame],
    more: Mapping[str, Callable[[Path], object]] | None = None,
    picture: str | None = "picture.svg",
    force: bool = False,
) -> Path:
    """Write a grouping to a folder that appears whole or not at all; only its owner can read the files.

    Parameters
    ----------
    grouping : Grouping
        What `result.json` and the picture say.
    folder : path
        Where to.
    tables : mapping
        The table of each CSV file: `{"classes.csv": frame}`.
    more : mapping, optional
        For each other file a function that writes it to the path that it is given.
    picture : str, optional
        The name of the picture, which ends in .svg or .png; None for none.
    force : bool, default False
        Replace an existing folder of ours.

    Returns
    -------
    Path
        The folder.
    """
    files: dict[str, Callable[[Path], object]] = {name: partial(write_table, frame) for name, frame in tables.items()}
    files["result.json"] = partial(_write_json, result_of(grouping))
    files.update(more or {})
    if picture is not None:
        files[picture] = grouping.save_picture
    return write_folder(Path(folder), {name: privately(write) for name, write in files.items()}, force=force)


def _write_json(facts: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(facts, indent=2, allow_nan=False) + "\n", encoding="utf-8")
