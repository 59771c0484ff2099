"""Detect numbers in text with a decimal comma or grouped thousands: one notation for each column.

`1.234,5` and `12,5` are German, `1,234.5` English, `1 234,5` French, `1'234.5` Swiss. `1,234` may be either, and only
the publisher can decide: other columns are no evidence, because their cells may be suppressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

SIGNS = (",", ".")
"""Possible decimal signs."""
_BLANKS = " \u00a0\u202f'\u2019"
"""Possible separators of thousands, in addition to the other decimal sign."""
_CANONICAL = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$"
_MAY_BE_GROUPED = r"^-?[0-9]{1,3}(?:\.[0-9]{3})*$"
"""Numbers whose points may separate thousands."""
_LOOKS_LIKE_A_NUMBER = rf"^-?[0-9][0-9.,{_BLANKS}]*$"


@dataclass(frozen=True, kw_only=True)
class NumberForm:
    """The notation of a column's numbers; if only some have grouped thousands, all are written so."""

    decimal: str
    """The decimal sign."""
    thousands: str = ""
    """The separator of thousands; empty if there is none."""

    def to_dict(self) -> dict[str, str]:
        """Convert the form to its entry in a certificate."""
        return {"decimal": self.decimal, "thousands": self.thousands}

    def read(self, text: pl.Series) -> pl.Series:
        """Parse numbers to canonical text: with a decimal point, and without separators of thousands."""
        # Thousands must be grouped correctly, and the result must be canonical.
        grouped = rf"[0-9]{{1,3}}(?:{_escaped(self.thousands)}[0-9]{{3}})+|" if self.thousands else ""
        fits = text.str.contains(rf"^-?(?:{grouped}[0-9]+)(?:{_escaped(self.decimal)}[0-9]+)?$")
        plain = text.str.replace_all(self.thousands, "", literal=True) if self.thousands else text
        plain = plain.str.replace_all(self.decimal, ".", literal=True)
        fits &= plain.str.contains(_CANONICAL)
        return plain.zip_with(fits.fill_null(value=False), pl.Series([None], dtype=pl.String)).alias(text.name)

    def written(self, numbers: pl.Series) -> pl.Series:
        """Format canonical numbers in this notation; `read` parses them back."""
        if not self.thousands:
            return numbers.str.replace_all(".", self.decimal, literal=True)
        # Grouping is done in Python, once for each distinct number.
        distinct = numbers.unique().drop_nulls()
        grouped = pl.Series([self._grouped(number) for number in distinct.to_list()], dtype=pl.String)
        return numbers.replace_strict(distinct, grouped, default=None, return_dtype=pl.String)

    def _grouped(self, number: str) -> str:
        whole, point, decimals = number.partition(".")
        digits = whole.removeprefix("-")
        first = len(digits) % 3 or 3
        groups = [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
        return (
            whole[: len(whole) - len(digits)] + self.thousands.join(groups) + (self.decimal if point else "") + decimals
        )


@dataclass(frozen=True, kw_only=True)
class _Readings:
    """The possible notations of a column, by decimal sign."""

    forms: Mapping[str, NumberForm]

    @property
    def certain(self) -> str | None:
        """The decimal sign, if only one is possible."""
        return next(iter(self.forms)) if len(self.forms) == 1 else None


def number_forms(
    columns: Iterable[pl.Series], decimal: str | None = None
) -> tuple[dict[str, NumberForm], tuple[str, ...]]:
    """Find the columns whose numbers are not in canonical notation.

    Parameters
    ----------
    columns : iterable of series
        Columns of text, each with a value.
    decimal : {",", "."}, optional
        The decimal sign of all columns; detected by default.

    Returns
    -------
    forms : dict
        The notation of each such column by name.
    ambiguous : tuple of str
        Columns with two possible notations: `1,234`, or `1.234` if another column has a decimal comma.
    """
    readings = {column.name: _readings(column) for column in columns}
    readings = {name: found for name, found in readings.items() if found.forms}
    plain = NumberForm(decimal=".")
    # A possible decimal point is taken for one, unless another column has a decimal comma: then nothing is guessed.
    pointed = all(found.certain != "," for found in readings.values())
    forms: dict[str, NumberForm] = {}
    ambiguous: list[str] = []
    for name, found in readings.items():
        sign = decimal or found.certain
        if sign is None and not (pointed and plain in found.forms.values()):
            ambiguous.append(name)
        elif sign is not None and sign in found.forms:
            forms[name] = found.forms[sign]
    return {name: form for name, form in forms.items() if form != plain}, tuple(ambiguous)


def _readings(column: pl.Series) -> _Readings:
    """Find the notations in which every value of a column is a number, if some value has a decimal sign."""
    head = column.head(256).drop_nulls()
    if not head.str.contains(_LOOKS_LIKE_A_NUMBER).all():
        return _Readings(forms={})
    # The first values rule out most columns of names.
    distinct = column.drop_nulls().unique()
    if not distinct.str.contains(_LOOKS_LIKE_A_NUMBER).all() or not distinct.str.contains(rf"[.,{_BLANKS}]").any():
        return _Readings(forms={})
    if distinct.str.contains(_CANONICAL).all() and not distinct.str.contains(_MAY_BE_GROUPED).all():
        return _Readings(forms={".": NumberForm(decimal=".")})  # canonical notation
    # The first separator that reproduces every value is chosen; notations with equal results are one.
    forms: dict[str, NumberForm] = {}
    read_before: list[pl.Series] = []
    for decimal, other in ((".", ","), (",", ".")):
        for thousands in ("", other, *_BLANKS):
            form = NumberForm(decimal=decimal, thousands=thousands)
            read = form.read(distinct)
            if read.null_count() == 0 and form.written(read).equals(distinct):
                if not any(read.equals(other) for other in read_before):
                    forms[decimal] = form
                    read_before.append(read)
                break
    return _Readings(forms=forms or _mixed(distinct))


def _mixed(distinct: pl.Series) -> dict[str, NumberForm]:
    """Find the notation of numbers of which only some have grouped thousands, if a single one parses all."""
    found = [
        NumberForm(decimal=decimal, thousands=thousands)
        for decimal, other in ((".", ","), (",", "."))
        for thousands in (other, *_BLANKS)
    ]
    found = [form for form in found if form.read(distinct).null_count() == 0]
    return {found[0].decimal: found[0]} if len(found) == 1 else {}


def _escaped(sign: str) -> str:
    return f"\\{sign}" if sign in SIGNS else sign
