"""What public tables tell of the values that they hide: refinement and singling out, by algorithm and recoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import shoal
from benchmarks.adult import adult
from benchmarks.ends import people_with_birth_dates
from benchmarks.results import Grid, Part
from benchmarks.sweep import side_by_side
from shoal import attacks
from shoal.errors import ShoalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_K = 5
_WAYS = (
    *((name, "generalization") for name in ("mondrian", "mondrian-relaxed", "hilbert", "cluster", "sabre")),
    *(
        (name, "suppression")
        for name in ("mondrian", "mondrian-relaxed", "hilbert", "cluster", "sabre", "tp", "tp+", "m-approximation")
    ),
    ("transparent", "generalization"),
    ("transparent", "suppression"),
    ("tds", "generalization"),
    ("full-domain", "generalization"),
    ("full-domain, no star", "generalization"),
    ("local, as ARX", "generalization"),
)
"""Algorithms for tables of any size, with the recodings that they have. matching, exact and milp are for small ones."""


@dataclass(frozen=True, kw_only=True)
class _Task:
    """One release and its attacks."""

    table: str
    frame: pl.DataFrame
    names: tuple[str, ...]
    algorithm: str
    recoding: str
    exact: bool
    hierarchies: Mapping[str, shoal.Hierarchy]


def measure(settings: Settings) -> Part:
    """Attack releases of each table by every algorithm and recoding."""
    part = Part(name="refinement", title="What hidden cells must have been, and who is singled out")
    part.say(
        f"k = {_K}; each column is a quasi-identifier, without a sensitive one. `exact` ends are values of single "
        "records (`exact_ends`), `shared` ones those of the default. `hidden`: cells that stand for several values. "
        "`known`: hidden cells that are known exactly, in percent, with Wilson's interval; `without`: the same without "
        "the method (`mondrian` with exact ends; the last two with given hierarchies); `chance`: of a table drawn "
        "from the published margins. `entropy`: percent of the entropy within the cells that is left. `alone`: hidden "
        "cells in a segment with one record. `-` is not measured: nothing is known of how such cells were made.",
        "Singling out: predicates from the public table that exactly one person of the original satisfies, with a "
        "weight of at most 1 / (100 n): how many, how many random predicates of equal weight would be expected to, and "
        "the share of the people whom they single out. `ends`, `ranges` and `hashes` are by kind, of any weight, and "
        "expected by chance.",
    )
    refined: list[tuple[object, ...]] = []
    singled: list[tuple[object, ...]] = []
    for one in side_by_side(_attack, list(_tasks(settings)), settings.workers):
        refined.append(one[0])
        singled.append(one[1])
    header: tuple[str, ...] = ("table", "algorithm", "recoding", "ends")
    figures: tuple[str, ...] = ("hidden", "known %", "from", "to", "without %", "chance %", "entropy %", "alone")
    part.show(Grid(title="Refinement:", header=(*header, *figures), rows=refined))
    figures = ("predicates", "successes", "by chance", "people %", *_KINDS)
    part.show(Grid(title="Singling out:", header=(*header, *figures), rows=singled))
    part.say(
        "`tp` leaves records of small classes behind: none of a class that is published, and fewer than k of each "
        "other class. It says something if readers know the values of the columns, here all of each table, and the "
        "residue has at most 4,096 classes: releases of every one, two and three columns."
    )
    rows = side_by_side(_refine_residues, list(_tables(settings)), settings.workers)
    header = ("table", "columns", "releases", "with a condition", "hidden", "known", "by chance", "most known % of one")
    part.show(Grid(title="Refinement of tp with declared values:", header=header, rows=rows))
    part.say(
        "Releases of half of the records of each table, with the other half as controls, shared ends: of how many of "
        "the predicates exactly one person of the release, and exactly one control. What both have is no disclosure: "
        "weights are estimated too small if columns go together."
    )
    tasks = [one for one in _tasks(settings) if (one.algorithm, one.recoding, one.exact) in _COMPARED]
    rows = side_by_side(_compare, tasks, settings.workers)
    header = ("table", "algorithm", "predicates", "successes", "controls", "by chance", "residual %")
    part.show(Grid(title="Singling out, with controls:", header=header, rows=rows))
    return part


def _refine_residues(
    table: tuple[str, pl.DataFrame, Mapping[str, shoal.Hierarchy]],
) -> list[tuple[object, ...]]:
    """Publish few columns at a time with TP, and attack those whose residue has hidden cells."""
    import polars as pl

    name, frame, _ = table
    frame = frame.select(pl.all().cast(pl.String)).drop_nulls()
    trees = {one.name: shoal.Hierarchy.from_rows([(text, "*") for text in one.unique().sort()]) for one in frame}
    rows: list[tuple[object, ...]] = []
    for count in (1, 2, 3):
        found = []
        for names in combinations(frame.columns, count):
            release = shoal.anonymize(frame.select(names), quasi_identifiers=list(names), k=_K, algorithm="tp", seed=1)
            read: Any = {"hierarchies": {one: trees[one] for one in names}}
            found.append(attacks.refinement_attack(release, method="tp", k=_K, **read))
        hidden, known = sum(one.attempts for one in found), sum(one.successes for one in found)
        chance = sum(one.control.successes for one in found if one.control is not None)
        most = max(100 * one.successes / one.attempts if one.attempts else 0 for one in found)
        concerned = sum(bool(one["method_groups"]) for one in found)
        rows.append((name, count, len(found), concerned, hidden, known, chance, most))
    return rows


_COMPARED = [(name, "generalization", False) for name in ("mondrian", "hilbert", "cluster")]


def _compare(task: _Task) -> list[tuple[object, ...]]:
    """Publish half of a table, and single out people of both halves."""
    mixed = task.frame.sample(fraction=1.0, shuffle=True, seed=1)
    inside, outside = mixed.head(mixed.height // 2), mixed.tail(mixed.height // 2)
    release = _publish(task, inside)
    reading: Any = {"cells": _list_orders(inside)} if _list_orders(inside) else {}
    found = attacks.singling_out_attack(release, inside, controls=outside, **reading)
    assert found.control is not None
    left = found.residual
    share = "-" if left is None else 100 * left["rate"]
    counts = (found.attempts, found.successes, found.control.successes, found.baseline.successes)
    return [(task.table, task.algorithm, *counts, share)]


def _list_orders(frame: pl.DataFrame) -> dict[str, list[str]]:
    """List the values of declared categories, whose order readers know."""
    return {one.name: one.dtype.categories.to_list() for one in frame if hasattr(one.dtype, "categories")}


_KINDS = ("ends", "by chance (ends)", "ranges", "by chance (ranges)", "hashes", "by chance (hashes)")


def _tasks(settings: Settings) -> Iterator[_Task]:
    for table, frame, hierarchies in _tables(settings):
        for algorithm, recoding in _WAYS:
            # Ends of nodes are those of the hierarchy, and suppression has none.
            fine = recoding == "suppression" or algorithm in ("tds", "full-domain", _LOCAL, _WHOLE)
            for exact in (False,) if fine else (True, False):
                for trees in _list_trees(algorithm, hierarchies):
                    yield _Task(
                        table=table,
                        frame=frame,
                        names=tuple(frame.columns),
                        algorithm=algorithm,
                        recoding=recoding,
                        exact=exact,
                        hierarchies=trees,
                    )


def _list_trees(algorithm: str, hierarchies: Mapping[str, shoal.Hierarchy]) -> list[Mapping[str, shoal.Hierarchy]]:
    """List the hierarchies to publish with: automatic ones, and given ones if there are any."""
    given = [hierarchies] if hierarchies else []
    if algorithm in (_LOCAL, _WHOLE):
        return given
    return [{}, *given] if algorithm in ("tds", "full-domain") else [{}]


def _tables(settings: Settings) -> Iterator[tuple[str, pl.DataFrame, Mapping[str, shoal.Hierarchy]]]:
    """Yield the tables, with quasi-identifiers only, and their hierarchies."""
    import polars as pl

    fewer = 20 if settings.quick else 1
    demo = shoal.datasets.demo()
    frame = demo.frame.select(demo.quasi_identifiers)
    yield "GSS", frame.head(frame.height // fewer), {}
    if settings.adult.exists():
        source = adult(settings)
        trees = {
            name: shoal.Hierarchy.from_csv(settings.adult.with_name(f"adult_hierarchy_{name}.csv"))
            for name in source.quasi_identifiers
        }
        frame = pl.DataFrame(source.frame).select(source.quasi_identifiers)
        yield "Adult", frame.head(frame.height // fewer), trees
    census = shoal.datasets.census(20_000 // fewer, quasi_identifiers=4, seed=settings.seed)
    yield "census-like", census.select(census.columns[:4]), {}
    people = people_with_birth_dates(3_000 // min(fewer, 5), settings.seed)
    yield "birth dates", people.select("born", "sex", "zip"), {}


def _attack(task: _Task) -> list[tuple[tuple[object, ...], tuple[object, ...]]]:
    """Publish a table, and attack it; releases that are refused are left out."""
    ends = "nodes" if task.hierarchies else "exact" if task.exact else "shared"
    if task.recoding == "suppression":
        ends = "-"
    elif task.algorithm in ("tds", "full-domain") and not task.hierarchies:
        ends = "automatic nodes"
    named = (task.table, task.algorithm, task.recoding, ends)
    trees = dict(task.hierarchies)
    try:
        release = _recode_locally(task) if task.algorithm == _LOCAL else _publish(task, task.frame)
    except UsageError:
        return []
    ordered = _list_orders(task.frame)
    reading = {"quasi_identifiers": task.names, "hierarchies": trees or None, "cells": ordered or None}
    reading = {name: one for name, one in reading.items() if one is not None}
    method = _METHODS.get(task.algorithm, "none")
    refined = _refine(release, "none" if method == "mondrian" and not task.exact else method, reading)
    return [((*named, *refined), (*named, *_single(task, release, reading)))]


_LOCAL, _WHOLE = "local, as ARX", "full-domain, no star"
"""Full-domain recoding that is repeated for what it suppressed, each group at its node; and without suppression."""
_METHODS = {"mondrian": "mondrian", _WHOLE: "full-domain", _LOCAL: "local"}


def _publish(task: _Task, frame: pl.DataFrame) -> shoal.Release:
    whole = shoal.FullDomain(suppression_limit=0)
    algorithm = {_WHOLE: whole, _LOCAL: shoal.FullDomain()}.get(task.algorithm, task.algorithm)
    return shoal.anonymize(
        frame,
        quasi_identifiers=list(task.names),
        k=_K,
        algorithm=algorithm,
        recoding=task.recoding,  # type: ignore[arg-type]
        exact_ends=task.exact,
        hierarchies=dict(task.hierarchies) or None,
        seed=1,
    )


def _recode_locally(task: _Task) -> pl.DataFrame:
    """Publish all classes of at least k records of the best node, then those of what is left, and so on."""
    import polars as pl

    rest, parts = task.frame.select(pl.all().cast(pl.String)), []
    while rest.height >= _K:
        shown = _publish(task, rest).data
        shown = shown.filter(pl.any_horizontal(pl.all() != "*"))
        coarse = rest
        for name, tree in task.hierarchies.items():
            level = next(at for at, names in enumerate(tree.labels) if set(shown[name]) <= set(names))
            nodes = dict(zip(tree.labels[0], (tree.labels[level][node] for node in tree.levels[level]), strict=True))
            coarse = coarse.with_columns(pl.col(name).replace_strict(nodes, return_dtype=pl.String))
        large = coarse.select(pl.len().over(task.names) >= _K).to_series()
        if not shown.height or not large.any():
            break
        parts.append(coarse.filter(large))
        rest = rest.filter(~large)
    return pl.concat([*parts, rest.with_columns(pl.lit("*").alias(name) for name in task.names)])


def _refine(release: Any, method: Any, reading: Any) -> tuple[object, ...]:
    try:
        found = attacks.refinement_attack(release, method=method, k=_K, **reading)
    except ShoalError:
        return ("-",) * 8
    if not found.attempts or found.control is None:
        return ("-",) * 8
    rates = (found.rate, found.low, found.high, found.baseline.rate, found.control.rate, found["entropy_left"])
    return (found.attempts, *("-" if one is None else 100 * one for one in rates), found["alone"])


def _single(task: _Task, release: Any, reading: Any) -> tuple[object, ...]:
    found = attacks.singling_out_attack(release, task.frame, **reading)
    kinds = [
        figure
        for one in found["by_kind"]
        for figure in ((one["isolating"], one["isolating_by_chance"]) if one["attempts"] else ("-", "-"))
    ]
    share = 100 * found["singled_out"] / found["people"]
    return (found.attempts, found.successes, found.baseline.successes, share, *kinds)
