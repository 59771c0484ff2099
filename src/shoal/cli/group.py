"""The command `shoal group`: classes of values with at least k records, the largest as small as possible."""

from __future__ import annotations

import json as text_of_json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from shoal._core.private_files import write_private_text
from shoal.cli.asking import reading_of
from shoal.cli.command import argument, option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.errors import ColumnError, DataError, OutputError, ParameterError, UsageError, did_you_mean, near_matches
from shoal.request.texts import as_number, as_switch, named_values

if TYPE_CHECKING:
    import polars as pl

    from shoal.grouping import Grouping, RegionGrouping
    from shoal.request.words import Words

_KINDS: Mapping[str, tuple[str, ...]] = {
    "labels": ("method", "order", "eps"),
    "ordered": (),
    "points": ("method", "geographic"),
    "regions": ("method", "node", "layer", "suppress_small"),
}
"""The kinds of values, and their parameters."""
_MOST_DRAWN = 5_000
"""Pictures of more rectangles are bitmaps."""

Kind = Annotated[str, argument(metavar="KIND", help="The values: labels, ordered, points or regions.")]
Source = Annotated[
    str,
    argument(
        metavar="INPUT",
        help="A table: with one line per label; of numbers or dates; of points; or with pairs of adjacent regions. "
        "Regions may also be polygons: GeoJSON, TopoJSON, GeoPackage.",
    ),
]
ClassSize = Annotated[int, option("-k", metavar="NUMBER", help="Every class has at least k records.", min=1)]
OutputFolder = Annotated[
    Path,
    option("--output", "-o", metavar="OUT", help="Folder for the classes, written completely or not at all."),
]
ValueColumn = Annotated[
    str | None,
    option(
        "--column",
        metavar="NAME",
        help="The column with the labels, the numbers or dates, or the names of polygons. Default: the first; polygons "
        "have numbers.",
    ),
]
CountColumn = Annotated[
    str | None,
    option(
        "--count",
        metavar="NAME",
        help="The column with the number of records of each line. Default: the second of labels and regions, else one "
        "record each.",
    ),
]
Nodes = Annotated[
    str | None,
    option("--nodes", metavar="FILE", help="A table with the regions and their records; optional for polygons."),
]
X = Annotated[str | None, option("--x", metavar="NAME", help="The column with x or the longitude.")]
Y = Annotated[str | None, option("--y", metavar="NAME", help="The column with y or the latitude.")]
Parameters = Annotated[
    list[str] | None,
    option("--param", metavar="NAME=VALUE", help="A parameter of the kind, listed above; repeat it for others."),
]


@takes("reading", "seed", "force", "json")
def group(
    terminal: Terminal,
    words: Words,
    *,
    kind: Kind,
    source: Source,
    k: ClassSize,
    output: OutputFolder,
    column: ValueColumn = None,
    count: CountColumn = None,
    nodes: Nodes = None,
    x: X = None,
    y: Y = None,
    parameters: Parameters = None,
) -> None:
    """Group the values of one column into classes of at least k records, the largest as small as possible.

    \b
    shoal group labels COUNTS.csv --column name --count n -k 1000 -o out
    shoal group ordered VALUES.csv --column age -k 100 -o out
    shoal group points POINTS.csv --x lon --y lat -k 50 -o out
    shoal group regions EDGES.csv --nodes NODES.csv -k 5000 -o out

    \b
    Kinds and their parameters:
      labels   without an order, such as names or diseases: method=best, fold,
               spread or spread-simplified of the paper, scheme or relaxed (up to
               about twelve labels) with eps=1/2; order=sorted or random
      ordered  numbers or dates, into intervals
      points   in the plane, into rectangles: method=best, even or median (where
               they are cut); geographic=true for degrees, by default if the
               names of the columns are those of longitude and latitude
      regions  into connected classes: method=best, tree (the paper's algorithm
               alone) or exact; node=NAME, the column of the regions in NODES;
               layer=NAME of a file of polygons; suppress_small=true leaves out
               components with fewer than k records

    OUT has classes.csv (value, or row from 0; class), result.json and a picture; of numbers intervals.csv, of points
    rectangles.csv and rectangles.geojson, of polygons classes.geojson.
    """  # noqa: D301 - the character keeps lines apart
    if kind not in _KINDS:
        raise UsageError(f"There is no kind of values '{kind}'. {did_you_mean(kind, _KINDS)}".rstrip())
    if os.path.exists(output) and not words.get("force"):
        raise OutputError(f"The output '{output}' exists. Name another one with -o, or replace it with --force.")
    more = _parameters(kind, parameters or ())
    reading = {name: one for name, one in reading_of(words).items() if name in ("delimiter", "encoding")}
    call = _Call(terminal, source, k, output, column, count, more, reading, words.get("seed"), bool(words.get("force")))
    match kind:
        case "labels":
            _group_labels(call)
        case "ordered":
            _group_ordered(call)
        case "points":
            _group_points(call, x, y)
        case "regions":
            _group_regions(call, nodes, x, y)


