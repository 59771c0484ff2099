"""Risk by counting against every row compared with every other."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import every, few
from tests.oracles import disclosure_risk as oracle

from shoal.disclosure_risk import (
    attribute_disclosure,
    count_frequencies,
    delta_presence,
    journalist_risk,
    k_map,
    marketer_risk,
    prosecutor_risk,
    reidentification,
    sample_uniques,
    small_classes,
)
from shoal.disclosure_risk.confidence import most_common
from shoal.disclosure_risk.measure_sentences import describe_attribute_disclosure
from shoal.errors import DataError
from shoal.table import Schema, encode
from shoal.verbs.risk import risk

TENTHS = [Fraction(i, 10) for i in range(1, 11)]


def columns_of(frame):
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers


def random_table(rng):
    rows, columns, values = int(rng.integers(1, 15)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    cells = rng.integers(0, values, (rows, columns)).astype(object)
    cells[rng.random(cells.shape) < 0.1] = None
    return pl.DataFrame({f"q{at}": pl.Series(cells[:, at].tolist(), dtype=pl.Int64) for at in range(columns)})


def test_hundreds_of_random_tables():
    rng = np.random.default_rng(0)
    for _ in range(few(300)):
        frame = random_table(rng)
        rows = frame.rows()
        others = (
            frame.clear().vstack(frame).vstack(frame.sample(int(rng.integers(0, 30)), with_replacement=True, seed=1))
        )
        strangers = random_table(rng).select(pl.first().alias("x")).to_series().to_list()
        more = pl.DataFrame({name: pl.Series(strangers, dtype=pl.Int64) for name in frame.columns})
        population = others.vstack(more).sample(fraction=1, shuffle=True, seed=2)
        threshold = TENTHS[rng.integers(10)]
        found = count_frequencies(columns_of(frame), columns_of(population))
        alone = count_frequencies(columns_of(frame))

        f = oracle.class_sizes(rows)
        assert [int(alone.sample[at]) for at in alone.class_of] == f == [int(found.sample[at]) for at in found.class_of]
        prosecutor = prosecutor_risk(alone.sample, alone.rows_of, threshold)
        assert prosecutor.highest == 1 / min(f)
        assert prosecutor.average == pytest.approx(sum(1 / size for size in f) / len(f), rel=1e-14)
        assert prosecutor.average == len(set(rows)) / len(rows)
        assert prosecutor.records_above == sum(Fraction(1, size) > threshold for size in f) / len(f)
        assert sample_uniques(alone.sample, alone.rows_of) == f.count(1) / len(f)
        k = int(rng.integers(1, 6))
        found_again = reidentification(Counter(alone.sample.tolist()), k=k)
        assert (found_again.highest, found_again.average) == (prosecutor.highest, prosecutor.average)
        limit = Fraction(1, k if k > 1 else 5)
        assert found_again.threshold == float(limit)
        assert found_again.records_above == sum(Fraction(1, size) > limit for size in f) / len(f)
        assert found_again.sample_uniques == f.count(1) / len(f)
        assert small_classes(alone.sample, alone.rows_of, (2, 3)) == {
            k: sum(size < k for size in f) / len(f) for k in (2, 3)
        }

        big = oracle.population_frequencies(rows, population.rows())
        classes = dict(zip(rows, zip(f, big, strict=True), strict=True)).values()
        journalist = journalist_risk(found, threshold)
        assert journalist.highest == 1 / min(big)
        by_people = len(classes) / sum(one for _, one in classes)
        by_rows = sum(1 / one for one in big) / len(big)
        assert journalist.average == pytest.approx(max(by_people, by_rows), rel=1e-14)
        assert journalist.records_above == sum(Fraction(1, one) > threshold for one in big) / len(big)
        assert marketer_risk(found).average == pytest.approx(by_rows, rel=1e-14)
        assert k_map(found, None, Fraction(1, 100)).k == min(big)
        low, high = oracle.delta_presence(rows, population.rows())
        presence = delta_presence(found)
        assert (presence.lowest, presence.highest) == (float(low), float(high))


def test_thresholds_are_decided_without_rounding():
    """1 / 3 is above 0.333..., however many digits it has, and not above 1 / 3."""
    found = count_frequencies(columns_of(pl.DataFrame({"q": [1, 1, 1]})))
    third = Fraction(1, 3)
    for nearly, above in ((third, 0), (third - Fraction(1, 10**40), 1), (third + Fraction(1, 10**40), 0)):
        assert prosecutor_risk(found.sample, found.rows_of, nearly).records_above == above


@pytest.mark.drawn
def test_confidence_in_sensitive_values():
    rng = np.random.default_rng(3)
    for _ in range(200):
        frame = random_table(rng)
        frame = frame.with_columns(s=pl.Series(rng.integers(0, 3, frame.height)))
        names = tuple(frame.columns[:-1])
        table = encode(frame, Schema(quasi_identifiers=names, sensitive=("s",)))
        found = count_frequencies(table.quasi_identifiers)
        threshold = TENTHS[rng.integers(10)]
        figures = attribute_disclosure(most_common(found, table.sensitive[0]), found.sample, found.rows_of, threshold)
        expected = oracle.best_confidence(frame.select(names).rows(), frame["s"].to_list())
        assert figures.highest == float(max(expected))
        assert figures.average == pytest.approx(float(sum(expected) / len(expected)), rel=1e-14)
        assert figures.records_above == sum(one > threshold for one in expected) / len(expected)


def test_a_population_may_have_other_types():
    table = pl.DataFrame({"age": ["34", "35"], "when": ["2020-01-31", "2020-02-29"], "sex": ["True", "False"]})
    people = pl.DataFrame(
        {"age": [35.0, 34.0, 34.0], "when": ["2020-02-29", "2020-01-31", "2020-01-31"], "sex": [False, True, True]}
    ).with_columns(pl.col("when").str.to_date())
    found = count_frequencies(columns_of(table), columns_of(people))
    assert found.population.tolist() == [2, 1]


@every(
    ("people", "message"),
    [
        ({"age": [34], "sex": ["F"]}, "The population has 1 row"),
        ({"age": [34, 34, 36], "sex": ["F", "F", "F"]}, r"1 row\(s\) of the table.*'age' \(1 row"),
        ({"age": [34, 35, 34], "sex": ["M", "M", "M"]}, r"2 row\(s\) of the table.*'sex' \(2 row"),
        ({"age": [34, 35, 35], "sex": ["F", "M", "F"]}, None),
        (
            {"age": [35, 35, 34], "sex": ["F", "F", "M"]},
            r"1 row\(s\) of the table are not in the population, .*all its persons. Give",
        ),
    ],
)
def test_a_population_without_its_people(people, message):
    table = columns_of(pl.DataFrame({"age": [34, 35], "sex": ["F", "F"]}))
    if message is None:
        count_frequencies(table, columns_of(pl.DataFrame(people)))
        return
    with pytest.raises(DataError, match=message):
        count_frequencies(table, columns_of(pl.DataFrame(people)))


def test_many_sensitive_columns_share_one_sentence() -> None:
    names = [f"s{place}" for place in range(6)]
    table = pl.DataFrame({"q": [0, 0, 1, 1], **{name: [0, 1, 0, place % 2] for place, name in enumerate(names)}})
    facts = risk(table, quasi_identifiers=["q"], sensitive=names).to_dict()
    text = describe_attribute_disclosure(facts, facts["attribute_disclosure"])
    assert text is not None
    assert text.count("can be sure of its") == 1
    assert all(name in text for name in names)
