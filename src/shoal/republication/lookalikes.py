"""Warnings about columns that find persons, new people who may be known, and people who are in two series."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Part, Phrase, Suggestion
from shoal.errors import PeopleError
from shoal.findings import column_warnings, persons_of
from shoal.republication.ledger.advice import TAKE_BACK
from shoal.republication.ledger.memory import read_memory
from shoal.republication.ledger.records import RecordedSeries, SeriesColumns, list_series
from shoal.republication.ledger.store import Store
from shoal.republication.linkage import LinkedTable, find_absent_people, hash_spellings

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Odd multiplier that spreads small codes over 64 bits."""
_OTHER_IDS = (
    "If they are the same people under other ids (coded again, or written in another way), a release together "
    "with the earlier ones may betray them: publish with the earlier ids."
)
"""Advice that ends the warnings about other ids."""


_SAME_TABLE = (
    "The table has the people and the values of the last release: is it the same file? If so, publish the right one."
)
"""Warning about a repeated table."""

_AFTERWARDS = Phrase(" Take back a release that was made, before anyone outside sees it, with ", TAKE_BACK, ".")
"""Advice that follows if the release is made in spite of a warning."""


@dataclass(frozen=True, kw_only=True)
class Lookalikes:
    """Counts of new people who resemble known people."""

    new: int
    """New people of the table."""
    alike: int
    """New people with the quasi-identifiers of an absent known person and a value of that person's signature."""
    by_chance: float
    """Expected number of such matches by chance, estimated from the people with known ids."""
    same_spelling: int
    """People whose ids differ only in spelling from another id of the table."""

    @property
    def suspicious(self) -> bool:
        """Whether the matches exceed the number expected by chance by two standard deviations."""
        return self.alike > self.by_chance + 2 * math.sqrt(self.by_chance)


def describe_doubtful_ids(
    matched: LinkedTable, frame: pl.DataFrame, columns: SeriesColumns, *, made: bool
) -> Iterator[Part]:
    """Yield warnings about columns that find persons, and ids that may not be theirs: counts and names, never cells.

    Parameters
    ----------
    matched : LinkedTable
        The rows, linked to the people of the series.
    frame : polars.DataFrame
        All rows and columns of the input.
    columns : SeriesColumns
        The role of every column.
    made : bool
        Whether the release is made in spite of the warnings, so that it can be taken back.
    """
    end = _AFTERWARDS if made else ""
    known, sensitive = columns.quasi_identifiers, columns.sensitive
    for remark in column_warnings(matched.frame, quasi_identifiers=known, sensitive=sensitive):
        yield Phrase(replace(remark, advice=None), end)
    yield from _describe_repeated_table(matched, end)
    yield from _describe_lookalikes(matched, end)
    yield from _describe_repeated_persons(frame[matched.rows], columns)


def _describe_repeated_table(matched: LinkedTable, end: Part) -> Iterator[Part]:
    """Yield a warning if the table is probably that of the last release."""
    records, known = matched.memory.persons.records, matched.known
    # The sensitive values of known people were compared before.
    if (known < 0).any() or len(known) != int((records["gone"] == 0).sum()):
        return
    same = records["quasi_identifiers"][known] == matched.quasi_identifiers
    if same.all() and not records["gone"][known].any():
        yield Phrase(_SAME_TABLE, end)


def _describe_lookalikes(matched: LinkedTable, end: Part) -> Iterator[Part]:
    """Yield warnings about people who are probably not new."""
    found = find_lookalikes(matched)
    new = f"{found.new:,}"
    # Two ids of this table in different spellings.
    if found.same_spelling:
        yield (
            f"{found.same_spelling:,} people of the table have ids that differ from another one's only in how they are "
            "written (blanks, leading zeros, upper and lower case, Unicode forms). Each id is taken for a person of "
            "its own: if two belong to one person, merge their rows, or the release may betray the person."
        )
    # A table without any known id was probably coded with new ids.
    if len(matched.memory.persons) and found.new == len(matched.known):
        taken = f"No one of the release was in an earlier one: all {new} people are taken for new."
        yield Phrase(taken, " ", _OTHER_IDS, end)
    # More matches with absent people than chance explains.
    if found.suspicious:
        one = (
            f"1 of {new} new people has the quasi-identifiers of someone who is known and absent from the "
            "table, and a sensitive value that fits."
        )
        several = (
            f"{found.alike:,} of {new} new people have the quasi-identifiers of someone who is known and absent "
            "from the table, and a sensitive value that fits."
        )
        chance = f" Chance explains {found.by_chance:,.1f} of them."
        likeness = one if found.alike == 1 else several
        yield Phrase(likeness, chance if found.by_chance else "", " ", _OTHER_IDS, end)


