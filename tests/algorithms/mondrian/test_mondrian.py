from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.conftest import make_problem as problem
from tests.oracles.invariants import check_partition
from tests.oracles.mondrian import SlowMondrian, SlowTreeMondrian
from tests.oracles.oracles import predicate_of
from tests.oracles.strategies import code_tables, hierarchy_rows, requirements

from shoal.algorithms.mondrian.mondrian import Mondrian
from shoal.hierarchy import Hierarchy
from shoal.models import KAnonymity, LDiversity

BOTH = [Mondrian(), Mondrian(relaxed=True)]


def columns_of(codes, as_text):
    """The quasi-identifiers as numbers, or as text with the same order."""
    columns = codes.quasi_identifiers.T.tolist()
    return [
        list(map(chr, [97 + c for c in column])) if text else column
        for column, text in zip(columns, as_text, strict=True)
    ]


def bags(rows, groups):
    """The partition without row numbers: how often each group occurs, as a bag of rows."""
    return Counter(tuple(sorted(rows[row] for row in group)) for group in groups)


def test_the_papers_patients():
    # LeFevre, DeWitt, Ramakrishnan, Figures 1 and 5: six patients, k = 2; cut on sex, then the men on age.
    sex = ["Male", "Female", "Male", "Male", "Female", "Male"]
    age = [25, 25, 26, 27, 27, 28]
    zip_code = [53711, 53712, 53711, 53710, 53712, 53711]
    result = Mondrian().partition(problem([sex, age, zip_code], [], KAnonymity(2)))
    groups = check_partition(result, rows=6)
    assert sorted(groups) == [[0, 2], [1, 4], [3, 5]]
    assert result.details == {"cuts": 2, "largest_group": 2}
    assert result.guarantee.stars_ratio is None


@settings(max_examples=200, deadline=None)
@given(st.data())
@pytest.mark.parametrize("relaxed", [False, True])
def test_same_groups_as_plain_python(relaxed, data):
    codes = data.draw(code_tables(max_rows=25, max_domain=6))
    text = [data.draw(st.booleans()) for _ in range(codes.quasi_identifiers.shape[1])]
    privacy = data.draw(requirements(codes))
    predicates = [predicate_of(model, codes.values) for model in privacy]
    rows = [(*row, value) for row, value in zip(codes.rows, codes.values, strict=True)]
    slow = SlowMondrian(rows, text, lambda part: all(p([row[-1] for row in part]) for p in predicates), relaxed)
    result = Mondrian(relaxed=relaxed).partition(problem(columns_of(codes, text), [codes.values], privacy))
    groups = check_partition(result, rows=len(rows), sensitive=[codes.values], predicates=predicates)
    assert bags(rows, groups) == Counter(tuple(sorted(group)) for group in slow.run())


@settings(max_examples=200, deadline=None)
@given(code_tables(max_rows=40, max_domain=6), st.integers(1, 6))
def test_relaxed_groups_stay_below_twice_k_and_strict_ones_keep_equal_rows_together(codes, k):
    assume(len(codes.values) >= k)
    asked = problem(codes.quasi_identifiers.T.tolist(), [], KAnonymity(k))
    relaxed = Mondrian(relaxed=True).partition(asked)
    assert k <= np.bincount(relaxed.groups).min()
    assert np.bincount(relaxed.groups).max() <= 2 * k - 1
    strict = Mondrian().partition(asked)
    home = {}
    for row, group in zip(codes.rows, strict.groups.tolist(), strict=True):
        assert home.setdefault(row, group) == group


