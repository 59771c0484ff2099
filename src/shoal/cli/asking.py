"""Helpers that read the table, the folder and the request of a call, and open the session of its engine."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal.cli.command import argument, option
from shoal.errors import ColumnError, UsageError, did_you_mean, near_matches
from shoal.request.texts import KINDS, columns_and_words, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shoal._messages import Part
    from shoal.hierarchy import Hierarchy
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
    """Build the request (`Request.from_words`); if no role is given, the error names the columns of the table."""
    from shoal.request.request import Request

    check_named(words, None, ())
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
        The table, if it is not the input of the words. The error names its columns if there are no quasi-identifiers.
    named : sequence of str
        The quasi-identifiers in the certificate of the table, used if the words have none.

    Raises
    ------
    UsageError
        If there are no quasi-identifiers.
    """
    check_named(words, source, named)
    # A spec file may hold more than the function needs.
    taken = inspect.signature(function).parameters
    return {name: value for name, value in words.fields().items() if name in taken}


def keep_said(arguments: dict[str, Any], names: Sequence[str]) -> None:
    """Drop arguments that only the spec file of the original table has: this call has none of their options."""
    from shoal.request.words import Words

    given = click.get_current_context().params
    options = {name: list(one) if isinstance(one := given.get(name), tuple) else one for name in (*names, "settings")}
    for name in {*names} - {*Words.of_options(options).said}:
        arguments.pop(name, None)


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


def check_named(words: Words, source: str | None, named: Sequence[str]) -> None:
    """Check that the words or a certificate name quasi-identifiers; the error proposes some."""
    if words.get("quasi_identifiers") is None and not words.get("qi_sets") and not named:
        raise UsageError(
            "Name the quasi-identifiers with --qi age,zip,... (or quasi_identifiers = [...] in the spec file).",
            *_roles_to_choose_from(words, source),
        )


def _roles_to_choose_from(words: Words, source: str | None) -> tuple[Part, ...]:
    """Return the end of an error: the columns of the table, the proposed roles, and the next step."""
    from shoal.io.readers import STANDARD_INPUT
    from shoal.request.request_fields import fields_in
    from shoal.verbs.evaluate.proposed_roles import roles_to_choose_from

    source = source or words.get("input")
    if source is None or source == STANDARD_INPUT:
        return (" shoal inspect INPUT proposes a role for each column.",)
    found = roles_to_choose_from(source, **{name: words.get(name) for name in fields_in("reading")})
    where = "INPUT" if "://" in source else shlex.quote(source)  # a URL may hold a password
    return (*found, f" shoal inspect {where} gives the reasons.") if found else ()


Released = Annotated[
    str,
    argument(
        metavar="FILE", help="The table to measure, by any tool: any input of anonymize, or the folder of a release."
    ),
]
Nodes = Annotated[
    list[str] | None,
    option(
        "--hierarchy",
        metavar="NAME=FILE",
        help="The hierarchy of a column whose cells are its nodes: one line per value, from the value to the root; "
        "repeat it for other columns.",
    ),
]
Cells = Annotated[
    list[str] | None,
    option(
        "--cells",
        metavar="NAME=HOW",
        help="The meaning of the cells of a column, if neither they nor a certificate determine it: values (as "
        "they stand), order:A,B,C (all values in their order), or a coarsening in the syntax of --coarsen: prefix:3, "
        "date:year, round:5, top:90, ...",
    ),
]


def named_by_certificate(source: str) -> tuple[str, ...]:
    """Return the quasi-identifiers in the certificate of a release, in its folder or next to its file; may be empty."""
    from shoal.verification.published_folder import columns_with_role, find_published

    _, certificate = find_published(source)
    return columns_with_role(certificate, "quasi_identifiers")


_HOW = (
    "Write values (as they stand), order:A,B,C (all values in their order), or a coarsening: "
    f"{', '.join(KINDS.values())}."
)


def trees_of_cells(given: Sequence[str] | None, names: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the hierarchies of columns from their files.

    Raises
    ------
    UsageError
        If a column or a file does not exist.
    """
    from shoal.hierarchy import as_hierarchy

    given_files = columns_and_words("--hierarchy", given) or {}
    _check("--hierarchy", given_files, names)
    return {name: as_hierarchy(f"The hierarchy of '{name}'", path) for name, path in given_files.items()}


def cells_of(given: Sequence[str] | None, names: Sequence[str]) -> dict[str, object]:
    """Parse the declared meanings of columns, in the form that `shoal.verification.Meaning.of` accepts.

    Raises
    ------
    UsageError
        If a column does not exist, or its meaning is invalid.

    Examples
    --------
    >>> cells_of(["size=order:S,M,L", "zip=values"], ["size", "zip"])
    {'size': ('S', 'M', 'L'), 'zip': 'values'}
    """
    declared = columns_and_words("--cells", given) or {}
    _check("--cells", declared, names)
    return {name: _cells(name, words) for name, words in declared.items()}


def _cells(name: str, words: str) -> object:
    kind, _, rest = words.partition(":")
    if words in ("values", KINDS["since"]):
        return "values"
    if kind == "order":
        order = names_in("--cells", [rest]) if rest else None
        if order is None:
            raise UsageError(f"--cells {name}=order:... takes all values in their order, separated by commas.")
        return order
    # Regions are not determined by a name, so their hierarchy is needed.
    if kind == "regions":
        raise UsageError(
            f"--cells {name}=regions is incomplete: give --hierarchy {name}=FILE, one line place;region;* per place."
        )
    if kind not in KINDS:
        near = str(did_you_mean(kind, ("values", "order", *KINDS)))
        wrong = f"--cells {name}={words} does not declare a meaning of cells."
        raise UsageError(" ".join(filter(None, (wrong, near, _HOW))))
    from shoal.request.coarsening_words import parse_coarsening

    try:
        return parse_coarsening(words)
    except UsageError as error:
        raise UsageError(f"--cells {name}={words} is invalid. ", error) from error


def _check(option: str, declared: Mapping[str, str], names: Sequence[str]) -> None:
    for name in declared:
        if name not in names:
            raise ColumnError(f"{option} names '{name}', which is not a quasi-identifier. {near_matches(name, names)}")