def _describe_repeated_persons(frame: pl.DataFrame, columns: SeriesColumns) -> Iterator[Part]:
    """Yield a warning if another column, or the quasi-identifiers, show persons with several rows."""
    found = [one for one in persons_of(frame, columns.quasi_identifiers) if one.column != columns.identifier]
    for evidence in found:
        yield (
            f"Persons seem to have several rows: {evidence.text}. Each value of '{columns.identifier}' is taken for a "
            "person of its own with a set of values of its own, and what is promised does not hold for someone who "
            "has several. Start a series whose ids are those of persons, with one row of each in every release."
        )


def find_lookalikes(matched: LinkedTable) -> Lookalikes:
    """Count the new people of a table who match an absent known person."""
    # Absent people whose quasi-identifiers occur in the table.
    memory, old = matched.memory, matched.known >= 0
    gone = np.flatnonzero(find_absent_people(matched.known, memory))
    records = memory.persons.records[gone]
    possible = np.isin(records["quasi_identifiers"], matched.quasi_identifiers)
    records = records[possible]
    # Pair each absent person with each value of the person's signature.
    sets = memory.signatures
    starts, sizes = sets.starts[records["signature"]], sets.sizes[records["signature"]]
    places = np.arange(int(sizes.sum())) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
    data = _combine(np.repeat(records["quasi_identifiers"], sizes), sets.values[places])
    found = np.isin(_combine(matched.quasi_identifiers, matched.sensitive), data)
    # The people with known ids show how often such matches occur by chance.
    new, kept = int((~old).sum()), int(old.sum())
    _, times = np.unique(matched.spellings, return_counts=True)
    return Lookalikes(
        new=new,
        alike=int(found[~old].sum()),
        by_chance=new * int(found[old].sum()) / kept if kept else 0.0,
        same_spelling=int(times[times > 1].sum()),
    )


def _combine(hashes: NDArray[np.uint64], codes: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Combine each hash and code into one number; equal pairs give equal numbers."""
    return hashes + (codes.astype(np.uint64) + np.uint64(1)) * _ODD


_MEANING = (
    "Two series know nothing of each other: each gives a person a set of values of its own, and what the two "
    "sets have in common may be one value. So the promise of a confidence of at most 1/m does not hold for "
    "people whom both of them show."
)
"""Explanation that both messages share."""


def describe_other_series(name: str, others: Sequence[str]) -> str:
    """Describe the risk of starting a series in a ledger that has other series."""
    named = tuple(f"'{one}'" for one in others[:5]) + (("…",) if len(others) > 5 else ())
    return (
        f"The ledger has other series besides '{name}': {', '.join(named)}. {_MEANING} Publish all releases of a "
        "person in one series. Publishing people who are in another series of this ledger is an error unless you allow "
        "it, and in another ledger they cannot be noticed."
    )


def check_overlap(store: Store, series: RecordedSeries, ids: pl.Series) -> None:
    """Check that no other series of the ledger contains people of a release.

    The ids are hashed with the keys of each other series; no hash is kept.

    Parameters
    ----------
    store : Store
        The ledger.
    series : RecordedSeries
        The series of the release.
    ids : polars.Series
        The ids of the release, as text.

    Raises
    ------
    PeopleError
        If another series contains some of them; the message reports how many.
    """
    with store.database.open_for_reading() as connection:
        for name in list_series(connection):
            # Each other series that has a release.
            other = store.read_series(connection, name) if name != series.name else None
            if other is None or other.latest is None:
                continue
            # Compare exact ids, then normalized spellings.
            keys = store.derive_keys(other)
            memory = read_memory(connection, other, keys, after=other.latest)
            pseudonyms = keys.pseudonymize(ids)
            # The releases of the other series still show the people who were erased from it.
            same = (memory.persons.find(pseudonyms.ids) >= 0) | memory.find_erased(pseudonyms.ids)
            held = np.concatenate((memory.persons.records["spelling"], memory.erased["spelling"]))
            shared = same | np.isin(hash_spellings(ids, pseudonyms, keys), held)
            if shared.any():
                # The message reports counts and the name of the series, never ids.
                count = int(shared.sum())
                spelled = "" if same.any() else " The ids are written in another way."
                raise PeopleError(
                    f"{count} of {len(ids)} people {'is' if count == 1 else 'are'} in the series '{name}' of this "
                    f"ledger, too.{spelled} {_MEANING} Publish them in one of the two. Only if no one outside sees the "
                    "releases of one, or the two protect columns that have nothing to do with each other, allow it: ",
                    Suggestion("overlap", "allow"),
                    ".",
                    ids=ids.to_numpy()[shared],
                    reason="in another series",
                )
