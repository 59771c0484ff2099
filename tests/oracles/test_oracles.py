"""The oracles against examples that were worked out by hand."""

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
    PrivacyModel,
)
from tests.every import every
from tests.oracles import oracles
from tests.oracles.oracles import STAR, Interval
from tests.oracles.strategies import CodeTable, code_tables

HIV, PNEUMONIA, BRONCHITIS, DYSPEPSIA = "HIV", "pneumonia", "bronchitis", "dyspepsia"
HOSPITAL = [
    *[("<30", "M", "Master")] * 2,
    ("<30", "M", "Bachelor"),
    ("[30,50)", "M", "Bachelor"),
    *[("[30,50)", "F", "Bachelor")] * 4,
    *[(">=50", "F", "High school")] * 2,
]
DISEASES = [HIV, HIV, PNEUMONIA, BRONCHITIS, PNEUMONIA, BRONCHITIS, BRONCHITIS, PNEUMONIA, DYSPEPSIA, PNEUMONIA]
PAPERS_GROUPS = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def two_diverse(group: list[str]) -> bool:
    return oracles.frequency_diverse(group, 2)


class TestModels:
    def test_k_anonymity(self) -> None:
        assert oracles.k_anonymous("ab", 2)
        assert not oracles.k_anonymous("ab", 3)

    def test_frequency(self) -> None:
        assert oracles.frequency_diverse("aabbc", Fraction(5, 2))
        assert not oracles.frequency_diverse("aabbc", 3)
        assert oracles.frequency_diverse("abc", 3)

    def test_distinct(self) -> None:
        assert oracles.distinct_diverse("aaaabc", 3)
        assert not oracles.distinct_diverse("aaaabc", 4)

    def test_entropy_at_the_very_bound(self) -> None:
        assert oracles.entropy_diverse("abc", 3)
        assert not oracles.entropy_diverse("abc", Fraction(3) + Fraction(1, 10**30))
        assert not oracles.entropy_diverse("aabc", 3)
        # Two values, 3 and 1 rows: entropy 0.5623 = log 1.7548.
        assert oracles.entropy_diverse("aaab", Fraction("1.7547"))
        assert not oracles.entropy_diverse("aaab", Fraction("1.7549"))

    def test_recursive(self) -> None:
        # Counts 3, 2, 1: r_1 = 3 < c (r_2 + r_3) = 3 c.
        assert not oracles.recursive_diverse("aaabbc", 1, 2)
        assert oracles.recursive_diverse("aaabbc", Fraction(11, 10), 2)
        assert not oracles.recursive_diverse("aaabbc", 3, 3)
        assert not oracles.recursive_diverse("aaabbc", 100, 4)

    def test_alpha_k(self) -> None:
        assert oracles.alpha_k_anonymous("aabb", Fraction(1, 2), 4)
        assert not oracles.alpha_k_anonymous("aabb", Fraction(1, 2), 5)
        assert not oracles.alpha_k_anonymous("aabb", Fraction(49, 100), 4)

    def test_k_e(self) -> None:
        assert oracles.k_e_anonymous([1, None, 5], 3, 4)
        assert not oracles.k_e_anonymous([1, None, 5], 3, Fraction(401, 100))
        assert not oracles.k_e_anonymous([None, None], 1, 0)

    def test_m_uniqueness(self) -> None:
        assert oracles.m_unique("abc", 3)
        assert not oracles.m_unique("abca", 3)
        assert not oracles.m_unique("ab", 3)

    def test_basic_beta(self) -> None:
        # p(a) = 1/4, q(a) = 1/2: the gain is exactly 1.
        assert oracles.basic_beta_like("ab", "abbb", 1)
        assert not oracles.basic_beta_like("ab", "abbb", Fraction(999, 1000))
        assert oracles.basic_beta_like("bb", "abbb", Fraction(1, 3))

    def test_enhanced_beta(self) -> None:
        # -ln(3/4) = 0.2877, and a group of b alone gains 1/3 on p(b) = 3/4; -ln(1/4) = 1.386 allows a's gain of 1.
        assert not oracles.enhanced_beta_like("bb", "abbb", 10)
        assert oracles.enhanced_beta_like("ab", "abbb", 10)
        assert not oracles.enhanced_beta_like("ab", "abbb", Fraction(1, 2))
        assert oracles.enhanced_beta_like("aa", "aaaa", 1)

    def test_delta(self) -> None:
        # q(a) / p(a) = 2: its logarithm to the base 2 is 1, which is not less than 1.
        assert not oracles.delta_disclosure_private("ab", "abbb", 1)
        assert oracles.delta_disclosure_private("ab", "abbb", Fraction(1001, 1000))
        assert not oracles.delta_disclosure_private("bb", "abbb", 100)

    @every(
        ("model", "group", "expected"),
        [
            (KAnonymity(3), "ab", False),
            (KAnonymity(2), "ab", True),
            (LDiversity(2), "aab", False),
            (LDiversity(2, variant="distinct"), "aab", True),
            (LDiversity(1.8, variant="entropy"), "aab", True),
            (LDiversity(1.9, variant="entropy"), "aab", False),
            (LDiversity(2, variant="recursive", c=2.1), "aab", True),
            (LDiversity(2, variant="recursive", c=2), "aab", False),
            (AlphaKAnonymity(0.5, 2), "ab", True),
            (AlphaKAnonymity(0.5, 2), "aab", False),
            (MUniqueness(2), "ab", True),
            (MUniqueness(2), "aab", False),
            (BetaLikeness(1), "aab", True),
            (BetaLikeness(0.3), "aab", False),
            (BetaLikeness(9, variant="enhanced"), "aab", True),
            (DeltaDisclosure(9), "aab", False),
            (DeltaDisclosure(9), "abc", True),
        ],
    )
    def test_predicates_of_models(self, model: PrivacyModel, group: str, expected: bool) -> None:
        assert oracles.predicate_of(model, "aabc")(list(group)) is expected

    def test_predicate_of_a_numeric_model(self) -> None:
        predicate = oracles.predicate_of(KEAnonymity(2, 0.1), [])
        assert predicate([Fraction(1, 5), Fraction(3, 10)])
        assert not predicate([Fraction(1, 5), Fraction(29, 100)])

    def test_an_unknown_model_is_no_silent_pass(self) -> None:
        with pytest.raises(KeyError):
            oracles.predicate_of(SimpleNamespace(name="none"), "ab")


