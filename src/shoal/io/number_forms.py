"""Detect numbers in text that are not in canonical notation: one notation for each column.

`1.234,5` and `12,5` are German, `1,234.5` English, `1 234,5` French, `1'234.5` Swiss. `1,234` may be either, and only
the publisher can decide: other columns are no evidence, because their cells may be suppressed. Single numbers may have
an exponent (`1e+05`, as programs write them), a plus, the minus of typography, a minus before 0, no digit before the
sign (`.5`), and blanks around them. Digits with a leading zero are codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import polars as pl

SIGNS = (",", ".")
"""Possible decimal signs."""
_BLANKS = " \u00a0\u202f'\u2019"
"""Possible separators of thousands, in addition to the other decimal sign."""
_CANONICAL = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$"
_MAY_BE_GROUPED = r"^-?[0-9]{1,3}(?:\.[0-9]{3})*$"
"""Numbers whose points may separate thousands."""
_CURRENCY = r"[$€£]|EUR|USD|GBP|CHF"
_WORD = r" \p{L}{1,8}\.?|\p{L}{2,8}\.?"
"""A unit in letters, such as ` kg`, ` J.` or `yrs`; a letter without a blank is the end of a code."""
_UNITS = rf"^((?:(?:{_CURRENCY}) ?)?)[^$€£%]*?((?: ?[%$€£]|{_WORD})?)$"
"""What stands before and after a number with a unit."""
_EXPONENT = r"(?:[eE][+-]?[0-9]{1,3})?"
_LOOKS_LIKE_A_NUMBER = (
    rf"^\s*(?:(?:{_CURRENCY}) ?)?[+\-\u2212]?[.,]?[0-9][0-9.,{_BLANKS}]*{_EXPONENT}(?: ?[%$€£]|{_WORD})?\s*$"
)
_SPELLED = r"[eE+\u2212]|^\s|\s$|^[^0-9]*[.,]|-0(?:[^0-9.,]|$)"
"""Numbers whose spelling has more than digits, signs of groups and decimals, and a hyphen."""
_CODES = r"^[0-9]+[eE][0-9]+$|^\+[0-9]{7,}$"
"""Text that may be a code or a telephone number, if all values are like it."""
_DIGITS = r"^[0-9]+$"
_LONGEST = 400
"""Largest number of characters of a number in full."""
_NONE = pl.Series([None], dtype=pl.String)


@dataclass(frozen=True, kw_only=True)
class NumberForm:
    """The notation of a column's numbers; if only some have grouped thousands, all are written so."""

    decimal: str
    """The decimal sign."""
    thousands: str = ""
    """The separator of thousands; empty if there is none."""
    unit: tuple[str, str] = ("", "")
    """What stands before and after every number, such as `$` or `%`."""
    spelled: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The spelling of canonical numbers that were written with an exponent, a plus, another minus or blanks."""

    def to_dict(self) -> dict[str, str]:
        """Convert the form to its entry in a certificate, which names a sign, but no word of the cells."""
        sign = "".join(self.unit).strip()
        unit = {"unit": sign} if sign and not re.search(r"[^\W\d_]", sign) else {}
        return {"decimal": self.decimal, "thousands": self.thousands, **unit}

    def read(self, text: pl.Series) -> pl.Series:
        """Parse numbers to canonical text: with a decimal point, and without separators of thousands."""
        # Thousands must be grouped correctly, and the result must be canonical.
        name, text = text.name, _unsigned(text, self.unit)
        grouped = rf"[0-9]{{1,3}}(?:{_escaped(self.thousands)}[0-9]{{3}})+|" if self.thousands else ""
        fits = text.str.contains(rf"^-?(?:{grouped}[0-9]+)(?:{_escaped(self.decimal)}[0-9]+)?{_EXPONENT}$")
        plain = text.str.replace_all(self.thousands, "", literal=True) if self.thousands else text
        plain = plain.str.replace_all(self.decimal, ".", literal=True)
        fits &= ~text.str.contains("^-?0[0-9]")
        plain = _without_exponents(plain.zip_with(fits.fill_null(value=False), _NONE))
        able = plain.str.contains(_CANONICAL) & (plain.str.len_chars() <= _LONGEST)
        return plain.zip_with(able.fill_null(value=False), _NONE).alias(name)

    def written(self, numbers: pl.Series) -> pl.Series:
        """Format canonical numbers in this notation; `read` parses them back."""
        if self.spelled:
            plain = replace(self, spelled={}).written(numbers)
            spelled = numbers.replace_strict(self.spelled, default=None, return_dtype=pl.String)
            return plain.zip_with(spelled.is_null(), spelled)
        if any(self.unit):
            before, after = self.unit
            return before + replace(self, unit=("", "")).written(numbers) + after
        if not self.thousands:
            return numbers.str.replace_all(".", self.decimal, literal=True)
        # Grouping is done in Python, once for each distinct number.
        distinct = numbers.unique().drop_nulls()
        grouped = pl.Series([self._grouped(number) for number in distinct.to_list()], dtype=pl.String)
        return numbers.replace_strict(distinct, grouped, default=None, return_dtype=pl.String)

    def spelled_as(self, text: pl.Series) -> NumberForm:
        """Adapt the spelling of numbers to given ones; other numbers have no influence."""
        distinct = text.drop_nulls().unique().sort()
        odd = _without(distinct, self.unit).str.contains(_SPELLED)
        # Of several spellings of a number, the one without an exponent or another sign is that of the release.
        plain, spellings = self.read(distinct.filter(~odd)), distinct.filter(odd)
        read = self.read(spellings)
        written = spellings.zip_with(~read.is_in(plain.implode()), replace(self, spelled={}).written(read))
        return replace(self, spelled=dict(zip(read, written, strict=True)))

    def _grouped(self, number: str) -> str:
        whole, point, decimals = number.partition(".")
        digits = whole.removeprefix("-")
        grouped = f"{int(digits):,}".replace(",", self.thousands)
        return whole.removesuffix(digits) + grouped + point.replace(".", self.decimal) + decimals


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
    readings = [(column.name, *_readings(column)) for column in columns]
    plain = NumberForm(decimal=".")
    # A possible decimal point is taken for one, unless another column has a decimal comma: then nothing is guessed.
    pointed = all(list(found) != [","] for _, found, _ in readings)
    forms: dict[str, NumberForm] = {}
    ambiguous: list[str] = []
    for name, found, whole in readings:
        if not found:
            continue
        sign = decimal or (next(iter(found)) if len(found) == 1 else None)
        if sign is None and pointed and "." in found and not found["."].thousands:
            sign = "."
        if sign is None:
            ambiguous.append(name)
        elif sign in found or whole:
            forms[name] = found.get(sign) or next(iter(found.values()))
    return {name: form for name, form in forms.items() if form != plain or form.spelled}, tuple(ambiguous)


def readings_of(distinct: pl.Series) -> list[pl.Series]:
    """Read distinct texts as canonical numbers in each possible notation; none if one of them is no number."""
    if len(distinct) and distinct.str.contains(_CANONICAL).all() and not distinct.str.contains(r"\.").any():
        return [distinct]
    return [form.read(distinct) for form in _readings(distinct)[0].values()]


def numbers_of(column: pl.Series, kind: type[pl.DataType] = pl.Float64) -> pl.Series:
    """Convert a column that was read to numbers, also digits with a leading zero; anything else is missing.

    Examples
    --------
    >>> numbers_of(pl.Series(["1.5", "007", "+4912345678", "1e5"])).to_list()
    [1.5, 7.0, None, None]
    """
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        able = text.str.contains(_CANONICAL) | text.str.contains(_DIGITS)
        return text.zip_with(able.fill_null(value=False), _NONE).cast(kind, strict=False)
    if not column.dtype.is_numeric():
        return pl.Series([None] * len(column), dtype=kind)
    found = column.cast(kind, strict=False)
    return found.set(found != column, None) if kind != pl.Float64 and column.dtype.is_float() else found


def _readings(column: pl.Series) -> tuple[Mapping[str, NumberForm], bool]:
    """Find the notations in which every value of a column is a number, if some value has a decimal sign.

    They are found by decimal sign. Also returned is whether no number has such a sign, or one between thousands: then
    every sign reads them.
    """
    head = column.head(256).drop_nulls()
    if not head.str.contains(_LOOKS_LIKE_A_NUMBER).all():
        return {}, False
    # The first values rule out most columns of names.
    distinct = column.drop_nulls().unique()
    if distinct.str.contains(_CANONICAL).all():  # most columns of numbers
        if not distinct.str.contains(".", literal=True).any():
            return {}, False
        if not distinct.str.contains(_MAY_BE_GROUPED).all():
            return {".": NumberForm(decimal=".")}, False
    odd = distinct.str.contains(_SPELLED)
    if (
        not distinct.str.contains(_LOOKS_LIKE_A_NUMBER).all()
        or not (odd | distinct.str.contains(rf"[.,%$€£{_BLANKS}]|\p{{L}}")).any()
        or distinct.str.contains(_CODES).all()
    ):
        return {}, False
    found_units = distinct.str.strip_chars().str.extract_groups(_UNITS).unique()
    unit = ("", "") if len(found_units) > 1 else tuple(found_units.item().values())
    bare = _unsigned(distinct, unit)
    found = {sign: replace(form, unit=unit) for sign, form in _notations(bare).items()}
    if len(found) > 1 and re.search(_CURRENCY, "".join(unit)):  # amounts of money have no three decimals
        found = {sign: form for sign, form in found.items() if form.thousands}
    whole = not bare.str.contains("[.,]").any()
    return {sign: form.spelled_as(distinct) for sign, form in found.items()}, whole


def _notations(distinct: pl.Series) -> dict[str, NumberForm]:
    """Find the notations that read all of some numbers, by decimal sign."""
    if distinct.str.contains(_CANONICAL).all() and not distinct.str.contains(_MAY_BE_GROUPED).all():
        return {".": NumberForm(decimal=".")}
    # The first separator that reproduces every value is chosen; notations with equal results are one.
    forms: dict[str, NumberForm] = {}
    read_before: list[pl.Series] = []
    whole = ~distinct.str.contains("[eE]")
    for decimal, other in ((".", ","), (",", ".")):
        for thousands in ("", other, *_BLANKS):
            form = NumberForm(decimal=decimal, thousands=thousands)
            read = form.read(distinct)
            if read.null_count() == 0 and form.written(read.filter(whole)).equals(distinct.filter(whole)):
                if not any(read.equals(other) for other in read_before):
                    forms[decimal] = form
                    read_before.append(read)
                break
    return forms or _mixed(distinct)


def _mixed(distinct: pl.Series) -> dict[str, NumberForm]:
    """Find the notation of numbers of which only some have grouped thousands, if a single one parses all."""
    found = [
        NumberForm(decimal=decimal, thousands=thousands)
        for decimal, other in ((".", ","), (",", "."))
        for thousands in (other, *_BLANKS)
    ]
    read = {form: values for form in found if (values := form.read(distinct)).null_count() == 0}
    alike = all(values.equals(next(iter(read.values()))) for values in read.values())
    return {form.decimal: form for form in list(read)[:1]} if alike else {}


def _unsigned(text: pl.Series, unit: tuple[str, str]) -> pl.Series:
    """Remove blanks around numbers, their unit, a plus and the minus of 0; write a hyphen for minus, the 0 of `.5`."""
    bare = _without(text.str.strip_chars(), unit)
    bare = bare.str.replace("\u2212", "-", literal=True).str.strip_prefix("+")
    return bare.str.replace(r"^-0$", "0").str.replace(r"^(-?)([.,][0-9])", "${1}0$2")


def _without(text: pl.Series, unit: tuple[str, str]) -> pl.Series:
    return text.str.strip_prefix(unit[0]).str.strip_suffix(unit[1])


def _without_exponents(numbers: pl.Series) -> pl.Series:
    """Write numbers with a decimal point in full."""
    distinct = numbers.unique().drop_nulls()
    distinct = distinct.filter(distinct.str.contains("[eE]"))
    if distinct.is_empty():
        return numbers
    full = [f"{Decimal(number):f}" for number in distinct]
    return numbers.replace(distinct, pl.Series(full, dtype=pl.String))


def _escaped(sign: str) -> str:
    return f"\\{sign}" if sign in SIGNS else sign
