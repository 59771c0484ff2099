"""Generalization for sets of quasi-identifiers against brute force, and the models of each set by definition."""

from __future__ import annotations

from itertools import combinations
from random import Random

import polars as pl
import pytest
from tests.every import THOROUGH, every, few, some
from tests.oracles.column_sets import is_safe, least_loss_of_levels
from tests.oracles.level_limits import allowed_cells
from tests.oracles.oracles import predicate_of

import shoal
from shoal.errors import UnsupportedError

TREE = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")]
WAYS = {row[0]: row for row in TREE}


def generalized(table: pl.DataFrame, columns: list[str], **asked: object) -> shoal.Release:
    return shoal.anonymize(
        table,
        quasi_identifiers=columns,
        recoding="generalization",
        hierarchies=dict.fromkeys(columns, shoal.Hierarchy.from_rows(TREE)),
        keep_order=True,
        **asked,
    )


@every("block", range(4))
def test_small_tables_against_brute_force(block: int) -> None:
    """The bound is the least loss of all levels and suppressed rows; the release is safe, at nodes of its rows."""
    random, better = Random(block), 0
    for _ in range(few(25, least=10)):
        d, n = random.choice([(2, 5), (2, 7), (3, 6)])
        names = [f"q{a}" for a in range(d)]
        rows = [[random.choice("abcd"[: random.choice([2, 4])]) for _ in names] for _ in range(n)]
        k, size = random.choice([2, 2, 3]), random.randrange(1, d + 1)
        sets = dict.fromkeys(combinations(range(d), size), k)
        release = generalized(pl.DataFrame(rows, schema=names, orient="row"), names, k=k, knows=size, seed=block)
        shown = release.data.rows()
        assert is_safe(shown, sets)
        assert all(
            cell in WAYS[value]
            for one, row in zip(shown, rows, strict=True)
            for cell, value in zip(one, row, strict=True)
        )
        details = release.certificate.details
        least = least_loss_of_levels(rows, [WAYS] * d, sets)
        assert details["bound_is_reached"]
        assert details["bound_of_whole_records"] == pytest.approx(float(least))
        assert details["value"] == pytest.approx(release.metrics.gcp)
        assert release.certificate.cost.bound.stars <= release.certificate.cost.recoded_cells
        better += details["value"] < float(least) - 1e-9
    # Stars in single cells often lose less than whole rows.
    assert better or not THOROUGH


@pytest.mark.drawn
@pytest.mark.parametrize("model", [shoal.LDiversity(2), shoal.TCloseness(0.5)])
def test_every_set_satisfies_a_model(model: shoal.models.GroupModel) -> None:
    random, names = Random(3), ["q0", "q1", "q2"]
    for _ in range(4):
        rows = [[random.choice("abcd") for _ in names] + ["xyz"[row % 3]] for row in range(30)]
        table = pl.DataFrame(rows, schema=[*names, "s"], orient="row")
        release = generalized(table, names, sensitive="s", privacy=model, knows=2, seed=1)
        accepted = predicate_of(model, table["s"].to_list())
        for known in combinations(names, 2):
            for _, group in release.data.group_by(known):
                assert accepted(group["s"].to_list())
        assert "bound_of_whole_records" not in release.certificate.details


@pytest.mark.drawn
def test_generalization_loses_no_more_than_suppression() -> None:
    people = shoal.datasets.census(300, seed=1)
    names = people.columns[:5]
    losses = {
        recoding: shoal.anonymize(
            people.select(names), quasi_identifiers=names, k=4, knows=2, seed=1, recoding=recoding
        ).metrics.gcp
        for recoding in ("suppression", "generalization")
    }
    assert losses["generalization"] < losses["suppression"]


