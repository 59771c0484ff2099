"""Suggestions of feasible requests for sensitive columns, based on the frequency of their most common value.

A monotone requirement is feasible if and only if the whole table, as one group, satisfies it. Hence the largest
feasible `l` of a column depends on its most common value only, not on the quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal._core.facts import Fact
from shoal._core.quoting import listed_names, quote_for_shell
from shoal._messages import Audience, Suggestion
from shoal.models.population import Population


@dataclass(frozen=True, kw_only=True)
class SensitiveCounts:
    """Frequencies of the values of one sensitive column in the whole table."""

    name: str
    """Name of the column."""
    rows: int
    """Number of rows of the table, at least 1."""
    height: int
    """Number of rows with the most common value."""
    distinct: int
    """Number of distinct values."""

    @classmethod
    def of(cls, names: Sequence[str], populations: Iterable[Population]) -> list[SensitiveCounts]:
        """Summarize the values of each column in the whole table."""
        return [
            cls(name=name, rows=one.rows, height=one.height, distinct=one.distinct)
            for name, one in zip(names, populations, strict=True)
        ]

    @property
    def largest_l(self) -> int:
        """Largest feasible l of frequency l-diversity; 1 if more than half of the rows share a value."""
        return self.rows // self.height


@dataclass(frozen=True)
class _Distinct:
    """Suggestion of distinct l-diversity with l = 2, as a part of a message."""

    def render(self, audience: Audience) -> str:
        """Render the suggestion for an audience."""
        words = Suggestion("l", 2, python="shoal.LDiversity(2, variant='distinct')").render(audience)
        if audience.python:
            return words
        flag = audience.called("variant", "LDiversity")
        # Only screens have no flag.
        return f"{words}, counted as different values" if flag is None else f"{words} {flag}=distinct"


def drop_columns(names: Sequence[str]) -> Suggestion:
    """Suggest declaring columns as direct identifiers, which removes them from the release."""
    return Suggestion(
        "direct_identifiers", quote_for_shell(listed_names(names)), python=f"direct_identifiers={list(names)!r}"
    )


def advise_diversity(columns: Sequence[SensitiveCounts]) -> Fact:
    """Suggest a feasible request under which no group shares a single sensitive value.

    Parameters
    ----------
    columns : sequence of SensitiveCounts
        All sensitive columns, at least one; a model applies to each of them.
    """
    feasible = min(one.largest_l for one in columns)
    if feasible >= 2:
        return Fact("ask_for_l", asked=Suggestion("l", 2, python="shoal.LDiversity(2)"), most=feasible)
    # Constant columns must be dropped. Columns with a majority value admit distinct l-diversity or t-closeness only.
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
    # Two steps are needed: drop the constant columns, then change the request.
    if not same:
        return no_two
    return Fact("one_after_other", one=Fact("drop_same_first", columns=same, drop=drop_columns(same)), other=no_two)
