"""Columns that look like direct identifiers or like categories of the Safe Harbor rule of HIPAA.

A warning before a table is published, never a promise: a column of which nothing is said here may still name people.
Columns are recognized by their names (in English, German, French and Spanish) and by the form of their values.

References
----------
45 CFR 164.514(b)(2)(i), (A) to (R).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.identifier_kinds import KINDS, Kind
from shoal.hierarchy.postal import SPARSE_ZIP3

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PossibleIdentifier", "detect_identifiers"]

_TESTED = 10_000
"""Distinct values of a column that are looked at; of more, about so many."""
_LONG = 8
"""Letters of a word that is also looked for within compounds."""
_NEARLY_ALL = 0.95
"""Share of the distinct values that have a form that every value should have."""
_CUT_CODE = r"^([0-9]{1,4})\*+$"
"""A postal code of which the last digits are stars."""
_ALLOWED_DIGITS = 3
"""Digits of a ZIP code that may be shown by category B."""


@dataclass(frozen=True, kw_only=True)
class PossibleIdentifier(Figures):
    """A column that may identify people by itself."""

    column: str
    """Its name."""
    kind: str
    """What it looks like: "email", "telephone", "name", ..."""
    category: str
    """The letter of the category in the Safe Harbor rule, "A" to "R"."""
    by: str
    """"name", "values", or "name and values"."""
    share: float | None
    """Share of the distinct values that have the form; None where only the name tells."""
    text: str
    """The warning as a sentence."""


def detect_identifiers(frame: pl.DataFrame) -> tuple[PossibleIdentifier, ...]:
    """Return the columns that look like identifiers, in their order, each with what it looks like.

    Parameters
    ----------
    frame : polars.DataFrame
        At most 10,000 distinct values of each column of text are looked at.

    Examples
    --------
    >>> import polars as pl
    >>> found = detect_identifiers(pl.DataFrame({"contact": ["ann@example.org", "bob@example.org"], "age": [34, 91]}))
    >>> [(one.column, one.kind, one.category, one.by) for one in found]
    [('contact', 'email', 'F', 'values'), ('age', 'age over 89', 'C', 'name and values')]
    """
    found = []
    for column in frame.get_columns():
        words, values = _words(column.name), _distinct_text(column)
        for kind in KINDS:
            named = _is_named(words, kind)
            if kind.above is not None and not named:
                continue
            share = _share(column, values, kind)
            shows = share is not None and share >= kind.least
            if (named and kind.above is None) or shows:
                found.append(_finding(column.name, kind, named=named, share=share if shows else None))
                if kind.name == "zip" and values is not None:
                    found[-1] = _cut_code(found[-1], values)
    return tuple(found)


def _finding(name: str, kind: Kind, *, named: bool, share: float | None) -> PossibleIdentifier:
    by = "name and values" if named and share is not None else "name" if named else "values"
    reason = {
        "name": "its name says so",
        "values": "its values have that form",
        "name and values": "its name and the form of its values say so",
    }[by]
    return PossibleIdentifier(
        column=name,
        kind=kind.name,
        category=kind.category,
        by=by,
        share=share,
        text=f"The column '{name}' may hold {kind.title}: {reason}. {kind.advice}",
    )


def _cut_code(found: PossibleIdentifier, values: pl.Series) -> PossibleIdentifier:
    """Return what the rule allows where postal codes show some digits only, as 816** and 8166* do."""
    shown = values.str.extract(_CUT_CODE)
    if shown.null_count() == len(values):
        return found
    longest = shown.str.len_chars().max()
    most = longest if isinstance(longest, int) else 0
    begins = f"The column '{found.column}' shows the first {most} digit{'s' if most > 1 else ''} of postal codes"
    if most > _ALLOWED_DIGITS:
        said = "Safe Harbor allows three of a U.S. code. Cut them to three."
    else:
        sparse = int(shown.str.slice(0, _ALLOWED_DIGITS).is_in(list(SPARSE_ZIP3)).sum())
        areas = f"{sparse} of these areas {'has' if sparse == 1 else 'have'}" if sparse else "None of these areas has"
        then = "; show 000 there." if sparse else ". Check it with current figures."
        said = (
            "Safe Harbor allows that of U.S. codes where more than 20,000 people live. "
            f"{areas} 20,000 or fewer by the 2000 Census{then}"
        )
    return replace(found, text=f"{begins}: {said} Other countries have other rules.")


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case without accents: `patientName_2` is patient, name."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return tuple(word for word in re.split(r"[^a-z]+", apart.lower()) if word)


def _is_named(words: tuple[str, ...], kind: Kind) -> bool:
    """Return whether a name has a word of a kind, or words that follow one another."""
    if kind.excluded & set(words):
        return False
    joined = " ".join(words)
    # Long words also as a part of a compound (Geburtsdatum, telephonenumber), short ones only by themselves.
    return any(
        f" {phrase} " in f" {joined} " or (len(phrase) >= _LONG and " " not in phrase and phrase in joined)
        for phrase in kind.words
    )


def _distinct_text(column: pl.Series) -> pl.Series | None:
    """Return distinct values of a column of text, without blanks around them; None where it has none or is no text."""
    import polars as pl

    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    values = column.cast(pl.String).unique().drop_nulls().str.strip_chars()
    values = values.filter(values != "")
    if len(values) > _TESTED:  # by hash, so that the order of the rows does not matter
        values = values.filter(values.hash(seed=0) % (len(values) // _TESTED + 1) == 0)
    return values if len(values) else None


def _share(column: pl.Series, values: pl.Series | None, kind: Kind) -> float | None:
    """Return the share of the distinct values that have the form of a kind; None where that cannot be said."""
    import polars as pl

    if kind.above is not None:
        numbers = column if column.dtype.is_numeric() else None if values is None else values
        return None if numbers is None else float((numbers.cast(pl.Float64, strict=False) > kind.above).any())
    if kind.temporal and column.dtype in (pl.Date, pl.Datetime):
        return 1.0
    if values is None or kind.form is None:
        return None
    if kind.every is not None and int(values.str.contains(kind.every).sum()) < _NEARLY_ALL * len(values):
        return None
    formed = values.filter(values.str.contains(kind.form))
    if kind.check is None:
        return len(formed) / len(values)
    return sum(kind.check(text) for text in formed.to_list()) / len(values)
