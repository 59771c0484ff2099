"""What public tables tell of the values that they hide: refinement and singling out, by algorithm and recoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
    ("tds", "generalization"),
    ("full-domain", "generalization"),
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
        "the method (`mondrian` with exact ends; `full-domain` with given hierarchies); `chance`: of a table drawn "
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
    more = ("hidden", "known %", "from", "to", "without %", "chance %", "entropy %", "alone")
    part.show(Grid(title="Refinement:", header=(*header, *more), rows=refined))
    more = ("predicates", "successes", "by chance", "people %", *(f"{kind}" for kind in _KINDS))
    part.show(Grid(title="Singling out:", header=(*header, *more), rows=singled))
    return part


_KINDS = ("ends", "by chance (ends)", "ranges", "by chance (ranges)", "hashes", "by chance (hashes)")


def _tasks(settings: Settings) -> Iterator[_Task]:
    for table, frame, hierarchies in _tables(settings):
        for algorithm, recoding in _WAYS:
            # Ends of nodes are those of the hierarchy, and suppression has none.
            fine = recoding == "suppression" or algorithm in ("tds", "full-domain")
            for exact in (False,) if fine else (True, False):
                given = [{}] if algorithm not in ("tds", "full-domain") or not hierarchies else [{}, hierarchies]
                for trees in given:
                    yield _Task(
                        table=table,
                        frame=frame,
                        names=tuple(frame.columns),
                        algorithm=algorithm,
                        recoding=recoding,
                        exact=exact,
                        hierarchies=trees,
                    )


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
    model: Any = shoal.KAnonymity(_K)
    try:
        release = shoal.anonymize(
            task.frame,
            quasi_identifiers=list(task.names),
            privacy=model,
            algorithm=task.algorithm,
            recoding=task.recoding,  # type: ignore[arg-type]
            exact_ends=task.exact,
            hierarchies=dict(task.hierarchies) or None,
            seed=1,
        )
    except UsageError:
        return []
    trees: Any = {"hierarchies": dict(task.hierarchies)} if task.hierarchies else {}
    method = {"mondrian": "mondrian" if task.exact else "none", "full-domain": "full-domain" if trees else "none"}
    # Readers know the order of declared categories.
    ordered = {
        one.name: one.dtype.categories.to_list()
        for one in task.frame
        if str(one.dtype).startswith("Enum")  # type: ignore[attr-defined]
    }
    reading = {**trees, **({"cells": ordered} if ordered else {})}
    refined = _refine(release, method.get(task.algorithm, "none"), reading)
    return [((*named, *refined), (*named, *_single(task, release, reading)))]


def _refine(release: shoal.Release, method: str, trees: Any) -> tuple[object, ...]:
    try:
        found = attacks.refinement_attack(release, method=method, **trees)  # type: ignore[arg-type]
    except ShoalError:
        return ("-",) * 8
    if not found.attempts or found.control is None:
        return ("-",) * 8
    rates = (found.rate, found.low, found.high, found.baseline.rate, found.control.rate, found["entropy_left"])
    return (found.attempts, *("-" if one is None else 100 * one for one in rates), found["alone"])


def _single(task: _Task, release: shoal.Release, trees: Any) -> tuple[object, ...]:
    found = attacks.singling_out_attack(release, task.frame, **trees)
    kinds = [
        figure
        for one in found["by_kind"]
        for figure in ((one["isolating"], one["isolating_by_chance"]) if one["attempts"] else ("-", "-"))
    ]
    share = 100 * found["singled_out"] / found["people"]
    return (found.attempts, found.successes, found.baseline.successes, share, *kinds)
