"""Roles that are proposed when a table is to be measured and nothing names its quasi-identifiers."""

from __future__ import annotations

from typing import Any

from shoal._core.quoting import listed_names
from shoal._messages import Part, Suggestion
from shoal.errors import UsageError
from shoal.pipeline.input import open_data
from shoal.verbs.evaluate.proposals import QUASI, SENSITIVE
from shoal.verbs.evaluate.survey import survey_table

_LOOKED_AT = 100_000
"""Largest number of rows that the proposals are made of."""
_LISTED = 40
"""Largest number of columns in a message."""


def roles_to_choose_from(data: Any, **reading: Any) -> tuple[Part, ...]:
    """Phrase the columns of a table and their proposed roles as the end of an error; empty if it cannot be read.

    Parameters
    ----------
    data : frame or path
    **reading
        Delimiter, encoding, sheet and header row.
    """
    if hasattr(data, "collect"):  # a table that may be larger than memory
        return ()
    try:
        columns = survey_table(open_data(data, **reading).frame.head(_LOOKED_AT)).columns
    except UsageError:
        return ()
    proposed: list[Part] = []
    for key, role in (("quasi_identifiers", QUASI), ("sensitive", SENSITIVE)):
        if names := [one.name for one in columns if one.role == role]:
            asked = Suggestion(key, listed_names(names), python=f"{key}={names!r}")
            proposed += [" Proposed: " if not proposed else ", ", asked]
    names = [one.name for one in columns]
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return (f" The columns are {listed}.", *proposed, "." if proposed else "")