class TestCosts:
    def test_paper_example(self) -> None:
        assert oracles.cost_of_partition(HOSPITAL, PAPERS_GROUPS) == 8
        assert oracles.cost_of_partition(HOSPITAL, PAPERS_GROUPS, "tuples") == 4
        published = oracles.suppress(HOSPITAL, PAPERS_GROUPS)
        assert published[:4] == [(STAR, "M", STAR)] * 4
        assert published[4:] == HOSPITAL[4:]

    def test_paper_example_is_optimal(self) -> None:
        stars = oracles.optimal_partition(HOSPITAL, DISEASES, two_diverse, "stars")
        tuples = oracles.optimal_partition(HOSPITAL, DISEASES, two_diverse, "tuples")
        assert stars is not None
        assert tuples is not None
        assert tuples[0] == 4, "TP's 4 tuples are the fewest"
        # TP's 8 stars are not: a Bachelor and a Master under 30 differ in one column only.
        assert stars[0] == 6
        assert oracles.cost_of_partition(HOSPITAL, [[0, 2], [1, 3], [4, 5, 6, 7], [8, 9]]) == 6
        assert oracles.is_partition(stars[1], 10)

    def test_stars(self) -> None:
        assert oracles.stars_of_group([(1, 2, 3), (1, 5, 4)]) == 4
        assert oracles.stars_of_group([(1, 2)]) == 0
        assert oracles.stars_of_group([(), ()]) == 0
        assert oracles.suppressed_of_group([(1, 2), (1, 3), (1, 2)]) == 3
        assert oracles.suppressed_of_group([(1, 2), (1, 2)]) == 0

    def test_no_partition(self) -> None:
        assert oracles.optimal_partition([(0,), (1,)], ["a", "a"], two_diverse) is None

    def test_no_rows(self) -> None:
        assert oracles.optimal_partition([], [], two_diverse) == (0, [])

    def test_is_partition(self) -> None:
        assert oracles.is_partition([[2, 0], [1]], 3)
        assert not oracles.is_partition([[0], [1]], 3)
        assert not oracles.is_partition([[0, 1], [1, 2]], 3)
        assert not oracles.is_partition([[0, 1, 2], []], 3)

    def test_groups_of_labels(self) -> None:
        assert oracles.groups_of_labels([2, 0, 2, 1]) == [[1], [3], [0, 2]]

    def test_discernability(self) -> None:
        assert oracles.discernability(PAPERS_GROUPS) == 16 + 16 + 4


