"""Conversion of plans to arguments of `shoal.anonymize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError

if TYPE_CHECKING:  # the first screen waits for no table library
    from shoal.request.request import Request
    from shoal.request.words import Words


def arguments_in(content: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the content of a spec file to arguments of `shoal.anonymize`; `data` and `rows` are the tables.

    Raises
    ------
    UsageError
        If a part of the content is missing or invalid.
    """
    words, request = _read(content)
    given = {name: getattr(request, name) for name in words.fields() if name != "output"}
    tables = {name: words.get(name) for name in ("rows", "key") if words.get(name) is not None}
    source = {"data": words.get("input"), **tables}
    return {**source, **given, "privacy": request.privacy, "algorithm": request.algorithm}


def request_in(content: Mapping[str, Any]) -> Request:
    """Convert the content of a spec file to a request; see `arguments_in`."""
    return _read(content)[1]


def _read(content: Mapping[str, Any]) -> tuple[Words, Request]:
    from shoal.request.request import Request
    from shoal.request.words import Words

    words = Words.of_content(content)
    if words.get("input") is None:
        raise UsageError("Open a table first.")
    return words, Request.from_words(words)
