"""The fields of a request as keywords of the verbs: values, signatures and documentation."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from shoal._core.validation import parameters_of, validate
from shoal._messages import Suggestion
from shoal.errors import ParameterError, near_matches
from shoal.request.request import Request
from shoal.request.request_fields import fields_in
from shoal.request.texts import with_columns_of_sets

_Verb = TypeVar("_Verb", bound=Callable[..., Any])
_WIDTH = 112
_PLACE = "    **options\n"
"""The entry of a docstring that is replaced by the fields."""


def request_of(verb: Callable[..., Any], request: Request | None, options: Mapping[str, Any]) -> Request:
    """Build the request of a call.

    Parameters
    ----------
    verb : callable
        The called function, as returned by `takes_request`.
    request : Request or None
        The request passed as a value.
    options : mapping of str to object
        The fields passed by keyword; they override those of `request`.

    Raises
    ------
    ParameterError
        If a keyword is unknown, a value is invalid, or there are no quasi-identifiers.
    """
    name, known = verb.__name__, inspect.signature(verb).parameters
    for option in options:
        if option not in known:
            raise ParameterError(f"{name} has no parameter '{option}'. {near_matches(option, list(known))}")
    # Errors name the verb, so its keywords are validated here and not by `Request`.
    constraints = {key: one.constraint for key, one in parameters_of(Request).items() if one.constraint is not None}
    validate(name, options, {key: one for key, one in constraints.items() if key in options})
    # A request passed as a value is the base, keywords override its fields.
    if request is not None:
        if not isinstance(request, Request):
            raise ParameterError.refusing(name, "request", "a shoal.Request", got=type(request).__name__)
        return replace(request, **options)
    options = with_columns_of_sets(options)
    if "quasi_identifiers" not in options:
        raise ParameterError("Name the quasi-identifiers with ", Suggestion("quasi_identifiers"), ".")
    return Request(**options)


def takes_request(*, without: Sequence[str] = ()) -> Callable[[_Verb], _Verb]:
    """Add the fields of a request to the signature and the docstring of a verb.

    Parameters
    ----------
    without : sequence of str
        Fields that the verb does not have.
    """

    def documented_verb(verb: _Verb) -> _Verb:
        # Fields come between the positional parameters of the verb and its own keywords.
        own = inspect.signature(verb)
        positional = [one for one in own.parameters.values() if one.kind == one.POSITIONAL_OR_KEYWORD]
        keywords = [one for one in own.parameters.values() if one.kind == one.KEYWORD_ONLY]
        taken = [one for one in fields(Request) if one.name not in {*without, *own.parameters}]
        added = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.default is MISSING else one.default,
                annotation=one.type,
            )
            for one in taken
        ]
        signature = own.replace(parameters=[*positional, *added, *keywords])
        verb.__signature__ = signature  # type: ignore[attr-defined]
        verb.__doc__ = _documented(verb.__doc__ or "", [one.name for one in taken])
        return verb

    return documented_verb


def _documented(text: str, names: Sequence[str]) -> str:
    """Insert the documentation of fields into a docstring, in place of `**options`."""
    # The entry `**options` marks the place of the fields.
    start = text.find(_PLACE)
    if start < 0:
        return text
    # Skip the description of the replaced entry.
    end = start + len(_PLACE)
    while text[end:].startswith("        "):
        end = text.index("\n", end) + 1
    declared: Mapping[str, Any] = parameters_of(Request)
    entries = [
        f"    {name} : {declared[name].typed}\n{textwrap.indent(textwrap.fill(declared[name].doc, _WIDTH), ' ' * 8)}\n"
        for name in names
    ]
    return text[:start] + "".join(entries) + text[end:]


OF_STREAMS = (*fields_in("engine"), *fields_in("output"))
"""Fields of requests for tables outside the memory, and of saving."""
