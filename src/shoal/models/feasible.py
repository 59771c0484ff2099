"""What can be asked of sensitive columns, by how often their most common values occur: advice that works when followed.

Every monotone requirement is feasible if the whole table as one group meets it. So the largest feasible `l` of a column
is given by its most common value, whatever becomes of the quasi-identifiers.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal._core.facts import Fact
from shoal._messages import Suggestion

if TYPE_CHECKING:
    from shoal._messages import Voice

__all__ = ["SensitiveCounts", "advise_diversity", "drop_columns"]


@dataclass(frozen=True, kw_only=True)
class SensitiveCounts:
    """How often the values of one sensitive column occur in the whole table."""

    name: str
    """The column."""
    rows: int
    """Rows of the table, at least 1."""
    height: int
    """Rows with its most common value."""
    distinct: int
    """Different values."""

    @property
    def largest_l(self) -> int:
        """The largest feasible l of frequency l-diversity; 1 if more than half of the rows share a value."""
        return self.rows // self.height


@dataclass(frozen=True)
class _Distinct:
    """Distinct l-diversity with l = 2, as a part of a message."""

    def told(self, voice: Voice) -> str:
        """Return the words."""
        asked = Suggestion("l", 2, python="shoal.LDiversity(2, variant='distinct')").told(voice)
        if voice.python:
            return asked
        flag = voice.called("variant", "LDiversity")
        return f"{asked}, counted as different values" if flag is None else f"{asked} {flag} distinct"


def drop_columns(names: Sequence[str]) -> Suggestion:
    """Return how to leave columns out of a release."""
    return Suggestion("direct_identifiers", shlex.quote(",".join(names)), python=f"direct_identifiers={list(names)!r}")


def advise_diversity(columns: Sequence[SensitiveCounts]) -> Fact:
    """Return what to ask for so that no group shares a sensitive value: only what is feasible.

    Parameters
    ----------
    columns : sequence of SensitiveCounts
        All sensitive columns, at least one: a model is asked of each.
    """
    feasible = min(one.largest_l for one in columns)
    if feasible >= 2:
        return Fact("ask_for_l", asked=Suggestion("l", 2, python="shoal.LDiversity(2)"), most=feasible)
    same = tuple(one.name for one in columns if one.distinct < 2)
    common = tuple(one.name for one in columns if one.largest_l < 2 <= one.distinct)
    if not common:
        return Fact("drop_same", columns=same, drop=drop_columns(same))
    no_two = Fact(
        "no_two",
        columns=common,
        distinct=_Distinct(),
        like=Suggestion("t", 0.2, python="shoal.TCloseness(0.2)"),
        drop=drop_columns([*same, *common]),
    )
    if not same:
        return no_two
    return Fact("one_after_other", one=Fact("drop_same_first", columns=same, drop=drop_columns(same)), other=no_two)
