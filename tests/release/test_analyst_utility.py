"""What analysts lose: each measure against another package or a calculation by hand."""

import numpy as np
import polars as pl
import pytest

import shoal

ROLES = {"quasi_identifiers": ["age", "town"], "sensitive": "pay"}


def draw(rows=300, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 35, rows)
    town = rng.choice(["A", "B", "C"], rows)
    return pl.DataFrame({"age": age, "town": town, "pay": age * 3 + (town == "B") * 9 + rng.integers(0, 30, rows)})


@pytest.fixture(scope="module")
def release():
    return shoal.anonymize(
        draw(), **ROLES, k=20, recoding="generalization", algorithm="mondrian", exact_ends=True, seed=1
    )


def test_a_table_that_is_its_own_release_loses_nothing():
    table = pl.concat([draw(60)] * 3)
    same = shoal.anonymize(table, **ROLES, k=2, seed=1).utility()
    assert {one.name: one.value for one in same.measures} == pytest.approx(
        {one.name: one.best for one in same.measures}, abs=1e-9
    )


def test_margins_and_marginals_by_hand():
    # Ages 30 and 31 are published as one interval, of which each age is half.
    table = pl.DataFrame({"age": [30, 30, 30, 31, 40, 40, 40, 40], "town": ["A"] * 8, "pay": [1, 2] * 4})
    found = shoal.anonymize(
        table, **ROLES, k=4, recoding="generalization", algorithm="mondrian", exact_ends=True, seed=1
    ).utility()
    assert found.margins == {"age": pytest.approx(1 / 8), "town": 0.0}
    # Pairs: age and town differ by 1/8; age and pay: (2,1), (1,1)... become (1,1), (1,1); town and pay are the same.
    before = np.array([[2, 1], [0, 1]]) / 8
    after = np.array([[1, 1], [1, 1]]) / 8
    pair = np.abs(before - after).sum() / 2
    assert found["marginals"] == pytest.approx(1000 * (1 - (1 / 8 + pair + 0) / 3))


@pytest.mark.drawn
def test_the_propensity_score_is_that_of_statsmodels(release):
    api = pytest.importorskip("statsmodels.api")
    from shoal.release.analysis.expected_columns import columns_of

    halves = columns_of(release.metrics)
    counts = np.tile(halves[0][0].counts, 2)
    design = np.vstack([np.hstack([one.memberships[one.labels, 1:] for one in half]) for half in halves])
    released = np.repeat([0, 1], len(design) // 2)
    model = api.GLM(released, api.add_constant(design), family=api.families.Binomial(), freq_weights=counts).fit()
    error = float(counts @ (model.predict() - 0.5) ** 2 / counts.sum())
    found = release.utility()
    assert found["pmse"] == pytest.approx(error, rel=1e-6, abs=1e-12)
    assert found["pmse_ratio"] == pytest.approx(error / (design.shape[1] / 8 / counts.sum()), rel=1e-6)


def test_the_regression_is_that_of_statsmodels(release):
    api = pytest.importorskip("statsmodels.api")
    from shoal.release.analysis.analyst_utility import _overlap, _regression
    from shoal.release.analysis.expected_columns import columns_of

    before, _ = columns_of(release.metrics)
    table = draw()
    design = np.column_stack([table["age"], table["town"] == "B", table["town"] == "C"]).astype(float)
    fitted = api.OLS(table["pay"].to_numpy(), api.add_constant(design)).fit()
    reach = 1.959963984540054 * fitted.bse[1:]
    intervals = _regression(before, 2)
    assert np.array(intervals) == pytest.approx(np.column_stack([fitted.params[1:] - reach, fitted.params[1:] + reach]))
    # Half of one interval and a quarter of the other are common.
    assert _overlap((0, 2), (1, 5)) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert _overlap((0, 1), (2, 3)) == -1


def test_correlations_are_those_of_numpy_before(release):
    from shoal.release.analysis.analyst_utility import _correlation
    from shoal.release.analysis.expected_columns import columns_of

    before, after = columns_of(release.metrics)
    table = draw()
    whole = np.corrcoef(table["age"], table["pay"])[0, 1]
    assert _correlation(before[0], before[2]) == pytest.approx(whole)
    # Cells that stand for several ages make the correlation weaker.
    assert 0 < _correlation(after[0], after[2]) < whole
    assert release.utility()["correlations"] == pytest.approx(whole - _correlation(after[0], after[2]))


def test_what_a_measure_cannot_use_it_says():
    table = pl.DataFrame({"town": ["A", "B"] * 6, "ill": ["flu", "cough", "flu"] * 4})
    found = shoal.anonymize(table, quasi_identifiers=["town"], sensitive="ill", k=3, seed=1).utility()
    reasons = {one.name: one.reason for one in found.measures}
    assert "numbers" in reasons["correlations"]
    assert "numbers" in reasons["overlap"]
    assert found["overlap"] is None
    assert "overlap" not in repr(found)
    assert "What analysts lose" in found._repr_html_()
    assert set(found.to_dict()) == {"measures", "margins", "overlaps"}


@pytest.mark.drawn
def test_comparisons_measure_what_analysts_lose_if_asked():
    options = {**ROLES, "k": 20, "algorithms": ["mondrian", "hilbert"], "recoding": "generalization"}
    found = shoal.explore(draw(), **options, utility=True)
    assert all(row.utility["pmse"] >= 0 for row in found.rows)
    assert len(found.columns()["marginals"]) == 2
    assert shoal.explore(draw(), **options).rows[0].utility is None
