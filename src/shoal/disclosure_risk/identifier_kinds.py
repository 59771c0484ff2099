"""Kinds of identifiers: words of column names, forms of values, checksums, and categories of the Safe Harbor rule."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from shoal._core.file_formats import read_data_file


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of identifier."""

    name: str
    """Short name."""
    title: str
    """Description of the column's content, as part of a sentence."""
    category: str
    """Letter of the category in 45 CFR 164.514(b)(2)(i)."""
    advice: str
    """How to treat such a column."""
    words: frozenset[str] = frozenset()
    """Words of column names, in lower case and without accents; the words of a phrase must be consecutive."""
    excluded: frozenset[str] = frozenset()
    """Words that give a name another meaning."""
    whole: frozenset[str] = frozenset()
    """Whole names of columns, in lower case, if their texts look like names of persons."""
    form: str | None = None
    """Regular expression for the values, in the syntax of Polars (no look-around)."""
    check: Callable[[str], bool] | None = None
    """Further test of a value of the form, such as a checksum or a range."""
    least: float = 0.8
    """Smallest share of the distinct values that must have the form."""
    every: str | None = None
    """Wider form that nearly all values must have."""
    plausible: str | None = None
    """Regular expression that some value must have if only the name is evidence; numbers must have four digits."""
    temporal: bool = False
    """Whether a column of type date has the form."""
    above: int | None = None
    """For numeric columns of this name: report only if a value exceeds this."""


_ENTRIES = read_data_file(__package__, "identifier_kinds.toml")
_DATE = _ENTRIES["date"]["form"]


def _is_ip_address(text: str) -> bool:
    """Check whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_social_security(text: str) -> bool:
    """Check whether area, group and serial number are valid."""
    found = re.search(r"\b(\d{3})-(\d{2})-(\d{4})\b", text)
    if found is None:
        return False
    area, group, serial = found.groups()
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


def _is_iban(text: str) -> bool:
    """Check the checksum of ISO 13616."""
    code = re.sub(r"\s", "", text)
    # The first four characters move to the end, and letters become numbers from 10 on.
    moved = code[4:] + code[:4]
    return int("".join(str(int(one, 36)) for one in moved)) % 97 == 1


def _is_luhn(text: str) -> bool:
    """Check the checksum of ISO/IEC 7812."""
    digits = [int(one) for one in re.sub(r"\D", "", text)]
    # Every second digit from the right counts double, as the sum of its digits.
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0


def _is_telephone(text: str) -> bool:
    """Check whether a text of digits and separators can be a telephone number, and has no other form."""
    digits = re.sub(r"\D", "", text)
    separators = len(re.findall(r"[ ()/.-]+", text))
    other = any(re.fullmatch(form, text) for form in _NO_TELEPHONE)
    return 7 <= len(digits) <= 15 and (text.startswith("+") or separators >= 2) and not other


_NO_TELEPHONE = (r"\d{5}-\d{4}", r"\d{3}-\d{2}-\d{4}", r"\d{1,3}(\.\d{1,3}){2,}", r"\d{1,3}( \d{3})+", _DATE)
"""ZIP codes, social security numbers, IP addresses, numbers with thousands separators, dates."""


def _is_vehicle(text: str) -> bool:
    """Check the check digit of a vehicle identification number (North America)."""
    values = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    code = text.upper()
    # Position 9 is the check digit: the weighted sum modulo 11, with X for 10.
    total = sum(
        weight * (int(one) if one.isdigit() else values[one]) for weight, one in zip(weights, code, strict=True)
    )
    return code[8] == "0123456789X"[total % 11]


def _is_date(text: str) -> bool:
    """Check whether a text contains a valid date in one of the usual orders."""
    found = re.match(r"(\d+)[-/.](\d+)[-/.](\d+)", text)
    if found is None or re.fullmatch(_DATE, text) is None:
        return False
    first, second, third = (int(part) for part in found.groups())
    # Year first, or day and month in either order.
    year_first = len(found[1]) == 4
    orders = [(first, second, third)] if year_first else [(third, second, first), (third, first, second)]
    for year, month, day in orders:
        try:
            date(year + 2000 if year < 100 else year, month, day)
        except ValueError:
            continue
        return True
    return False


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "ip address": _is_ip_address,
    "social security": _is_social_security,
    "iban": _is_iban,
    "luhn": _is_luhn,
    "telephone": _is_telephone,
    "vehicle": _is_vehicle,
    "date": _is_date,
}
"""The tests of values that kinds name."""


def _make_kind(name: str, entry: dict[str, Any]) -> Kind:
    """Make a kind from its entry in the data file, in which words are separated by commas."""
    words: dict[str, Any] = {
        field: frozenset(part.strip() for part in entry.pop(field).split(","))
        for field in ("words", "excluded", "whole")
        if field in entry
    }
    check = _CHECKS[entry.pop("check")] if "check" in entry else None
    return Kind(name=name, check=check, **words, **entry)


KINDS = tuple(_make_kind(name, dict(entry)) for name, entry in _ENTRIES.items())
"""All kinds, in the order of the rule."""