group.more_flags = {name: f"--param {name}" for names in _KINDS.values() for name in names}


def _parameters(kind: str, words: Sequence[str]) -> dict[str, Any]:
    """Parse the parameters of a kind."""
    found: dict[str, Any] = {}
    for word in words:
        ((name, value),) = named_values("--param", word, "method=best", several=False).items()
        name = name.replace("-", "_")
        if name not in _KINDS[kind]:
            raise UsageError(f"The parameters of {kind} are: {', '.join(_KINDS[kind]) or 'none'}. Got '{name}'.")
        found[name] = as_switch(f"--param {name}", value) if name in ("geographic", "suppress_small") else value
    return found


class _Call(NamedTuple):
    """What all kinds of values have in common."""

    terminal: Terminal
    source: str
    k: int
    output: Path
    column: str | None
    counted: str | None
    parameters: dict[str, Any]
    reading: dict[str, Any]
    seed: int | None
    force: bool

    def table(self) -> pl.DataFrame:
        """Read the table."""
        from shoal.io import read

        return read(self.source, **self.reading)

    def counts(self, table: pl.DataFrame) -> Any:
        """Read the number of records of each line; None if each is one."""
        return None if self.counted is None else _whole_numbers(_column_of(table, self.counted, "--count")).to_numpy()


def _group_labels(call: _Call) -> None:
    import polars as pl

    from shoal.grouping import labels as group_them

    table = call.table()
    values = _column_of(table, call.column, "--column").cast(pl.String)
    counts = _whole_numbers(_column_of(table, call.counted, "--count", 1))
    # Repeated labels would be separate classes.
    if values.null_count() or values.n_unique() < len(values):
        repeated = len(values) - values.n_unique()
        raise DataError(
            f"Every label must have one line: {values.null_count()} are missing and {repeated} repeated. Add the "
            "counts of equal labels first."
        )
    # Sort the lines, so that the result does not depend on their order.
    lines = pl.DataFrame({"value": values, "count": counts}).sort("value")
    more = dict(call.parameters)
    if "eps" in more:
        more["eps"] = as_number("--param eps", more["eps"])
    with call.terminal.progress():
        made = group_them(lines["count"].to_numpy(), call.k, seed=call.seed, **more)
    _deliver(call, made, tables={"classes.csv": lines.select("value", pl.Series("class", made.classes))})


def _group_ordered(call: _Call) -> None:
    import numpy as np
    import polars as pl

    from shoal.grouping import ordered as group_them

    table = call.table()
    values = _column_of(table, call.column, "--column")
    with call.terminal.progress():
        made = group_them(values, call.k, counts=call.counts(table))
    # One line for each distinct value, in ascending order.
    _, first = np.unique(made.codes, return_index=True)
    classes = pl.DataFrame({"value": values.gather(first), "class": made.classes[first]})
    ends = {"lowest": made.lowest, "highest": made.highest, "weight": made.weights}
    intervals = pl.DataFrame({"class": np.arange(len(made.weights)), **ends})
    _deliver(call, made, tables={"classes.csv": classes, "intervals.csv": intervals})