def test_a_person_counts_once_in_every_set() -> None:
    random, names = Random(5), ["q0", "q1"]
    rows = [[random.choice("abcd") for _ in names] + [row // 3] for row in range(60)]
    table = pl.DataFrame(rows, schema=[*names, "who"], orient="row")
    release = generalized(table, names, person="who", k=4, knows=1, seed=1)
    assert release.owners is not None
    shown = release.data.with_columns(release.owners.to_series().alias("who"))
    for name in names:
        assert shown.group_by(name).agg(pl.col("who").n_unique())["who"].min() >= 4


def test_preferences_are_refused_with_advice_that_works() -> None:
    table = pl.DataFrame({"q0": list("abcdabcd"), "q1": list("aabbccdd")})
    with pytest.raises(UnsupportedError, match=r"stars in single cells"):
        generalized(table, table.columns, k=2, knows=1, suppression_limit=0.5)


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_limits_of_levels_hold_in_every_set(recoding: str) -> None:
    """Cells are at allowed levels, or all cells of a row are stars, which is never refused."""
    random, height = Random(8), {"suppression": 1, "generalization": 2}[recoding]
    suppressed = 0
    for trial in some(range(12), least=4):
        names = ["q0", "q1", "q2"]
        rows = [[random.choice("abcd") for _ in names] for _ in range(random.choice([6, 20, 40]))]
        low = random.randrange(height)
        limits = (
            {"q0": (low, random.randrange(low, height + 1)), "q1": (0, 0)} if trial % 2 else {"q2": (height, height)}
        )
        ways = WAYS if height == 2 else {value: (value, "*") for value in "abcd"}
        size = random.randrange(1, 4)
        asked = {"k": 2, "knows": size, "limits": limits, "recoding": recoding, "seed": trial, "keep_order": True}
        tree = {"hierarchies": dict.fromkeys(names, shoal.Hierarchy.from_rows(TREE))} if height == 2 else {}
        table = pl.DataFrame(rows, schema=names, orient="row")
        shown = shoal.anonymize(table, quasi_identifiers=names, **asked, **tree).data.rows()
        assert is_safe(shown, dict.fromkeys(combinations(range(3), size), 2))
        for row, cells in zip(rows, shown, strict=True):
            if set(cells) == {"*"}:
                suppressed += 1
                continue
            for value, cell, name in zip(row, cells, names, strict=True):
                assert cell in allowed_cells(ways[value], limits.get(name, (0, height)), stars_from=height)
    assert suppressed or not THOROUGH


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_a_column_with_a_weight_keeps_more(recoding: str) -> None:
    people = shoal.datasets.census(600, seed=1)
    names = people.columns[:4]
    asked = {"quasi_identifiers": names, "k": 4, "knows": 2, "seed": 1, "recoding": recoding}
    plain = shoal.anonymize(people.select(names), **asked)
    weighed = shoal.anonymize(people.select(names), **asked, weights={"age": 20})
    assert weighed.metrics.ncp["age"] < plain.metrics.ncp["age"]
    assert weighed.certificate.parameters["weights"] == {"age": 20}
    assert is_safe(weighed.data.rows(), dict.fromkeys(combinations(range(4), 2), 4))


@pytest.mark.drawn
def test_limits_and_persons_hold_together_in_every_set() -> None:
    """Rows outside of the limits are suppressed by the algorithm, so that no set loses rows that it needs."""
    random, names = Random(1), ["q0", "q1", "q2"]
    for trial in range(12):
        rows = [[random.choice("abcd") for _ in names] + [random.randrange(40)] for _ in range(40)]
        table = pl.DataFrame(rows, schema=[*names, "who"], orient="row")
        limits = {"q1": (2, 2), "q2": (0, 1)}
        release = generalized(table, names, person="who", k=3, knows=1, seed=trial, limits=limits)
        levels = {WAYS["a"].index(cell) for cell in release.data["q0"] if cell in ("a", "ab")}
        assert len(levels) <= 1
        for name in names:
            shown = release.data.with_columns(who=table["who"]).group_by(name).agg("who")["who"].to_list()
            assert all(3 * max(map(one.count, one)) <= len(one) for one in shown)
