"""Cells of the lattice of hierarchies: which there are, what they prove by prices, and the groups that follow them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.algorithms.conftest import make_problem
from tests.every import THOROUGH, every, some
from tests.oracles.hierarchies import leaves_below, node_penalty
from tests.oracles.oracles import optimal_partition, predicate_of

from shoal.algorithms import Cluster, Sabre, cluster
from shoal.algorithms.bounds import loss, loss_bound, lower_bound
from shoal.algorithms.cluster import CellStart
from shoal.algorithms.lattice import LatticeCells, anneal_cells, draw_groups_of_rows, price
from shoal.algorithms.lattice import cell_drawing as drawing
from shoal.algorithms.lattice import lattice_cells as listing
from shoal.algorithms.lattice.lattice_cells import COST_UNIT
from shoal.algorithms.lattice.likeness_kernel import Likeness, excess, largest_like
from shoal.algorithms.local_search.groups import WorkingPartition
from shoal.hierarchy import Hierarchy
from shoal.models import AlphaKAnonymity, KAnonymity, LDiversity, TCloseness
from shoal.models.ground_distance import OrderedDistance
from shoal.wording import sentence

TOWNS = [(f"{a}{b}", a, "*") for a in "xyz" for b in "1234"]
JOBS = [(f"{a}{b}{c}", f"{a}{b}", a, "*") for a in "uv" for b in "12" for c in "pqr"]
SEXES = [("f", "*"), ("m", "*")]
PATHS = [TOWNS, JOBS, SEXES]
TREES = {f"q{j}": Hierarchy.from_rows(paths) for j, paths in enumerate(PATHS)}
REQUESTS = [
    [KAnonymity(2)],
    [KAnonymity(3)],
    [LDiversity(3, variant="distinct")],
    [LDiversity(2), KAnonymity(3)],
    [AlphaKAnonymity(0.6, 2)],
]


def problem(columns, values, privacy, trees=TREES):
    return make_problem(columns, [values], privacy, trees)


def random_table(seed, rows):
    """Columns with values that are often, or seldom, alike; some are missing in every third table."""
    rng = np.random.default_rng(seed)
    columns = []
    for paths in PATHS:
        spread = rng.integers(2, len(paths) + 1)
        columns.append([paths[v][0] for v in np.minimum(rng.geometric(1.5 / spread, rows) - 1, len(paths) - 1)])
    if seed % 3 == 0:
        columns[seed % 2][0] = None
    return columns, [f"s{v}" for v in rng.integers(0, 4, rows)]


def lost_by(group, domains):
    """What a group loses, by definition: the values below the common ancestor over those of the table."""
    return sum(map(node_penalty, zip(*group, strict=True), PATHS, domains))


def optimum_of(columns, values, privacy):
    domains = [set(column) for column in columns]
    predicates = [predicate_of(model, values) for model in privacy]
    found = optimal_partition(
        list(zip(*columns, strict=True)),
        values,
        lambda group: all(holds(group) for holds in predicates),
        lambda group: len(group) * lost_by(group, domains),
    )
    return None if found is None else float(found[0])


def test_prices_never_prove_more_than_the_optimum(monkeypatch):
    compared, proven, lost = 0, 0.0, 0.0
    for seed in some(range(300)):
        columns, values = random_table(seed, 7)
        privacy = REQUESTS[seed % len(REQUESTS)]
        optimum = optimum_of(columns, values, privacy)
        if optimum is None:
            continue
        compared += 1
        asked = problem(columns, values, privacy)
        monkeypatch.setattr(listing, "_DEAREST", ((3.0,), (1.0,), (0.4,))[seed % 3])
        cells = LatticeCells.of(asked, asked.requirement.k or 1)
        for work in (1, 10_000):
            assert price(cells, work=work).bound <= optimum + 1e-9
        stars = lower_bound(asked.table, asked.requirement, target=10**9)
        bound = loss_bound(asked, stars).gcp * 21
        assert bound <= optimum + 1e-9
        if seed % 3 == 0:
            proven, lost = proven + bound, lost + optimum
    assert compared >= (250 if THOROUGH else 20)
    assert proven >= (0.7 if THOROUGH else 0.4) * lost


def test_prices_prove_all_of_a_group_that_nothing_can_replace():
    # Two classes of one row each have to meet.
    columns, values = [["x1", "x2"], ["u1p", "u1p"], ["f", "f"]], ["a", "b"]
    cells = LatticeCells.of(problem(columns, values, KAnonymity(2)), 2)
    optimum = optimum_of(columns, values, [KAnonymity(2)])
    assert optimum * (1 - 1e-4) < price(cells).bound <= optimum


def test_all_cells_with_enough_rows_by_definition():
    columns, values = random_table(4, 40)
    cells = LatticeCells.of(problem(columns, values, KAnonymity(3)), 3)
    rows = list(zip(*columns, strict=True))
    kinds = sorted(set(rows), key=lambda row: tuple(value or "~" for value in row))
    domains = [set(column) for column in columns]
    cheapest = {}
    for levels in product(range(3), range(4), range(2)):
        below = {}
        for row in rows:
            node = tuple(
                next(path for path in paths if path[0] == value)[level]
                for value, paths, level in zip(row, PATHS, levels, strict=True)
            )
            below.setdefault((levels, node), []).append(row)
        for (of_levels, node), members in below.items():
            if len(members) < 3:
                continue
            cost = 0.0
            for name, level, paths, domain in zip(node, of_levels, PATHS, domains, strict=True):
                leaves = [v for v in leaves_below(name, level, paths) if v in domain] if level and name != "*" else []
                cost += 1.0 if level and name == "*" else max(len(leaves) - 1, 0) / max(len(domain) - 1, 1)
            key = frozenset(members)
            cheapest[key] = min(cheapest.get(key, 9.0), cost)
    numbered = {}
    asked = problem(columns, values, KAnonymity(3))
    classes = asked.table.classes
    for place, row in enumerate(classes.first_rows[classes.class_starts[:-1]].tolist()):
        numbered[place] = rows[row]
    listed = {
        frozenset(numbered[i] for i in cells.members[begin:end].tolist()): cost / COST_UNIT
        for begin, end, cost in zip(cells.starts[:-1], cells.starts[1:], cells.costs.tolist(), strict=True)
    }
    assert len(kinds) == len(numbered)
    assert len(listed) == len(cells)
    assert listed.keys() == cheapest.keys()
    assert all(cost == pytest.approx(cheapest[key], abs=2 / COST_UNIT) for key, cost in listed.items())


def test_none_without_all_hierarchies_or_work():
    columns, values = random_table(1, 30)
    assert LatticeCells.of(problem(columns, values, KAnonymity(2)), 2) is not None
    assert LatticeCells.of(problem(columns, values, KAnonymity(2)), 2, work=1) is None
    some = {name: tree for name, tree in TREES.items() if name != "q1"}
    assert LatticeCells.of(problem(columns, values, KAnonymity(2), some), 2) is None


def test_rows_follow_cells_that_they_fit_with_enough_others():
    columns, values = random_table(8, 400)
    asked = problem(columns, values, KAnonymity(4))
    cells = LatticeCells.of(asked, 4)
    priced = price(cells)
    followed = anneal_cells(cells, priced, steps=200_000)
    kinds = np.repeat(np.arange(len(cells.sizes)), cells.sizes)
    pairs = set(zip(cells.of_pairs.tolist(), cells.members.tolist(), strict=True))
    assert all((cell, kind) in pairs for cell, kind in zip(followed.tolist(), kinds.tolist(), strict=True) if cell >= 0)
    assert np.bincount(followed[followed >= 0])[np.unique(followed[followed >= 0])].min() >= 4
    assert (followed >= 0).mean() > 0.9
    assert np.array_equal(followed, anneal_cells(cells, priced, steps=200_000))


@every("effort", [1, 10, 50], drawn=True)
@every("privacy", [[KAnonymity(5)], [LDiversity(3, variant="distinct"), KAnonymity(5)]])
def test_never_more_is_lost_than_without_cells(privacy, effort, monkeypatch):
    monkeypatch.setattr(cluster, "_MIN_EFFORT_FOR_CELLS", 1)
    helped = 0
    for seed in (1, 2, 4) if THOROUGH else (1,):
        columns, values = random_table(seed, 500)
        asked = problem(columns, values, privacy)
        with_cells = Cluster(effort=effort).partition(asked)
        with monkeypatch.context() as without:
            without.setattr(CellStart, "of", classmethod(lambda cls, *_: None))
            usual = Cluster(effort=effort).partition(asked)
        assert with_cells.details["loss"] <= usual.details["loss"] + 1e-12
        assert with_cells.guarantee.loss_bound <= with_cells.details["loss"] + 1e-12
        assert usual.guarantee.loss_bound is None
        helped += with_cells.details["loss"] < usual.details["loss"]
    assert helped


def test_the_bound_of_a_run_is_taken_rather_than_computed(monkeypatch):
    columns, values = random_table(5, 300)
    asked = problem(columns, values, KAnonymity(5))
    stars = lower_bound(asked.table, asked.requirement, target=10**9)
    monkeypatch.setattr(cluster, "_MIN_EFFORT_FOR_CELLS", 5)
    made = Cluster(effort=5).partition(asked)
    alone = loss_bound(asked, stars)
    monkeypatch.setattr(loss, "price", None)
    taken = loss_bound(asked, stars, made.guarantee)
    assert taken.gcp == made.guarantee.loss_bound
    assert taken.gcp == pytest.approx(alone.gcp, rel=0.05)
    assert "cells of the hierarchies" in sentence(taken.why)


def test_cells_are_for_a_greater_effort():
    columns, values = random_table(6, 100)
    asked = problem(columns, values, KAnonymity(4))
    usual, greater = (Cluster(effort=effort).partition(asked) for effort in (199, 200))
    assert "cells_loss" not in usual.details
    assert usual.guarantee.loss_bound is None
    assert "cells_loss" in greater.details
    assert greater.guarantee.loss_bound > 0


def likeness(rng, values):
    """A table of some rows, and what a group of them must be like."""
    totals = rng.integers(1, 8, values)
    rows, t = int(totals.sum()), Fraction(int(rng.integers(0, 11)), 20)
    per_row = t * rows
    a, b = divmod(per_row.numerator, per_row.denominator)
    return t, Likeness(
        rows=rows, totals=totals.astype(np.int64), a=a, b=b, c=per_row.denominator, smallest=int(rng.integers(1, 4))
    )


def test_the_largest_selection_that_is_like_the_table_by_definition():
    some = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        t, like = likeness(rng, int(rng.integers(1, 5)))
        counts = rng.integers(0, like.totals + 1)
        selected = np.zeros(len(counts), dtype=np.int64)
        found = largest_like(counts, like, selected)
        close = [
            sum(chosen)
            for chosen in product(*(range(count + 1) for count in counts.tolist()))
            if sum(chosen) >= like.smallest
            and sum(
                max(Fraction(c, sum(chosen)) - Fraction(whole, like.rows), 0)
                for c, whole in zip(chosen, like.totals.tolist(), strict=True)
            )
            <= t
        ]
        assert found == max(close, default=0)
        if found:
            assert selected.sum() == found
            assert (selected <= counts).all()
            assert excess(selected, int(found), like) == 0
            some += 1
    assert some > 50


CLOSE = [[TCloseness(0.3)], [TCloseness(0.5), KAnonymity(2)], [TCloseness(0.4), LDiversity(2)], [TCloseness(0)]]


@pytest.mark.parametrize("schedule", [drawing._SCHEDULE, ((0.0, 1.0),)], ids=["usual", "rows go anywhere"])
def test_drawn_groups_are_acceptable_and_never_below_the_optimum(schedule, monkeypatch):
    monkeypatch.setattr(drawing, "_SCHEDULE", schedule)
    optimal = 0
    for seed in some(range(160)):
        columns, values = random_table(seed, 7 if seed % 2 else 30)
        privacy = CLOSE[seed // 2 % len(CLOSE)]
        predicates = [predicate_of(model, values) for model in privacy]
        asked = problem(columns, values, privacy)
        groups = draw_groups_of_rows(asked, 2_000)
        if groups is None:  # LDiversity of the whole table
            assert not all(holds(values) for holds in predicates)
            continue
        members = [np.flatnonzero(groups == group).tolist() for group in range(int(groups.max()) + 1)]
        assert sorted(row for group in members for row in group) == list(range(len(values)))
        assert all(holds([values[row] for row in group]) for group in members for holds in predicates)
        if seed % 2:
            rows, domains = list(zip(*columns, strict=True)), [set(column) for column in columns]
            lost = float(sum(len(group) * lost_by([rows[row] for row in group], domains) for group in members))
            optimum = optimum_of(columns, values, privacy)
            assert lost >= optimum - 1e-9
            optimal += lost < optimum + 1e-9
    assert optimal > 20 or schedule != drawing._SCHEDULE or not THOROUGH


def test_drawn_groups_do_not_depend_on_the_order_of_the_rows():
    columns, values = random_table(7, 500)
    shuffled = np.random.default_rng(3).permutation(500)

    def published(of_columns, of_values):
        groups = draw_groups_of_rows(problem(of_columns, of_values, TCloseness(0.2)), 20_000)
        rows = list(zip(*of_columns, of_values, strict=True))
        return sorted(sorted(map(repr, np.array(rows, dtype=object)[groups == group])) for group in set(groups))

    again = [[column[row] for row in shuffled] for column in columns]
    assert published(columns, values) == published(again, [values[row] for row in shuffled])


def test_moves_between_drawn_groups_lose_less():
    columns, values = random_table(5, 3_000)
    asked = problem(columns, values, TCloseness(0.15))
    work = WorkingPartition(asked)
    losses = [work.set_groups_of_rows(draw_groups_of_rows(asked, moves)) for moves in (0, 300_000)]
    assert losses[1] < 0.98 * losses[0]


def test_no_groups_are_drawn_where_closeness_or_cells_are_missing():
    columns, values = random_table(1, 60)
    assert draw_groups_of_rows(problem(columns, values, TCloseness(0.2)), 100) is not None
    some = {name: tree for name, tree in TREES.items() if name != "q1"}
    assert draw_groups_of_rows(problem(columns, values, TCloseness(0.2), some), 100) is None
    assert draw_groups_of_rows(problem(columns, values, KAnonymity(3)), 100) is None
    ordered = TCloseness(0.2, distance=OrderedDistance(order=["s0", "s1", "s2", "s3"]))
    assert draw_groups_of_rows(problem(columns, values, ordered), 100) is None
    assert draw_groups_of_rows(problem(columns, values, [TCloseness(0.2), TCloseness(0.3)]), 100) is None


def test_lattices_of_many_vectors_are_sampled(monkeypatch):
    columns, values = random_table(2, 200)
    asked = problem(columns, values, TCloseness(0.2))
    monkeypatch.setattr(drawing, "_ENUMERATED", 10)
    monkeypatch.setattr(drawing, "_WORK", 0)
    monkeypatch.setattr(drawing, "_FEWEST_VECTORS", 5)
    groups = draw_groups_of_rows(asked, 1_000)
    told = np.array(values)
    assert all(predicate_of(TCloseness(0.2), values)(told[groups == g].tolist()) for g in set(groups))
    assert len(set(groups)) > 1


@every(("rows", "share"), [(400, 0.8), (6_000, 0.5)], drawn=True)
def test_less_is_lost_than_by_sabre(rows, share):
    columns, values = random_table(4, rows)
    asked = problem(columns, values, TCloseness(0.05))
    made = Cluster().partition(asked)
    assert made.details["started_from"] == "drawing"
    assert made.details["loss"] < share * Sabre().partition(asked).details["loss"]


@every("effort", [1, 20], drawn=True)
def test_never_more_is_lost_than_without_drawing(effort, monkeypatch):
    for seed, rows in some(((0, 150), (1, 150), (2, 150), (3, 6_000)), least=2):
        columns, values = random_table(seed, rows)
        asked = problem(columns, values, TCloseness(0.25))
        made = Cluster(effort=effort).partition(asked)
        with monkeypatch.context() as without:
            without.setattr(cluster, "draw_groups_of_rows", lambda *_: None)
            usual = Cluster(effort=effort).partition(asked)
        assert made.details["loss"] <= usual.details["loss"] + 1e-12