def all_partitions(n: int) -> list[list[list[int]]]:
    if n == 0:
        return [[]]
    smaller = all_partitions(n - 1)
    inside = [[*p[:i], [*p[i], n - 1], *p[i + 1 :]] for p in smaller for i in range(len(p))]
    return inside + [[*p, [n - 1]] for p in smaller]


@settings(max_examples=60, deadline=None)
@given(table=code_tables(max_rows=6, max_columns=3), cost=st.sampled_from(["stars", "tuples"]))
def test_the_optimum_is_the_best_of_all_partitions(table: CodeTable, cost: str) -> None:
    def predicate(group: list[int]) -> bool:
        return oracles.frequency_diverse(group, 2)

    costs = [
        oracles.cost_of_partition(table.rows, partition, cost)  # type: ignore[arg-type]
        for partition in all_partitions(len(table.values))
        if all(predicate([table.values[row] for row in group]) for group in partition)
    ]
    found = oracles.optimal_partition(table.rows, table.values, predicate, cost)  # type: ignore[arg-type]
    if found is None:
        assert not costs
    else:
        assert found[0] == min(costs)
        assert oracles.is_partition(found[1], len(table.values))
        assert oracles.cost_of_partition(table.rows, found[1], cost) == found[0]  # type: ignore[arg-type]


class TestInformationLoss:
    def test_divergence_of_an_untouched_release_is_zero(self) -> None:
        domains = [set(column) for column in zip(*HOSPITAL, strict=True)]
        assert oracles.kl_divergence(HOSPITAL, DISEASES, HOSPITAL, domains) == 0

    def test_divergence_by_hand(self) -> None:
        # Two people, one attribute, both cells starred: each point has density 1/2 in the table, 1/4 in the release.
        release = [(STAR,), (STAR,)]
        assert oracles.kl_divergence([(0,), (1,)], ["a", "b"], release, [{0, 1}]) == pytest.approx(math.log(2))
        # With one sensitive value the release has the same density everywhere as the table.
        assert oracles.kl_divergence([(0,), (1,)], ["a", "a"], release, [{0, 1}]) == 0
        # A third value of the domain that nobody has takes a third of it away.
        assert oracles.kl_divergence([(0,), (1,)], ["a", "a"], release, [{0, 1, 2}]) == pytest.approx(math.log(3 / 2))

    def test_divergence_of_the_paper_example(self) -> None:
        # Rows 0-3 keep gender; age has 3 values, education 3: each of their cells is spread over 9 points.
        # HIV: both rows at one point, density 2/10 against 2/90. Pneumonia and bronchitis of rows 2 and 3: 1/90 each,
        # and no other row reaches their points.
        domains = [set(column) for column in zip(*HOSPITAL, strict=True)]
        release = oracles.suppress(HOSPITAL, PAPERS_GROUPS)
        assert oracles.kl_divergence(HOSPITAL, DISEASES, release, domains) == pytest.approx(0.4 * math.log(9))

    def test_sub_domains_lose_less_than_stars(self) -> None:
        rows = [(10, "x"), (11, "y"), (30, "z")]
        domains = [{10, 11, 30}, {"x", "y", "z"}]
        by_sets = [(Interval(10, 11), frozenset("xy"))] * 2 + [rows[2]]
        by_stars = [(STAR, STAR)] * 2 + [rows[2]]
        divergence = [oracles.kl_divergence(rows, "abc", release, domains) for release in (by_sets, by_stars)]
        assert divergence == pytest.approx([2 / 3 * math.log(4), 2 / 3 * math.log(9)])
        assert oracles.ncp(by_sets, domains) == Fraction(2 * Fraction(1, 20) + 2 * Fraction(1, 2), 6)
        assert oracles.ncp(by_stars, domains) == Fraction(4, 6)
        assert oracles.ncp(rows, domains) == 0
        assert oracles.ncp([], domains) == 0

    def test_a_missing_value_is_a_value_outside_every_interval(self) -> None:
        rows = [(1,), (2,), (None,)]
        release = [(Interval(1, 2),), (Interval(1, 2),), (None,)]
        assert oracles.kl_divergence(rows, "aba", release, [{1, 2, None}]) == pytest.approx(2 / 3 * math.log(2))
        assert oracles.ncp(release, [{1, 2, None}]) == Fraction(2, 3)
