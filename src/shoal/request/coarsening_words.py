"""Coarsenings in the syntax of options and spec files: `prefix:3`, `cuts:18,30,65`, `level:FILE:2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.validation import exact_fraction
from shoal.errors import ParameterError, UsageError, did_you_mean
from shoal.hierarchy import Bins, BottomCode, DatePart, Level, OneValue, Prefix, Round, ThreeDigitZip, TopCode
from shoal.hierarchy.distinct_values import number_text
from shoal.request.texts import KINDS, as_number, names_in

if TYPE_CHECKING:
    from shoal.hierarchy import Coarsening

__all__ = ["in_folder", "coarsenings_of", "in_words"]

_FLAG = "--coarsen"


def in_folder(folder: Path, words: str) -> str:
    """Make the path of a coarsening's file, if it has one, relative to a folder."""
    # Only hierarchies and maps have files; the part after the last colon is a number.
    kind, _, rest = words.partition(":")
    if kind not in ("level", "regions"):
        return words
    file, colon, number = rest.rpartition(":")
    return f"{kind}:{folder / file}:{number}" if colon else words


def coarsenings_of(texts: Mapping[str, str]) -> dict[str | tuple[str, ...], Coarsening]:
    """Parse coarsenings, keyed by column, or by columns if the name lists several.

    Raises
    ------
    UsageError
        If a text is not a coarsening.
    """
    made: dict[str | tuple[str, ...], Coarsening] = {}
    for name, words in texts.items():
        # A name such as "lat,lon" stands for a coarsening of two columns.
        names = names_in(_FLAG, [name]) or (name,)
        try:
            made[names if len(names) > 1 else names[0]] = _coarsening_of(words)
        except ParameterError as error:  # raised by the class of the coarsening
            raise UsageError(f"{_FLAG} {name}={words} is invalid. ", error) from error
    return made


def _coarsening_of(words: str) -> Coarsening:
    kind, _, value = words.partition(":")
    makers = _makers()
    if kind not in makers:
        near = did_you_mean(kind, KINDS) or f"There are {', '.join(KINDS.values())}."
        raise UsageError(f"'{kind}' is not a coarsening. {near}")
    # These two kinds have no parameter, all others need one.
    if bool(value) == (kind in ("zip3", "any")):
        raise UsageError(f"The coarsening '{kind}' has the form {KINDS[kind]}.")
    return makers[kind](value)


def _makers() -> dict[str, Callable[[str], Coarsening]]:
    from shoal.grouping import Labels, Ordered, Points

    def number(text: str) -> Any:
        return as_number(_FLAG, text)

    return {
        "prefix": lambda text: Prefix(number(text)),
        "bins": lambda text: Bins(number(text)),
        "cuts": lambda text: Bins(cuts=[number(cut) for cut in text.split(",")]),
        "quantiles": lambda text: Bins(quantiles=number(text)),
        "date": DatePart,
        "level": _level,
        "round": lambda text: Round(number(text)),
        "top": lambda text: TopCode(number(text)),
        "bottom": lambda text: BottomCode(number(text)),
        "labels": lambda text: Labels(k=number(text)),
        "ordered": lambda text: Ordered(k=number(text)),
        "points": lambda text: Points(k=number(text)),
        "regions": _regions,
        "zip3": lambda _: ThreeDigitZip(),
        "any": lambda _: OneValue(),
    }


def _level(text: str) -> Coarsening:
    file, colon, level = text.rpartition(":")
    if not colon or not file:
        raise UsageError(f"The coarsening 'level' has the form {KINDS['level']}.")
    number: Any = as_number(_FLAG, level)
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
    number: Any = as_number(_FLAG, least)
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
    from shoal.grouping import Labels, Ordered, Points

    words: str | None = None
    # Only parameters with an equivalent in the syntax match; all others keep their defaults.
    match coarsening:
        case Bins(width=width, start=0) if width is not None:
            words = f"bins:{_number(width)}"
        case Bins(cuts=cuts) if cuts is not None:
            words = "cuts:" + ",".join(map(_number, cuts))
        case Bins(quantiles=quantiles) if quantiles is not None:
            words = f"quantiles:{quantiles}"
        case DatePart(part=part, format=None, earliest=None):
            words = f"date:{part}"
        case Level(level=level):
            words = f"level:{file}:{level}" if file else None
        case Prefix(n=n, digits=None):
            words = f"prefix:{n}"
        case Round(to=to):
            words = f"round:{_number(to)}"
        case TopCode(at=at, label=None):
            words = f"top:{_number(at)}"
        case BottomCode(at=at, label=None):
            words = f"bottom:{_number(at)}"
        case Labels(k=k, labels="members", seed=0):
            words = f"labels:{k}"
        case Ordered(k=k):
            words = f"ordered:{k}"
        case Points(k=k, geographic=None):
            words = f"points:{k}"
        case ThreeDigitZip() if coarsening == ThreeDigitZip():
            words = "zip3"
        case OneValue() if coarsening == OneValue():
            words = "any"
    return words


def _number(value: object) -> str:
    return number_text(exact_fraction(value))  # type: ignore[arg-type]
