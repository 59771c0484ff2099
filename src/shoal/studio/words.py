"""Texts of the screens, which stand in `texts.json`, and the audience of the studio, which names fields of screens."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from shoal._core.file_formats import read_data_file
from shoal._messages import Audience, with_value
from shoal.request.texts import names_in
from shoal.wording.descriptions import describe_coarsening

_TEXTS: Mapping[str, Any] = read_data_file(__package__, "texts.json")
EXPLAINED: Mapping[str, Mapping[str, str]] = _TEXTS["explained"]
"""Title and meaning of the figures on the screens, except measures of risk; see `shoal.disclosure_risk.MEASURES`."""
COMPARED: Mapping[str, str] = _TEXTS["compared"]
"""The explanation of each column of a comparison of levels, as a key of `EXPLAINED`."""
ROLES: Sequence[Mapping[str, str]] = _TEXTS["roles"]
"""The roles of columns in the order of display: name in inspections, title, outcome, meaning and technical term."""
GOALS: Sequence[Mapping[str, Any]] = _TEXTS["goals"]
"""The audiences of a release, the strictest first, with usual models; `binds`: the meaning is what binds recipients."""
STEPS: Sequence[Sequence[str]] = _TEXTS["steps"]
"""The screens in order: path and title."""
ANSWERS: Mapping[str, str] = _TEXTS["answers"]
"""What a record of the table is, by answer, as the end of the sentence "Each record ..."."""
MEANINGS: Mapping[str, str] = _TEXTS["meanings"]
"""What an answer costs and protects."""
PROPOSALS: Sequence[Mapping[str, Any]] = _TEXTS["proposals"]
"""The kinds of hierarchies that can be proposed, with the kinds of columns that they suit and fields of the form."""
FILES: Mapping[str, str] = _TEXTS["files"]
"""Descriptions of the files of a release, except the table."""
CONCERNS: Sequence[tuple[str, Sequence[str]]] = _TEXTS["concerns"]
"""Groups of warnings about a release, the most serious first: title, and kinds of warnings; the last has all others."""
_COUNTS_OF_PERSONS = ("average", "highest", "small", "part", "pairs")
"""Figures that count persons if a column identifies persons: on the screens Table, For whom and Publish."""
_ELSEWHERE = " at the command line"


def explained_of_persons() -> dict[str, Mapping[str, str]]:
    """Explain all figures for a table in which persons have several records, and are counted."""
    counted = "Persons are counted here: a person with several records is found by any of them."
    changed = {
        name: {**EXPLAINED[name], "meaning": f"{EXPLAINED[name]['meaning']} {counted}"} for name in _COUNTS_OF_PERSONS
    }
    return {**EXPLAINED, **changed}


def date_form_in_words(form: str) -> str:
    """Describe a date format for users who do not know the codes of strptime.

    Examples
    --------
    >>> date_form_in_words("%d.%m.%Y")
    'day.month.year'
    """
    for sign, part in _TEXTS["date parts"].items():
        form = form.replace(sign, part)
    return form


def work_in_words(step: str) -> str:
    """Describe a step of a job, by the name that progress callbacks receive.

    Examples
    --------
    >>> work_in_words("verify"), work_in_words("cluster"), work_in_words("k = 5, l = 2")
    ('verifying every cell', 'making groups', 'k = 5, l = 2')
    """
    return str(_TEXTS["work"].get(step, step))


class _Screens(Audience):
    """The audience of the screens: a parameter is named by the label of its field, or as an option if it has none."""

    python = False

    def __init__(self, terms: Sequence[tuple[str, str]] = ()) -> None:
        self.terms = terms

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Return the label of a parameter and its screen."""
        label = _TEXTS["labels"].get(parameter)
        if label is None:
            from shoal.request.words import WORDS, flag_of

            if parameter not in WORDS:
                return None
            label = flag_of(parameter)
        return f"{label}{_ELSEWHERE}" if isinstance(label, str) else f"“{label[1]}” on the screen {label[0]}"

    def assigned(self, parameter: str, called: str, value: object) -> str:
        """Write a field with a value as its screen shows it, or an option with its value."""
        if called.endswith(_ELSEWHERE):
            return f"{with_value(called.removesuffix(_ELSEWHERE), value)}{_ELSEWHERE}"
        if value is True or parameter in ("rows_per_person", "hierarchies"):  # a choice, whose words are the label
            return called
        if parameter not in ("coarsen", "direct_identifiers", "person"):
            return f"{called}: {value}"
        # Such values are words of a shell: a coarsening, or columns separated by commas.
        text = str(value)
        # Invisible characters stay escaped.
        text = text[2:-1] if text.startswith("$'") else " ".join(shlex.split(text))
        # Names with an equals sign or a comma are quoted.
        given, _equals, words = text.rpartition("=") if parameter == "coarsen" else (text, "", "")
        names = ", ".join(names_in(parameter, [given]) or ())
        return f"{called}: {names}" + (f": {describe_coarsening(words)}" if parameter == "coarsen" else "")


SCREENS = _Screens(_TEXTS["terms"])
"""The audience of the screens."""
REPORTS = _Screens()
"""The audience of reports that the studio writes: in the words of the field, with the names of fields of screens."""
