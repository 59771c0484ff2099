"""Utility of a release that is read from its published cells, without the groups that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacks.value_forms import convert_to_form
from shoal.errors import ColumnError, DataError
from shoal.release.analysis.analyst_utility import AnalystUtility, compare_columns
from shoal.release.analysis.expected_columns import ExpectedColumn, unchanged
from shoal.table import Schema, encode
from shoal.verification.cell_syntax import cell_text
from shoal.verification.faithfulness import find_covered_values
from shoal.verification.meaning import Meaning
from shoal.verification.published_columns import read_table
from shoal.verification.values import format_values

_MAX_PAIRS = 1 << 22
"""Largest number of pairs of a cell and a value that are compared at a time."""


def measure_published_utility(
    published: pl.DataFrame,
    original: pl.DataFrame,
    *,
    meanings: Mapping[str, Meaning],
    sensitive: tuple[str, ...],
    star: str,
) -> AnalystUtility:
    """Compute the measures of a published table against its original; the order of the records plays no part.

    Parameters
    ----------
    published, original : polars.DataFrame
        The tables.
    meanings : mapping of column to Meaning
        The quasi-identifiers and the sensitive columns that were coarsened, and how their cells are interpreted.
    sensitive : tuple of str
        All sensitive columns.
    star : str
        The symbol of a suppressed cell.

    Raises
    ------
    ColumnError
        If a column is missing in one of the tables.
    DataError
        If the release is empty or has more records than the original, or cells represent no value of the original.
    """
    recoded = tuple(name for name in meanings if name not in sensitive)
    names = (*recoded, *sensitive)
    for table, which in ((published, "release"), (original, "original")):
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise ColumnError(f"The {which} has no column {', '.join(map(repr, missing))}.")
    # A release may leave records out; which ones, only its publisher knows.
    if not 0 < published.height <= original.height:
        raise DataError(
            f"The release has {published.height:,} records, the original {original.height:,}. Compare a release with "
            "the records that it was made of."
        )
    # Texts of dates and numbers are compared in the form of the cells.
    original = convert_to_form(read_table(published, meanings, star=star, meanings=meanings), original)
    encoded = encode(original.select(names), Schema(quasi_identifiers=recoded, sensitive=sensitive))
    before, after = [], []
    for column in (*encoded.quasi_identifiers, *encoded.sensitive):
        one = unchanged(column, encoded.multiplicities)
        cells = cell_text(published.get_column(column.name))
        labels = cells.unique(maintain_order=True)
        if column.name in meanings:
            covered = _covered(labels.to_list(), column.dictionary, meanings[column.name], star)
        else:
            # Other sensitive values are published as they are.
            known = {text: place for place, text in enumerate(format_values(column.dictionary).to_list())}
            covered = np.zeros((len(labels), column.size), dtype=np.bool_)
            for place, text in enumerate(labels.to_list()):
                if text in known:
                    covered[place, known[text]] = True
        places = {text: place for place, text in enumerate(labels.to_list())}
        codes = np.array([places[text] for text in cells.to_list()], dtype=np.int64)
        before.append(one)
        after.append(_published(one, codes, covered))
    return compare_columns(before, after, recoded=len(recoded))


def _covered(labels: list[str | None], values: pl.Series, meaning: Meaning, star: str) -> NDArray[np.bool_]:
    """Find the values that each cell represents, some cells at a time."""
    step = max(_MAX_PAIRS // len(values), 1)
    parts = [labels[start : start + step] for start in range(0, len(labels), step)]
    return np.concatenate([find_covered_values(part, values, meaning=meaning, star=star) for part in parts])


def _published(original: ExpectedColumn, codes: NDArray[np.int64], covered: NDArray[np.bool_]) -> ExpectedColumn:
    """Return a column as it is published: each label is the mean over the values that it represents."""
    sizes = covered.sum(axis=1)
    if not sizes.all():
        raise DataError(
            f"Cells of the column '{original.name}' represent no value of the original. Check that the release was "
            "made of this table; name the hierarchy of the column if its cells are nodes."
        )
    shares = covered / sizes[:, None]
    return replace(
        original,
        labels=codes,
        memberships=shares @ original.memberships,
        numbers=shares @ original.numbers,
        counts=np.ones(len(codes), dtype=np.int64),
    )
