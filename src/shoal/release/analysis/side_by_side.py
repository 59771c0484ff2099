"""Some records of a release next to those of the original table, for the publisher only."""

from __future__ import annotations

import random
from dataclasses import dataclass

import polars as pl

from shoal._core.validation import Integer, validate
from shoal.errors import ParameterError
from shoal.release.verified_table import VerifiedTable
from shoal.table import dictionary_text


@dataclass(frozen=True, kw_only=True, repr=False)
class RowPairs:
    """Some records before and after; private, because they are records of the original table."""

    numbers: tuple[int, ...]
    """The row number of each record in the original table, from 0."""
    before: pl.DataFrame
    """The cells of the original table as text, with the columns of the release; null in columns that it lacks."""
    after: pl.DataFrame
    """The published cells of the same records as text."""

    def __repr__(self) -> str:
        return f"RowPairs({len(self.numbers)} records)"


def select_row_pairs(release: VerifiedTable, count: int, *, seed: int = 0) -> RowPairs:
    """Select published records at random, with their originals; see `Release.side_by_side`."""
    validate("side_by_side", {"count": count, "seed": seed}, {"count": Integer(low=1), "seed": Integer(low=0)})
    # Engines that read in pieces know distinct rows only.
    original = release.store.original
    if original is None:
        raise ParameterError(
            "Records are shown beside their originals if the table was in memory. Make a release of a part of the "
            "table, with engine='memory'."
        )
    # The same records at each call, so that releases can be compared.
    published = release.published
    places = random.Random(seed).sample(range(published.height), min(count, published.height))
    numbers = tuple(int(release.rows[place]) for place in places)
    raw = original[list(numbers)]
    empty = pl.repeat(None, len(numbers), dtype=pl.String, eager=True)
    before = [dictionary_text(raw[name]) if name in raw.columns else empty.alias(name) for name in published.columns]
    after = [dictionary_text(column) for column in published[places]]
    return RowPairs(numbers=numbers, before=pl.DataFrame(before), after=pl.DataFrame(after))
