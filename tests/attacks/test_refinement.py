"""What coarser cells must have been: the counts agree with trying every table, and the truth is never excluded."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import every
from tests.oracles.refinement import Explained, explain, has_allowed_cut, interval_of, set_of, star_of

import shoal
from shoal.attacks import refinement_attack
from shoal.attacks.published_table import open_published
from shoal.attacks.refinement.attack import Knowledge, hidden_columns, read_smallest
from shoal.attacks.refinement.counting import (
    Segments,
    count_tables,
    count_that_split,
    count_uncut,
    find_bounds,
    find_uncut_bounds,
)
from shoal.errors import ParameterError, UnsupportedError

NAMES = "abcde"
CELLS: dict[str, Any] = {"interval": None, "set": {"age": "values"}, "star": {"age": ["a", "b", "c"]}}
"""Stars hide the values of a declared order."""


def written(cell: object) -> str:
    """Write a published cell as text; names for members of sets and stars' neighbours."""
    if isinstance(cell, tuple):
        return f"[{cell[0]}, {cell[1]}]"
    if isinstance(cell, frozenset):
        return "{" + ", ".join(NAMES[one] for one in sorted(cell)) + "}"
    return str(cell)


def covered(cell: object, everything: Sequence[int]) -> list[int]:
    """List the values of a cell."""
    if isinstance(cell, tuple):
        return list(range(cell[0], cell[1] + 1))
    if cell == "*":
        return list(everything)
    return sorted(cell) if isinstance(cell, frozenset) else [cell]  # type: ignore[list-item]


def cut(values: list[int], k: int) -> list[list[int]]:
    """Cut a list of values as strict Mondrian does, at any allowed cut."""
    for at in sorted(set(values)):
        low, high = [one for one in values if one < at], [one for one in values if one >= at]
        if min(len(low), len(high)) >= k:
            return cut(low, k) + cut(high, k)
    return [values]


def compare(frame: pl.DataFrame, oracle: Explained, without: Explained, **options: object) -> None:
    found = refinement_attack(frame, quasi_identifiers=["age"], smallest=True, **options)  # type: ignore[arg-type]
    assert (found.successes, found.baseline.successes) == (oracle.known, without.known)
    if oracle.boxes > 1:
        box = math.log2(oracle.boxes)
        assert found["entropy_left"] == pytest.approx(math.log2(oracle.tables) / box, abs=1e-9)
        assert found["entropy_left_before"] == pytest.approx(math.log2(without.tables) / box, abs=1e-9)


