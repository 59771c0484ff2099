"""Folders of saved groupings: tables of the classes, a summary, and a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from shoal._core.private_files import make_private_writer
from shoal._version import __version__
from shoal.grouping.base import Grouping
from shoal.io import write_folder, write_table


def make_result(grouping: Grouping) -> dict[str, Any]:
    """Return the contents of `result.json`."""
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
    """Write a grouping to a folder, atomically; only the owner can read the files.

    Parameters
    ----------
    grouping : Grouping
        The grouping, for `result.json` and the picture.
    folder : path
        Path of the folder.
    tables : mapping
        Table of each CSV file, such as `{"classes.csv": frame}`.
    more : mapping, optional
        A function for each other file, which writes it to a given path.
    picture : str, optional
        File name of the picture, with the extension .svg or .png; None for no picture.
    force : bool, default False
        If True, replace an existing folder that shoal wrote.

    Returns
    -------
    Path
        Path of the folder.
    """
    files: dict[str, Callable[[Path], object]] = {name: partial(write_table, frame) for name, frame in tables.items()}
    files["result.json"] = lambda path: _write_json(make_result(grouping) | {"files": sorted(files)}, path)
    files.update(more or {})
    if picture is not None:
        files[picture] = grouping.save_picture
    return write_folder(Path(folder), {name: make_private_writer(write) for name, write in files.items()}, force=force)


def _write_json(facts: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(facts, indent=2, allow_nan=False) + "\n", encoding="utf-8")
