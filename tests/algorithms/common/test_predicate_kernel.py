"""The compiled predicate: the same clauses as the models', the same decisions."""

import math
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

from shoal.algorithms.common import predicate_kernel as predicate
from shoal.algorithms.common.compiled import compile_requirement, populations_of
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.errors import ParameterError
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
    TCloseness,
    disclosure,
)
from shoal.models.base import GroupCounts, RuleKind
from shoal.models.population import Population
from shoal.models.rationals import neighbours
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode

POSITIVE = st.one_of(st.integers(1, 4), st.sampled_from([0.1, 0.5, 0.75, 1.5, 2.25, Fraction(1, 3), Fraction(7, 3)]))

RATIONAL = st.one_of(
    st.builds(KAnonymity, st.integers(1, 8)),
    st.builds(LDiversity, st.integers(1, 5)),
    st.builds(LDiversity, st.integers(1, 5), variant=st.just("distinct")),
    st.builds(LDiversity, st.integers(1, 4), variant=st.just("recursive"), c=POSITIVE),
    st.builds(AlphaKAnonymity, st.sampled_from([1, 0.5, 0.3, 0.25, Fraction(1, 3), 0.333]), st.integers(1, 5)),
    st.builds(KEAnonymity, st.integers(1, 5), st.sampled_from([0, 1, 2, 2.5, 3, Fraction(10, 3)])),
    st.builds(MUniqueness, st.integers(1, 4)),
    st.builds(BetaLikeness, POSITIVE, variant=st.sampled_from(["basic", "enhanced"])),
    st.builds(DeltaDisclosure, POSITIVE),
    st.builds(TCloseness, st.fractions(0, 1, max_denominator=12)),
)
ENTROPY = st.builds(LDiversity, st.sampled_from([1, 1.5, 2, Fraction(7, 3), 2.83, 3, 4]), variant=st.just("entropy"))

# A group number and the values of two sensitive attributes for every row; None is a missing value.
VALUE = st.one_of(st.integers(-2, 3), st.integers(-2, 3), st.none())
ROWS = st.lists(st.tuples(st.integers(0, 3), VALUE, VALUE), min_size=1, max_size=40)


def encoded(rows, sensitive=2):
    names = ["first", "second"][:sensitive]
    frame = pl.DataFrame(
        {"group": [row[0] for row in rows]}
        | {name: pl.Series([row[at + 1] for row in rows], dtype=pl.Int64) for at, name in enumerate(names)}
    )
    return encode(frame, Schema(quasi_identifiers=("group",), sensitive=tuple(names))), names


def compiled_answers(table, requirement, groups, *, function=acceptable):
    """Ask the compiled predicate of every group, the way algorithms do."""
    compiled = compile_requirement(table, requirement)
    answers = []
    counts = np.zeros(compiled.starts[-1], dtype=np.int64)
    for rows in groups:
        codes, found = np.unique(compiled.codes[rows], return_counts=True)
        codes = codes[::-1].astype(np.int32)  # in any order
        counts[:] = -1  # what is not touched must not be read
        counts[codes] = found[::-1]
        if len(compiled.codes) and not table.sensitive:
            counts[0] = len(rows)
        padded = np.append(codes, np.int32(10**6))
        answer = function(len(rows), padded, len(codes), counts, compiled.starts, compiled.rules, compiled.bounds)
        assert answer is True or answer is False
        assert not answer or len(rows) >= compiled.smallest
        answers.append(answer)
    return answers


def exact_answers(table, requirement, groups):
    accepted = np.ones(len(groups), dtype=bool)
    whole = populations_of(table)
    for model in requirement.models:
        for position in range(len(requirement.sensitive)) if model.needs_sensitive else range(1):
            column = table.sensitive[position]
            found = [np.unique(column.codes[rows], return_counts=True) for rows in groups]
            counts = GroupCounts(
                sizes=np.array([len(rows) for rows in groups], dtype=np.int64),
                starts=np.cumsum([0, *(len(values) for values, _ in found)]),
                values=np.concatenate([values for values, _ in found]).astype(np.int64),
                counts=np.concatenate([count for _, count in found]),
                population=whole[position],
            )
            accepted &= model.acceptable(counts)
    return accepted.tolist()


def groups_of(rows):
    labels = np.array([row[0] for row in rows])
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def test_the_kinds_have_the_numbers_of_the_models():
    for kind in RuleKind:
        assert getattr(predicate, kind.name) == kind
    assert disclosure.SHARE_SCALE == predicate.SHARE_SCALE == 2**31


@settings(max_examples=400, deadline=None)
@given(rows=ROWS, models=st.lists(RATIONAL, min_size=1, max_size=3), function=st.sampled_from([0, 1]))
def test_rational_models_compile_to_the_same_decisions(rows, models, function):
    table, names = encoded(rows)
    requirement = Requirement.of(models, names)
    groups = groups_of(rows)
    function = (acceptable, acceptable.py_func)[function]
    assert compiled_answers(table, requirement, groups, function=function) == exact_answers(table, requirement, groups)


