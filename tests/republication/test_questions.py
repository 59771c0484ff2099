"""Questions: what they mean, and where they cannot be read."""

from __future__ import annotations

import pytest
from tests.every import every

from shoal.errors import ParameterError
from shoal.republication.questions import Condition, read_question


@every(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        ("age = 30", (Condition(column="age", values=("30",)),)),
        ("age != 30", (Condition(column="age", values=("30",), negated=True),)),
        ("age<30", (Condition(column="age", high="30", high_included=False),)),
        ("age >= -3.5", (Condition(column="age", low="-3.5"),)),
        ("age in [30, 50)", (Condition(column="age", low="30", high="50", high_included=False),)),
        ("age in (30,50]", (Condition(column="age", low="30", high="50", low_included=False),)),
        ("disease in {flu}", (Condition(column="disease", values=("flu",)),)),
        (
            '"zip code" = \'0 12\' AND disease in {"cough, dry", flu}',
            (Condition(column="zip code", values=("0 12",)), Condition(column="disease", values=("cough, dry", "flu"))),
        ),
        ('and = "in" and in = and', (Condition(column="and", values=("in",)), Condition(column="in", values=("and",)))),
    ],
)
def test_questions(text, expected):
    assert read_question(text) == expected


@every(
    ("text", "at"),
    [
        ("age", 4),
        ("age =", 6),
        ("= 3", 1),
        ("age in", 7),
        ("age in 30", 8),
        ("age in [30]", 11),
        ("age in [30, 50}", 15),
        ("age in {30, 50]", 15),
        ("age in [30, 40, 50]", 19),
        ("age = 30 or zip = 3", 10),
        ("age = 30 and", 13),
        ("age = 30 zip = 3", 10),
        ('age = "30', 7),
        ("age (30)", 5),
    ],
)
def test_what_cannot_be_read_says_where(text, at):
    with pytest.raises(ParameterError, match=rf"cannot be read at character {at}:"):
        read_question(text)


def test_a_question_is_never_run():
    with pytest.raises(ParameterError, match="cannot be read"):
        read_question("__import__('os').system('true')")
    with pytest.raises(ParameterError, match="longer than"):
        read_question("a = 1 and " * 2_000 + "a = 1")


@every(
    ("question", "value", "holds"),
    [
        ("x in [9, 11]", "10", True),
        ("x in (10, 11]", "10", False),
        ("x in [9, 10)", "10.0", False),
        ("x = 1.0", "1", True),
        ("x = b", "a", False),
        ("x > b", "c", True),
        ("x != flu", "cough", True),
        ("x != flu", None, False),
        ("x = 1", None, False),
    ],
)
def test_what_holds(question, value, holds):
    assert read_question(question)[0].holds(value) is holds
