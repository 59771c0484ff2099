"""Sets of quasi-identifiers: what different adversaries know, so that the models hold for each set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from shoal._core.words import quote_columns
from shoal.errors import ColumnError, ParameterError, near_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["ColumnSet", "all_sets", "split_own_k"]

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


def split_own_k(text: str) -> tuple[str, int | None]:
    """Split the text of a set into its columns and its own k, if it has one.

    Examples
    --------
    >>> split_own_k("age,zip:10"), split_own_k("age,zip")
    (('age,zip', 10), ('age,zip', None))
    """
    found = re.fullmatch(r"(.*):([1-9][0-9]*)", text, re.DOTALL)
    # A name in quotes may end like this.
    if found is None or found[1].count('"') % 2:
        return text, None
    return found[1], int(found[2])


def all_sets(
    texts: Sequence[str], knows: int | None, quasi_identifiers: Sequence[str], names_of: Callable[[str], Sequence[str]]
) -> tuple[ColumnSet, ...]:
    """Collect the requested sets: those that are named, then all sets of `knows` quasi-identifiers.

    Parameters
    ----------
    texts : sequence of str
        Named sets, such as "age,zip" or "age,zip:10".
    knows : int or None
        Number of quasi-identifiers of each further set.
    quasi_identifiers : sequence of str
        All quasi-identifiers.
    names_of : callable
        Parses the columns of a text.

    Raises
    ------
    UsageError
        If a set has a column that is not a quasi-identifier, if a quasi-identifier is in no set, or if there are too
        many sets.
    """
    if (texts or knows is not None) and len(quasi_identifiers) > _MAX_COLUMNS:
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
    found = list(_named(texts, quasi_identifiers, names_of))
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


def _named(
    texts: Sequence[str], quasi_identifiers: Sequence[str], names_of: Callable[[str], Sequence[str]]
) -> Iterator[ColumnSet]:
    """Parse the named sets; the columns of each are in the order of the quasi-identifiers."""
    for text in texts:
        line, k = split_own_k(text)
        names = names_of(line)
        for name in names:
            if name not in quasi_identifiers:
                near = near_matches(name, list(quasi_identifiers))
                raise ColumnError(f"The column '{name}' of a set is not a quasi-identifier. {near}")
        yield ColumnSet(columns=tuple(name for name in quasi_identifiers if name in names), k=k)
