"""Every model against its definition, its algebra, and what it says of the feasible."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles import oracles

from shoal._core.validation import Integer, RationalIn
from shoal.errors import InfeasibleError, ParameterError
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
    TCloseness,
)
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.population import Population
from shoal.models.requirement import Requirement

POSITIVE = st.one_of(st.integers(1, 4), st.sampled_from([0.1, 0.5, 0.75, 1.5, 2.25, Fraction(1, 3), Fraction(7, 3)]))

SHARE = st.one_of(st.sampled_from([0, 0.1, 0.25, Fraction(1, 3), 0.5, 1]), st.fractions(0, 1, max_denominator=12))

MODELS = st.one_of(
    st.builds(KAnonymity, st.integers(1, 8)),
    st.builds(LDiversity, st.integers(1, 5)),
    st.builds(LDiversity, st.integers(1, 5), variant=st.just("distinct")),
    st.builds(LDiversity, st.sampled_from([1, 1.5, 2, Fraction(7, 3), 2.83, 3, 4]), variant=st.just("entropy")),
    st.builds(LDiversity, st.integers(1, 4), variant=st.just("recursive"), c=POSITIVE),
    st.builds(AlphaKAnonymity, st.sampled_from([1, 0.5, 0.3, 0.25, Fraction(1, 3), 0.333]), st.integers(1, 5)),
    st.builds(KEAnonymity, st.integers(1, 5), st.sampled_from([0, 1, 2, 2.5, 3, Fraction(10, 3)])),
    st.builds(MUniqueness, st.integers(1, 4)),
    st.builds(BetaLikeness, POSITIVE, variant=st.sampled_from(["basic", "enhanced"])),
    st.builds(DeltaDisclosure, POSITIVE),
    st.builds(TCloseness, SHARE, distance=st.sampled_from(["equal", "ordered"])),
)

# Counts of each value in each group; some tables have groups that are multiples of one another (borderlines).
TABLES = st.integers(1, 5).flatmap(
    lambda values: st.lists(
        st.lists(st.one_of(st.integers(0, 2), st.integers(0, 9)), min_size=values, max_size=values).filter(any),
        min_size=1,
        max_size=5,
    )
)


def counted(groups, *, numbers=True):
    """Lay rows of counts out as GroupCounts; values that do not occur in the table are left out."""
    matrix = np.array(groups, dtype=np.int64)
    matrix = matrix[:, matrix.sum(axis=0) > 0]
    group, values = np.nonzero(matrix)
    return GroupCounts(
        sizes=matrix.sum(axis=1),
        starts=np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(group)),
        values=values,
        counts=matrix[group, values],
        population=Population(
            totals=matrix.sum(axis=0),
            domain=Domain.of(
                numbers=[Fraction(2 * value, 3) for value in range(matrix.shape[1])] if numbers else None,
                ranks=np.arange(matrix.shape[1]) if numbers else None,
            ),
        ),
    )


def rows_of(groups):
    """Spell each group out as the numbers that its rows hold."""
    present = [value for value in range(len(groups[0])) if any(group[value] for group in groups)]
    return [
        [Fraction(2 * place, 3) for place, value in enumerate(present) for _ in range(group[value])] for group in groups
    ]


@settings(max_examples=400, deadline=None)
@given(model=MODELS, groups=TABLES)
def test_a_model_accepts_the_groups_that_its_definition_accepts(model, groups):
    rows = rows_of(groups)
    holds = oracles.predicate_of(model, [value for group in rows for value in group])
    assert model.acceptable(counted(groups)).tolist() == [holds(group) for group in rows]


@settings(max_examples=400, deadline=None)
@given(model=MODELS.filter(lambda model: model.monotone), groups=TABLES.filter(lambda groups: len(groups) > 1))
def test_the_union_of_groups_that_a_monotone_model_accepts_is_accepted(model, groups):
    accepted = model.acceptable(counted(groups))
    chosen = [group for group, safe in zip(groups, accepted, strict=True) if safe]
    rest = [group for group, safe in zip(groups, accepted, strict=True) if not safe]
    if chosen:
        union = np.sum(chosen, axis=0).tolist()
        assert model.acceptable(counted([union, *rest]))[0]


def test_m_uniqueness_is_not_monotone():
    model = MUniqueness(2)
    assert not model.monotone
    assert model.acceptable(counted([[1, 1, 0], [0, 1, 1]])).all()
    assert not model.acceptable(counted([[1, 2, 1]])).any()


@settings(max_examples=300, deadline=None)
@given(model=MODELS, groups=TABLES)
def test_every_accepted_group_has_the_necessary_number_of_distinct_values(model, groups):
    counts = counted(groups)
    assert (counts.distinct[model.acceptable(counts)] >= model.necessary_distinct()).all()


@settings(max_examples=200, deadline=None)
@given(model=MODELS, groups=TABLES)
def test_a_frequency_form_says_the_same_as_the_model(model, groups):
    form = model.frequency_form()
    if form is not None:
        k, ratio = form
        counts = counted(groups)
        expected = (counts.sizes >= k) & np.array(
            [ratio * h <= n for h, n in zip(counts.heights.tolist(), counts.sizes.tolist(), strict=True)]
        )
        assert model.acceptable(counts).tolist() == expected.tolist()


def test_which_models_have_a_frequency_form():
    assert KAnonymity(5).frequency_form() == (5, 1)
    assert LDiversity(4).frequency_form() == (1, 4)
    assert AlphaKAnonymity(0.3, 2).frequency_form() == (2, Fraction(10, 3))
    assert LDiversity(1, variant="distinct").frequency_form() == (1, 1)
    assert LDiversity(1.0, variant="entropy").frequency_form() == (1, 1)
    assert LDiversity(1, variant="recursive", c=1.1).frequency_form() == (1, 1)
    for model in (
        TCloseness(0.5),
        LDiversity(2, variant="distinct"),
        LDiversity(1.5, variant="entropy"),
        LDiversity(1, variant="recursive", c=1),
        KEAnonymity(3, 0),
        MUniqueness(3),
        BetaLikeness(1),
        DeltaDisclosure(1),
    ):
        assert model.frequency_form() is None


# Exactness where floats would guess.


def test_a_borderline_share_is_decided_as_a_decimal_number():
    # 3 of 10 rows are 0.3 of them; the nearest binary fraction to 0.3 is less than that.
    assert AlphaKAnonymity(0.3, 1).acceptable(counted([[3, 3, 2, 2]])).all()
    assert not AlphaKAnonymity(0.2999999999999999, 1).acceptable(counted([[3, 3, 2, 2]])).any()


def test_parameters_too_long_for_64_bits_are_compared_exactly():
    third = Fraction(10**40 // 3, 10**40)
    counts = counted([[2, 2, 2]])
    assert not AlphaKAnonymity(third, 1).acceptable(counts).any()
    assert AlphaKAnonymity(third + Fraction(1, 10**40), 1).acceptable(counts).all()
    for model in (KAnonymity(10**30), LDiversity(10**30), LDiversity(10**30, variant="distinct"), MUniqueness(10**30)):
        assert not model.acceptable(counts).any()
    assert not LDiversity(10**30, variant="entropy").acceptable(counts).any()
    assert LDiversity(3, variant="recursive", c=10**30).acceptable(counts).all()


def test_entropy_on_the_border_is_decided_exactly():
    model = LDiversity(4, variant="entropy")
    # Shares 1/2 and four times 1/8: entropy (log 2) / 2 + (log 8) / 2 = log 4, without being uniform.
    assert model.acceptable(counted([[4, 1, 1, 1, 1]])).all()
    assert not model.acceptable(counted([[40_001, 10_000, 10_000, 10_000, 10_000]])).any()
    assert model.acceptable(counted([[39_999, 10_000, 10_000, 10_000, 10_001]])).all()


def test_entropy_of_large_groups_is_decided_without_large_powers():
    big = 10**8
    uneven = counted([[big, big + 1, big, big - 1]])
    assert not LDiversity(4, variant="entropy").acceptable(uneven).any()
    # The entropy of shares 1/4 +- 1e-8 / 4 is log 4 less some 1e-17: nothing that a float can see.
    assert LDiversity(Fraction(4 * 10**14 - 1, 10**14), variant="entropy").acceptable(uneven).all()


def test_beta_likeness_bounds_the_gain_of_rare_and_of_frequent_values():
    # Shares in the table: 1/10 and 9/10. Basic beta = 1 lets the first double and asks nothing of the second.
    groups = [[2, 8], [3, 7], [0, 30], [0, 5]]
    counts = counted(groups)
    assert counts.totals.tolist() == [5, 50]
    basic = BetaLikeness(1).acceptable(counts)
    assert basic.tolist() == [False, False, True, True]
    # -ln(50/55) = 0.0953...: a share of 1 is a gain of 0.1 over 10/11, too much for the enhanced variant.
    assert BetaLikeness(1, variant="enhanced").acceptable(counts).tolist() == [False, False, False, False]


def test_delta_disclosure_is_strict_and_wants_every_value():
    counts = counted([[2, 2], [1, 3], [3, 1], [0, 4], [6, 2]])
    assert counts.totals.tolist() == [12, 12]
    # Shares 1/4 and 3/4 against 1/2 each: log2 of the quotients is -1 and 0.58...
    assert DeltaDisclosure(1).acceptable(counts).tolist() == [True, False, False, False, False]
    assert DeltaDisclosure(1.01).acceptable(counts).tolist() == [True, True, True, False, True]
    assert DeltaDisclosure(10**6).acceptable(counts).tolist() == [True, True, True, False, True]


def test_missing_sensitive_values_are_rows_but_no_numbers():
    counts = counted([[2, 0, 2], [1, 1, 0], [0, 0, 2]])
    with_missing = GroupCounts(
        sizes=counts.sizes,
        starts=counts.starts,
        values=counts.values,
        counts=counts.counts,
        population=Population(totals=counts.totals, domain=Domain.of(numbers=(Fraction(1), Fraction(5), None))),
    )
    assert KEAnonymity(2, 4).acceptable(with_missing).tolist() == [False, True, False]
    assert KEAnonymity(4, 0).acceptable(with_missing).tolist() == [True, False, False]
    assert KEAnonymity(1, 0).acceptable(with_missing).tolist() == [True, True, False]


def test_numbers_of_very_different_sizes_are_compared_exactly():
    counts = counted([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    far = GroupCounts(
        sizes=counts.sizes,
        starts=counts.starts,
        values=counts.values,
        counts=counts.counts,
        population=Population(
            totals=counts.totals, domain=Domain.of(numbers=(Fraction(1, 10**20), Fraction(1), Fraction(10**20)))
        ),
    )
    assert KEAnonymity(1, 1).acceptable(far).tolist() == [False, True, True]
    assert KEAnonymity(1, 10**20).acceptable(far).tolist() == [False, False, False]


def test_no_groups_get_no_answer():
    none = np.empty(0, dtype=np.int64)
    empty = GroupCounts(
        sizes=none,
        starts=np.zeros(1, dtype=np.int64),
        values=none,
        counts=none,
        population=Population(totals=none, domain=Domain.of(numbers=(), ranks=none)),
    )
    for model in (
        KAnonymity(2),
        LDiversity(2),
        LDiversity(2, variant="distinct"),
        LDiversity(2, variant="entropy"),
        LDiversity(2, variant="recursive", c=1),
        AlphaKAnonymity(0.5, 2),
        KEAnonymity(2, 1),
        MUniqueness(2),
        TCloseness(0.5),
        TCloseness(0.5, distance="ordered"),
    ):
        assert model.acceptable(empty).shape == (0,)


# Parameters, texts, certificates.


@every(
    ("make", "constraint"),
    [
        (KAnonymity, Integer(low=1)),
        (LDiversity, Integer(low=1)),
        (lambda asked: LDiversity(asked, variant="distinct"), Integer(low=1)),
        (lambda asked: LDiversity(asked, variant="recursive", c=1), Integer(low=1)),
        (lambda asked: LDiversity(asked, variant="entropy"), RationalIn(low=Fraction(1))),
        (lambda c: LDiversity(2, variant="recursive", c=c), RationalIn(low=Fraction(0), low_included=False)),
        (lambda alpha: AlphaKAnonymity(alpha, 2), RationalIn(low=Fraction(0), high=Fraction(1), low_included=False)),
        (lambda k: AlphaKAnonymity(0.5, k), Integer(low=1)),
        (lambda k: KEAnonymity(k, 2), Integer(low=1)),
        (lambda e: KEAnonymity(2, e), RationalIn(low=Fraction(0))),
        (MUniqueness, Integer(low=1)),
        (TCloseness, RationalIn(low=Fraction(0), high=Fraction(1))),
        (BetaLikeness, RationalIn(low=Fraction(0), low_included=False)),
        (DeltaDisclosure, RationalIn(low=Fraction(0), low_included=False)),
    ],
)
def test_impossible_parameters_are_refused(make, constraint):
    for value in constraint.refused():
        with pytest.raises(ParameterError, match=r"parameter of \w+ must be"):
            make(value)


def test_a_variant_must_be_known_and_c_belongs_to_one_of_them():
    with pytest.raises(ParameterError, match="must be one of 'frequency', 'distinct', 'entropy', 'recursive'"):
        LDiversity(2, variant="entropic")
    with pytest.raises(ParameterError, match="'c' parameter of LDiversity must be None unless"):
        LDiversity(2, c=3)
    with pytest.raises(ParameterError, match="must be one of 'basic', 'enhanced'"):
        BetaLikeness(2, variant="improved")


@every(
    ("model", "text", "entry"),
    [
        (KAnonymity(10), "KAnonymity(10)", {"model": "k-anonymity", "k": 10}),
        (LDiversity(4), "LDiversity(4)", {"model": "l-diversity", "variant": "frequency", "l": 4}),
        (
            LDiversity(2.5, variant="entropy"),
            "LDiversity(2.5, variant='entropy')",
            {"model": "l-diversity", "variant": "entropy", "l": 2.5},
        ),
        (
            LDiversity(3, variant="recursive", c=Fraction(1, 2)),
            "LDiversity(3, variant='recursive', c=Fraction(1, 2))",
            {"model": "l-diversity", "variant": "recursive", "l": 3, "c": 0.5},
        ),
        (
            AlphaKAnonymity(0.3, 5),
            "AlphaKAnonymity(alpha=0.3, k=5)",
            {"model": "(alpha, k)-anonymity", "alpha": 0.3, "k": 5},
        ),
        (KEAnonymity(5, 1000), "KEAnonymity(k=5, e=1000)", {"model": "(k, e)-anonymity", "k": 5, "e": 1000}),
        (MUniqueness(np.int64(3)), None, {"model": "m-uniqueness", "m": 3}),
        (BetaLikeness(2), "BetaLikeness(2)", {"model": "beta-likeness", "variant": "basic", "beta": 2}),
        (TCloseness(0.2), "TCloseness(0.2)", {"model": "t-closeness", "distance": "equal", "t": 0.2}),
        (
            TCloseness(1, distance="ordered"),
            "TCloseness(1, distance='ordered')",
            {"model": "t-closeness", "distance": "ordered", "t": 1},
        ),
        (DeltaDisclosure(0.7), "DeltaDisclosure(0.7)", {"model": "delta-disclosure", "delta": 0.7}),
    ],
)
def test_a_model_reads_like_its_call_and_enters_certificates_as_plain_numbers(model, text, entry):
    assert text is None or repr(model) == text
    assert model.to_dict() == entry
    assert all(type(value) in (str, int, float) for value in model.to_dict().values())


def test_models_are_values():
    assert LDiversity(4) == LDiversity(4)
    assert len({LDiversity(4), LDiversity(4), LDiversity(4, variant="distinct")}) == 2
    with pytest.raises(AttributeError):
        LDiversity(4).l = 2


@every(
    ("model", "best"),
    [
        (KAnonymity(13), "the table has 12 rows, so k can be at most 12"),
        (LDiversity(4), "the largest feasible l is 2"),
        (LDiversity(5, variant="distinct"), "the largest feasible l is 4"),
        (LDiversity(4, variant="entropy"), "the largest feasible l is 3.44"),
        (LDiversity(4, variant="recursive", c=1.5), "the largest feasible l at c = 1.5 is 2"),
        (LDiversity(1, variant="recursive", c=0.25), "no l is feasible unless c is more than 5/12"),
        (
            AlphaKAnonymity(0.3, 5),
            "the table has 12 rows, so k can be at most 12, and the smallest feasible alpha is 0.4167",
        ),
        (KEAnonymity(5, 3), "the table has 12 rows, so k can be at most 12, and e at most 2"),
    ],
)
def test_an_infeasible_model_says_what_is_feasible(model, best):
    table = counted([[5, 4, 2, 1]])
    assert not model.acceptable(table)[0]
    assert str(model.best_feasible(table.population)) == best
    with pytest.raises(InfeasibleError, match=r"No release can satisfy"):
        Requirement.of(model, ["disease"]).check_feasible([table.population])


@settings(max_examples=200, deadline=None)
@given(group=st.lists(st.integers(1, 30), min_size=1, max_size=6), c=POSITIVE, digits=st.just(2))
def test_the_best_feasible_l_is_feasible_and_the_next_is_not(group, c, digits):
    table = counted([group])

    def feasible(asked, **more):
        return bool(LDiversity(asked, **more).acceptable(table)[0])

    for more, step in (
        ({}, 1),
        ({"variant": "distinct"}, 1),
        ({"variant": "entropy"}, Fraction(1, 10**digits)),
        ({"variant": "recursive", "c": c}, 1),
    ):
        text = str(LDiversity(1, **more).best_feasible(table.population))
        if text.startswith("no l"):
            assert not feasible(1, **more)
        else:
            best = Fraction(text.rsplit(maxsplit=1)[-1])
            best = int(best) if step == 1 else best
            assert feasible(best, **more)
            assert not feasible(best + step, **more)


def test_models_that_every_table_meets_are_never_infeasible():
    table = counted([[5, 4, 2, 1]])
    for model in (
        TCloseness(0),
        TCloseness(0, distance="ordered"),
        BetaLikeness(0.01),
        BetaLikeness(0.01, variant="enhanced"),
        DeltaDisclosure(0.01),
    ):
        assert model.acceptable(table)[0]
        assert "every" in str(model.best_feasible(table.population))
    assert MUniqueness(3).best_feasible(table.population) == "the largest feasible m is 2"


def test_a_model_of_numbers_refuses_values_that_are_none():
    table = counted([[5, 4, 2, 1]], numbers=False)
    with pytest.raises(ParameterError, match="needs a numeric sensitive attribute"):
        KEAnonymity(2, 1).acceptable(table)
    with pytest.raises(ParameterError, match="apply to 'income': it needs a numeric sensitive attribute"):
        Requirement.of(KEAnonymity(2, 1), ["income"]).check_feasible([table.population])
    missing = GroupCounts(
        sizes=np.array([2]),
        starts=np.array([0, 1]),
        values=np.array([0]),
        counts=np.array([2]),
        population=Population(totals=np.array([2]), domain=Domain.of(numbers=(None,))),
    )
    assert "no e is feasible" in KEAnonymity(2, 1).best_feasible(missing.population)


def test_group_counts_show_no_value():
    assert repr(counted([[5, 4], [1, 1]])) == "GroupCounts(groups=2, values=2)"


def test_entropies_of_neighbouring_l_never_contradict_each_other():
    counts = counted([[7, 5, 3, 2, 1]])
    answers = [
        bool(LDiversity(Fraction(asked, 1000), variant="entropy").acceptable(counts)[0])
        for asked in range(1000, 5001, 7)
    ]
    assert all(earlier or not later for earlier, later in pairwise(answers))
    true = math.exp(-sum(c / 18 * math.log(c / 18) for c in (7, 5, 3, 2, 1)))
    assert abs((1000 + 7 * answers.count(True)) / 1000 - true) < 0.008
