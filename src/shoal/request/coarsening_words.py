"""Coarsenings in words: `prefix:3`, `cuts:18,30,65`, `level:FILE:2`, as options and spec files write them."""

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

__all__ = ["beside", "coarsenings_of", "in_words"]

_FLAG = "--coarsen"


def beside(folder: Path, words: str) -> str:
    """Return a coarsening whose file, if it has one, starts from a folder."""
    kind, _, rest = words.partition(":")
    if kind not in ("level", "regions"):
        return words
    file, colon, number = rest.rpartition(":")
    return f"{kind}:{folder / file}:{number}" if colon else words


def coarsenings_of(said: Mapping[str, str]) -> dict[str | tuple[str, ...], Coarsening]:
    """Build coarsenings by column, or by columns if the name lists several.

    Raises
    ------
    UsageError
        The words name none.
    """
    made: dict[str | tuple[str, ...], Coarsening] = {}
    for name, words in said.items():
        names = names_in(_FLAG, [name]) or (name,)
        try:
            made[names if len(names) > 1 else names[0]] = _coarsening_of(words)
        except ParameterError as error:  # of a coarsening as Python has it
            raise UsageError(f"{_FLAG} {name}={words} is invalid. ", error) from error
    return made


def _coarsening_of(words: str) -> Coarsening:
    kind, _, value = words.partition(":")
    makers = _makers()
    if kind not in makers:
        near = did_you_mean(kind, KINDS) or f"There are {', '.join(KINDS.values())}."
        raise UsageError(f"'{kind}' is no coarsening. {near}")
    if bool(value) == (kind in ("zip3", "any")):
        raise UsageError(f"The coarsening '{kind}' is written like {KINDS[kind]}.")
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
        raise UsageError(f"The coarsening 'level' is written like {KINDS['level']}.")
    number: Any = as_number(_FLAG, level)
    return Level(file, number)


def _regions(text: str) -> Coarsening:
    from shoal.grouping import Regions
    from shoal.io.edges import EDGE_TABLES, edges_of

    file, colon, least = text.rpartition(":")
    if not colon or not file:
        raise UsageError(
            f"The coarsening 'regions' is written like {KINDS['regions']}, or regions:MAP.gpkg:NAME:50 where NAME is "
            "the column of the polygons with the names of the places."
        )
    number: Any = as_number(_FLAG, least)
    if Path(file.removesuffix(".gz")).suffix.lower() in EDGE_TABLES:
        return Regions(edges_of(file), k=number)
    path, _, name = file.rpartition(":")
    return Regions(path or name, k=number, names=name if path else None)


def in_words(coarsening: Coarsening, *, file: str = "") -> str | None:
    """Write a coarsening in words; None if it has none.

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
