"""Values in three notations: TOML for spec files, words of a shell for commands, and Python source."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from typing import Any

from shoal._core.quoting import escaped, listed_name
from shoal._messages import with_value

_WIDTH = 100
"""The maximum length of a list on one line of TOML."""


def toml_lines(content: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Write a mapping as lines of TOML with dotted keys.

    Examples
    --------
    >>> list(toml_lines({"seed": 7, "privacy": {"l": "7/2"}, "columns": {"sensitive": ["d"]}}))
    ['seed = 7', 'privacy.l = "7/2"', 'columns.sensitive = ["d"]']
    """
    for key, value in content.items():
        named = before + toml_key(key)
        if isinstance(value, dict):
            yield from toml_lines(value, f"{named}.")
            continue
        text = _toml_value(value)
        if isinstance(value, list | tuple) and len(named) + len(text) + 3 > _WIDTH:
            text = "[\n" + "".join(f"  {_toml_value(one)},\n" for one in value) + "]"
        yield f"{named} = {text}"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return quote_for_toml(value) if isinstance(value, str) else str(value)


def toml_key(key: str, *, listed: bool = False) -> str:
    """Write a key of TOML; if keys may list several columns, a name with a comma is quoted once more."""
    key = listed_name(key) if listed else key
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else quote_for_toml(key)


def quote_for_toml(text: str) -> str:
    """Quote a string for TOML; escape all characters that are not printable."""
    return "".join(one if one.isprintable() else escaped(one) for one in json.dumps(text, ensure_ascii=False))


def python_call(
    function: str, arguments: Mapping[str, Any], *, first: Sequence[str] = (), before: Sequence[str] = ()
) -> str:
    """Write a program that imports modules and calls a function, with an argument on each line.

    Parameters
    ----------
    function : str
        The function, possibly with the variable that its result is assigned to.
    arguments : mapping of str to object
        The arguments by keyword.
    first : sequence of str
        The source of positional arguments.
    before : sequence of str
        Lines before the call.
    """
    imported: set[str] = set()
    # Names are shown as lists, because that is how people write them.
    values = {name: list(one) if isinstance(one, tuple) else one for name, one in arguments.items()}
    keywords = [f"{name}={_python_source(one, imported)}" for name, one in values.items()]
    # Modules of Python precede those of shoal.
    modules = sorted({"shoal", *imported}, key=lambda name: (name.startswith("shoal"), name))
    call = [f"{function}(", *(f"    {one}," for one in (*first, *keywords)), ")"]
    return "\n".join([*(f"import {name}" for name in modules), "", *before, *call])


def _python_source(value: Any, imported: set[str]) -> str:
    """Write a value as Python source: models and coarsenings as calls without default arguments.

    Parameters
    ----------
    value : object
    imported : set of str
        The modules that the source needs are added to it.
    """
    if isinstance(value, dict):
        pairs = (f"{_python_source(key, imported)}: {_python_source(one, imported)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(_python_source(one, imported) for one in value)
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    # A hierarchy is the name of its file, in the folder of the table. The import loads Polars, which takes time.
    from shoal.hierarchy import Hierarchy

    if isinstance(value, Hierarchy):
        return repr(value.source)
    if isinstance(value, os.PathLike):
        return repr(os.fspath(value))
    if isinstance(value, Fraction):
        imported.add("fractions")
        return f"fractions.{value!r}"
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    # Required fields are positional; the others are keywords, if they differ from their defaults.
    taken = [one for one in fields(value) if one.init]
    needed = [one for one in taken if one.default is MISSING and not one.kw_only]
    given = [one for one in taken if one not in needed and getattr(value, one.name) != one.default]
    words = [_python_source(getattr(value, one.name), imported) for one in needed]
    words += [f"{one.name}={_python_source(getattr(value, one.name), imported)}" for one in given]
    return f"{_qualified(type(value).__name__, imported)}({', '.join(words)})"


def _qualified(name: str, imported: set[str]) -> str:
    """Return the qualified name of a class of the library, and add its module to `imported`."""
    import shoal
    from shoal import algorithms, grouping, hierarchy, models

    if hasattr(shoal, name):
        return f"shoal.{name}"
    home = next(one for one in (algorithms, grouping, models, hierarchy) if hasattr(one, name))
    if home is hierarchy:
        imported.add(home.__name__)
    return f"{home.__name__}.{name}"


def option_words(flag: str, value: str | None) -> list[str]:
    """Return the words of a command line for an option and its value.

    Examples
    --------
    >>> option_words("-k", "5"), option_words("--set reading.decimal", ","), option_words("--link", None)
    (['-k', '5'], ['--set', 'reading.decimal=,'], ['--link'])
    """
    return [flag] if value is None else with_value(flag, value).split(" ", 1)
