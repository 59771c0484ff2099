"""The kind of a column, a coarsening that suits it, and whether its numbers may identify people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.disclosure_risk import PossibleIdentifier
from shoal.hierarchy.fitting import (
    NUMBER,
    SuggestedCoarsening,
    are_codes,
    suggest_date_part,
    suggest_prefix,
    suggest_steps,
)
from shoal.table.names import (
    suggests_known,
    suggests_measured,
    suggests_numbering,
    suggests_person_number,
    suggests_remarks,
)
from shoal.verbs.evaluate.counting import CountedColumn

NAMING = frozenset(
    (
        *("name", "telephone", "fax", "email", "social security"),
        *("medical record", "health plan", "account", "IBAN"),
        *("certificate or license", "vehicle", "device", "URL"),
        *("IP address", "biometric", "photograph", "unique number"),
    )
)
"""Kinds of `detect_identifiers` that name people; no release should contain them."""
_NEARLY_ALL = 0.9
"""Uniqueness above which nearly every record has its own value."""
_LONG_TEXT = 40
"""Mean number of characters above which a column is free text."""
_WORDS = 3
"""Mean number of words above which a column is free text."""
_ANSWERS = 50
"""Largest number of different answers of a closed question."""
_REPEATED = 5
"""Records that have each of these answers, on average, at least."""
_LEAST_ROWS = 20
"""With fewer rows, all values may differ by chance."""
_LEAST_PEOPLE = 20
"""Fewest different texts of the form of names from which they are taken for names of people."""
_NEARLY_EACH = 0.95
"""Share of the texts that have the form of a code or a name."""
_LEAST_CODE = 5
"""Fewest characters of a code, on average; grades and sizes are shorter."""
_CODE = r"^[\p{L}0-9._/#:+-]*[0-9][\p{L}0-9._/#:+-]*$"
_PAIR = r"^[0-9]+(?:[./:-][0-9]+)?$"
"""A range, a time of day or a pair of measurements such as 120/80."""
_DIAGNOSIS = r"^[A-Z][0-9][0-9A-Z](?:\.[0-9A-Z-]{1,4})?[+*!GVZA]?$"
"""A code of ICD-10, with the marks of its German edition."""
_FULL_NAME = r"^(?:\p{Lu}[\p{L}'\u2019-]+,? ){1,2}(?:\p{Lu}\.? )?\p{Lu}[\p{L}'\u2019-]+$"


@dataclass(frozen=True, kw_only=True)
class ColumnKind:
    """The kind of a column."""

    name: str
    """ "number", "date", "category", "text" or "identifier"."""
    coarsen: str | None = None
    """A suitable coarsening in the syntax of --coarsen; None if there is none."""
    numbers: bool = False
    """Whether the values are numbers, regardless of their meaning."""


def kind_of(column: CountedColumn, found: PossibleIdentifier | None, *, dated: bool) -> ColumnKind:
    """Determine the kind of a column.

    Parameters
    ----------
    column : CountedColumn
        The parsed column.
    found : PossibleIdentifier, optional
        The identifier that it resembles.
    dated : bool
        Whether it contains dates, parsed or not.
    """
    values = column.dictionary
    if dated:
        return ColumnKind(name="date", coarsen=_words(suggest_date_part(values)))
    if found is not None and found.kind in NAMING:
        return ColumnKind(name="identifier")
    # Few values are categories, codes are shortened, numbers are binned; text is the remainder.
    if values.dtype == pl.Boolean or len(values) < 2:
        return ColumnKind(name="category")
    if are_codes(values, column.name, postal=found is not None and found.kind == "zip"):
        return ColumnKind(name="category", coarsen=_words(suggest_prefix(values)))
    if values.dtype.is_numeric() or (values.dtype == pl.String and bool(values.str.contains(NUMBER).all())):
        return _of_numbers(column)
    if values.dtype == pl.String and _is_written(
        values, remarks=suggests_remarks(column.name), closed=_is_closed(column)
    ):
        return ColumnKind(name="text")
    return ColumnKind(name="identifier" if _is_everybodys_own(column) and values.dtype == pl.String else "category")


def _of_numbers(column: CountedColumn) -> ColumnKind:
    numbers = column.dictionary.cast(pl.Float64, strict=False)
    # Distinct integers in every row are numbers of records.
    whole = not column.dictionary.dtype.is_float() and bool((numbers == numbers.floor()).all())
    if whole and column.rows >= _LEAST_ROWS and column.distinct == column.rows - column.missing:
        return ColumnKind(name="identifier", numbers=True)
    return ColumnKind(
        name="number",
        # Bins most of whose records are in one of them say little: round cuts are proposed then.
        coarsen=_words(suggest_steps(column.dictionary, column.counts[: column.distinct], column.name, l=1)),
        numbers=True,
    )


def _is_everybodys_own(column: CountedColumn) -> bool:
    present = column.rows - column.missing
    return column.rows >= _LEAST_ROWS and present > 0 and column.uniqueness * column.rows >= _NEARLY_ALL * present


def _is_closed(column: CountedColumn) -> bool:
    """Return True if the texts are few and repeated, as the answers of a closed question are."""
    return column.distinct <= _ANSWERS and is_shared(column)


def _is_written(values: pl.Series, *, remarks: bool, closed: bool) -> bool:
    """Return True if texts are written freely; those of a column of remarks are, if they have several words."""
    # The first values are enough to recognize free text.
    head = values.head(1000)
    words = head.str.count_matches(r"\S+").mean()
    length = head.str.len_chars().mean()
    if not isinstance(words, float) or not isinstance(length, float):
        return False
    return (remarks and words > 1) or (not closed and (words > _WORDS or length > _LONG_TEXT))


def _words(found: SuggestedCoarsening | None) -> str | None:
    return None if found is None else found.words


def texts_that_may_name(column: CountedColumn) -> str | None:
    """Name texts of an unknown meaning that may name people or cases: "codes", "names" or "texts"; None for others.

    Codes with fewer than 50 values, and texts that several records share, are the categories of something.
    """
    values = column.dictionary
    if values.dtype != pl.String or column.distinct < _LEAST_PEOPLE:
        return None
    if int(values.str.contains(_FULL_NAME).sum()) >= _NEARLY_EACH * column.distinct:
        return "names"
    if column.distinct <= _ANSWERS:
        return None
    length = values.str.len_chars().mean()
    code = values.str.contains(_CODE) & (~values.str.contains(_PAIR) | values.str.starts_with("0"))
    coded = isinstance(length, float) and (length >= _LEAST_CODE or bool(values.str.starts_with("0").any()))
    if coded and int(code.sum()) >= _NEARLY_EACH * column.distinct:
        return "codes"
    return None if is_shared(column) else "texts"


def holds_diagnoses(column: CountedColumn) -> bool:
    """Return True if texts are codes of diagnoses; one of them must have a point, since seats and rooms have none."""
    values = column.dictionary
    if values.dtype != pl.String or column.distinct < _LEAST_VALUES or not values.str.contains(".", literal=True).any():
        return False
    return int(values.str.contains(_DIAGNOSIS).sum()) >= _NEARLY_EACH * column.distinct


def is_shared(column: CountedColumn) -> bool:
    """Return True if each value has several records on average."""
    return column.distinct * _REPEATED <= column.rows - column.missing


_ROUND = (10, 100, 1000)
"""People round to multiples of these."""
_HEAPED = 3.0
"""Rounded values must be this many times more frequent than among consecutive or random numbers."""
_PARTS = 4
"""Equal-width parts of a column's range in which the rows per value are compared."""
_LEAST_VALUES = 5
"""Distinct values that a part needs to be compared."""
_UNEVEN = 4.0
"""Ratio of rows per value between parts of the range: measurements cluster, codes do not."""


