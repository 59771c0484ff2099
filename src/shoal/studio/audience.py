"""The audience of the studio: error messages name fields of its screens in place of Python's parameters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from shoal.request.texts import names_in
from shoal.wording.coarsening_words import describe_coarsening

_CALLED: Mapping[str, str] = {
    "k": "The smallest group (k)",
    "l": "The variety within groups (l)",
    "t": "The closeness to the whole table (t)",
    "harmless": "The list of values that nobody minds",
    "knows": "on the screen Goal, how many columns somebody knows",
    "qi_sets": "on the screen Goal, the sets of columns",
    "weights": "on the screen Goal, the weights of columns",
    "resist": "on the screen Goal, somebody who knows the method:",
    "epsilon": "The largest influence of one record (epsilon)",
    "delta": "The chance that it is exceeded (delta)",
    "missing_sensitive": "on the screen Goal, missing sensitive values:",
    "normalize": "on the screen Goal, clean the texts first",
    "recoding": "on the screen Goal, how cells become less precise:",
    "dates": "on the screen Columns, how dates are written:",
    "decimal": "on the screen Open, the sign before decimals:",
    "sheet": "on the screen Open, the sheet",
    "header_row": "the field “Row of the column names”",
    "replace_values": "on the screen Columns, values to replace:",
    "derive": "on the screen Columns, an age or a duration:",
    "delimiter": "on the screen Open, the separator",
    "encoding": "on the screen Open, the encoding",
    "force": "another name for the folder",
    "quasi_identifiers": "on the screen Columns, what others may know",
    "sensitive": "on the screen Columns, what is sensitive",
    "insensitive": "on the screen Columns, what is harmless",
    "person": "on the screen Persons, column",
    "missing_person": "on the screen Persons, records without a person:",
    "rows_per_person": "the screen Persons, records of each person:",
    "kept_rows": "on the screen Persons, which record of a person:",
    "order": "on the screen Persons, the order of the records:",
    "lists": "on the screen Columns, several values of a cell:",
    "link": "on the screen Persons, linked records:",
    "direct_identifiers": "on the screen Columns, “Leave it out”",
    "coarsen": "on the screen Coarser, the column",
    "sampling_fraction": "The share of the population",
    "width": "The width",
    "cuts": "The list of cuts",
    "quantiles": "The number of parts",
    "title": "on the screen Publish, the title of the report",
    "institution": "on the screen Publish, the institution",
    "purpose": "on the screen Publish, the purpose",
    "contact": "on the screen Publish, the contact for readers",
    "recipient": "on the screen Publish, the recipient",
    "controls": "on the screen Publish, the controls",
    "roles": "on the screen Publish, who decided what each column is",
    "notes": "on the screen Publish, the notes",
    "signatures": "on the screen Publish, the lines for signatures",
    "key": "the field “File of its key”",
    "anchor": "the key, beside which it lies",
    "leave_out_of_series": "the tick box “leave out people without a sensitive value”",
    "overlap": "the option --overlap at the command line:",
    "erase": "the form “Erase people”",
    "ids": "the list below",
    "unpublished": "the form “Take the last release back”",
    "method": "the option --method at the command line",
    "smallest": "the option --smallest at the command line",
    "incomplete": "the option --incomplete at the command line",
    "cells": "the option --cells at the command line:",
    "star": "the option --star at the command line, or replace these values on the screen Columns",
    "valid_until": "The field “Valid until”",
    "conditions": "The field “Conditions”",
    "part": "The part of a date",
}
_SUGGESTED: Mapping[str, str] = {
    "k": "k = {value}",
    "l": "l = {value}",
    "t": "t = {value}",
    "coarsen": "on the screen “Coarser”: {value}",
    "direct_identifiers": "on the screen “Columns”: “Leave it out” for {value}",
    "exact_ends": "--exact-ends at the command line",
    "hierarchies": "on the screen “Coarser”: “shape it”",
    "largest_set": "--largest-set {value} at the command line",
    "link": "on the screen “Persons”: linked records",
    "link False": "on the screen “Persons”: records that are not linked",
    "normalize": "“Clean the texts first” on the screen “Goal”",
    "person": "on the screen “Persons”: the column {value}",
    "recoding": "ranges and sets on the screen “Goal”",
    "recoding suppression": "stars on the screen “Goal”",
    "rows_per_person": "on the screen “Persons”: one record of each person",
    "spreadsheet_safe": "--spreadsheet-safe at the command line",
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
    return f"{names}: {describe_coarsening(words)}" if parameter == "coarsen" else names


class _Screens:
    """Names of the library's parameters for users of the studio; see `shoal._messages.Audience`."""

    python = False

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Return the screens' name of a parameter; None if no screen has such a field."""
        called = _CALLED.get(parameter)
        return None if called is None else called

    def suggested(self, parameter: str, value: object) -> str | None:
        """Phrase a suggested value as a field of a screen, or as an option if no screen has one."""
        form = _SUGGESTED.get(f"{parameter} {value}") or _SUGGESTED.get(parameter)
        if form is None or value is ...:
            return None
        return form.format(value=_in_words(parameter, value))


SCREENS = _Screens()
"""The audience of the screens."""
