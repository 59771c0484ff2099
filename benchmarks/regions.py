"""Regions: how large the largest class gets, beside the paper's algorithm alone and the lower bound."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import side_by_side
from shoal.grouping import regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Settings

__all__ = ["measure"]

_COUNTY_K = (100_000, 500_000, 2_000_000)
_EXAMPLES = (("stl", "stl_hom.shp", "PO7984"), ("stl", "stl_hom.shp", "HC7984"), ("sids2", "sids2.shp", "BIR74"))
_SHARES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45)
"""k as parts of all records."""
_SECONDS_FOR_PROOF = 240.0
"""Fewer than the ten minutes that the target allows: half of them are work of the search, which six maps use up."""
_PROVEN = 27
"""Of the thirty divisions of the maps of libpysal."""


@dataclass(frozen=True, kw_only=True)
class _Map:
    name: str
    edges: NDArray[np.int64]
    weights: NDArray[np.int64]


def measure(settings: Settings) -> Part:
    """Group the US counties, where a copy of their graph exists, and the maps that come with libpysal."""
    part = Part(name="regions", title="Regions")
    regions([(0, 1), (1, 2)], [5, 5, 5], 5, seed=0)  # compiles
    if settings.counties.exists():
        _counties(part, settings)
    else:
        part.say("There is no graph of the US counties here: name the folder with it with --counties FOLDER.")
    _examples(part, settings)
    return part


def _counties(part: Part, settings: Settings) -> None:
    counties = _us_counties(settings)
    part.say(
        f"{counties.name}: {len(counties.weights):,} connected counties, {len(counties.edges):,} borders, "
        f"{counties.weights.sum():,} people in 2019, {counties.weights.max():,} of them in one county. `excess` is how "
        "far the largest class is above what cannot be avoided, the larger of k and the largest county, in units of k."
    )
    rows: list[tuple[object, ...]] = []
    for k in _COUNTY_K:
        tree = regions(counties.edges, counties.weights, k, method="tree")
        made = regions(counties.edges, counties.weights, k, seed=settings.seed)
        unavoidable = max(k, int(counties.weights.max()))
        excess = [(one.cost - unavoidable) / k for one in (tree, made)]
        rows.append(
            (
                k, made.degree, tree.guarantee.largest / k if tree.guarantee and tree.guarantee.largest else None,
                tree.overfull_ratio, made.overfull_ratio, *excess, made.lower_bound / k, len(tree.weights),
                len(made.weights), _spread(tree), _spread(made), made.seconds, "optimal" if made.optimal else "",
            )
        )  # fmt: skip
        part.targets += [
            Target(
                what=f"counties, k = {k:,}: excess, over half of the tree's", limit=excess[0] / 2, measured=excess[1]
            ),
            Target(what=f"counties, k = {k:,}: wall time", limit=5, measured=made.seconds, unit=" s"),
        ]
    header = (
        "k", "degree", "guarantee", "tree", "best", "excess, tree", "excess, best", "bound", "classes, tree",
        "classes, best", "mean square, tree", "mean square, best", "seconds", "note",
    )  # fmt: skip
    title = "US counties: overfull ratios (largest class / k), and the mean of the squared weights in units of k:"
    part.show(Grid(title=title, header=header, rows=rows))


def _spread(made: Any) -> float:
    """Return the mean class that a record is in, in units of k: 1 is the least."""
    weights = made.weights.astype(np.float64)
    return float((weights**2).sum() / weights.sum() / made.k)


def _examples(part: Part, settings: Settings) -> None:
    shares = _SHARES[::3] if settings.quick else _SHARES
    limit = 1.0 if settings.quick else _SECONDS_FOR_PROOF
    tasks = [(*example, share, limit, settings.seed) for example in _EXAMPLES for share in shares]
    rows = side_by_side(_proven, tasks, settings.workers)
    header = ("map", "k", "tree", "best", "seconds", "exact", "seconds, exact", "bound", "gap", "note")
    title = f"Maps of libpysal: the largest class, for k from {shares[0]:.0%} to {shares[-1]:.0%} of all records:"
    part.show(Grid(title=title, header=header, rows=rows))
    proven = sum(row[-1] == "optimal" for row in rows)
    part.say(
        f"Proven optimal: {proven} of {len(rows)}, each within {limit:.0f} s where ten minutes are allowed; the others "
        f"are within their gap of the optimum. {settings.workers} processes side by side."
    )
    if not settings.quick:
        what = f"maps of libpysal, 10 minutes each: not proven, of {len(rows)}"
        part.targets.append(Target(what=what, limit=len(rows) - _PROVEN, measured=len(rows) - proven))


def _proven(task: tuple[str, str, str, float, float, int]) -> list[tuple[object, ...]]:
    """Divide a map by every method."""
    name, file, column, share, limit, seed = task
    one = _libpysal(name, file, column)
    k = int(one.weights.sum() * share)
    tree = regions(one.edges, one.weights, k, method="tree")
    best = regions(one.edges, one.weights, k, seed=seed)
    start = time.perf_counter()
    exact = regions(one.edges, one.weights, k, method="exact", seed=seed, time_limit=limit)
    seconds, note = time.perf_counter() - start, "optimal" if exact.optimal else ""
    found = (tree.cost, best.cost, best.seconds, exact.cost, seconds, exact.lower_bound, exact.gap, note)
    return [(f"{name} {column}", k, *found)]


def _us_counties(settings: Settings) -> _Map:
    import polars as pl

    folder = settings.counties
    nodes = pl.read_csv(folder / "us_counties_nodes.csv.gz", schema_overrides={"fips": pl.String})
    nodes = nodes.filter(pl.col("in_main_component"))
    number = {fips: place for place, fips in enumerate(nodes["fips"])}
    edges = pl.read_csv(folder / "us_counties_edges_planar.csv.gz", infer_schema=False).rows()
    listed = [(number[a], number[b]) for a, b in edges if a in number and b in number]
    return _Map(
        name="US counties", edges=np.array(listed), weights=nodes["population_2019"].to_numpy().astype(np.int64)
    )


def _libpysal(name: str, file: str, column: str) -> _Map:
    import geopandas
    import libpysal

    from shoal.grouping.regions.polygons import shared_borders

    polygons = geopandas.read_file(libpysal.examples.get_path(file))
    return _Map(
        name=name,
        edges=shared_borders(polygons).astype(np.int64),
        weights=polygons[column].to_numpy().astype(np.int64),
    )