def may_be_shown(column: CountedColumn) -> bool:
    """Return True if there is evidence that numbers do not identify people, cases or the like.

    Numbers with decimals are measurements. Integers need evidence: a name that is recognized, rounded values far more
    often than by chance, or values that cluster in a part of the range. Consecutive and random codes show neither.
    """
    # Names are the cheapest evidence; the distribution of values is examined last.
    values = column.dictionary.cast(pl.Float64, strict=False).to_numpy()
    if suggests_known(column.name) or suggests_measured(column.name) or not (values == np.floor(values)).all():
        return True
    if suggests_person_number(column.name) or suggests_numbering(column.name):
        return False
    counts = column.counts[: column.distinct]
    return _are_round(values, counts) or _gather(values, counts)


def _are_round(values: np.ndarray, counts: np.ndarray) -> bool:
    rows = counts.sum()
    return any(counts[values % base == 0].sum() * base >= _HEAPED * rows for base in _ROUND if _enough(counts, base))


def _enough(counts: np.ndarray, base: int) -> bool:
    """Return True if there are enough values to expect several multiples of the base."""
    return len(counts) >= _LEAST_VALUES * base


def _gather(values: np.ndarray, counts: np.ndarray) -> bool:
    """Return True if the rows per value differ much between equal-width parts of the range."""
    # Assign each value to one of the parts of equal width.
    low, high = values.min(), values.max()
    part = np.minimum(((values - low) / (high - low) * _PARTS).astype(np.int64), _PARTS - 1)
    different = np.bincount(part, minlength=_PARTS)
    rows = np.bincount(part, weights=counts, minlength=_PARTS)
    # Compare the rows per distinct value between parts with enough values.
    each = (rows / np.maximum(different, 1))[different >= _LEAST_VALUES]
    return len(each) > 1 and bool(each.max() >= _UNEVEN * each.min())
