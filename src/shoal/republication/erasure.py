"""Erasure of people from the ledger: their signatures and values go, and a keyed tombstone stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from shoal.errors import ParameterError, PeopleError
from shoal.republication.ledger import journal
from shoal.republication.ledger.keys import Pseudonyms, SeriesKeys
from shoal.republication.ledger.memory import Memory, read_memory, rewrite_memories
from shoal.republication.ledger.records import RecordedSeries
from shoal.republication.linkage import find_blank, hash_spellings, to_identity_text

if TYPE_CHECKING:
    import sqlalchemy as sa


def parse_ids(ids: object, *, of: str = "erase", name: str = "ids") -> pl.Series:
    """Parse the ids of people: a value, or an iterable or a column of values, as in the tables of the series.

    Parameters
    ----------
    ids : object
        The ids.
    of, name : str
        The method and the parameter that errors name.
    """
    # A column is taken as it is; a single value and an iterable become one.
    if isinstance(ids, pl.Series):
        values = ids
    elif isinstance(ids, str) or not isinstance(ids, Iterable):
        values = pl.Series([ids])
    else:
        try:
            values = pl.Series(list(ids))
        except (TypeError, pl.exceptions.PolarsError):
            raise ParameterError(f"The '{name}' parameter of {of} must have ids of one type only.") from None
    # The same text as in a table, so that 7 and "7" are one person.
    texts = to_identity_text(values)
    if not len(texts) or find_blank(texts).any():
        raise ParameterError(
            f"The '{name}' parameter of {of} must name people: at least one, and no blank or missing id."
        )
    return texts.unique()


def erase_people(connection: sa.Connection, series: RecordedSeries, ids: pl.Series, keys: SeriesKeys) -> RecordedSeries:
    """Replace what every kept memory of a series holds of some people by tombstones, and seal the releases again.

    Parameters
    ----------
    connection : Connection
        A writing transaction.
    series : RecordedSeries
        The series.
    ids : polars.Series
        The ids as text.
    keys : SeriesKeys
        The keys of the series.

    Returns
    -------
    RecordedSeries
        The series after.

    Raises
    ------
    PeopleError
        If the series does not know one of them; nothing is erased.
    """
    # Without the keys of the series the ids cannot be found in its memory.
    people = keys.pseudonymize(ids)
    spellings = hash_spellings(ids, people, keys)
    memory = read_memory(connection, series, keys, after=series.latest)
    _check_known(memory, people, spellings, ids)

    def erase(pieces: list[bytes], number: int) -> list[bytes]:
        return Memory.from_pieces(pieces).erase(people.ids, spellings, number).to_pieces()

    # The memory before the latest release forgets them, too, because a rollback returns to it.
    releases, written = rewrite_memories(connection, series, keys, keys, erase)
    # The digests of the memories are sealed in the records, and each seal covers the one before.
    after_series = series.with_releases(releases, keys)
    journal.advance(connection, series, after_series, keys)
    journal.check_written(connection, after_series, keys, written)
    return after_series


def _check_known(memory: Memory, people: Pseudonyms, spellings: object, ids: pl.Series) -> None:
    """Check that a series knows all of some people, or has erased them already."""
    import numpy as np

    unknown = (memory.persons.find(people.ids) < 0) & ~memory.find_erased(people.ids)
    count = int(unknown.sum())
    if not count:
        return
    # Ids in another spelling are counted, because the advice differs.
    other = int(np.isin(np.asarray(spellings)[unknown], memory.persons.records["spelling"]).sum())
    hint = f" Of these, {other} in another spelling: write the ids as in the releases."
    unknown_people = f"The series does not know {count} of {len(people)} people."
    which = ids.filter(pl.Series(unknown)).to_list()
    raise PeopleError(unknown_people, hint if other else "", " No one was erased.", ids=which)
