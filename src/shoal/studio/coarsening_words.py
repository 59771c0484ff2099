"""Coarsenings in the words of the screens."""

from __future__ import annotations

from collections.abc import Mapping

from shoal._core.language import marked
from shoal._messages import Text

__all__ = ["describe_coarsening"]

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
