"""Linked rows: numbers of rows, value sets, and joining of bundles, against their definitions."""

from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.linked import bundles_of, fewest_left_out, is_linked_safe, largest_share

from shoal.algorithms import Cluster, Hilbert, Mondrian, ThreePhase
from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.bundles.joining_kernel import NearPersons, PersonValues, failing_bundles, join_round
from shoal.algorithms.bundles.linking import _members, group_linked_rows, least_persons, share_limits
from shoal.algorithms.bundles.strata import ShareLimits, ValueSets, choose_strata, published_lengths
from shoal.errors import InfeasibleError, ReleaseUnsafeError
from shoal.models import BetaLikeness, GroupModel, KAnonymity, LDiversity, TCloseness
from shoal.models.counting import LinkedPersons
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode
from shoal.verification import MeasuredTable
from shoal.verification.linked_rows import find_bundles


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(1, 4))
def test_lengths_leave_out_the_fewest_rows(lengths: list[int], least: int) -> None:
    if len(lengths) < least:
        return
    published = published_lengths(np.array(lengths), least)
    assert (published <= lengths).all()
    assert (published >= 1).all()
    assert np.unique(published, return_counts=True)[1].min() >= least
    assert sum(lengths) - published.sum() == fewest_left_out(lengths, least)


def test_lengths_are_cut_where_numbers_jump() -> None:
    assert published_lengths(np.array([9, 2, 2, 9, 8, 3]), 3).tolist() == [8, 2, 2, 8, 8, 2]


def test_value_sets_hold_each_value_of_a_unit_once() -> None:
    units = np.array([0, 0, 1, 1, 2])
    sets = ValueSets.of(3, [(units, np.array([1, 1, 0, 1, 2]), 3), (units, np.array([0, 1, 0, 0, 0]), 2)])
    assert sets.starts.tolist() == [0, 3, 6, 8]
    assert sets.values.tolist() == [1, 3, 4, 0, 1, 3, 2, 3]
    assert sets.counts().tolist() == [1, 2, 1, 3, 1]
    assert [one.tolist() for one in sets.most_common()] == [[1, 1, 2], [0, 0, 0]]
    chosen = sets.select(np.array([2, 0]))
    assert chosen.starts.tolist() == [0, 2, 5]
    assert chosen.values.tolist() == [2, 3, 1, 3, 4]


def test_limits_are_exact() -> None:
    third = ShareLimits.of(2, [Fraction(1, 3)], persons=10)
    assert not len(third.exceeded(np.array([3]), 9))
    assert third.exceeded(np.array([3]), 8).tolist() == [0]
    low = ShareLimits.of(2, [Fraction(1)], persons=10, lowest=[Fraction(1, 4)])
    assert not len(low.exceeded(np.array([2]), 8))
    assert low.exceeded(np.array([1]), 8).tolist() == [0]


ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.tuples(st.integers(0, 1), st.sampled_from(["a", None])), st.sampled_from("xyz")),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 0.5, 0.25]), st.sampled_from([None, 0.5, 1]))
def test_verification_agrees_with_the_definition(rows, k: int, l: int, t: float, beta: float | None) -> None:  # type: ignore[no-untyped-def]
    frame = pl.DataFrame(
        {
            "person": [unit for unit, _, _ in rows],
            "age": [known[0] for _, known, _ in rows],
            "*": pl.Series([known[1] for _, known, _ in rows], dtype=pl.String),
            "disease": [value for _, _, value in rows],
        }
    )
    roles = {"pseudonym": "person", "quasi_identifiers": ["age", "*"], "sensitive": ["disease"]}
    found = find_bundles(frame, **roles)  # type: ignore[arg-type]
    bundles = bundles_of(rows)
    assert (found.persons, found.bundles, found.k) == (
        len({unit for unit, _, _ in rows}), len(bundles), min(map(len, bundles)),
    )  # fmt: skip
    assert found.largest_share("disease") == largest_share(rows)
    models = [KAnonymity(k), LDiversity(l), TCloseness(t), *([] if beta is None else [BetaLikeness(beta)])]
    safe = is_linked_safe(rows, k, l, Fraction(t), None if beta is None else Fraction(beta))
    assert bool(found.failures(models)) != safe


def test_verification_measures_distances_from_all_units() -> None:
    frame = pl.DataFrame(
        {"person": [1, 2, 3, 4], "age": [1, 1, 2, 2], "disease": ["x", "y", "x", "x"]},
    )
    found = find_bundles(frame, pseudonym="person", quasi_identifiers=["age"], sensitive=["disease"])
    # y: 1/2 of the first bundle and none of the second, 1/4 of all.
    assert found.largest_difference("disease") == Fraction(1, 4)
    assert found.failures([TCloseness(0.25), BetaLikeness(1)]) == ()
    for model in TCloseness(0.2), BetaLikeness(0.9), TCloseness(0.9, distance="ordered"):
        asked = Requirement.of(model, ["disease"], LinkedPersons(kinds=(("person",),)))
        whose = {"pseudonym": "person", "owners": frame.select("person")}
        with pytest.raises(ReleaseUnsafeError, match="The bundles"):
            MeasuredTable(frame, ["age"], ["disease"], asked, **whose).verify(frame.columns)


