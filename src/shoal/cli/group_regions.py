"""The command `shoal group regions`."""

from __future__ import annotations

import json as text_of_json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal._core.private_files import write_private_text
from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.cli.console import Terminal
from shoal.cli.group import ClassSize, OutputFolder, check_output, deliver
from shoal.errors import ColumnError, DataError, ParameterError, near_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from shoal.grouping import RegionGrouping

__all__ = ["regions"]

_COLUMN = "COLUMN"

Edges = Annotated[
    str,
    argument(
        metavar="EDGES|POLYGONS",
        help="A table with two columns, the pairs of adjacent regions; or polygons: GeoJSON, TopoJSON, GeoPackage.",
    ),
]
Weights = Annotated[
    str | None,
    option(
        "--weights",
        metavar="NODES",
        help="A table with the regions and their records; optional for polygons.",
    ),
]
Node = Annotated[
    str | None, option("--node", metavar=_COLUMN, help="The column of NODES with the regions. Default: the first.")
]
Weight = Annotated[
    str | None,
    option("--weight", metavar=_COLUMN, help="The column of NODES, or of the polygons, with the records."),
]
Name = Annotated[
    str | None, option("--name", metavar=_COLUMN, help="The column with the names of the polygons. Default: numbers.")
]
X = Annotated[str | None, option("--x", metavar=_COLUMN, help="The column of NODES with the x coordinate for the map.")]
Y = Annotated[str | None, option("--y", metavar=_COLUMN, help="The column of NODES with the y coordinate for the map.")]
Layer = Annotated[
    str | None, option("--layer", metavar="NAME", help="The layer of a polygon file with several layers.")
]
Method = Annotated[
    str,
    option(
        "--method",
        metavar="best|tree|exact",
        help="best: refined; tree: the paper's algorithm alone; exact: refined, and for small graphs proven optimal.",
    ),
]
SuppressSmall = Annotated[
    bool,
    option("--suppress-small", help="Leave out components with fewer than k records; otherwise they are an error."),
]


def regions(
    context: click.Context,
    source: Edges,
    *,
    k: ClassSize,
    output: OutputFolder,
    weights: Weights = None,
    node: Node = None,
    weight: Weight = None,
    name: Name = None,
    x: X = None,
    y: Y = None,
    layer: Layer = None,
    method: Method = "best",
    suppress_small: SuppressSmall = False,
    seed: options.Seed = None,
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Group neighbouring regions into connected classes.

    Example: shoal group regions EDGES.csv --weights NODES.csv -k 5000 -o out

    OUT has classes.csv (value, class), result.json, picture.svg, and
    classes.geojson if the input has polygons.
    """
    from shoal.grouping import regions as group_them

    terminal: Terminal = context.obj
    terminal.json = bool(json)
    check_output(output, force=force)
    from shoal.io.edges import EDGE_TABLES

    # Edges come from a table, or from the shared borders of polygons.
    polygons = Path(source.removesuffix(".gz")).suffix.lower() not in EDGE_TABLES
    arguments = _of_polygons(source, weights, node, weight, name, layer) if polygons else {}
    if not polygons:
        arguments = _of_tables(source, weights, node, weight, x, y)
    with terminal.progress() as progress:
        made = group_them(**arguments, k=k, method=method, suppress_small=suppress_small, seed=seed, progress=progress)
    # Polygons are written as outlines of the classes.
    more: dict[str, Callable[[Path], object]] = {}
    if made.graph.polygons is not None:
        more["classes.geojson"] = lambda path: _write_outlines(made, path)
    deliver(terminal, made, output, tables={"classes.csv": made.table()}, more=more, force=force)


def _of_tables(
    source: str, weights: str | None, node: str | None, weight: str | None, x: str | None, y: str | None
) -> dict[str, Any]:
    """Read edges and nodes as text, so that names match between the files."""
    from shoal.io import read
    from shoal.io.edges import edges_of

    if weights is None:
        raise ParameterError("A list of edges has no numbers of records: name a table of the regions with --weights.")
    if (x is None) != (y is None):
        raise ParameterError("A map needs both coordinates: --x and --y.")
    # Names are compared as text in both files.
    edges = edges_of(source)
    nodes = read(weights)
    names, counts = _node_and_weight(nodes, node, weight)
    arguments: dict[str, Any] = {
        "edges": edges,
        "weights": dict(zip(names, counts, strict=True)),
    }
    if x is not None and y is not None:
        arguments["positions"] = list(
            zip(*(_numbers(nodes.get_column(_known(nodes, one))) for one in (x, y)), strict=True)
        )
    return arguments


def _of_polygons(
    source: str, weights: str | None, node: str | None, weight: str | None, name: str | None, layer: str | None
) -> dict[str, Any]:
    """Read polygons, with the numbers of records in one of their columns or in a separate table."""
    if weights is None:
        if weight is None:
            raise ParameterError("Name the column of the polygons with the records (--weight), or a table (--weights).")
        return {"edges": source, "weights": weight, "names": name, "layer": layer}
    from shoal.grouping.regions.polygons import read_polygons
    from shoal.io import read

    # A separate table is linked to the polygons by the names of regions.
    if name is None:
        raise ParameterError("Name the column of the polygons that the table of --weights refers to: --name.")
    polygons = read_polygons(source, layer=layer)
    if name not in polygons.columns:
        raise ColumnError(f"There is no column '{name}'. {near_matches(name, map(str, polygons.columns))}")
    names, counts = _node_and_weight(read(weights), node, weight)
    return {
        "edges": polygons,
        "weights": dict(zip(names, counts, strict=True)),
        "names": [str(one) for one in polygons[name]],
    }


def _node_and_weight(nodes: pl.DataFrame, node: str | None, weight: str | None) -> tuple[list[str], list[float]]:
    """Return the regions of a table as text, and their numbers of records."""
    import polars as pl

    if nodes.width < 2:
        raise DataError("The table of regions must have at least two columns: the region and its records.")
    names = nodes.get_column(_known(nodes, node) if node else nodes.columns[0]).cast(pl.String)
    counts = _numbers(nodes.get_column(_known(nodes, weight) if weight else nodes.columns[1]))
    if names.null_count() or names.n_unique() < len(names):
        raise DataError("Every region must occur once in the table of regions: some are missing or repeated.")
    return names.to_list(), counts.to_list()


def _numbers(column: pl.Series) -> pl.Series:
    import polars as pl

    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    if numbers.null_count():
        raise DataError(
            f"The column '{column.name}' must hold numbers: {numbers.null_count()} of {len(column)} cells do not."
        )
    return numbers


def _known(frame: pl.DataFrame, column: str) -> str:
    if column not in frame.columns:
        raise ColumnError(f"There is no column '{column}'. {near_matches(column, frame.columns)}")
    return column


def _write_outlines(made: RegionGrouping, path: Path) -> None:
    # Dissolve the polygons of each class.
    outlines = made.dissolved()
    # GeoJSON requires longitude and latitude. Without a reference system the coordinates are kept, with a note.
    if outlines.crs is not None:
        write_private_text(path, outlines.to_crs(4326).to_json(drop_id=True) + "\n")
        return
    from shoal.grouping.points.rectangles import COORDINATES

    collection = text_of_json.loads(outlines.to_json(drop_id=True))
    write_private_text(
        path, text_of_json.dumps({"note": f"The coordinates are {COORDINATES[False]}.", **collection}) + "\n"
    )