@every("seed", range(70))
@every("form", ["interval", "set", "star"])
def test_smallest_cells_agree_with_every_table(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    publish: Callable[[Sequence[int]], object] = {"interval": interval_of, "set": set_of, "star": star_of}[form]
    groups = [rng.integers(0, 5 if form != "star" else 3, size=rng.integers(1, 5)).tolist() for _ in range(2)]
    shown = [publish(values) for values in groups]
    if shown[0] == shown[1] or (form == "star" and "*" not in shown):
        groups, shown = groups[:1], shown[:1]
    # The values that a star may hide are those that the column shows elsewhere.
    rest = [0, 1, 2] if form == "star" else []
    shown, groups = [*shown, *rest], [*groups, *([one] for one in rest)]
    if len(set(map(str, shown))) < len(shown):
        return  # two groups with equal cells are one
    cells = [(covered(cell, [0, 1, 2]), len(values)) for cell, values in zip(shown, groups, strict=True)]
    oracle = explain(cells, lambda table: [publish(values) for values in table] == shown)
    text = [written(cell) for cell, values in zip(shown, groups, strict=True) for _ in values]
    if form != "interval":
        text = [NAMES[int(one)] if one.isdigit() else one for one in text]
    compare(pl.DataFrame({"age": text}), oracle, oracle, cells=CELLS[form])


@every("seed", range(60))
@every("k", [1, 2, 3])
def test_refused_cuts_agree_with_every_table(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    groups = cut(rng.integers(0, 4, size=rng.integers(2, 8)).tolist(), k)
    shown = [interval_of(values) for values in groups]
    cells = [(covered(cell, []), len(values)) for cell, values in zip(shown, groups, strict=True)]
    without = explain(cells, lambda table: [interval_of(one) for one in table] == shown)
    oracle = explain(
        cells,
        lambda table: (
            [interval_of(one) for one in table] == shown and not any(has_allowed_cut(one, k) for one in table)
        ),
    )
    text = [written(cell) for cell, values in zip(shown, groups, strict=True) for _ in values]
    compare(pl.DataFrame({"age": text}), oracle, without, method="mondrian", k=k)


@every("seed", range(80))
def test_nodes_that_no_finer_level_replaces_agree_with_every_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Three nodes of one to three values, published with k = 2 because the values alone were not.
    sizes = rng.integers(1, 4, size=2).tolist()
    leaves = [(node, at) for node, size in enumerate(sizes) for at in range(size)]
    tree = shoal.Hierarchy.from_rows([[f"v{node}{at}", f"n{node}", "*"] for node, at in leaves])
    rows = [int(rng.integers(2, 5)) for _ in sizes]
    k = 2
    cells, start = [], 0
    for size, count in zip(sizes, rows, strict=True):
        cells.append((list(range(start, start + size)), count))
        start += size

    def too_small(table: Sequence[Sequence[int]]) -> bool:
        return any(0 < held.count(value) < k for held in table for value in set(held))

    without = explain(cells, lambda _: True)
    oracle = explain(cells, too_small)
    frame = pl.DataFrame({"age": [f"n{node}" for node, count in enumerate(rows) for _ in range(count)]})
    if not oracle.tables:
        return
    compare(frame, oracle, without, method="full-domain", k=k, hierarchies={"age": tree})


@every("seed", range(60))
def test_lowest_nodes_agree_with_every_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    paths = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"], ["e", "e", "*"]]
    tree = shoal.Hierarchy.from_rows(paths[: rng.integers(3, 6)])

    def publish(values: Sequence[int]) -> str:
        return next(names.pop() for level in range(3) if len(names := {paths[value][level] for value in values}) == 1)

    count = len(tree.labels[0])
    groups = [rng.integers(0, count, size=rng.integers(1, 5)).tolist() for _ in range(2)]
    shown = [publish(values) for values in groups]
    if shown[0] == shown[1]:
        groups, shown = groups[:1], shown[:1]
    cells = [
        ([at for at in range(count) if cell in paths[at]], len(values))
        for cell, values in zip(shown, groups, strict=True)
    ]
    oracle = explain(cells, lambda table: [publish(values) for values in table] == shown)
    text = [cell for cell, values in zip(shown, groups, strict=True) for _ in values]
    compare(pl.DataFrame({"age": text}), oracle, oracle, hierarchies={"age": tree})


@every("seed", range(60))
def test_any_segments_agree_with_every_table(seed: int) -> None:
    """Overlapping ranges, as grid cells at both ends of an interval may be."""
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 3, size=rng.integers(1, 4)).tolist())
    ends = [tuple(sorted(rng.choice(len(sizes) + 1, 2, replace=False).tolist())) for _ in range(2)]
    cell = Segments(sizes=sizes, occupied=tuple(sorted(set(ends))), varied=bool(rng.integers(2)))  # type: ignore[arg-type]
    owner = [at for at, size in enumerate(sizes) for _ in range(size)]
    rows, k = int(rng.integers(1, 6)), int(rng.integers(1, 3))

    def fits(table: Sequence[Sequence[int]]) -> bool:
        held = {owner[value] for value in table[0]}
        varied = not cell.varied or len(set(table[0])) > 1
        return varied and all(held & set(range(first, stop)) for first, stop in cell.occupied)

    for uncut in (False, True):
        kept: list[list[int]] = []

        def accept(table: Sequence[Sequence[int]], kept: list[list[int]] = kept, uncut: bool = uncut) -> bool:
            fine = fits(table) and not (uncut and has_allowed_cut(table[0], k))
            if fine:
                kept.append([sum(owner[value] == at for value in table[0]) for at in range(len(sizes))])
            return fine

        oracle = explain([(range(len(owner)), rows)], accept)
        assert oracle.tables == (count_uncut(cell, rows, k) if uncut else count_tables(cell, rows))
        bounds = find_uncut_bounds(cell, rows, k) if uncut else find_bounds(cell, rows)
        assert bounds == (tuple(map(min, zip(*kept, strict=True))), tuple(map(max, zip(*kept, strict=True))))


