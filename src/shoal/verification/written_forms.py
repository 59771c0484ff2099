"""Dates and numbers as people write them, in the form in which cells and questions are compared.

A certificate says how columns were written (`parameters.read_as`): `{"dates": "%d.%m.%Y"}`, or
`{"decimal": ",", "thousands": "."}`. What is in that form becomes a date as ISO 8601 has it, or a number with a point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time

__all__ = ["in_plain_form"]


def in_plain_form(text: str, form: Mapping[str, str]) -> str:
    """Return a date or a number that is written in a form as others are; any other text as it is.

    Examples
    --------
    >>> in_plain_form("31.12.1980", {"dates": "%d.%m.%Y"}), in_plain_form("*", {"dates": "%d.%m.%Y"})
    ('1980-12-31', '*')
    >>> in_plain_form("-1.234,5", {"decimal": ",", "thousands": "."})
    '-1234.5'
    """
    if "dates" in form:
        try:
            moment = datetime.strptime(text, form["dates"].replace("%-", "%"))
        except ValueError:
            return text
        return moment.date().isoformat() if moment.time() == time() else moment.isoformat()
    decimal, thousands = re.escape(form.get("decimal", ".")), form.get("thousands", "")
    grouped = rf"[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|" if thousands else ""
    if re.fullmatch(rf"-?(?:{grouped}[0-9]+)(?:{decimal}[0-9]+)?", text) is None:
        return text
    return (text.replace(thousands, "") if thousands else text).replace(form.get("decimal", "."), ".")
