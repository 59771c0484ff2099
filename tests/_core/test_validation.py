"""Constraints are data: each refuses its own bad examples, and every message has the one shape."""

import math
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.every import every

from shoal._core.validation import (
    Boolean,
    Finite,
    Integer,
    NotBlank,
    OneOf,
    Optional,
    RationalIn,
    Symbol,
    exact_fraction,
    validate,
)
from shoal._messages import PYTHON
from shoal.algorithms import Mondrian, ThreePhase
from shoal.errors import ParameterError, UsageError
from shoal.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
)

CONSTRAINTS = [
    Integer(low=1),
    Integer(low=-3, high=7),
    RationalIn(low=Fraction(0), low_included=False),
    RationalIn(low=Fraction(1)),
    RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
    OneOf(("cascade", "hilbert")),
    Boolean(),
    Optional(Integer(low=2)),
    Optional(OneOf(("csv", "parquet"))),
    Optional(Boolean()),
    Finite(),
    NotBlank(),
    Symbol(),
]
ACCEPTED = {
    0: [1, 5, np.int64(3), np.uint8(255), 10**400],
    1: [-3, 0, 7, np.int8(-1)],
    2: [0.1, Fraction(1, 10**30), 1, np.float64(0.5), 10**400, Fraction(10**400, 3)],
    3: [1, 1.0, Fraction(3, 2), np.float32(2.5)],
    4: [1, 1.0, 0.3, Fraction(1, 3)],
    5: ["cascade", "hilbert"],
    6: [True, False],
    7: [None, 2],
    8: [None, "csv"],
    9: [None, True],
    10: [0, -1.5, Fraction(1, 3), np.float64(2.5), np.int8(-1), 10**400],
    11: ["*", " x "],
    12: ["*", "(hidden)", "?", "n/a"],
}
NAMED = pytest.mark.parametrize("constraint", CONSTRAINTS, ids=[repr(constraint) for constraint in CONSTRAINTS])


@NAMED
def test_a_constraint_refuses_its_own_examples(constraint):
    examples = constraint.refused()
    assert len(examples) >= 3
    for value in examples:
        assert not constraint.accepts(value), f"{value!r} is accepted"
        with pytest.raises(ParameterError) as error:
            validate("mondrian", {"k": value}, {"k": constraint})
        assert str(error.value) == f"The 'k' parameter of mondrian must be {constraint.render(PYTHON)}. Got {value!r}."
        assert isinstance(error.value, UsageError)
        assert isinstance(error.value, ValueError)


@every(("constraint", "values"), [(CONSTRAINTS[at], values) for at, values in ACCEPTED.items()])
def test_a_constraint_accepts(constraint, values):
    for value in values:
        assert constraint.accepts(value)
        validate("mondrian", {"k": value}, {"k": constraint})


@NAMED
def test_constraints_are_values(constraint):
    assert constraint == type(constraint)(**vars(constraint))
    assert hash(constraint) == hash(type(constraint)(**vars(constraint)))
    with pytest.raises(AttributeError):
        constraint.low = 0


def test_descriptions():
    assert [constraint.render(PYTHON) for constraint in CONSTRAINTS] == [
        "an int >= 1",
        "an int from -3 to 7",
        "a number > 0",
        "a number >= 1",
        "a number > 0 and <= 1",
        "one of 'cascade', 'hilbert'",
        "True or False",
        "None or an int >= 2",
        "None or one of 'csv', 'parquet'",
        "None or True or False",
        "a finite number",
        "a text that is not blank",
        "a text that can be seen, without digits and commas",
    ]


def test_only_what_has_a_constraint_is_checked():
    validate("anyone", {"k": 1, "other": object()}, {"k": Integer(low=1)})
    with pytest.raises(ParameterError, match="'second'"):
        validate("anyone", {"first": 1, "second": 0}, {"first": Integer(low=1), "second": Integer(low=1)})


@every("constraint", [Integer(low=1), RationalIn(low=Fraction(0)), OneOf(("a", "b")), Boolean()])
@every("wrong", [pl.DataFrame({"name": ["Marie"]}), pl.Series(["Marie"]), ["Marie"], {"Marie": 1}])
def test_no_cell_gets_into_a_message(constraint, wrong):
    with pytest.raises(ParameterError) as error:
        validate("anonymize", {"k": wrong}, {"k": constraint})
    assert "Marie" not in str(error.value)
    assert str(error.value).endswith(f"Got {type(wrong).__name__}.")


@given(st.fractions() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_exact_fractions(number):
    exact = exact_fraction(number)
    assert isinstance(exact, Fraction)
    assert exact == (Fraction(repr(number)) if isinstance(number, float) else number)
    assert float(exact) == float(number)


def test_a_float_is_the_decimal_number_that_it_is_printed_as():
    assert exact_fraction(0.1) == Fraction(1, 10)
    assert exact_fraction(np.float64(0.7)) == Fraction(7, 10)
    assert exact_fraction(1e-320) == Fraction(1, 10**320)
    assert exact_fraction(np.int64(3)) == 3


SHAPE = re.compile(r"The '(\w+)' parameter of ([\w+-]+) must be [^.]+(\.\d+)?( [^.]+)?\. Got .+\.$")
CALLS = {
    "KAnonymity": (KAnonymity, Integer(low=1)),
    "LDiversity": (LDiversity, Integer(low=1)),
    "LDiversity, entropy": (lambda value: LDiversity(value, variant="entropy"), RationalIn(low=Fraction(1))),
    "LDiversity, c": (
        lambda value: LDiversity(2, variant="recursive", c=value),
        RationalIn(low=Fraction(0), low_included=False),
    ),
    "LDiversity, variant": (lambda value: LDiversity(2, variant=value), OneOf(("frequency",))),
    "AlphaKAnonymity": (
        lambda value: AlphaKAnonymity(value, 2),
        RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
    ),
    "KEAnonymity": (lambda value: KEAnonymity(2, value), RationalIn(low=Fraction(0))),
    "MUniqueness": (MUniqueness, Integer(low=1)),
    "BetaLikeness": (BetaLikeness, RationalIn(low=Fraction(0), low_included=False)),
    "DeltaDisclosure": (DeltaDisclosure, RationalIn(low=Fraction(0), low_included=False)),
    "AverageRisk": (AverageRisk, RationalIn(low=Fraction(0), high=Fraction(1), low_included=False)),
    "tp+": (lambda value: ThreePhase(refine=value), Optional(OneOf(("cascade",)))),
    "mondrian": (lambda value: Mondrian(relaxed=value), Boolean()),
}


@every(("call", "constraint"), CALLS.values())
def test_models_and_algorithms_refuse_in_the_one_shape(call, constraint):
    for value in constraint.refused():
        with pytest.raises(ParameterError) as error:
            call(value)
        assert SHAPE.match(str(error.value)), str(error.value)
        shown = "nan" if isinstance(value, float) and math.isnan(value) else repr(value)
        assert str(error.value).endswith(f"Got {shown}.")
