"""Detection of columns that look like direct identifiers or like categories of HIPAA's Safe Harbor rule.

The result is a warning before a table is published, never a guarantee: other columns may still identify people. Columns
are recognized by their names (in English, German, French, Spanish, Italian and Dutch) and by the form of their values.
Of a published table, a set shows each of its members, a star shows nothing, and an interval names no one: it matters
only if it is of dates within a year, or of postal codes.

References
----------
45 CFR 164.514(b)(2)(i), (A) to (R).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import polars as pl

from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.identifier_kinds import KINDS, Kind
from shoal.hierarchy.postal import SPARSE_ZIP3
from shoal.verification.cell_syntax import Cell, loose_cell, read_cell
from shoal.verification.scales import moment_of, period_of

_MAX_VALUES = 10_000
"""Distinct values of a column that are tested; of more values a sample of about this size."""
_MIN_COMPOUND_LETTERS = 8
"""Length from which a word is also searched within compounds."""
_FEWEST_NAMES = 5
"""Smallest number of different names of people in a column; fewer texts are a code."""
_NAME = r"^(?:\*|\p{L}[\p{L}'\u2019 .-]|\p{Lo})"
"""The beginning of a name of a person, or a star; a code has one letter and digits."""
_NEARLY_ALL = 0.95
"""Share of the distinct values that must have the form that every value should have."""
_CUT_CODE = r"^(?:[0-9]{1,3}|[0-9]{4}[*.\u2026])[*.\u2026]*$"
"""The beginning of a postal code, with or without stars or dots for its other digits; four digits alone may be all."""
_COARSE = r"^(?:[\[\](){<>\u2264\u2265]|\*+$)"
"""The beginning of a published interval or set, or a suppressed cell."""
_FORMS = tuple(
    dict.fromkeys(form for kind in KINDS for form in (kind.every, kind.form, kind.plausible) if form is not None)
)
"""The regular expressions of all kinds."""
_FOUR_DIGITS = 1000
_YEAR = 365 * 86_400 * 10**9
"""Nanoseconds of the shortest year."""
_ALLOWED_DIGITS = 3
"""Digits of a ZIP code that category B allows."""


@dataclass(frozen=True, kw_only=True)
class PossibleIdentifier(Figures):
    """A column that may identify people directly."""

    column: str
    """Name of the column."""
    kind: str
    """Kind of identifier, such as "email", "telephone" or "name"."""
    category: str
    """Letter of the category in the Safe Harbor rule, "A" to "R"."""
    by: str
    """Evidence: "name", "values", or "name and values"."""
    share: float | None
    """Share of the distinct values that have the form; None if only the name is evidence."""
    text: str
    """The warning as a sentence."""


def detect_identifiers(frame: pl.DataFrame) -> tuple[PossibleIdentifier, ...]:
    """Detect the columns that look like identifiers, in their order, with the kind of identifier.

    Parameters
    ----------
    frame : polars.DataFrame
        At most 10,000 distinct values of each text column are tested.

    Examples
    --------
    >>> import polars as pl
    >>> found = detect_identifiers(pl.DataFrame({"contact": ["ann@example.org", "bob@example.org"], "age": [34, 91]}))
    >>> [(one.column, one.kind, one.category, one.by) for one in found]
    [('contact', 'email', 'F', 'values'), ('age', 'age over 89', 'C', 'name and values')]
    """
    found = []
    for column in frame.get_columns():
        words, (values, intervals) = _split_words(column.name), _distinct_text(column)
        forms = dict(zip(_FORMS, _count_forms(values), strict=False))
        for kind in KINDS:
            named = _is_named(words, kind) or _is_whole_name(column.name, values, kind)
            named = named and _is_plausible(column, values, intervals, forms, kind)
            if kind.above is not None and not named:
                continue
            # The form of the values is evidence if enough of them have it.
            share = _compute_share(column, values, forms, kind)
            shows = share is not None and share >= kind.least
            # The name alone is evidence, unless the kind depends on the size of numbers.
            if (named and kind.above is None) or shows:
                found.append(_make_finding(column.name, kind, named=named, share=share if shows else None))
                if kind.name == "zip":
                    found[-1] = _explain_cut_codes(found[-1], column, values, intervals)
    return tuple(found)


def holds_names(column: pl.Series) -> bool:
    """Check whether a column of text is called as columns of names of persons are, and has several values."""
    kind = next(kind for kind in KINDS if kind.name == "name")
    named = _is_named(_split_words(column.name), kind)
    if not named and column.name.strip().casefold() not in kind.whole:
        return False
    values, _intervals = _distinct_text(column)
    if values is None or len(values) < _FEWEST_NAMES:
        return False
    return named or _is_whole_name(column.name, values, kind)


def _make_finding(name: str, kind: Kind, *, named: bool, share: float | None) -> PossibleIdentifier:
    """Describe a column as a possible identifier."""
    # What the finding rests on.
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


def _explain_cut_codes(
    found: PossibleIdentifier, column: pl.Series, values: pl.Series | None, intervals: Sequence[Cell]
) -> PossibleIdentifier:
    """Explain what the rule allows if postal codes show only some digits, such as 816**, 8166* and [101, 120]."""
    ends = [end for one in intervals for end in one.atoms if end is not None]
    codes = column.drop_nulls().cast(pl.String) if values is None else values.append(pl.Series(ends, dtype=pl.String))
    if not codes.str.contains(_CUT_CODE).all():
        return found
    shown = codes.str.extract(r"^([0-9]+)").unique()
    longest = shown.str.len_chars().max()
    most = longest if isinstance(longest, int) else 0
    digits = f"first {most} digits" if most > 1 else "first digit"
    begins = f"The column '{found.column}' shows the {digits} of postal codes"
    # More than three digits are not allowed; three are, except in sparsely populated areas.
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


def _split_words(name: str) -> tuple[str, ...]:
    """Split a column's name into words in lower case without accents: `patientName_2` becomes patient, name."""
    # Remove accents, then split at changes from lower to upper case and at all other characters.
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return tuple(word for word in re.split(r"[^a-z]+", apart.lower()) if word)