def test_nodes_that_split_agree_with_every_table() -> None:
    for sizes in [(1, 1), (1, 2), (2, 1, 1), (3,)]:
        owner = [at for at, size in enumerate(sizes) for _ in range(size)]
        for rows in range(1, 6):
            for k in (1, 2, 3):
                oracle = explain(
                    [(range(len(owner)), rows)],
                    lambda table, owner=owner, k=k: all(
                        sum(owner[one] == node for one in table[0]) >= k for node in {owner[one] for one in table[0]}
                    ),
                )
                assert count_that_split(sizes, rows, k) == oracle.tables


ALGORITHMS = [
    ("mondrian", "generalization"),
    ("mondrian-relaxed", "generalization"),
    ("hilbert", "generalization"),
    ("cluster", "generalization"),
    ("mondrian", "suppression"),
    ("tp+", "suppression"),
    ("m-approximation", "suppression"),
]


@every("exact", [True, False])
@every(("algorithm", "recoding"), ALGORITHMS, drawn=True)
def test_the_truth_is_within_the_bounds(algorithm: str, recoding: str, exact: bool) -> None:
    """Releases of every algorithm whose cells are the smallest: no claim about a group is wrong."""
    rng = np.random.default_rng(7)
    people = pl.DataFrame(
        {
            "age": rng.integers(18, 40, 160),
            "born": pl.Series(rng.integers(0, 9000, 160)).cast(pl.Date),
            "town": rng.choice(list("abcd"), 160),
            "fee": rng.integers(-40, 40, 160) / 10,
        }
    )
    frame = people
    if recoding == "suppression":
        frame = people.select(pl.col("age") // 30, "town")
    names = frame.columns
    release = shoal.anonymize(
        frame, quasi_identifiers=names, k=4, algorithm=algorithm, recoding=recoding, seed=1, exact_ends=exact
    )
    found = refinement_attack(release)
    assert found["smallest"]
    assert found.successes <= found.attempts
    _check_bounds(release, frame[release.rows], uncut=False)


@every("seed", range(5))
def test_refused_cuts_of_the_algorithm_are_within_the_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {"age": rng.geometric(0.5, 150), "town": rng.choice(list("abcd"), 150, p=[0.7, 0.1, 0.1, 0.1])}
    )
    release = shoal.anonymize(
        people,
        quasi_identifiers=people.columns,
        k=4,
        algorithm="mondrian",
        recoding="generalization",
        exact_ends=True,
        seed=1,
    )
    found = refinement_attack(release, method="mondrian")
    assert found["method_groups"] > 0
    assert found["entropy_left"] <= found["entropy_left_before"]
    _check_bounds(release, people[release.rows], uncut=True)


def _check_bounds(release: shoal.Release, true: pl.DataFrame, *, uncut: bool) -> None:
    table = open_published(release, {}, sensitive=False)
    shared_by = int(release.public_certificate.to_dict()["parameters"].get("shared_by") or 1)
    known = Knowledge(method="none", smallest=True, shared_by=shared_by, k=4)
    understood = table.read()
    for column in hidden_columns(table, understood, known):
        assert column.problem is None
        codes = understood[column.name].codes
        values = true[column.name]
        for group in range(int(table.group_of.max()) + 1):
            rows = np.flatnonzero(table.group_of == group)
            cell = column.cells[int(codes[rows[0]])]
            if cell is None:
                continue
            places = [_position(value, values) for value in values[rows].to_list()]
            held = [sum(first <= one <= last for one in places) for first, last in cell.pieces]
            least, most = (
                find_uncut_bounds(cell.segments, len(rows), 4) if uncut else find_bounds(cell.segments, len(rows))
            )
            assert sum(held) == len(rows)
            assert all(low <= one <= high for low, one, high in zip(least, held, most, strict=True)), column


