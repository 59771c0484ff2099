"""The catalogue of warnings: when each is raised, why it matters, and whether readers of a release see it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from shoal._core.facts import Fact
from shoal._core.file_formats import read_data_file
from shoal._core.words import percent
from shoal._messages import PYTHON, Audience, current_audience
from shoal.errors import ReleaseWarning
from shoal.wording import sentence, sentences

OWN_VALUE = 0.5
"""Smallest share of records with a unique value for which an unchanged column identifies persons."""
LEAST_GROUP = 3
"""Smallest group size that is usually accepted: in a group of two, each knows the record of the other."""
DOMINANT = 0.75
"""Smallest share of the records for which a sensitive value dominates."""
MOSTLY = 0.9
"""Smallest share of stars for which a column has almost no information."""
MANY_MEMBERS = 5
"""Smallest number of values of a set that counts as a list of exact values."""
SHOWN_IN = 0.1
"""Smallest share of the records in such sets that raises a warning."""
MANY_SHOWN = 16
"""Largest number of distinct values of a column that are considered publicly known."""
MOST_QUASI = 12
"""Largest number of quasi-identifiers without a warning: with more, a release loses most information."""


@dataclass(frozen=True, kw_only=True)
class WarningKind:
    """One entry of the catalogue."""

    code: str
    """Its stable code."""
    title: str
    """A short title."""
    when: str
    """The condition under which it is raised."""
    why: str
    """Why it matters, for readers who do not know the models."""
    by: Sequence[str]
    """The commands that raise it: "inspect", "release", "audit"."""
    public: bool = False
    """Whether the public certificate and page have it: it derives from the request and the published table."""


_THRESHOLDS = {
    "OWN_VALUE": percent(OWN_VALUE),
    "DOMINANT": percent(DOMINANT),
    "MOSTLY": percent(MOSTLY),
    "SHOWN_IN": percent(SHOWN_IN),
    "MANY_MEMBERS": MANY_MEMBERS,
    "MANY_SHOWN": MANY_SHOWN,
    "LEAST_GROUP": LEAST_GROUP,
    "MOST_QUASI": MOST_QUASI,
}
_ENTRIES: Mapping[str, Mapping[str, Any]] = read_data_file(__package__, "warnings.json")
WARNINGS: Mapping[str, WarningKind] = MappingProxyType(
    {
        code: WarningKind(**{**entry, "code": code, "when": entry["when"].format_map(_THRESHOLDS)})
        for code, entry in _ENTRIES.items()
    }
)
"""All warnings by code; their texts stand in `warnings.json`, with the thresholds above as placeholders."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Remark:
    """A warning about a table or a release, without cells.

    Examples
    --------
    >>> from shoal._core.facts import Fact
    >>> remark = Remark(code="no_sensitive", column=None, found=Fact("none_sensitive"), advice=Fact("name_sensitive"))
    >>> remark.text
    'No column looks sensitive. If one must not be linked to a person, name it as sensitive.'
    """

    code: str
    """A key of `WARNINGS`."""
    column: str | None
    """The column concerned; None if the warning concerns the table."""
    found: Fact
    """The finding. If readers of the release see it, it derives from the request and the published table alone."""
    advice: Fact | None = None
    """The next step for the publisher."""

    @property
    def kind(self) -> WarningKind:
        """The entry of the catalogue."""
        return WARNINGS[self.code]

    @property
    def text(self) -> str:
        """The warning in the words of the current audience."""
        return self.render(current_audience())

    def render(self, audience: Audience) -> str:
        """Phrase the finding and the advice for an audience."""
        return sentences((self.found, self.advice), audience)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.code}: {self.text}>"

    def to_dict(self, audience: Audience | None = None) -> dict[str, Any]:
        """Convert the warning to a dictionary for the publisher, in the words of an audience (the current one)."""
        audience = current_audience() if audience is None else audience
        return {
            "code": self.code,
            "column": self.column,
            "text": self.render(audience),
            "found": self.found.to_dict(audience),
            "advice": None if self.advice is None else self.advice.to_dict(audience),
        }

    def for_readers(self) -> dict[str, Any]:
        """Convert the warning to a dictionary for readers: the finding, without advice."""
        # Readers see the words of Python, even if the publisher used the command line.
        text = sentence(self.found, PYTHON)
        return {"code": self.code, "column": self.column, "text": text, "found": self.found.to_dict(PYTHON)}


def warn_caller(remarks: Iterable[Remark | str]) -> None:
    """Raise a `ReleaseWarning` for each kind of warning, at the line that called shoal; other doors print them.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller([Remark(code="no_sensitive", column=None, found=Fact("none_sensitive"))])
    >>> [str(one.message) for one in caught]
    ['No column looks sensitive.']
    """
    if current_audience() is not PYTHON:
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "shoal":
        level, frame = level + 1, frame.f_back
    for one in remarks:
        warnings.warn(str(one), ReleaseWarning, stacklevel=level)