def _linked(seed: int, units: int) -> pl.DataFrame:
    """Draw persons with one to four rows; ages and genders are constant within a person."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 5, units)
    person = np.repeat(np.arange(units), rows)
    return pl.DataFrame(
        {
            "person": person,
            "age": rng.integers(20, 40, units)[person],
            "gender": rng.choice(["f", "m"], units)[person],
            "ward": rng.choice(["a", "b", "c"], len(person)),
            "disease": rng.choice(list("pqrstuvwxyz"), len(person)),
        }
    )


@every("seed", range(6))
@every("algorithm", [Mondrian(), Cluster(), ThreePhase(), Hilbert()], drawn=True)
@every(
    ("k", "l", "t", "beta"),
    [(2, 1, "1", None), (3, 3, "1", None), (1, 4, "1", None), (2, 1, "0.2", None), (2, 1, "1", "1.5")],
)
def test_groups_of_linked_rows_make_safe_bundles(
    seed: int, algorithm: Algorithm, k: int, l: int, t: str, beta: str | None
) -> None:
    frame = _linked(seed, 40)
    schema = Schema(quasi_identifiers=("age", "gender", "ward"), sensitive=("disease",), direct_identifiers=("person",))
    table = encode(frame, schema)
    models: list[GroupModel] = [KAnonymity(k), LDiversity(l)]
    models += [TCloseness(float(t))] * (t != "1")
    gain = None if beta is None else Fraction(beta)
    models += [] if gain is None else [BetaLikeness(gain)]
    units = frame["person"].to_numpy()
    positions = frame.select(pl.int_range(pl.len()).over("person")).to_series().to_numpy()
    columns = [(np.arange(table.rows), column.codes.astype(np.int64), column.size) for column in table.sensitive]
    strata = choose_strata(units, positions, columns, partial(share_limits, models), least_persons(models))
    rows = np.flatnonzero(strata.kept)
    kept = table.entries(rows, None)
    problem = Problem(
        table=kept, requirement=Requirement.of(models, ["disease"]), rng=np.random.default_rng(0),
        recoding="suppression",
    )  # fmt: skip
    found = group_linked_rows(problem, units[rows], positions[rows], strata, algorithm)
    found.check(kept)
    group = pl.Series("group", found.groups)
    published = (
        frame[rows]
        .with_columns(group, pl.col("age").cast(pl.String))
        .with_columns(
            pl.when(pl.col(name).n_unique().over("group") == 1).then(pl.col(name)).otherwise(pl.lit("*")).alias(name)
            for name in ("age", "gender", "ward")
        )
    )
    cells = published.select("person", "age", "gender", "ward", "disease").rows()
    rows_shown = [(unit, (age, gender, ward), value) for unit, age, gender, ward, value in cells]
    assert is_linked_safe(rows_shown, k, l, Fraction(t), gain)


def test_too_few_units_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="2 persons"):
        choose_strata(np.array([0, 1]), np.array([0, 0]), [], partial(share_limits, [KAnonymity(3)]), 3)


def test_a_value_of_too_many_units_is_refused() -> None:
    codes = np.array([0, 0, 0, 1])
    limits = partial(share_limits, [LDiversity(2)])
    with pytest.raises(InfeasibleError, match="too frequent"):
        choose_strata(np.arange(4), np.zeros(4, dtype=np.int64), [(np.arange(4), codes, 2)], limits, 2)


def test_units_publish_fewer_rows_if_a_stratum_cannot_hide_its_values() -> None:
    # The two persons with two rows share the value 0 in their second rows.
    units = np.array([0, 0, 1, 1, 2, 3])
    positions = np.array([0, 1, 0, 1, 0, 0])
    codes = np.array([1, 0, 2, 0, 3, 4])
    found = choose_strata(units, positions, [(np.arange(6), codes, 5)], partial(share_limits, [LDiversity(2)]), 2)
    assert found.lengths.tolist() == [1, 1, 1, 1]
    assert found.fewest_left_out == 0
    assert int(np.count_nonzero(~found.kept)) == 2


def test_a_round_of_joining_may_pause_after_each_bundle() -> None:
    rng = np.random.default_rng(1)
    units, bundles = 60, 20
    near = np.array([[(one + step) % units for step in (1, 2, 3, -1)] for one in range(units)], dtype=np.int32)
    around = NearPersons(near, np.arange(units, dtype=np.int32), np.arange(units, dtype=np.int32))
    limits = np.tile([1, 2], (4, 1)), np.tile([0, 1], (4, 1))
    held = PersonValues(np.arange(units + 1), rng.choice([0, 0, 0, 1, 2, 3], units).astype(np.int32), *limits)
    ends = []
    for pause in (0, 1 << 20):
        lists = _members(np.repeat(np.arange(bundles), 3).astype(np.int32), bundles)
        fails, touched = np.zeros(bundles, dtype=np.bool_), np.zeros(bundles, dtype=np.bool_)
        before, done, calls = failing_bundles(lists, held, fails), 0, 0
        while done < bundles:
            done = join_round(lists, held, around, fails, touched, done, 12, pause)
            calls += 1
        ends.append((lists.of_persons.tolist(), failing_bundles(lists, held, fails), calls))
        assert ends[-1][1] <= before // 2
    assert ends[0][:2] == ends[1][:2]
    assert (ends[0][2] > 1, ends[1][2]) == (True, 1)
