"""What a release tells an adversary who knows the algorithm, and what the files beside the table add.

Small tables are enumerated whole: every assignment of sensitive values to people whose quasi-identifiers are known.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.results import Grid, Part
from benchmarks.sweep import side_by_side
from shoal.attacks.minimality import find_largest_belief, group_originals
from shoal.errors import InfeasibleError
from shoal.report import public_facts, render_public

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from shoal.attacks.minimality.enumeration import Values

__all__ = ["exposure", "measure"]

_WAYS = (
    ("mondrian", "suppression"),
    ("mondrian", "generalization"),
    ("hilbert", "suppression"),
    ("tp", "suppression"),
    ("tp+", "suppression"),
    ("mondrian-relaxed", "suppression"),
    ("cluster", "generalization"),
    ("matching", "suppression"),
    ("exact", "suppression"),
    ("full-domain", "generalization"),
    ("tds", "generalization"),
)
_SEEN = ("the table", "and its public files", "and a proof", "and the full certificate")
"""What the adversary sees, each with what stands before it."""
_OF_THE_ORIGINAL = ("algorithm", "cost", "guarantee", "details", "parameters")
"""What the full certificate tells of the original, beside its hash, which is keyed, and its times."""


def measure(settings: Settings) -> Part:
    """Measure how often somebody's sensitive value can be told with more confidence than the model allows."""
    part = Part(name="minimality", title="Knowledge of the algorithm")
    part.say(
        f"{settings.enumerated_tables} tables of {settings.enumerated_rows} people with two quasi-identifiers (3 and 2 "
        "values), drawn at random, and of each all assignments of three sensitive values that can be published with "
        "l = 2 (l-diversity by frequency). The adversary knows everybody's quasi-identifiers, the request, the "
        "algorithm and its seed, and takes all assignments for equally likely before. The share of the assignments of "
        "which the adversary finds somebody's value more likely than 1/2, and the largest such probability:"
    )
    header = (
        "algorithm",
        "recoding",
        "originals",
        *(f"{what}{kind}" for what in _SEEN for kind in (", share", ", most")),
    )
    rng, people = np.random.default_rng(settings.seed), settings.enumerated_rows
    tables = [
        pl.DataFrame({"q": rng.integers(0, 3, people), "r": rng.integers(0, 2, people)})
        for _ in range(settings.enumerated_tables)
    ]
    tasks = [(known, *way) for way in _WAYS for known in tables]
    found = iter(side_by_side(_of_one_table, tasks, settings.workers))
    rows = []
    for algorithm, recoding in _WAYS:
        totals = [Counter[str]() for _ in _SEEN]
        most = [Fraction(0)] * len(_SEEN)
        for _ in tables:
            for level, (exposed, originals, largest) in enumerate(next(found)):
                totals[level].update(exposed=exposed, originals=originals)
                most[level] = max(most[level], largest)
        figures = [
            figure
            for total, largest in zip(totals, most, strict=True)
            for figure in (total["exposed"] / max(total["originals"], 1), float(largest))
        ]
        rows.append((algorithm, recoding, totals[0]["originals"], *figures))
    part.show(Grid(title="Confidence above 1/2:", header=header, rows=rows))
    return part


def _of_one_table(task: tuple[pl.DataFrame, str, str]) -> list[list[tuple[int, int, Fraction]]]:
    return [exposure(*task)]


def exposure(known: pl.DataFrame, algorithm: str, recoding: str) -> list[tuple[int, int, Fraction]]:
    """Enumerate the assignments of sensitive values to people with known quasi-identifiers.

    Returns
    -------
    list of (int, int, Fraction)
        For each of what the adversary may see: the assignments that give somebody away, all of them, and the largest
        probability of a value that the adversary finds.
    """
    possible = group_originals(
        itertools.product("xyz", repeat=known.height), lambda values: _seen(known, values, algorithm, recoding)
    )
    found = []
    for classes in possible or [{}] * len(_SEEN):
        largest = {seen: find_largest_belief(originals) for seen, originals in classes.items()}
        exposed = sum(len(classes[seen]) for seen, probability in largest.items() if probability > Fraction(1, 2))
        found.append((exposed, sum(map(len, classes.values())), max(largest.values(), default=Fraction(0))))
    return found


def _seen(known: pl.DataFrame, values: Values, algorithm: str, recoding: str) -> Iterator[str]:
    """Yield what the adversary sees of one original; nothing where it cannot be published."""
    request = {"quasi_identifiers": known.columns, "sensitive": "s", "privacy": shoal.LDiversity(2), "seed": 0}
    try:
        made = shoal.anonymize(
            known.with_columns(s=pl.Series(values)), **request, algorithm=algorithm, recoding=recoding
        )
    except InfeasibleError:
        return
    seen = made.data.write_csv()
    yield seen
    public = made.public_certificate.to_dict()
    seen += json.dumps(public) + render_public(public_facts(public, made.frame))
    yield seen
    full = made.certificate.to_dict()
    proof = {name: figure for name, figure in full["cost"].items() if name != "gcp"}
    seen += json.dumps([proof, full["guarantee"]])
    yield seen
    yield seen + json.dumps([full[name] for name in _OF_THE_ORIGINAL])
