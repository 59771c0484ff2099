"""The published form of a release: indistinguishable rows for people and counterfeits."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.recoding import Recoding, recode
from shoal.republication.m_invariance.generalization import Generalization
from shoal.table import Table
from shoal.table.natural_order import natural_order

GROUP = "group_id"
COUNT = "count"


def build_published_tables(
    table: Table, sensitive: NDArray[np.integer], values: Sequence[str], made: Generalization
) -> tuple[pl.DataFrame, pl.DataFrame, Recoding]:
    """Build the published table and the auxiliary table of counterfeits.

    Rows are sorted by group and sensitive value. A group has each value once and groups are numbered at random, so the
    order reveals nothing else.

    Parameters
    ----------
    table : Table
        The encoded rows of the published people.
    sensitive : array
        Code of each row's sensitive value.
    values : sequence of str
        The sensitive values by code, as JSON lists with an entry for each attribute.
    made : Generalization
        The groups.

    Returns
    -------
    published, counterfeits : DataFrame
        The table (`group_id`, quasi-identifiers, sensitive attributes), and the number of counterfeits of each group
        that has any (`group_id`, `count`). Groups are numbered from 1.
    recoding : Recoding
        The published cells of each box; groups that share a box publish the same cells.
    """
    # Recode by box, then append the counterfeits to the people.
    boxes = int(made.boxes.max(initial=-1)) + 1
    recoding = recode(table, made.boxes[made.groups], boxes, method="generalization", spell_out=True)
    groups = np.concatenate((made.groups, made.counterfeit_groups))
    codes = np.concatenate((sensitive, made.counterfeit_values))
    words = [json.loads(value) for value in values]
    # Sort by the text of the values, because the order of their codes reveals when each was first published.
    rank = np.empty(len(values), dtype=np.int64)
    rank[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
    order = np.lexsort((rank[codes], groups))
    groups, codes = groups[order], codes[order]
    # Quasi-identifiers come from the box, sensitive values from the code.
    index = pl.Series(made.boxes[groups].astype(np.uint32))
    columns = [pl.Series(GROUP, groups.astype(np.int64) + 1)]
    for column in recoding.columns:
        labels = column.labels.gather(pl.Series(column.group_codes.astype(np.uint32)))
        columns.append(labels.rechunk().gather(index).alias(column.name))
    for place, attribute in enumerate(table.sensitive):
        texts = pl.Series(attribute.name, [one[place] for one in words], dtype=pl.String)
        columns.append(_restore_type(texts, attribute.dictionary.dtype).gather(pl.Series(codes.astype(np.uint32))))
    # The auxiliary table lists only groups with counterfeits.
    with_counterfeits, count = np.unique(made.counterfeit_groups, return_counts=True)
    auxiliary = pl.DataFrame({GROUP: with_counterfeits.astype(np.int64) + 1, COUNT: count.astype(np.int64)})
    return pl.DataFrame(columns), auxiliary, recoding


def sort_values(values: Sequence[str]) -> NDArray[np.int64]:
    """Sort the codes of sensitive values by the natural order of the first attribute, then of the next.

    Parameters
    ----------
    values : sequence of str
        The sensitive values by code, as JSON lists with an entry for each attribute.

    Examples
    --------
    >>> sort_values(['["10"]', '["9"]', '["unknown"]']).tolist()
    [1, 0, 2]
    """
    ranks: list[NDArray[np.int64]] = []
    # Rank the values of each attribute in natural order.
    for texts in zip(*map(json.loads, values), strict=True):
        distinct, code_of = np.unique(np.array(texts, dtype=object), return_inverse=True)
        places = np.empty(len(distinct), dtype=np.int64)
        places[natural_order(pl.Series(distinct.tolist(), dtype=pl.String))] = np.arange(len(distinct))
        ranks.append(places[code_of])
    # `lexsort` sorts by its last key first.
    return np.lexsort(ranks[::-1]).astype(np.int64)


def _restore_type(texts: pl.Series, kind: pl.DataType) -> pl.Series:
    """Cast values to the type of the current table if all of them allow it, else keep text."""
    # Truth values have two texts.
    if kind == pl.Boolean:
        words = set(texts.unique())
        return texts == "true" if words <= {"true", "false"} else texts
    if not (kind.is_numeric() or kind in (pl.Date, pl.Datetime, pl.Time)):
        return texts
    try:
        return texts.str.to_date("%Y-%m-%d") if kind == pl.Date else texts.cast(kind)
    except pl.exceptions.PolarsError:
        return texts
