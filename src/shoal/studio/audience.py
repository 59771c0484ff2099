"""The audience of the studio: error messages name fields of its screens in place of Python's parameters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from shoal._core.language import gettext, marked
from shoal.request.texts import names_in
from shoal.wording.coarsening_words import describe_coarsening

__all__ = ["SCREENS"]

_CALLED: Mapping[str, str] = {
    "k": marked("The smallest group (k)"),
    "l": marked("The variety within groups (l)"),
    "t": marked("The closeness to the whole table (t)"),
    "harmless": marked("The list of values that nobody minds"),
    "knows": marked("on the screen Goal, how many columns somebody knows"),
    "qi_sets": marked("on the screen Goal, the sets of columns"),
    "weights": marked("on the screen Goal, the weights of columns"),
    "resist": marked("on the screen Goal, somebody who knows the method:"),
    "epsilon": marked("The largest influence of one record (epsilon)"),
    "delta": marked("The chance that it is exceeded (delta)"),
    "missing_sensitive": marked("on the screen Goal, missing sensitive values:"),
    "normalize": marked("on the screen Goal, clean the texts first"),
    "recoding": marked("on the screen Goal, how cells become less precise:"),
    "dates": marked("on the screen Columns, how dates are written:"),
    "decimal": marked("on the screen Open, the sign before decimals:"),
    "sheet": marked("on the screen Open, the sheet"),
    "header_row": marked("the field “Row of the column names”"),
    "replace_values": marked("on the screen Columns, values to replace:"),
    "derive": marked("on the screen Columns, an age or a duration:"),
    "delimiter": marked("on the screen Open, the separator"),
    "encoding": marked("on the screen Open, the encoding"),
    "force": marked("another name for the folder"),
    "quasi_identifiers": marked("on the screen Columns, what others may know"),
    "sensitive": marked("on the screen Columns, what is sensitive"),
    "insensitive": marked("on the screen Columns, what is harmless"),
    "person": marked("on the screen Persons, column"),
    "missing_person": marked("on the screen Persons, records without a person:"),
    "rows_per_person": marked("the screen Persons, records of each person:"),
    "kept_rows": marked("on the screen Persons, which record of a person:"),
    "order": marked("on the screen Persons, the order of the records:"),
    "lists": marked("on the screen Columns, several values of a cell:"),
    "link": marked("on the screen Persons, linked records:"),
    "direct_identifiers": marked("on the screen Columns, “Leave it out”"),
    "coarsen": marked("on the screen Coarser, the column"),
    "sampling_fraction": marked("The share of the population"),
    "width": marked("The width"),
    "cuts": marked("The list of cuts"),
    "quantiles": marked("The number of parts"),
    "title": marked("on the screen Publish, the title of the report"),
    "institution": marked("on the screen Publish, the institution"),
    "purpose": marked("on the screen Publish, the purpose"),
    "contact": marked("on the screen Publish, the contact for readers"),
    "recipient": marked("on the screen Publish, the recipient"),
    "controls": marked("on the screen Publish, the controls"),
    "roles": marked("on the screen Publish, who decided what each column is"),
    "notes": marked("on the screen Publish, the notes"),
    "signatures": marked("on the screen Publish, the lines for signatures"),
    "key": marked("the field “File of its key”"),
    "anchor": marked("the key, beside which it lies"),
    "leave_out_of_series": marked("the tick box “leave out people without a sensitive value”"),
    "overlap": marked("the option --overlap at the command line:"),
    "erase": marked("the form “Erase people”"),
    "ids": marked("the list below"),
    "unpublished": marked("the form “Take the last release back”"),
    "method": marked("the option --method at the command line"),
    "smallest": marked("the option --smallest at the command line"),
    "incomplete": marked("the option --incomplete at the command line"),
    "cells": marked("the option --cells at the command line:"),
    "star": marked("the option --star at the command line, or replace these values on the screen Columns"),
    "valid_until": marked("The field “Valid until”"),
    "conditions": marked("The field “Conditions”"),
    "part": marked("The part of a date"),
}
_SUGGESTED: Mapping[str, str] = {
    "k": "k = {value}",
    "l": "l = {value}",
    "t": "t = {value}",
    "coarsen": marked("on the screen “Coarser”: {value}"),
    "direct_identifiers": marked("on the screen “Columns”: “Leave it out” for {value}"),
    "exact_ends": marked("--exact-ends at the command line"),
    "hierarchies": marked("on the screen “Coarser”: “shape it”"),
    "largest_set": marked("--largest-set {value} at the command line"),
    "link": marked("on the screen “Persons”: linked records"),
    "link False": marked("on the screen “Persons”: records that are not linked"),
    "normalize": marked("“Clean the texts first” on the screen “Goal”"),
    "person": marked("on the screen “Persons”: the column {value}"),
    "recoding": marked("ranges and sets on the screen “Goal”"),
    "recoding suppression": marked("stars on the screen “Goal”"),
    "rows_per_person": marked("on the screen “Persons”: one record of each person"),
    "spreadsheet_safe": marked("--spreadsheet-safe at the command line"),
}
"""Suggested values in words, by parameter or parameter and value."""


def _in_words(parameter: str, value: object) -> str:
    """Phrase a suggested value as its screen shows it."""
    if parameter not in ("coarsen", "direct_identifiers", "person"):
        return str(value)
    # Such values are words of a shell: a coarsening, or columns separated by commas.
    text = str(value)
    # Invisible characters stay escaped.
    text = text[2:-1] if text.startswith("$'") else " ".join(shlex.split(text))
    # Names with an equals sign or a comma are quoted.
    given, _equals, words = text.rpartition("=") if parameter == "coarsen" else (text, "", "")
    names = ", ".join(names_in(parameter, [given]) or ())
    return f"{names}: {describe_coarsening(words).render(SCREENS)}" if parameter == "coarsen" else names


class _Screens:
    """Names of the library's parameters for users of the studio; see `shoal._messages.Audience`."""

    python = False

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Return the screens' name of a parameter; None if no screen has such a field."""
        called = _CALLED.get(parameter)
        return None if called is None else gettext(called)

    def suggested(self, parameter: str, value: object) -> str | None:
        """Phrase a suggested value as a field of a screen, or as an option if no screen has one."""
        form = _SUGGESTED.get(f"{parameter} {value}") or _SUGGESTED.get(parameter)
        if form is None or value is ...:
            return None
        return gettext(form).format(value=_in_words(parameter, value))


SCREENS = _Screens()
"""The audience of the screens."""
