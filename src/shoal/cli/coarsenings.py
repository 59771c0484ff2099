"""Coarsenings as they are written on the command line and in specs: `prefix:3`, `cuts:18,30,65`, `level:FILE:2`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.options import as_number, names_in
from shoal.errors import ParameterError, UsageError, did_you_mean

if TYPE_CHECKING:
    from fractions import Fraction

    from shoal.hierarchy import Coarsening

__all__ = ["KINDS", "beside", "coarsenings_of", "columns_and_words", "limits_of", "weights_of"]

KINDS = {
    "prefix": "prefix:3",
    "bins": "bins:10",
    "cuts": "cuts:18,30,65",
    "quantiles": "quantiles:4",
    "date": "date:year",
    "level": "level:FILE:2",
    "round": "round:5",
    "top": "top:90",
    "bottom": "bottom:18",
    "labels": "labels:50",
    "ordered": "ordered:50",
    "points": "points:50",
    "regions": "regions:EDGES.csv:50",
    "zip3": "zip3",
    "any": "any",
}
"""Every kind of coarsening that words can say, with an example."""


def columns_and_words(option: str, given: Sequence[str] | None) -> dict[str, str] | None:
    """Return what `name=words` says of each column; None where nothing was given.

    The name ends at the first equals sign.

    Examples
    --------
    >>> columns_and_words("--coarsen", ["zip=prefix:3", "age=bins:10"])
    {'zip': 'prefix:3', 'age': 'bins:10'}
    """
    if not given:
        return None
    said: dict[str, str] = {}
    for entry in given:
        name, equals, words = entry.partition("=")
        if not equals or not name or not words:
            raise UsageError(f"{option} takes a column and what to do, NAME=VALUE. Got {entry!r}.")
        if name in said:
            raise UsageError(f"{option} names the column '{name}' twice.")
        said[name] = words
    return said


def weights_of(said: Mapping[str, float | str]) -> dict[str, int | float | Fraction]:
    """Return the weights of columns, each a number."""
    return {name: as_number("--weight", given) for name, given in said.items()}


def limits_of(said: Mapping[str, tuple[int, int] | str]) -> dict[str, tuple[int, int]]:
    """Return the lowest and the highest level of columns, of `1:3` or a pair.

    Raises
    ------
    UsageError
        Where words are no two numbers.
    """
    return {name: _levels(given) if isinstance(given, str) else given for name, given in said.items()}


def _levels(words: str) -> tuple[int, int]:
    levels = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", words)
    if levels is None:
        raise UsageError(f"--limit takes a column and two levels, NAME=LOW:HIGH, as in age=1:3. Got {words!r}.")
    return int(levels[1]), int(levels[2])


def beside(folder: Path, words: str) -> str:
    """Return a coarsening whose file, if it has one, starts from a folder."""
    kind, _, rest = words.partition(":")
    if kind not in ("level", "regions"):
        return words
    file, colon, number = rest.rpartition(":")
    return f"{kind}:{folder / file}:{number}" if colon else words


def coarsenings_of(said: Mapping[str, str]) -> dict[str | tuple[str, ...], Coarsening]:
    """Return coarsenings by column, or by columns where the name lists several.

    Raises
    ------
    UsageError
        Where the words mean none.
    """
    made: dict[str | tuple[str, ...], Coarsening] = {}
    for name, words in said.items():
        names = names_in("--coarsen", [name]) or (name,)
        try:
            made[names if len(names) > 1 else names[0]] = _coarsening_of(words)
        except ParameterError as error:  # of a coarsening as Python has it
            raise UsageError(f"--coarsen {name}={words} will not do. ", error) from error
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
    from shoal.hierarchy import Bins, BottomCode, DatePart, OneValue, Prefix, Round, ThreeDigitZip, TopCode

    def number(text: str) -> Any:
        return as_number("--coarsen", text)

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
    from shoal.hierarchy import Level

    file, colon, level = text.rpartition(":")
    if not colon or not file:
        raise UsageError(f"The coarsening 'level' is written like {KINDS['level']}.")
    number: Any = as_number("--coarsen", level)
    return Level(file, number)


def _regions(text: str) -> Coarsening:
    from shoal.cli.group_regions import TABLES, edges_of
    from shoal.grouping import Regions

    file, colon, least = text.rpartition(":")
    if not colon or not file:
        raise UsageError(
            f"The coarsening 'regions' is written like {KINDS['regions']}, or regions:MAP.gpkg:NAME:50 where NAME is "
            "the column of the polygons with the names of the places."
        )
    number: Any = as_number("--coarsen", least)
    if Path(file.removesuffix(".gz")).suffix.lower() in TABLES:
        return Regions(edges_of(file), k=number)
    path, _, name = file.rpartition(":")
    return Regions(path or name, k=number, names=name if path else None)