def _position(value: object, values: pl.Series) -> int:
    if isinstance(value, str):
        return sorted("abcd").index(value)
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return round(value * 10) if values.dtype.is_float() else value  # type: ignore[operator,return-value]


@pytest.mark.drawn
def test_ends_on_the_public_grid_are_known_less_than_exact_ones() -> None:
    rng = np.random.default_rng(3)
    people = pl.DataFrame({"born": pl.Series(rng.integers(0, 20_000, 200)).cast(pl.Date)})
    rates = [
        refinement_attack(
            shoal.anonymize(
                people,
                quasi_identifiers=["born"],
                k=5,
                algorithm="mondrian",
                recoding="generalization",
                exact_ends=exact,
                seed=1,
            )
        ).successes
        for exact in (True, False)
    ]
    assert rates[0] > 60
    assert rates[1] == 0


def test_a_method_that_does_not_apply_is_refused() -> None:
    frame = pl.DataFrame({"age": ["[20, 29]"] * 4})
    with pytest.raises(ParameterError, match="person"):
        refinement_attack(frame, quasi_identifiers=["age"], smallest=True, person="who")
    with pytest.raises(ParameterError, match="k"):
        refinement_attack(frame, quasi_identifiers=["age"], method="mondrian")
    with pytest.raises(UnsupportedError, match="hierarchies"):
        refinement_attack(frame, quasi_identifiers=["age"], method="full-domain", k=2)
    with pytest.raises(UnsupportedError, match="smallest"):
        refinement_attack(frame, quasi_identifiers=["age"])
    with pytest.raises(UnsupportedError, match="smallest"):
        refinement_attack(pl.DataFrame({"age": ["[20, 29]"]}), quasi_identifiers=["age"], smallest=True)


def test_columns_without_a_condition_are_not_measured() -> None:
    frame = pl.DataFrame({"age": ["[20, 29]"] * 4, "zip": ["476**"] * 4, "at": ["[08:00:00, 09:30:00]"] * 4})
    found = refinement_attack(frame, quasi_identifiers=["age", "zip", "at"], smallest=True)
    assert [one["column"] for one in found["not_measured_columns"]] == ["zip"]
    assert (found.attempts, found.successes) == (8, 4)
    certificate = {"parameters": {"shared_by": 3}}
    found = refinement_attack(frame, quasi_identifiers=["age", "at"], smallest=True, certificate=certificate)
    assert [one["column"] for one in found["not_measured_columns"]] == ["at"]
    assert "not measured" in " ".join(found.sentences()).lower()


def test_ends_that_persons_share_are_no_records_that_share_them() -> None:
    """Persons with several records share ends whatever the models count: of how many records is unknown."""
    frame = pl.DataFrame({"age": ["[20, 29]"] * 4})
    shared = {"persons": 0, "records": 0, "linked_persons": 0, "one_record_each": 3, None: 3}
    for of, known in shared.items():
        certificate = {"requested": [{"model": "l-diversity", "l": 2, "of": of}], "parameters": {"shared_by": 3}}
        table = open_published(frame, {"quasi_identifiers": ["age"], "certificate": certificate}, sensitive=False)
        assert read_smallest(table, None) == (True, known), of


