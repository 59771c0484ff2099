"""Coarsenings in the words of screens and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.language import gettext, marked
from shoal._core.words import listed, number
from shoal._messages import Text

__all__ = ["describe_coarsening", "describe_certified_coarsening"]

COARSENINGS: Mapping[str, str] = {
    "bins": marked("in steps of {value}"),
    "prefix": marked("the first {value} characters"),
    "round": marked("rounded to {value}"),
    "top": marked("{value} or more as one"),
    "bottom": marked("{value} or less as one"),
    "labels": marked("rare values joined until each class has {value} records"),
    "ordered": marked("neighbouring values joined until each class has {value} records"),
    "quantiles": marked("in {value} parts with as many records each"),
    "cuts": marked("cut at {value}"),
}
"""Descriptions of coarsenings, by their words in spec files."""


def describe_coarsening(words: str) -> Text:
    """Describe a coarsening for users who do not write spec files.

    Examples
    --------
    >>> [str(describe_coarsening(words)) for words in ("bins:10", "date:year", "date:decade", "")]
    ['in steps of 10', 'the year only', 'bands of 10 years', 'as it is']
    """
    kind, _colon, value = words.partition(":")
    if kind == "date":
        parts = {"year": marked("the year only"), "quarter": marked("year and quarter")}
        band = value.removesuffix("years")
        if value == "decade" or band != value:
            return Text(marked("bands of {value} years"), value="10" if value == "decade" else band)
        months = marked("year and month")
        return Text(parts.get(value, months))
    # Coarsenings that contain others, or files.
    if kind == "since":
        then = value.partition(":")[2]
        first = Text("days since the first date of the person")
        return Text("{changes}", changes=(first, describe_coarsening(then))) if then else first
    if kind == "level":
        file, _colon, number = value.rpartition(":")
        return Text("level {number} of {file}", number=number, file=file.rpartition("/")[2])
    fixed = {
        "": marked("as it is"),
        "any": marked("nothing of it: every value becomes the same"),
        "zip3": marked("the first 3 digits"),
    }
    form = fixed.get(kind) or COARSENINGS.get(kind)
    return Text("{change}", change=words) if form is None else Text(form, value=value)


_WORDS = {
    "prefix": ("prefix", "n"),
    "round": ("round", "to"),
    "top-code": ("top", "at"),
    "bottom-code": ("bottom", "at"),
    "labels": ("labels", "k"),
    "ordered": ("ordered", "k"),
    "points": ("ordered", "k"),
    "regions": ("ordered", "k"),
}
"""The word in spec files and the parameter that follows it, by the name of the coarsening in certificates."""


def describe_certified_coarsening(facts: Mapping[str, Any]) -> str:
    """Describe a coarsening of a certificate.

    Examples
    --------
    >>> describe_certified_coarsening({"coarsening": "bins", "width": 20000, "start": 0})
    'in steps of 20,000'
    >>> describe_certified_coarsening({"coarsening": "labels", "k": 1200, "labels": "members"})
    'rare values joined until each class has 1,200 records'
    """
    kind = str(facts["coarsening"])
    # Only columns with a hierarchy have levels; the certificate does not name its file.
    if kind == "level":
        return gettext("level {number} of its hierarchy").format(number=number(facts["level"]))
    if kind == "since-first":
        days = gettext("days since the first date of the person")
        return f"{days}, {describe_certified_coarsening(facts['then'])}" if "then" in facts else days
    # The others are described by their words in spec files.
    if kind == "bins":
        if "cuts" in facts:
            words = f"cuts:{listed([number(cut) for cut in facts['cuts']])}"
        else:
            words = f"bins:{number(facts['width'])}" if "width" in facts else f"quantiles:{number(facts['quantiles'])}"
    elif kind in _WORDS:
        word, parameter = _WORDS[kind]
        words = f"{word}:{number(facts[parameter])}"
    else:
        words = {"one-value": "any", "three-digit-zip": "zip3"}.get(kind, f"date:{facts.get('part', kind)}")
    text = describe_coarsening(words)
    return gettext(text.form).format(**text.values)
