"""Detection of people who are in two series: the guarantee of a series covers its own releases only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal._messages import Suggestion, phrase
from shoal.errors import PeopleError
from shoal.republication.ledger.memory import read_memory
from shoal.republication.ledger.records import RecordedSeries, list_series
from shoal.republication.ledger.store import Store
from shoal.republication.linkage import hash_spellings

_MEANING = (
    "Two series know nothing of each other: each gives a person a set of values of its own, and what the two "
    "sets have in common may be one value. So the promise of a confidence of at most 1/m does not hold for "
    "people whom both of them show."
)
"""Explanation that both messages share."""


def describe_other_series(name: str, others: Sequence[str]) -> str:
    """Describe the risk of starting a series in a ledger that has other series."""
    named = tuple(f"'{one}'" for one in others[:5]) + (("…",) if len(others) > 5 else ())
    return phrase(
        f"The ledger has other series besides '{name}': {', '.join(named)}.",
        " ",
        _MEANING,
        " Publish all releases of a person in one series; publishing people who are in another series of "
        "this ledger is an error unless you allow it, and in another ledger they cannot be noticed.",
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
                    f"ledger, too.{spelled} {_MEANING} Publish them in one of the two. Only if "
                    "nobody outside sees the releases of one, or the two protect columns that have nothing to do with "
                    "each other, allow it: ",
                    Suggestion("overlap", "allow"),
                    ".",
                    ids=ids.to_numpy()[shared],
                )
