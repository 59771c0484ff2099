"""Rewrite dates and numbers from local notations to the one in which cells and queries are compared.

A certificate states the notation of columns (`parameters.read_as`): `{"dates": "%d.%m.%Y"}`, or `{"decimal": ",",
"thousands": "."}`. Dates become ISO 8601, and numbers get a decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time

__all__ = ["in_plain_form"]


def in_plain_form(text: str, form: Mapping[str, str]) -> str:
    """Rewrite a date or a number from the given notation to the common one; any other text is returned unchanged.

    Examples
    --------
    >>> in_plain_form("31.12.1980", {"dates": "%d.%m.%Y"}), in_plain_form("*", {"dates": "%d.%m.%Y"})
    ('1980-12-31', '*')
    >>> in_plain_form("-1.234,5", {"decimal": ",", "thousands": "."})
    '-1234.5'
    """
    # Text that does not match the notation, such as a star, is not a date.
    if "dates" in form:
        try:
            moment = datetime.strptime(text, form["dates"].replace("%-", "%"))
        except ValueError:
            return text
        return moment.date().isoformat() if moment.time() == time() else moment.isoformat()
    # Thousands must be grouped correctly: `1.23` is not a number with separators.
    decimal, thousands = re.escape(form.get("decimal", ".")), form.get("thousands", "")
    grouped = rf"[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|" if thousands else ""
    if re.fullmatch(rf"-?(?:{grouped}[0-9]+)(?:{decimal}[0-9]+)?", text) is None:
        return text
    return (text.replace(thousands, "") if thousands else text).replace(form.get("decimal", "."), ".")
