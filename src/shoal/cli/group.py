"""`shoal group`: one attribute's values in classes of at least k records, the largest as small as possible."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.command import Group, option
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.errors import ColumnError, DataError, OutputError, near_matches

if TYPE_CHECKING:
    import polars as pl

    from shoal.grouping import Grouping

__all__ = ["ClassSize", "OutputFolder", "check_output", "column_of", "deliver", "group", "whole_numbers"]

group = Group(
    "group",
    help="Group the values of one column into classes of at least k records, the largest as small as possible.",
    no_args_is_help=True,
)

ClassSize = Annotated[int, option("-k", metavar="NUMBER", help="Every class has at least k records.", min=1)]
OutputFolder = Annotated[
    Path,
    option("--output", "-o", metavar="OUT", help="Folder for the classes; it appears whole or not at all."),
]


def check_output(folder: Path, *, force: bool | None) -> None:
    """Say that a folder exists before the work rather than after it."""
    if os.path.exists(folder) and not force:
        raise OutputError(f"The output '{folder}' exists. Name another one with -o, or replace it with --force.")


def deliver(
    terminal: Terminal,
    grouping: Grouping,
    folder: Path,
    *,
    tables: Mapping[str, pl.DataFrame],
    more: Mapping[str, Callable[[Path], object]] | None = None,
    picture: str = "picture.svg",
    force: bool | None = None,
) -> None:
    """Save a grouping and say what it is.

    Parameters
    ----------
    terminal : Terminal
        Where to say it.
    grouping : Grouping
        What was made.
    folder : Path
        Where it goes.
    tables, more
        What `save_grouping` writes beside `result.json` and the picture.
    picture : str
        The name of the picture, in .svg or .png.
    force : bool, optional
        Whether an existing folder is replaced.
    """
    from shoal.grouping.folder import make_result, save_grouping

    save_grouping(grouping, folder, tables=tables, more=more, picture=picture, force=bool(force))
    facts = make_result(grouping)
    if terminal.json:
        terminal.result(facts)
    else:
        terminal.say("", lines_of(_lines(facts)), path_line("written", folder), "")


def column_of(frame: pl.DataFrame, name: str | None, option: str, place: int = 0) -> pl.Series:
    """Return the column that an option names, or the one at a place where it was not given.

    Raises
    ------
    ColumnError
        There is none.
    """
    if name is None:
        if frame.width <= place:
            raise ColumnError(f"The table has {frame.width} column(s) only. Name one of them with {option}.")
        return frame.to_series(place)
    if name not in frame.columns:
        raise ColumnError(f"There is no column '{name}' ({option}). {near_matches(name, frame.columns)}")
    return frame.get_column(name)


def whole_numbers(column: pl.Series) -> pl.Series:
    """Return counts that were written as text.

    Raises
    ------
    DataError
        Some cells are no whole numbers; the message says how many.
    """
    import polars as pl

    if column.dtype.is_float():
        numbers = column.cast(pl.Int64, strict=False).set(column != column.floor(), None)
    else:
        numbers = column.cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
    if numbers.null_count():
        raise DataError(
            f"The column '{column.name}' must hold whole numbers: {numbers.null_count()} of {len(column)} cells do not."
        )
    return numbers


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    from shoal.report.sentences import number, percent

    guarantee = facts["guarantee"]
    best = (
        "the smallest possible"
        if facts["optimal"]
        else f"at most {percent(facts['gap'])} above the smallest possible"
        if facts["k_anonymous"]
        else "classes may be smaller than k: this is no k-anonymity"
    )
    return [
        (
            "classes",
            f"{number(facts['classes'])} of {number(facts['smallest'])} to {number(facts['largest'])} records",
        ),
        ("k", number(facts["k"])),
        ("largest", f"{facts['overfull_ratio']:.4g} times k; {best}"),
        ("bound", plain(f"none can do with less than {number(facts['lower_bound'])}: {facts['lower_bound_why']}")),
        ("method", ": ".join(filter(None, [facts["method"], (guarantee or {}).get("text")]))),
        ("time", f"{facts['seconds']:.2f} s"),
    ]
