"""The keywords of the verbs are the fields of a request; `python -m tests.request.test_options` writes their types."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest
from tests.every import every

import shoal
from shoal._core.validation import parameters_of
from shoal.errors import ParameterError
from shoal.request.keywords import OF_STREAMS
from shoal.request.request import Request

FILE = Path(inspect.getfile(Request)).with_name("options.py")
HEAD = '''"""The fields of `shoal.Request` as keywords, for editors and type checkers.

Made of the fields by `python -m tests.request.test_options`; not edited by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from shoal.algorithms.base import Algorithm
from shoal.hierarchy import Coarsening, Hierarchy
from shoal.models import PrivacyModel
from shoal.report import About
'''
CLASSES = (
    ("ExploreOptions", "TypedDict, total=False", "Keywords of `shoal.explore`.", ()),
    ("Options", "ExploreOptions, total=False", "Keywords of `shoal.anonymize`.", ("k", "l", *OF_STREAMS)),
)


def generated() -> str:
    """Return the text of the module of the keywords."""
    types = {one.name: one.type for one in fields(Request)}
    special = {name for _, _, _, names in CLASSES for name in names}
    parts = [HEAD]
    for name, bases, doc, own in CLASSES:
        names = [one for one in types if one in own] if own else [one for one in types if one not in special]
        parts.append(f'\n\nclass {name}({bases}):\n    """{doc}"""\n\n')
        parts.append("".join(f"    {one}: {types[one]}\n" for one in names))
    return "".join(parts).replace("'", '"')


def test_the_keywords_for_type_checkers_are_the_fields() -> None:
    assert FILE.read_text(encoding="utf-8") == generated()


def test_help_shows_every_field_as_a_keyword() -> None:
    for verb, left in (("anonymize", set[str]()), ("explore", set(OF_STREAMS))):
        function = getattr(shoal, verb)
        taken = set(inspect.signature(function).parameters)
        expected = set(parameters_of(Request)) - left
        assert expected <= taken
        assert "options" not in taken
        for name in expected - ({"k", "l"} if verb == "explore" else set()):
            assert f"\n    {name} : " in function.__doc__
        assert "**options" not in function.__doc__


def test_a_request_is_a_value_that_keywords_override() -> None:
    people = shoal.datasets.census(200, quasi_identifiers=["age", "gender"], seed=1)
    asked = {
        "quasi_identifiers": ["age", "gender"],
        "sensitive": "income",
        "l": 2,
        "recoding": "suppression",
        "seed": 1,
    }
    request, same = shoal.Request(**asked), shoal.Request(**asked)
    assert request == same
    by_value, by_keywords = (
        shoal.anonymize(people, request, star="?"),
        shoal.anonymize(people, **asked, star="?"),
    )
    assert by_value.data.equals(by_keywords.data)
    assert "?" in by_value.data["age"].cast(str).to_list()
    with pytest.raises(AttributeError):
        request.seed = 2  # type: ignore[misc]


@every("name", [name for name, one in parameters_of(Request).items() if one.constraint])
def test_a_request_refuses_what_it_cannot_be(name: str) -> None:
    for wrong in parameters_of(Request)[name].constraint.refused():
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of Request must be"):
            shoal.Request(quasi_identifiers=["age"], **{name: wrong})
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of anonymize must be"):
            shoal.anonymize(None, quasi_identifiers=["age"], **{name: wrong})


def test_what_no_request_has_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"anonymize has no parameter 'sed'. Did you mean 'seed'"):
        shoal.anonymize(None, quasi_identifiers=["age"], sed=1)
    with pytest.raises(ParameterError, match="Name the quasi-identifiers"):
        shoal.anonymize(None)
    with pytest.raises(ParameterError, match=r"'request' parameter of anonymize must be a shoal.Request. Got dict"):
        shoal.anonymize(None, {"k": 2})


if __name__ == "__main__":
    FILE.write_text(generated(), encoding="utf-8")