def _group_points(call: _Call, x: str | None, y: str | None) -> None:
    import numpy as np
    import polars as pl

    from shoal.grouping import points as group_them
    from shoal.grouping.points.rectangles import is_geographic

    if x is None or y is None:
        raise UsageError("Name the columns of the coordinates with --x and --y.")
    table, more = call.table(), dict(call.parameters)
    coordinates = [_numbers(_column_of(table, name, flag)).to_numpy() for name, flag in ((x, "--x"), (y, "--y"))]
    more.setdefault("geographic", is_geographic(x, y))
    with call.terminal.progress():
        made = group_them(np.stack(coordinates, axis=1), call.k, multiplicity=call.counts(table), **more)
    classes = pl.DataFrame({"row": np.arange(len(made.classes)), "class": made.classes})
    _deliver(
        call,
        made,
        tables={"classes.csv": classes, "rectangles.csv": made.to_frame()},
        more={"rectangles.geojson": made.write_geojson},
        picture="picture.svg" if len(made.weights) <= _MOST_DRAWN else "picture.png",
    )


def _group_regions(call: _Call, nodes: str | None, x: str | None, y: str | None) -> None:
    from shoal.grouping import regions as group_them
    from shoal.io.edges import EDGE_TABLES

    # Edges come from a table, or from the shared borders of polygons.
    more = dict(call.parameters)
    node, layer = more.pop("node", None), more.pop("layer", None)
    if Path(call.source.removesuffix(".gz")).suffix.lower() in EDGE_TABLES:
        arguments = _of_tables(call.source, nodes, node, call.counted, x, y)
    else:
        arguments = _of_polygons(call.source, nodes, node, call.counted, call.column, layer)
    with call.terminal.progress() as progress:
        made = group_them(**arguments, k=call.k, seed=call.seed, progress=progress, **more)
    # Polygons are written as outlines of the classes.
    outlines: dict[str, Callable[[Path], object]] = {}
    if made.graph.polygons is not None:
        outlines["classes.geojson"] = lambda path: _write_outlines(made, path)
    _deliver(call, made, tables={"classes.csv": made.table()}, more=outlines)


def _deliver(
    call: _Call,
    grouping: Grouping,
    *,
    tables: Mapping[str, pl.DataFrame],
    more: Mapping[str, Callable[[Path], object]] | None = None,
    picture: str = "picture.svg",
) -> None:
    """Save a grouping with further tables and files, and print its summary."""
    from shoal.grouping.folder import make_result, save_grouping

    save_grouping(grouping, call.output, tables=tables, more=more, picture=picture, force=call.force)
    facts = make_result(grouping)
    if call.terminal.json:
        call.terminal.result(facts)
    else:
        call.terminal.say("", lines_of(_lines(facts)), path_line("written", call.output), "")


def _column_of(frame: pl.DataFrame, name: str | None, option: str, place: int = 0) -> pl.Series:
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


def _whole_numbers(column: pl.Series) -> pl.Series:
    """Parse counts, which may be text.

    Raises
    ------
    DataError
        If some cells are not whole numbers; the message counts them.
    """
    import polars as pl

    from shoal.io.forms import read_column
    from shoal.io.number_forms import numbers_of

    numbers = numbers_of(read_column(column), pl.Int64)
    if numbers.null_count():
        raise DataError(
            f"The column '{column.name}' must hold whole numbers: {numbers.null_count()} of {len(column)} cells do not."
        )
    return numbers


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    from shoal._core.words import number, percent

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


def _of_tables(
    source: str, weights: str | None, node: str | None, weight: str | None, x: str | None, y: str | None
) -> dict[str, Any]:
    """Read edges and nodes as text, so that names match between the files."""
    from shoal.io import read
    from shoal.io.edges import edges_of

    if weights is None:
        raise ParameterError("A list of edges has no numbers of records: name a table of the regions with --nodes.")
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
            raise ParameterError("Name the column of the polygons with the records (--count), or a table (--nodes).")
        return {"edges": source, "weights": weight, "names": name, "layer": layer}
    from shoal.grouping.regions.graph import read_polygons
    from shoal.io import read

    # A separate table is linked to the polygons by the names of regions.
    if name is None:
        raise ParameterError("Name the column of the polygons that the table of --nodes refers to: --column.")
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
    from shoal.io.forms import read_column
    from shoal.io.number_forms import numbers_of

    numbers = numbers_of(read_column(column))
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