@every("seed", range(150))
def test_classes_that_were_too_small_agree_with_every_table(seed: int) -> None:
    """Local recoding by two nodes: the values of the first, then one column coarser, or both."""
    rng = np.random.default_rng(seed)
    trees = {
        name: shoal.Hierarchy.from_rows([[f"{name}{at}", "*"] for at in range(2 + (name == "b"))]) for name in "ab"
    }
    sizes = [len(tree.labels[0]) for tree in trees.values()]
    k = 3
    rows = [(int(rng.integers(sizes[0])), int(rng.integers(sizes[1]))) for _ in range(int(rng.integers(6, 9)))]
    coarse = [(False, True), (True, False)][int(rng.integers(2))]

    def publish(table: Sequence[tuple[int, int]]) -> list[tuple[object, ...]] | None:
        first = {row for row in table if table.count(row) >= k}
        later = [tuple("*" if wide else value for wide, value in zip(coarse, row, strict=True)) for row in table]
        cells = [row if row in first else cell for row, cell in zip(table, later, strict=True)]
        return cells if all(cells.count(cell) >= k for cell in cells) else None

    cells = publish(rows)
    # Readers know of the first node only if some group was published at it.
    if cells is None or len({"*" in cell for cell in cells}) < 2:
        return
    # Try the values of all records of later groups, with the first ones as they are published.
    hidden = [at for at, cell in enumerate(cells) if "*" in cell]
    place = coarse.index(True)
    tables: list[list[tuple[int, int]]] = []
    for values in itertools.product(range(sizes[place]), repeat=len(hidden)):
        table = list(rows)
        for at, value in zip(hidden, values, strict=True):
            other = cells[at][1 - place]
            table[at] = (value, other) if place == 0 else (other, value)  # type: ignore[assignment]
        if publish(table) == cells:
            tables.append(table)
    known = 0
    for cell in {cells[at] for at in hidden}:
        of = [at for at in hidden if cells[at] == cell]
        counts = [[sum(table[at][place] == value for at in of) for value in range(sizes[place])] for table in tables]
        known += sum(map(min, zip(*counts, strict=True)))
    text = [
        ["*" if value == "*" else f"{name}{value}" for name, value in zip("ab", cell, strict=True)] for cell in cells
    ]
    frame = pl.DataFrame(text, schema=["a", "b"], orient="row")
    found = refinement_attack(frame, quasi_identifiers=["a", "b"], method="local", k=k, hierarchies=trees)
    assert (found.successes, found.baseline.successes, found.attempts) == (known, 0, len(hidden))
    boxes = sizes[place] ** len(hidden)
    if found["method_groups"] == len({cells[at] for at in hidden}):
        assert found["entropy_left"] == pytest.approx(math.log(len(tables)) / math.log(boxes), abs=1e-9)


def test_a_local_recoding_betrays_values_of_small_classes() -> None:
    """Of eight records, at most four of each sex were left when sexes were published: there are four of each."""
    trees = {
        "sex": shoal.Hierarchy.from_rows([["m", "*"], ["f", "*"]]),
        "town": shoal.Hierarchy.from_rows([["a", "*"], ["b", "*"]]),
    }
    frame = pl.DataFrame({"sex": ["*"] * 8 + ["m"] * 5, "town": ["a"] * 8 + ["b"] * 5})
    reading: Any = {"quasi_identifiers": ["sex", "town"], "hierarchies": trees}
    found = refinement_attack(frame, method="local", k=5, **reading)
    assert (found.successes, found.attempts, found["method_groups"]) == (8, 8, 1)
    assert found.control is not None
    assert found.control.successes < 8
    # Were five of them of one sex, they would have been published with it.
    assert refinement_attack(frame[:4], method="local", k=5, **reading).successes == 0


@every("seed", range(12))
def test_shared_ends_of_skewed_values_hold_the_truth(seed: int) -> None:
    """Few records at one value, many at its neighbour: an end may have gone past values that enough records have."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "age": np.minimum(18 + rng.geometric(0.08, 200), 94),
            "debt": rng.geometric(0.2, 200) * rng.choice([-1, 1], 200),
            "born": pl.Series(12_000 - 30 * rng.geometric(0.02, 200) + rng.integers(0, 3, 200)).cast(pl.Date),
        }
    )
    release = shoal.anonymize(
        people, quasi_identifiers=people.columns, k=4, algorithm="hilbert", recoding="generalization", seed=1
    )
    _check_bounds(release, people[release.rows], uncut=False)


def test_a_star_may_hide_values_that_the_column_shows_nowhere() -> None:
    frame = pl.DataFrame({"sex": ["*"] * 6 + ["f"] * 3 + ["m"] * 3})
    reading: Any = {"quasi_identifiers": ["sex"], "smallest": True}
    assert refinement_attack(frame, **reading).successes == 0
    assert refinement_attack(frame, cells={"sex": ["f", "m"]}, **reading).successes == 2