@settings(max_examples=300, deadline=None)
@given(rows=ROWS, models=st.lists(st.one_of(ENTROPY, RATIONAL), min_size=1, max_size=3).map(tuple), entropy=ENTROPY)
def test_entropies_compile_to_the_same_decisions(rows, models, entropy):
    table, names = encoded(rows, sensitive=1)
    requirement = Requirement.of((*models, entropy), names)
    groups = groups_of(rows)
    assert compiled_answers(table, requirement, groups) == exact_answers(table, requirement, groups)


@given(values=st.integers(1, 60), count=st.integers(1, 10**6), asked=st.integers(1, 60))
@settings(max_examples=200, deadline=None)
def test_equal_counts_have_exactly_the_entropy_of_their_number(values, count, asked):
    touched = np.arange(values, dtype=np.int32)
    counts = np.full(values, count, dtype=np.int64)
    starts = np.array([0, values])
    none = np.empty(0, dtype=np.int64)
    rules = np.array([[RuleKind.ENTROPY, 0, asked, 1, 0, 0]], dtype=np.int64)
    assert acceptable(values * count, touched, values, counts, starts, rules, none) == (values >= asked)


def test_entropy_at_its_very_bound_is_decided_by_integers():
    none = np.empty(0, dtype=np.int64)

    def ask(counts, a, b, function=acceptable):
        rules = np.array([[RuleKind.ENTROPY, 0, a, b, 0, 0]], dtype=np.int64)
        touched, starts = np.arange(len(counts), dtype=np.int32), np.array([0, len(counts)])
        return function(sum(counts), touched, len(counts), np.array(counts, dtype=np.int64), starts, rules, none)

    # Shares 1/2 and four times 1/8 have the entropy log 4, which floats cannot distinguish from a little less; shares
    # .4, .2 and four times .1 have log 5.
    for function in (acceptable, acceptable.py_func):
        for unit in (1, 3, 10**6):
            assert ask([4 * unit, unit, unit, unit, unit], 4, 1, function)
            assert not ask([4 * unit, unit, unit, unit, unit], 2**31 - 1, 2**29 - 1, function)  # 4 + 1.4e-9
            assert ask([4 * unit, unit, unit, unit, unit], 2**31 - 3, 2**29, function)  # 4 - 5.6e-9
            assert ask([4 * unit, 2 * unit, unit, unit, unit, unit], 5, 1, function)
    # Within the error of floats, but not equal: the model and the kernel decide alike.
    chance = Random(1)
    for _ in range(300):
        counts = [chance.randrange(1, 9) for _ in range(chance.randrange(2, 7))]
        size = sum(counts)
        powers = math.prod(count**count for count in counts)
        near = Fraction(math.exp(math.log(size) - sum(c * math.log(c) for c in counts) / size))
        for bound in neighbours(near, 2**28):
            wanted = (size * bound.denominator) ** size >= bound.numerator**size * powers
            assert ask(counts, bound.numerator, bound.denominator) == wanted
    # Too large for integer powers: in doubt refused.
    assert not ask([10**8, 10**8 + 1, 10**8, 10**8 - 1], 4, 1)


def test_groups_just_under_two_to_the_31_rows_do_not_overflow():
    # Half of the rows each; the products of shares reach 2**62.
    half = 2**30 - 1
    size = 2 * half
    touched, starts = np.array([0, 1], dtype=np.int32), np.array([0, 2])
    counts = np.array([half, half], dtype=np.int64)
    bounds = np.array([2**30, 2**30, 2**30, 2**30], dtype=np.int64)
    rules = np.array(
        [
            [RuleKind.SIZE, 0, size, 0, 0, 0],
            [RuleKind.FREQUENCY, 0, 2**31 - 1, 2**30, 0, 0],
            [RuleKind.SHARE, 0, 0, 0, 0, 0],
            [RuleKind.PRESENCE, 0, 0, 0, 0, 2],
            [RuleKind.RECURSIVE, 0, size + 1, size, 2, 0],
        ],
        dtype=np.int64,
    )
    for function in (acceptable, acceptable.py_func):
        assert function(size, touched, 2, counts, starts, rules, bounds)
        tighter = bounds - np.array([1, 1, 0, 0])
        assert not function(size, touched, 2, counts, starts, rules, tighter)


def test_an_unknown_kind_or_an_empty_group_is_refused():
    touched, counts, starts = np.array([0], dtype=np.int32), np.array([5]), np.array([0, 1])
    none = np.empty(0, dtype=np.int64)
    for function in (acceptable, acceptable.py_func):
        assert not function(5, touched, 1, counts, starts, np.array([[99, 0, 0, 0, 0, 0]]), none)
        assert not function(0, touched, 0, counts, starts, np.empty((0, 6), dtype=np.int64), none)
        assert function(5, touched, 1, counts, starts, np.empty((0, 6), dtype=np.int64), none)


# The layout.