@st.composite
def tables_with_trees(draw):
    """Columns of text, numbers or values of a hierarchy, some missing; and what the oracle wants to know of them."""
    codes = draw(code_tables(max_rows=25, max_domain=8))
    columns, trees, paths, text, rows = [], {}, [], [], []
    for a, column in enumerate(codes.quasi_identifiers.T.tolist()):
        kind = draw(st.sampled_from(["tree", "tree", "text", "number"]))
        names = [f"value {code}" for code in range(max(column) + 1)]
        values = [names[code] for code in column] if kind != "number" else column
        if kind == "tree":
            drawn = {row[0]: row for row in draw(hierarchy_rows(names))}
            trees[f"q{a}"] = Hierarchy.from_rows(list(drawn.values()))
            absent = draw(st.sampled_from([None, None, *names[: len(names) // 2]]))
            values = [None if value == absent else value for value in values]
            names = [name for name in names if name != absent]
            paths.append([drawn[name] for name in names] + [None])
            rows.append([len(names) if value is None else names.index(value) for value in values])
        else:
            paths.append(None)
            rows.append(column)
        columns.append(values)
        text.append(kind == "text")
    return (
        codes,
        columns,
        trees,
        {"text": text, "paths": paths},
        [(*row, s) for *row, s in zip(*rows, codes.values, strict=True)],
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
@pytest.mark.parametrize("relaxed", [False, True])
def test_same_groups_as_plain_python_with_hierarchies(relaxed, data):
    codes, columns, trees, known, rows = data.draw(tables_with_trees())
    privacy = data.draw(requirements(codes))
    predicates = [predicate_of(model, codes.values) for model in privacy]
    asked = problem(columns, [codes.values], privacy, trees)
    result = Mondrian(relaxed=relaxed).partition(asked)
    groups = check_partition(result, rows=len(rows), sensitive=[codes.values], predicates=predicates)

    def acceptable(part):
        return all(p([row[-1] for row in part]) for p in predicates)

    slow = (
        SlowTreeMondrian(rows, acceptable=acceptable, relaxed=relaxed, **known)
        if trees
        else SlowMondrian(rows, known["text"], acceptable, relaxed)
    )
    assert bags(rows, groups) == Counter(tuple(sorted(group)) for group in slow.run())


def test_a_missing_value_is_far_from_every_number():
    # The span of the first attribute is that of the numbers until the missing values are apart.
    first = [1, 2, 3, None, None, 2, 3, 1]
    result = Mondrian().partition(problem([first], [], KAnonymity(2)))
    groups = check_partition(result, rows=8)
    assert [3, 4] in groups


def test_numbers_count_by_size_and_text_by_its_values():
    # Once 100 is apart, the numbers 1 to 4 span little and the word is cut; as text they are four of five values, and
    # the word has two of four.
    number = [1, 2, 3, 4] * 2 + [100] * 8
    words = list("aaaabbbbccccdddd")
    hundreds = [[8, 9, 10, 11], [12, 13, 14, 15]]
    as_numbers = Mondrian().partition(problem([number, words], [], KAnonymity(4)))
    assert sorted(check_partition(as_numbers, rows=16)) == [[0, 1, 2, 3], [4, 5, 6, 7], *hundreds]
    as_text = Mondrian().partition(problem([[f"{v:3}" for v in number], words], [], KAnonymity(4)))
    assert sorted(check_partition(as_text, rows=16)) == [[0, 1, 4, 5], [2, 3, 6, 7], *hundreds]


def test_equal_rows_are_one_group_strictly_and_many_relaxed():
    asked = problem([[5] * 12, ["x"] * 12], [list("abc") * 4], LDiversity(3))
    assert Mondrian().partition(asked).count == 1
    relaxed = Mondrian(relaxed=True).partition(asked)
    assert relaxed.count > 1
    predicates = [predicate_of(LDiversity(3), list("abc") * 4)]
    check_partition(relaxed, rows=12, sensitive=[list("abc") * 4], predicates=predicates)


@pytest.mark.parametrize("algorithm", BOTH)
def test_a_sensitive_attribute_of_many_values(algorithm):
    # Counting over all values at each of 25,000 cuts would take minutes.
    n = 50_000
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 90, n).tolist(), rng.integers(0, 1000, n).tolist()]
    result = algorithm.partition(problem(columns, [rng.permutation(n).tolist()], LDiversity(2)))
    assert np.bincount(result.groups).min() >= 2
    assert result.count > 10_000


def test_progress_rises_to_the_end(monkeypatch):
    monkeypatch.setattr("shoal.algorithms.mondrian.mondrian._RECORDS_PER_CALL", 50)
    told = []
    column = np.random.default_rng(2).integers(0, 40, 500).tolist()
    plain = Mondrian().partition(problem([column], [], KAnonymity(5), progress=lambda *call: told.append(call)))
    done = [call[1] for call in told]
    assert len(told) > 5
    assert done == sorted(done)
    assert told[-1] == ("mondrian", 500, 500)

    monkeypatch.setattr("shoal.algorithms.mondrian.mondrian._RECORDS_PER_CALL", 10**9)
    whole = Mondrian().partition(problem([column], [], KAnonymity(5)))
    assert (whole.groups == plain.groups).all()


@pytest.mark.parametrize("algorithm", BOTH)
def test_numbers_of_extreme_size(algorithm):
    # Their difference is no finite float; the ten whole numbers are one float.
    far = [-1.7e308, 1.7e308, -1.7e308, 1.7e308, 0.0, None, None, 0.0, 1.0, 1.0]
    near = [10**18 + j for j in range(10)]
    result = algorithm.partition(problem([far, near, [None] * 9 + [1.0]], [], KAnonymity(2)))
    assert np.bincount(result.groups).max() <= 3
