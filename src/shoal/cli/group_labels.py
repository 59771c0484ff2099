"""The command `shoal group labels`."""

from __future__ import annotations

from typing import Annotated

import click

from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.cli.console import Terminal
from shoal.cli.group import ClassSize, OutputFolder, check_output, column_of, deliver, whole_numbers
from shoal.errors import DataError
from shoal.request.texts import as_number

__all__ = ["labels"]

Counts = Annotated[
    str, argument(metavar="COUNTS", help="A table with one line per label: CSV, Parquet, Arrow, a database.")
]
Label = Annotated[
    str | None, option("--label", metavar="COLUMN", help="The column with the labels. Default: the first.")
]
Count = Annotated[
    str | None,
    option("--count", metavar="COLUMN", help="The column with their numbers of records. Default: the second."),
]
Method = Annotated[
    str,
    option(
        "--method",
        metavar="best|fold|spread|...",
        help="best (as many groups as possible, improved until they meet a bound); fold, spread or "
        "spread-simplified of the paper; scheme or relaxed (up to about twelve labels).",
    ),
]
Order = Annotated[
    str,
    option("--order", metavar="sorted|random", help="The order in which fold and spread-simplified take the labels."),
]
Eps = Annotated[
    str, option("--eps", metavar="NUMBER", help="The precision of scheme and relaxed, above 0 and at most 1.")
]


def labels(
    context: click.Context,
    source: Counts,
    *,
    k: ClassSize,
    output: OutputFolder,
    label: Label = None,
    count: Count = None,
    method: Method = "best",
    order: Order = "sorted",
    eps: Eps = "1/2",
    seed: options.Seed = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Group labels without an order, such as names or diseases.

    Example: shoal group labels COUNTS.csv --label name --count n -k 1000 -o out

    OUT has classes.csv (value, class), result.json and picture.svg.
    """
    import polars as pl

    from shoal.grouping import labels as group_them
    from shoal.io import read

    terminal: Terminal = context.obj
    terminal.json = bool(json)
    check_output(output, force=force)
    table = read(source, delimiter=delimiter, encoding=encoding)
    values = column_of(table, label, "--label").cast(pl.String)
    counts = whole_numbers(column_of(table, count, "--count", 1))
    # Repeated labels would be separate classes.
    if values.null_count() or values.n_unique() < len(values):
        repeated = len(values) - values.n_unique()
        raise DataError(
            f"Every label must have one line: {values.null_count()} are missing and {repeated} repeated. Add the "
            "counts of equal labels first."
        )
    # Sort the lines, so that the result does not depend on their order.
    lines = pl.DataFrame({"value": values, "count": counts}).sort("value")
    fineness = as_number("--eps", eps)
    with terminal.progress():
        made = group_them(lines["count"].to_numpy(), k, method=method, order=order, eps=fineness, seed=seed)
    classes = lines.select("value", pl.Series("class", made.classes))
    deliver(terminal, made, output, tables={"classes.csv": classes}, force=force)
