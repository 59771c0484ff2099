"""Helpers that read the table, the folder and the request of a call, and open the session of its engine."""

from __future__ import annotations

import inspect
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shoal.models import PrivacyModel
    from shoal.request.request import Request
    from shoal.request.words import Words


def source_of(words: Words, command: str = "anonymize") -> str:
    """Return the input.

    Raises
    ------
    UsageError
        If there is none.
    """
    source = words.get("input")
    if source is None:
        raise UsageError(f"Name the table to read: shoal {command} INPUT ... (or input = ... in the spec file).")
    return str(source)


def folder_of(words: Words) -> Path:
    """Return the output folder.

    Raises
    ------
    UsageError
        If there is none.
    """
    if words.get("output") is None:
        raise UsageError("Name the folder for the release with -o OUT (or output = ... in the spec file).")
    return Path(words.get("output"))


def request_in(words: Words, *, models: list[PrivacyModel] | None = None, algorithm: str | None = None) -> Request:
    """Build the request (`Request.from_words`); if no role is given, the error lists the columns of the table."""
    from shoal.request.request import Request

    _check_named(words, None, ())
    return Request.from_words(words, models=models, algorithm=algorithm)


def reading_of(words: Words) -> dict[str, Any]:
    """Return the options of reading a table, as arguments of a call."""
    from shoal.request.request_fields import fields_in

    given = words.fields()
    return {name: given[name] for name in fields_in("forms", "reading", "cleaning") if name in given}


def saving_of(words: Words) -> dict[str, Any]:
    """Return the options of saving a release, as arguments of `Release.save`."""
    from shoal.request.request_fields import fields_in

    # The folder is passed separately.
    given = {name: words.said[name] for name in fields_in("output") if name in words.said and name != "output"}
    return {**given, "about": words.about()}


def arguments_for(
    words: Words, function: Callable[..., Any], *, source: str | None = None, named: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the words that are parameters of a function which measures a table.

    Parameters
    ----------
    words : Words
    function : callable
        The function, such as `shoal.audit`.
    source : str, optional
        The table, if it is not the input of the words. The error lists its columns if there are no quasi-identifiers.
    named : sequence of str
        The quasi-identifiers in the certificate of the table, used if the words have none.

    Raises
    ------
    UsageError
        If there are no quasi-identifiers.
    """
    _check_named(words, source, named)
    # A spec file may hold more than the function needs.
    taken = inspect.signature(function).parameters
    return {name: value for name, value in words.fields().items() if name in taken}


@contextmanager
def engine_ready(words: Words) -> Iterator[None]:
    """Keep a Spark session open if the engine needs one.

    Raises
    ------
    UsageError
        If a master is given for another engine, or Spark is missing.
    """
    # The session stays open during the work, because Spark is lazy.
    master = words.get("master")
    if words.get("engine") != "spark":
        if master is not None:
            raise UsageError("The key master is for --engine spark. Add that, or leave master out.")
        yield
        return
    from shoal.io import open_session

    with open_session(master):
        yield


def _check_named(words: Words, source: str | None, named: Sequence[str]) -> None:
    if words.get("quasi_identifiers") is None and not words.get("qi_sets") and not named:
        raise UsageError(
            "Name the quasi-identifiers with --qi age,zip,... (or quasi_identifiers = [...] in the spec file)."
            f"{_columns_to_choose_from(words, source)}"
        )


def _columns_to_choose_from(words: Words, source: str | None) -> str:
    """Return the end of an error message that lists the columns of the table and names the next step."""
    from shoal.io.readers import STANDARD_INPUT, read_table
    from shoal.request.request_fields import fields_in

    # Read the columns of the table, unless it cannot be read or is standard input.
    source = source or words.get("input")
    if source is None or source == STANDARD_INPUT:
        return " shoal inspect INPUT proposes a role for each column."
    reading: dict[str, Any] = {name: words.get(name) for name in fields_in("reading")}
    try:
        found = read_table(source, **reading).frame.columns
    except UsageError:
        return ""
    listed = ", ".join(found[:40]) + (", ..." if len(found) > 40 else "")
    where = "INPUT" if "://" in source else shlex.quote(source)  # a URL may hold a password
    return f" The columns are {listed}. shoal inspect {where} proposes a role for each."
