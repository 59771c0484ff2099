"""The audience of the studio: error messages name fields of its screens in place of Python's parameters."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SCREENS"]

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
    "direct_identifiers": "on the screen Columns, what names a person",
    "coarsen": "on the screen Coarser, the column",
    "sampling_fraction": "The share of the population",
    "title": "on the screen Publish, the title of the report",
    "institution": "on the screen Publish, the institution",
    "purpose": "on the screen Publish, the purpose",
    "contact": "on the screen Publish, the contact for readers",
    "recipient": "on the screen Publish, the recipient",
    "controls": "on the screen Publish, the controls",
    "roles": "on the screen Publish, who decided what each column is",
    "notes": "on the screen Publish, the notes",
    "signatures": "on the screen Publish, the lines for signatures",
    "language": "on the screen Publish, the language of the report",
    "key": "the field “File of its key”",
    "anchor": "the environment variable SHOAL_LEDGER_ANCHOR",
    "overlap": "the option --overlap at the command line:",
    "erase": "the form “Erase people”",
    "ids": "the list below",
    "unpublished": "the form “Take the last release back”",
    "method": "the option --method at the command line",
    "smallest": "the option --smallest at the command line",
    "incomplete": "the option --incomplete at the command line",
    "cells": "the option --cells at the command line:",
    "star": "another symbol in the data than the star",
}


class _Screens:
    """Names of the library's parameters for users of the studio; see `shoal._messages.Audience`."""

    python = False

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Return the screens' name of a parameter; None if no screen has such a field."""
        return _CALLED.get(parameter)


SCREENS = _Screens()
"""The only instance of the audience."""