def test_codes_of_several_sensitive_attributes_share_one_numbering():
    table, names = encoded([(0, 1, 5), (0, 2, 5), (1, 1, None), (1, 1, 7)])
    compiled = compile_requirement(table, Requirement.of(LDiversity(1), names))
    assert compiled.starts.tolist() == [0, 2, 5]
    assert compiled.codes.tolist() == [[0, 2], [1, 2], [0, 4], [0, 3]]
    assert (compiled.codes.dtype, compiled.rules.dtype, compiled.bounds.dtype) == (np.int32, np.int64, np.int64)


def test_a_table_without_sensitive_attribute_has_one_column_of_zeros():
    frame = pl.DataFrame({"group": [0, 0, 1]})
    table = encode(frame, Schema(quasi_identifiers=("group",)))
    requirement = Requirement.of(KAnonymity(2), [])
    compiled = compile_requirement(table, requirement)
    assert compiled.codes.tolist() == [[0], [0], [0]]
    assert compiled.starts.tolist() == [0, 1]
    assert compiled.smallest == 2
    assert compiled_answers(table, requirement, [np.array([0, 1]), np.array([2])]) == [True, False]
    whole = populations_of(table)[0]
    assert (whole.rows, whole.totals.tolist(), whole.numbers) == (3, [3], None)


def test_cheap_clauses_come_first():
    table, names = encoded([(0, value, value) for value in range(8)], sensitive=1)
    models = [
        LDiversity(2, variant="entropy"),
        LDiversity(2, variant="recursive", c=2),
        DeltaDisclosure(2),
        LDiversity(2),
        KAnonymity(3),
    ]
    kinds = compile_requirement(table, Requirement.of(models, names)).rules[:, 0].tolist()
    assert kinds[0] == RuleKind.SIZE
    assert kinds[-2:] == [RuleKind.RECURSIVE, RuleKind.ENTROPY]


@every(
    ("model", "smallest"),
    [
        (KAnonymity(7), 7),
        (LDiversity(4), 4),
        (LDiversity(3, variant="distinct"), 3),
        (LDiversity(2.5, variant="entropy"), 3),
        (LDiversity(3, variant="recursive", c=0.5), 5),
        (LDiversity(3, variant="recursive", c=100), 3),
        (AlphaKAnonymity(0.3, 2), 4),
        (MUniqueness(6), 6),
        (DeltaDisclosure(1), 8),
        (BetaLikeness(1), 4),
        (KEAnonymity(2, 1), 2),
        (KAnonymity(10**30), 9),
        (AlphaKAnonymity(Fraction(1, 10**30), 1), 9),
    ],
)
def test_the_smallest_acceptable_group_is_bounded(model, smallest):
    table, names = encoded([(0, value, value) for value in range(8)], sensitive=1)
    assert compile_requirement(table, Requirement.of(model, names)).smallest == smallest


def test_the_numbers_of_a_table_are_exact_and_a_missing_value_has_none():
    table, _ = encoded([(0, 3, 1), (0, None, 1), (0, 1, 1)])
    assert [population.numbers for population in populations_of(table)] == [(1, 3, None), (1,)]


def test_a_model_of_numbers_cannot_be_compiled_without_them():
    frame = pl.DataFrame({"group": [0, 0], "disease": ["flu", "HIV"]})
    table = encode(frame, Schema(quasi_identifiers=("group",), sensitive=("disease",)))
    with pytest.raises(ParameterError, match="needs a numeric sensitive attribute"):
        compile_requirement(table, Requirement.of(KEAnonymity(2, 1), ["disease"]))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(50_000, 10**9),
    share=st.fractions(min_value=0, max_value=1),
    beta=POSITIVE,
    group=st.integers(1, 10**6),
    offset=st.integers(-2, 2),
)
def test_shares_of_large_tables_are_rounded_against_the_publisher(rows, share, beta, group, offset):
    # Two values with totals that 2**31 units per share cannot all tell apart, and a group on the border of beta.
    first = min(max(1, int(rows * share)), rows - 1)
    whole = Population(totals=np.array([first, rows - first]))
    border = int((1 + Fraction(str(beta))) * Fraction(first, rows) * group) + offset
    count = min(max(border, 1), group)
    if count == group:
        return
    model = BetaLikeness(beta)
    counts = replace(_pair(np.array([group]), np.array([[count, group - count]])), population=whole)
    (rule,) = model.rules(whole)
    kernel = acceptable(
        group,
        np.array([0, 1], dtype=np.int32),
        2,
        counts.counts,
        np.array([0, 2]),
        np.array([[rule.kind, 0, rule.a, rule.b, rule.c, 0]], dtype=np.int64),
        rule.bounds,
    )
    assert bool(model.acceptable(counts)[0]) or not kernel


def _pair(sizes, matrix):
    return GroupCounts(
        sizes=sizes,
        starts=np.array([0, 2]),
        values=np.array([0, 1]),
        counts=matrix.ravel(),
        population=Population(totals=matrix.sum(axis=0)),
    )
