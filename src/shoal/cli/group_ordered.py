"""The command `shoal group ordered`."""

from __future__ import annotations

from typing import Annotated

import click

from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.cli.console import Terminal
from shoal.cli.group import ClassSize, OutputFolder, check_output, column_of, deliver, whole_numbers

__all__ = ["ordered"]

Values = Annotated[
    str, argument(metavar="VALUES", help="A table with numbers or dates: CSV, Parquet, Arrow, a database.")
]
Column = Annotated[str | None, option("--column", metavar="COLUMN", help="The column to group. Default: the first.")]
Count = Annotated[
    str | None,
    option("--count", metavar="COLUMN", help="A column with the number of records of each line. Default: one each."),
]


def ordered(
    context: click.Context,
    source: Values,
    *,
    k: ClassSize,
    output: OutputFolder,
    column: Column = None,
    count: Count = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Group numbers or dates into intervals, the largest as small as possible.

    Example: shoal group ordered VALUES.csv --column age -k 100 -o out

    OUT has classes.csv (value, class), intervals.csv (class, lowest, highest,
    weight), result.json and picture.svg.
    """
    import numpy as np
    import polars as pl

    from shoal.grouping import ordered as group_them
    from shoal.io import read

    terminal: Terminal = context.obj
    terminal.json = bool(json)
    check_output(output, force=force)
    table = read(source, delimiter=delimiter, encoding=encoding)
    values = column_of(table, column, "--column")
    # Lines may stand for several records each.
    counts = None if count is None else whole_numbers(column_of(table, count, "--count")).to_numpy()
    with terminal.progress():
        made = group_them(values, k, counts=counts)
    # One line for each distinct value, in ascending order.
    _, first = np.unique(made.codes, return_index=True)
    classes = pl.DataFrame({"value": values.gather(first), "class": made.classes[first]})
    intervals = pl.DataFrame(
        {"class": np.arange(len(made.weights)), "lowest": made.lowest, "highest": made.highest, "weight": made.weights}
    )
    deliver(terminal, made, output, tables={"classes.csv": classes, "intervals.csv": intervals}, force=force)
