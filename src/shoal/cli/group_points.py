"""The command `shoal group points`."""

from __future__ import annotations

from typing import Annotated

import click

from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.cli.console import Terminal
from shoal.cli.group import ClassSize, OutputFolder, check_output, column_of, deliver, whole_numbers
from shoal.errors import DataError

__all__ = ["points"]

_MOST_DRAWN = 5_000
"""Pictures of more rectangles are bitmaps."""

Source = Annotated[
    str, argument(metavar="POINTS", help="A table with one line per point: CSV, Parquet, Arrow, a database.")
]
X = Annotated[str, option("--x", metavar="COLUMN", help="The column with x or the longitude.")]
Y = Annotated[str, option("--y", metavar="COLUMN", help="The column with y or the latitude.")]
Multiplicity = Annotated[
    str | None,
    option("--count", metavar="COLUMN", help="A column with the number of records of each point. Default: one each."),
]
Geographic = Annotated[
    bool | None,
    option(
        "--geographic/--projected",
        help="Whether x and y are longitude and latitude in degrees. Default: by the names of the columns.",
    ),
]
Method = Annotated[
    str,
    option(
        "--method",
        metavar="best|even|median",
        help="Where rectangles are cut: into even classes, in the middle, or the better of these (best).",
    ),
]


def points(
    context: click.Context,
    source: Source,
    *,
    x: X,
    y: Y,
    k: ClassSize,
    output: OutputFolder,
    count: Multiplicity = None,
    geographic: Geographic = None,
    method: Method = "best",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Group points in the plane into disjoint rectangles.

    Example: shoal group points POINTS.csv --x lon --y lat -k 50 -o out

    OUT has classes.csv (row, class; rows count from 0), rectangles.csv (class,
    x_min, x_max, y_min, y_max, weight), rectangles.geojson, result.json and a
    picture.
    """
    import numpy as np
    import polars as pl

    from shoal.grouping import points as group_them
    from shoal.grouping.points.rectangles import is_geographic
    from shoal.io import read

    terminal: Terminal = context.obj
    terminal.json = bool(json)
    check_output(output, force=force)
    table = read(source, delimiter=delimiter, encoding=encoding)
    # Coordinates may be text; every cell must be a number.
    coordinates = []
    for name, flag in ((x, "--x"), (y, "--y")):
        column = column_of(table, name, flag)
        numbers = (column.str.strip_chars() if column.dtype == pl.String else column).cast(pl.Float64, strict=False)
        if numbers.null_count():
            raise DataError(
                f"The column '{name}' must hold numbers: {numbers.null_count()} of {len(column)} cells do not."
            )
        coordinates.append(numbers.to_numpy())
    counts = None if count is None else whole_numbers(column_of(table, count, "--count")).to_numpy()
    degrees = is_geographic(x, y) if geographic is None else geographic
    with terminal.progress():
        made = group_them(np.stack(coordinates, axis=1), k, multiplicity=counts, geographic=degrees, method=method)
    classes = pl.DataFrame({"row": np.arange(len(made.classes)), "class": made.classes})
    deliver(
        terminal,
        made,
        output,
        tables={"classes.csv": classes, "rectangles.csv": made.to_frame()},
        more={"rectangles.geojson": made.write_geojson},
        picture="picture.svg" if len(made.weights) <= _MOST_DRAWN else "picture.png",
        force=force,
    )
