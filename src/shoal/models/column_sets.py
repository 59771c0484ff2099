"""Sets of quasi-identifiers: what different adversaries know, so that the models hold for each set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from shoal._core.words import quote_columns
from shoal.errors import ColumnError, ParameterError, near_matches

_MAX_SETS = 10_000
"""Largest number of sets: 1,140 triples of 20 columns on 100,000 rows take half a minute."""
_MAX_COLUMNS = 62
"""Largest number of quasi-identifiers with sets, which are bits of a number."""


@dataclass(frozen=True, kw_only=True)
class ColumnSet:
    """Quasi-identifiers that an adversary knows together."""

    columns: tuple[str, ...]
    """Names of the columns, in the order of the quasi-identifiers."""
    k: int | None = None
    """The k of this set, in place of the one of the models; None for that of the models."""


def all_sets(
    named: Sequence[tuple[Sequence[str], int | None]], knows: int | None, quasi_identifiers: Sequence[str]
) -> tuple[ColumnSet, ...]:
    """Collect the requested sets: those that are named, then all sets of `knows` quasi-identifiers.

    Parameters
    ----------
    named : sequence of pairs
        The columns of each named set, and its own k or None.
    knows : int or None
        Number of quasi-identifiers of each further set.
    quasi_identifiers : sequence of str
        All quasi-identifiers.

    Raises
    ------
    UsageError
        If a set has a column that is not a quasi-identifier, if a quasi-identifier is in no set, or if there are too
        many sets.
    """
    if (named or knows is not None) and len(quasi_identifiers) > _MAX_COLUMNS:
        raise ParameterError(
            f"Sets can be protected of at most {_MAX_COLUMNS} quasi-identifiers, and there are "
            f"{len(quasi_identifiers)}. Name fewer."
        )
    if knows is not None and knows > len(quasi_identifiers):
        raise ParameterError(
            f"An adversary cannot know {knows} of {len(quasi_identifiers)} quasi-identifiers. Choose a smaller number."
        )
    if knows is not None and comb(len(quasi_identifiers), knows) > _MAX_SETS:
        raise ParameterError(
            f"{len(quasi_identifiers)} quasi-identifiers have {comb(len(quasi_identifiers), knows):,} sets of {knows}, "
            f"and the limit is {_MAX_SETS:,}. Choose a smaller number, or name the sets that matter."
        )
    found = list(_in_order(named, quasi_identifiers))
    if knows is not None:
        known = {one.columns for one in found if one.k is None}
        every = combinations(quasi_identifiers, knows)
        return (*found, *(ColumnSet(columns=names) for names in every if names not in known))
    # A quasi-identifier in no set would be published without protection.
    missing = [name for name in quasi_identifiers if found and not any(name in one.columns for one in found)]
    if missing:
        raise ColumnError(
            f"{quote_columns(missing)}: in no set of quasi-identifiers, so that nothing would protect it. Add it to a "
            "set, or give it another role."
        )
    return tuple(found)


def _in_order(
    named: Sequence[tuple[Sequence[str], int | None]], quasi_identifiers: Sequence[str]
) -> Iterator[ColumnSet]:
    """Put the columns of each named set into the order of the quasi-identifiers."""
    for names, k in named:
        for name in names:
            if name not in quasi_identifiers:
                near = near_matches(name, list(quasi_identifiers))
                raise ColumnError(f"The column '{name}' of a set is not a quasi-identifier. {near}")
        yield ColumnSet(columns=tuple(name for name in quasi_identifiers if name in names), k=k)
