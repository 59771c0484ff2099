"""Short descriptions within sentences: people, columns and values of attacks, and coarsenings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import listed, number

COUNTS_CERTAIN = frozenset(("homogeneity", "background", "similarity", "intersection"))
"""The attacks that count people of whom a value is certain, which the share of right guesses is no measure of."""
_MAX_COLUMNS_NAMED = 4
"""Largest number of columns that a sentence names."""


def count_people(count: float) -> str:
    """Format a number of people."""
    return f"{number(count)} {'person' if int(count) == 1 else 'people'}"


def name_attempts(facts: Mapping[str, Any]) -> str:
    """Name what is attacked and how many."""
    attempts, name = facts["attempts"], facts["attack"]
    if name not in _ATTEMPTS and (facts.get("of") == "persons" or name == "intersection"):
        return count_people(attempts)
    one, several = _ATTEMPTS.get(name, ("record", "records"))
    return f"{number(attempts)} {one if attempts == 1 else several}"


_ATTEMPTS = {
    "refinement": ("coarser cell", "coarser cells"),
    "singling-out": ("description of a record", "descriptions of records"),
}
"""What attacks that do not attack records are tried on."""


def is_complete(facts: Mapping[str, Any]) -> bool:
    """Check whether everything was attacked that could be, so that its rate has no error of sampling."""
    return bool(facts.get("complete")) or facts["attack"] in ("linking", "refinement", "singling-out", "minimality")


def name_known_columns(facts: Mapping[str, Any]) -> str:
    """Name the quasi-identifiers that the adversary knows, or their number if there are many."""
    names = facts.get("quasi_identifiers") or ()
    if len(names) > _MAX_COLUMNS_NAMED:
        return f"the {number(len(names))} columns that others may know"
    return listed(names)


def name_value(facts: Mapping[str, Any]) -> str:
    """Name the attacked value: that of a column, or the combination of several."""
    names = facts.get("sensitive") or ()
    if not names:
        return "the sensitive value"
    if len(names) == 1:
        return f"the value of '{names[0]}'"
    # Many columns are replaced by their number.
    if len(names) > _MAX_COLUMNS_NAMED:
        return f"the combination of the values of {number(len(names))} sensitive columns"
    return f"the combination of the values of {listed([repr(name) for name in names])}"


COARSENINGS: Mapping[str, str] = {
    "bins": "in steps of {value}",
    "prefix": "the first {value} characters",
    "round": "rounded to {value}",
    "top": "{value} or more as one",
    "bottom": "{value} or less as one",
    "labels": "rare values joined until each class has {value} records",
    "ordered": "neighbouring values joined until each class has {value} records",
    "quantiles": "in {value} parts with as many records each",
    "cuts": "cut at {value}",
}
"""Descriptions of coarsenings, by their words in spec files."""


def describe_coarsening(words: str) -> str:
    """Describe a coarsening for users who do not write spec files.

    Examples
    --------
    >>> [describe_coarsening(words) for words in ("bins:10", "date:year", "date:decade", "")]
    ['in steps of 10', 'the year only', 'bands of 10 years', 'as it is']
    """
    kind, _colon, value = words.partition(":")
    if kind == "date":
        parts = {"year": "the year only", "quarter": "year and quarter"}
        band = value.removesuffix("years")
        if value == "decade" or band != value:
            return f"bands of {'10' if value == 'decade' else band} years"
        return parts.get(value, "year and month")
    # Coarsenings that contain others, or files.
    if kind == "since":
        then = value.partition(":")[2]
        first = "days since the first date of the person"
        return f"{first}, {describe_coarsening(then)}" if then else first
    if kind == "level":
        file, _colon, number = value.rpartition(":")
        return f"level {number} of {file.rpartition('/')[2]}"
    if kind == "ends":
        low, _colon, high = value.partition(":")
        return f"{low} or less as one, {high} or more as another"
    fixed = {
        "": "as it is",
        "any": "nothing of it: every value becomes the same",
        "zip3": "the first 3 digits",
    }
    form = fixed.get(kind) or COARSENINGS.get(kind)
    return words if form is None else form.format(value=value)


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
        return f"level {number(facts['level'])} of its hierarchy"
    if kind == "since-first":
        days = "days since the first date of the person"
        return f"{days}, {describe_certified_coarsening(facts['then'])}" if "then" in facts else days
    # The others are described by their words in spec files.
    if kind == "bins":
        if "cuts" in facts:
            words = f"cuts:{listed([number(cut) for cut in facts['cuts']])}"
        else:
            words = f"bins:{number(facts['width'])}" if "width" in facts else f"quantiles:{number(facts['quantiles'])}"
    elif "bottom" in facts:
        words = f"ends:{number(facts['bottom'])}:{number(facts['at'])}"
    elif kind in _WORDS:
        word, parameter = _WORDS[kind]
        words = f"{word}:{number(facts[parameter])}"
    else:
        words = {"one-value": "any", "three-digit-zip": "zip3"}.get(kind, f"date:{facts.get('part', kind)}")
    return describe_coarsening(words)
