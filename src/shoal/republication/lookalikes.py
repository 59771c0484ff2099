"""Lookalikes: new people of a table who may be known ones under other ids, and the warnings that speak of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.republication.linkage import absent_people

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.republication.linkage import LinkedTable

__all__ = ["warnings_of"]

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Spreads small codes over 64 bits."""
_OTHER_IDS = (
    "If they are the same people under other ids (coded anew, or written in another way), a release together with the "
    "earlier ones may betray them: publish with the earlier ids, and take back a release that was made, before anybody "
    "outside sees it (shoal republish rollback --unpublished)."
)


@dataclass(frozen=True, kw_only=True)
class Lookalikes:
    """New people who may be known ones under other ids."""

    new: int
    """People who were never published."""
    alike: int
    """How many of them have the quasi-identifiers of a known person who is absent, and a value of that one's set."""
    by_chance: float
    """How many would, if as many of them did as of the people with known ids, who certainly are not absent."""
    same_spelling: int
    """People of the table whose ids differ from another one's only in how they are written."""

    @property
    def suspicious(self) -> bool:
        """Whether they are more than chance explains, by two standard deviations; one, if chance explains none."""
        return self.alike > self.by_chance + 2 * math.sqrt(self.by_chance)


def warnings_of(linked: LinkedTable) -> Iterator[str]:
    """Yield what speaks for people who are taken for new ones and are not, in sentences with counts alone."""
    found = find_lookalikes(linked)
    if found.same_spelling:
        yield (
            f"{found.same_spelling:,} people of the table have ids that differ from another one's only in how they are "
            "written (blanks, leading zeros, upper and lower case, Unicode forms). Each id is taken for a person of "
            "its own: if two belong to one person, merge their rows, or the release may betray the person."
        )
    if len(linked.memory.persons) and found.new == len(linked.known):
        yield (f"Nobody of the release was in an earlier one: all {found.new:,} people are taken for new. {_OTHER_IDS}")
    if found.suspicious:
        chance = f", more than the {found.by_chance:,.1f} that chance explains" if found.by_chance else ""
        yield (
            f"{found.alike:,} of {found.new:,} new people have the quasi-identifiers of somebody who is known and "
            f"absent from the table, and a sensitive value that fits{chance}. {_OTHER_IDS}"
        )


def find_lookalikes(linked: LinkedTable) -> Lookalikes:
    """Count the new people of a table who have the data of somebody who is known and absent."""
    memory, old = linked.memory, linked.known >= 0
    gone = np.flatnonzero(absent_people(linked.known, memory))
    records = memory.persons.records[gone]
    possible = np.isin(records["quasi_identifiers"], linked.quasi_identifiers)
    records = records[possible]
    # Each of them with each value of the person's signature.
    sets = memory.signatures
    starts, sizes = sets.starts[records["signature"]], sets.sizes[records["signature"]]
    places = np.arange(int(sizes.sum())) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
    data = _joined(np.repeat(records["quasi_identifiers"], sizes), sets.values[places])
    found = np.isin(_joined(linked.quasi_identifiers, linked.sensitive), data)
    new, kept = int((~old).sum()), int(old.sum())
    _, times = np.unique(linked.spellings, return_counts=True)
    return Lookalikes(
        new=new,
        alike=int(found[~old].sum()),
        by_chance=new * int(found[old].sum()) / kept if kept else 0.0,
        same_spelling=int(times[times > 1].sum()),
    )


def _joined(hashes: NDArray[np.uint64], codes: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return a number for each hash and code: equal ones for equal pairs."""
    return hashes + (codes.astype(np.uint64) + np.uint64(1)) * _ODD
