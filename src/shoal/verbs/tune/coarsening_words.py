"""Coarsenings in the words of the command line and of spec files."""

from __future__ import annotations

from shoal._core.validation import exact_fraction
from shoal.grouping import Labels, Ordered, Points
from shoal.hierarchy import (
    Bins,
    BottomCode,
    Coarsening,
    DatePart,
    Level,
    OneValue,
    Prefix,
    Round,
    ThreeDigitZip,
    TopCode,
)
from shoal.hierarchy.distinct_values import number_text

__all__ = ["in_words"]


def in_words(coarsening: Coarsening, *, file: str = "") -> str | None:
    """Return what --coarsen says for a coarsening, or None where it has no words for it.

    Parameters
    ----------
    coarsening : Coarsening
    file : str
        The file of its hierarchy, where it has one.

    Examples
    --------
    >>> in_words(Bins(10)), in_words(Bins(cuts=[18, 65])), in_words(Bins(10, start=5))
    ('bins:10', 'cuts:18,65', None)
    """
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
