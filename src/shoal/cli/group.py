"""The command group `shoal group`: classes of values with at least k records, the largest as small as possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.command import Group, option
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.errors import ColumnError, DataError, near_matches

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
    option("--output", "-o", metavar="OUT", help="Folder for the classes, written completely or not at all."),
]


def check_output(folder: Path, *, force: bool | None) -> None:
    """Raise OutputError before the work if the folder exists and must not be replaced."""
    from shoal.io import check_free

    check_free(folder, private=False, force=bool(force))


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
    """Save a grouping and print its summary.

    Parameters
    ----------
    terminal : Terminal
        The terminal for the summary.
    grouping : Grouping
        The result.
    folder : Path
        The output folder.
    tables, more
        Further files that `save_grouping` writes, in addition to `result.json` and the picture.
    picture : str
        The file name of the picture, in .svg or .png.
    force : bool, optional
        Whether to replace an existing folder.
    """
    from shoal.grouping.folder import make_result, save_grouping

    # Write the files, then print a summary or the JSON of the result.
    save_grouping(grouping, folder, tables=tables, more=more, picture=picture, force=bool(force))
    facts = make_result(grouping)
    if terminal.json:
        terminal.result(facts)
    else:
        terminal.say("", lines_of(_lines(facts)), path_line("written", folder), "")


def column_of(frame: pl.DataFrame, name: str | None, option: str, place: int = 0) -> pl.Series:
    """Return the column that an option names, or the one at a position by default.

    Raises
    ------
    ColumnError
        If there is no such column.
    """
    # Without a name, the position decides.
    if name is None:
        if frame.width <= place:
            raise ColumnError(f"The table has only {frame.width} column(s). Name one of them with {option}.")
        return frame.to_series(place)
    if name not in frame.columns:
        raise ColumnError(f"There is no column '{name}' ({option}). {near_matches(name, frame.columns)}")
    return frame.get_column(name)


def whole_numbers(column: pl.Series) -> pl.Series:
    """Parse counts, which may be text.

    Raises
    ------
    DataError
        If some cells are not whole numbers; the message counts them.
    """
    import polars as pl

    # Floats must be integral, text must parse as integers.
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

    # Rate the largest class: optimal, within a proven gap, or not k-anonymous.
    guarantee = facts["guarantee"]
    best = (
        "the smallest possible"
        if facts["optimal"]
        else f"at most {percent(facts['gap'])} above the smallest possible"
        if facts["k_anonymous"]
        else "classes may be smaller than k: this is not k-anonymity"
    )
    return [
        (
            "classes",
            f"{number(facts['classes'])} of {number(facts['smallest'])} to {number(facts['largest'])} records",
        ),
        ("k", number(facts["k"])),
        ("largest", f"{facts['overfull_ratio']:.4g} times k; {best}"),
        ("bound", plain(f"no grouping has less than {number(facts['lower_bound'])}: {facts['lower_bound_why']}")),
        ("method", ": ".join(filter(None, [facts["method"], (guarantee or {}).get("text")]))),
        ("time", f"{facts['seconds']:.2f} s"),
    ]