def _is_named(words: tuple[str, ...], kind: Kind) -> bool:
    """Check whether a name contains a word of a kind, or a phrase of consecutive words."""
    if kind.excluded & set(words):
        return False
    joined = " ".join(words)
    # Search long words within compounds, too (Geburtsdatum, telephonenumber), but short words only as words.
    return any(
        f" {phrase} " in f" {joined} "
        or (len(phrase) >= _MIN_COMPOUND_LETTERS and " " not in phrase and phrase in joined)
        for phrase in kind.words
    )


def _is_whole_name(name: str, values: pl.Series | None, kind: Kind) -> bool:
    """Check whether a column of several texts like names of persons has a whole name of a kind."""
    if values is None or len(values) < _FEWEST_NAMES or name.strip().casefold() not in kind.whole:
        return False
    return int(values.str.contains(_NAME).sum()) >= _NEARLY_ALL * len(values)


def _is_plausible(
    column: pl.Series, values: pl.Series | None, intervals: Sequence[Cell], forms: Mapping[str, int], kind: Kind
) -> bool:
    """Check whether values can be of a kind that a name suggests: a column `PhoneService` of Yes and No cannot."""
    if column.null_count() == len(column):
        return True
    if values is not None and kind.name == "date":
        return any(map(_is_within_year, intervals)) or any(map(_is_finer_than_year, values))
    # Stars and intervals alone name no one.
    if values is not None and not len(values):
        return kind.name == "zip" and bool(intervals)
    if kind.plausible is None:
        return True
    if forms:
        return forms[kind.plausible] > 0
    return column.dtype.is_numeric() and float(cast(float, column.max())) >= _FOUR_DIGITS


def _is_within_year(interval: Cell) -> bool:
    """Check whether an interval may be of dates within a year."""
    low, high = interval.atoms
    if low is None or high is None:
        return False
    start, stop = (
        (moment, moment) if (moment := moment_of(end)) is not None else period_of(end) for end in (low, high)
    )
    return start is None or stop is None or stop[1] - start[0] < _YEAR


def _is_finer_than_year(text: str) -> bool:
    """Check whether a text may be a date that is more precise than a year."""
    years = loose_cell(text)
    return _is_within_year(years or Cell(kind="interval", atoms=(text, text)))


def _distinct_text(column: pl.Series) -> tuple[pl.Series | None, list[Cell]]:
    """Collect the distinct values of a text column, stripped, and its intervals; None if it has none or is not text.

    Published sets show each of their members, suppressed cells show nothing.
    """
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None, []
    values = column.cast(pl.String).unique().drop_nulls().str.strip_chars()
    values = values.filter(values != "")
    if len(values) > _MAX_VALUES:  # by hash, so that the order of the rows does not matter
        values = values.filter(values.hash(seed=0) % (len(values) // _MAX_VALUES + 1) == 0)
    if not len(values):
        return None, []
    coarse = values.str.contains(_COARSE)
    cells = [(text, read_cell(text)) for text in values.filter(coarse)]
    # A bracket may also begin a plain value, such as a telephone number.
    shown = [
        part for text, cell in cells for part in (cell.atoms if cell.kind == "set" else [text] * (cell.kind == "value"))
    ]
    values = values.filter(~coarse).append(pl.Series(shown, dtype=pl.String)).unique()
    return values.filter(values != ""), [cell for _text, cell in cells if cell.kind == "interval"]


def _count_forms(values: pl.Series | None) -> tuple[int, ...]:
    """Count the values with each of `_FORMS`, in one query."""
    if values is None:
        return ()
    cell = pl.col("cell").str
    counted = values.alias("cell").to_frame().select(cell.contains(form).sum().alias(form) for form in _FORMS)
    return counted.row(0)


def _compute_share(column: pl.Series, values: pl.Series | None, forms: Mapping[str, int], kind: Kind) -> float | None:
    """Compute the share of the distinct values that have the form of a kind; None if the kind has no form.

    Parameters
    ----------
    column : polars.Series
    values : polars.Series or None
        Its distinct values as text.
    forms : mapping
        Number of these values with each form.
    kind : Kind
    """
    # Kinds that depend on the size of numbers.
    if kind.above is not None:
        numbers = column if column.dtype.is_numeric() else None if values is None else values
        return None if numbers is None else float((numbers.cast(pl.Float64, strict=False) > kind.above).any())
    if kind.temporal and column.dtype in (pl.Date, pl.Datetime):
        return 1.0
    # Kinds with a regular expression, and a checksum if there is one.
    if values is None or not len(values) or kind.form is None:
        return None
    if kind.every is not None and forms[kind.every] < _NEARLY_ALL * len(values):
        return None
    if kind.check is None or not forms[kind.form]:
        return forms[kind.form] / len(values)
    formed = values.filter(values.str.contains(kind.form))
    return sum(kind.check(text) for text in formed.to_list()) / len(values)
