"""What a table achieves: exact, rounded against the publisher, the same for any order and type."""

import math
from collections import Counter, defaultdict
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.models import LDiversity
from shoal.verification import Achieved, MeasuredTable

SMALL = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30)


def framed(rows):
    return pl.DataFrame(rows, schema={"age": pl.Int64, "disease": pl.Int64, "job": pl.Int64}, orient="row")


def down(number):
    return math.floor(number * 10**4) / 10**4


def up(number):
    return math.ceil(number * 10**4) / 10**4


@settings(max_examples=300, deadline=None)
@given(rows=SMALL)
def test_measurements_are_those_of_their_definitions(rows):
    groups = defaultdict(list)
    for age, disease, _ in rows:
        groups[age].append(disease)
    counted = [Counter(group) for group in groups.values()]
    table, n = Counter(row[1] for row in rows), len(rows)
    ratio = min(Fraction(sum(counts.values()), max(counts.values())) for counts in counted)
    distance = max(
        sum(abs(Fraction(counts[v], sum(counts.values())) - Fraction(table[v], n)) for v in table) / 2
        for counts in counted
    )
    found = MeasuredTable(framed(rows), ["age"], ["disease"]).achieved.to_dict()
    entropy = found["l"].pop("entropy")
    assert found == {
        "k": min(map(len, groups.values())),
        "l": {"frequency": down(ratio), "distinct": min(map(len, counted))},
        "t": {"disease": up(distance)},
        "alpha": up(1 / ratio),
        "groups": len(groups),
    }
    # The entropy of every group is at least log of what is stated, and no longer at least log of the next number.
    (counts,) = MeasuredTable(framed(rows), ["age"], ["disease"]).counts
    stated = Fraction(repr(entropy))
    assert LDiversity(stated, variant="entropy").acceptable(counts).all()
    assert not LDiversity(stated + Fraction(1, 10**4), variant="entropy").acceptable(counts).all()


@pytest.mark.drawn
@settings(max_examples=150, deadline=None)
@given(rows=SMALL, seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_types_of_columns_do_not_matter(rows, seed):
    frame = framed(rows)
    shuffled = list(rows)
    seed.shuffle(shuffled)
    asked = (["age"], ["disease", "job"])
    expected = MeasuredTable(frame, *asked).achieved
    assert MeasuredTable(framed(shuffled), *asked).achieved == expected
    text = frame.with_columns(pl.all().cast(pl.String))
    assert MeasuredTable(text, *asked).achieved == expected
    assert MeasuredTable(text.with_columns(pl.all().cast(pl.Categorical)), *asked).achieved == expected
    assert MeasuredTable(frame.cast(pl.Float64), *asked).achieved == expected
    assert MeasuredTable(frame.with_columns(pl.all().replace(2, None)), *asked).achieved == expected


def test_of_several_sensitive_attributes_the_worst_counts_and_t_is_stated_for_each():
    frame = pl.DataFrame(
        {
            "age": ["*"] * 4 + ["30"] * 4,
            "disease": ["flu", "HIV", "flu", "HIV"] * 2,
            "job": ["clerk", "nurse", "cook", "judge", "clerk", "clerk", "clerk", "nurse"],
        }
    )
    assert MeasuredTable(frame, ["age"], ["disease", "job"]).achieved.to_dict() == {
        "k": 4,
        "l": {"frequency": 1.3333, "distinct": 2, "entropy": 1.7547},
        "t": {"disease": 0.0, "job": 0.25},
        "alpha": 0.75,
        "groups": 2,
    }


def test_without_sensitive_attribute_there_are_only_k_and_groups():
    assert MeasuredTable(pl.DataFrame({"age": [1, 1, 2, 2, 2]}), ["age"], []).achieved.to_dict() == {
        "k": 2,
        "groups": 2,
    }


def test_exact_values_stay_and_others_are_rounded_against_the_publisher():
    frame = pl.DataFrame({"disease": ["a", "b", "c"] + ["d"] * 3})
    found = MeasuredTable(frame, [], ["disease"]).achieved
    assert (found.l_frequency, found.alpha) == (2.0, 0.5)
    thirds = MeasuredTable(pl.DataFrame({"disease": list("aabbccd")}), [], ["disease"]).achieved
    assert (thirds.l_frequency, thirds.alpha) == (3.5, 0.2858)
    even = MeasuredTable(pl.DataFrame({"disease": list("abc") * 7}), [], ["disease"]).achieved
    assert (even.l_frequency, even.l_distinct, even.l_entropy, even.alpha) == (3.0, 3, 3.0, 0.3334)


def test_a_distance_just_above_a_rounded_number_is_not_lost():
    # 3 in 10,000 of one group's rows is 0.0003; one row more in the table makes the distance a little different.
    frame = pl.DataFrame({"age": [0] * 10_000 + [1] * 10_000, "disease": [1] * 3 + [0] * 9_997 + [0] * 10_000})
    assert MeasuredTable(frame, ["age"], ["disease"]).achieved.t == {"disease": 0.0002}
    exact = pl.DataFrame({"age": [0] * 10_000 + [1] * 10_000, "disease": [1] * 2 + [0] * 19_998})
    assert MeasuredTable(exact, ["age"], ["disease"]).achieved.t == {"disease": 0.0001}


def test_a_table_without_rows_cannot_be_measured():
    with pytest.raises(DataError, match="The table has no row"):
        _ = MeasuredTable(pl.DataFrame(schema={"age": pl.Int64, "disease": pl.String}), ["age"], ["disease"]).achieved


def test_measuring_changes_nothing_and_measurements_are_values():
    frame = pl.DataFrame({"age": ["1", None], "disease": ["flu", "HIV"]})
    copy = frame.clone()
    assert MeasuredTable(frame, ["age"], ["disease"]).achieved == MeasuredTable(frame, ["age"], ["disease"]).achieved
    assert frame.equals(copy)
    assert frame.schema == copy.schema
    with pytest.raises(AttributeError):
        Achieved(k=1, groups=1).k = 2
