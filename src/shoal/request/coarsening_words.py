"""Coarsenings in the syntax of options and spec files: `prefix:3`, `cuts:18,30,65`, `level:FILE:2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal._core.validation import exact_fraction
from shoal._messages import Suggestion
from shoal.errors import ParameterError, UsageError, did_you_mean
from shoal.hierarchy import (
    Bins,
    BottomCode,
    Coarsening,
    DatePart,
    Level,
    OneValue,
    Prefix,
    Round,
    SinceFirst,
    ThreeDigitZip,
    TopCode,
)
from shoal.hierarchy.distinct_values import number_text
from shoal.request.texts import KINDS, as_number, names_in


def with_file(words: str, place: Callable[[str], str]) -> str:
    """Apply a function to the name of a coarsening's file, if it has one, also within another coarsening."""
    # Only hierarchies and maps have files; the part after the last colon is a number.
    kind, _, rest = words.partition(":")
    if kind == "since":
        first, colon, then = rest.partition(":")
        return f"{kind}:{first}{colon}{with_file(then, place)}"
    if kind not in ("level", "regions"):
        return words
    file, colon, number = rest.rpartition(":")
    return f"{kind}:{place(file)}:{number}" if colon else words


def coarsenings_of(texts: Mapping[str, str]) -> dict[str | tuple[str, ...], Coarsening]:
    """Parse coarsenings, keyed by column, or by columns if the name has several.

    Raises
    ------
    UsageError
        If a text is not a coarsening.
    """
    made: dict[str | tuple[str, ...], Coarsening] = {}
    for name, words in texts.items():
        # A name such as "lat,lon" stands for a coarsening of two columns.
        names = names_in("--coarsen", [name]) or (name,)
        made[names if len(names) > 1 else names[0]] = coarsening_of(name, words)
    return made


def coarsening_of(name: str, words: str) -> Coarsening:
    """Parse the coarsening of a column.

    Examples
    --------
    >>> coarsening_of("age", "bins:10")
    Bins(width=10, cuts=None, quantiles=None, start=0)
    """
    try:
        return parse_coarsening(words)
    except ParameterError as error:  # raised by the class of the coarsening
        asked = Suggestion("coarsen", f"{name}={words}", python=f"coarsen={{{name!r}: {words!r}}}")
        raise UsageError(asked, " is invalid. ", error) from error


def parse_coarsening(words: str) -> Coarsening:
    """Parse a coarsening; an error of its class does not show the words."""
    kind, _, value = words.partition(":")
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS) or f"There are {', '.join(KINDS.values())}."
        raise UsageError(f"'{kind}' is not a coarsening. {near}")
    # These two kinds have no parameter, all others need one.
    if bool(value) == (kind in ("zip3", "any")):
        raise UsageError(f"The coarsening '{kind}' has the form {KINDS[kind]}.")
    if kind == "level":
        return _level(value)
    if kind == "regions":
        return _regions(value)
    if kind == "since":
        first, _, then = value.partition(":")
        if first != "first":
            raise UsageError(f"The coarsening 'since' has the form {KINDS['since']}, or since:first:bins:7 for weeks.")
        return SinceFirst(parse_coarsening(then) if then else None)
    if kind == "ends":
        low, colon, high = value.partition(":")
        if not colon:
            raise UsageError(f"The coarsening 'ends' has the form {KINDS['ends']}.")
        return TopCode(as_number("a coarsening", high), bottom=as_number("a coarsening", low))
    made, parameter = _classes()[kind]
    if not parameter:
        return made()
    if kind == "cuts":
        return made(**{parameter: [as_number("a coarsening", cut) for cut in value.split(",")]})
    return made(**{parameter: value if kind == "date" else as_number("a coarsening", value)})


def _classes() -> dict[str, tuple[type[Coarsening], str]]:
    """Return the class and the parameter of each kind that has no file; the parameter is empty if there is none."""
    from shoal.grouping import Labels, Ordered, Points

    return {
        "prefix": (Prefix, "n"),
        "bins": (Bins, "width"),
        "cuts": (Bins, "cuts"),
        "quantiles": (Bins, "quantiles"),
        "date": (DatePart, "part"),
        "round": (Round, "to"),
        "top": (TopCode, "at"),
        "bottom": (BottomCode, "at"),
        "labels": (Labels, "k"),
        "ordered": (Ordered, "k"),
        "points": (Points, "k"),
        "zip3": (ThreeDigitZip, ""),
        "any": (OneValue, ""),
    }


def _level(text: str) -> Coarsening:
    file, colon, level = text.rpartition(":")
    if not colon or not file:
        raise UsageError(f"The coarsening 'level' has the form {KINDS['level']}.")
    number: Any = as_number("a coarsening", level)
    return Level(file, number)


def _regions(text: str) -> Coarsening:
    from shoal.grouping import Regions
    from shoal.io.edges import EDGE_TABLES, edges_of

    file, colon, least = text.rpartition(":")
    if not colon or not file:
        raise UsageError(
            f"The coarsening 'regions' has the form {KINDS['regions']}, or regions:MAP.gpkg:NAME:50 with the "
            "column NAME of the polygons, which contains the names of the places."
        )
    number: Any = as_number("a coarsening", least)
    if Path(file.removesuffix(".gz")).suffix.lower() in EDGE_TABLES:
        return Regions(edges_of(file), k=number)
    # A map may be followed by the column with the names of its regions.
    path, _, name = file.rpartition(":")
    return Regions(path or name, k=number, names=name if path else None)


def in_words(coarsening: Coarsening, *, file: str = "") -> str | None:
    """Format a coarsening in this syntax; None if it cannot be expressed.

    Parameters
    ----------
    coarsening : Coarsening
    file : str
        The file of its hierarchy, if it has one.

    Examples
    --------
    >>> in_words(Bins(10)), in_words(Bins(cuts=[18, 65])), in_words(Bins(10, start=5))
    ('bins:10', 'cuts:18,65', None)
    """
    if isinstance(coarsening, Level):
        return f"level:{file}:{coarsening.level}" if file else None
    if isinstance(coarsening, SinceFirst):
        then = "" if coarsening.then is None else in_words(coarsening.then)
        return None if then is None else f"since:first:{then}".rstrip(":")
    if isinstance(coarsening, TopCode) and coarsening.bottom is not None:
        return f"ends:{_text(coarsening.bottom)}:{_text(coarsening.at)}" if coarsening.label is None else None
    given: Any = coarsening
    own: Any = type(coarsening)
    for kind, (made, name) in _classes().items():
        if own is not made or (name and getattr(given, name) is None):
            continue
        # Only this parameter has an equivalent in the syntax; all others must have their defaults.
        words = f"{kind}:{_text(getattr(given, name))}" if name else kind
        again = parse_coarsening(words)
        if replace(given, **({name: getattr(again, name)} if name else {})) == again:
            return words
    return None


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ",".join(map(_text, value))
    return number_text(exact_fraction(value))  # type: ignore[arg-type]
