"""The published form of a release: a row for each person and each counterfeit, none of them to be told apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.recoding import recode
from shoal.table.natural_order import natural_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.recoding import Recoding
    from shoal.republication.m_invariance.generalization import Generalization
    from shoal.table import Table

__all__ = ["published_tables", "value_order"]

GROUP = "group_id"
COUNT = "count"


def published_tables(
    table: Table, sensitive: NDArray[np.integer], values: Sequence[str], made: Generalization
) -> tuple[pl.DataFrame, pl.DataFrame, Recoding]:
    """Make the published table and the auxiliary one.

    Rows are sorted by their group and then by their sensitive value, of which a group has each once: their order tells
    nothing else. The groups were numbered at random.

    Parameters
    ----------
    table : Table
        The published people's rows, encoded.
    sensitive : array
        Code of each row's sensitive value.
    values : sequence of str
        The sensitive values by code, as JSON lists with an entry for each attribute.
    made : Generalization
        The groups; none of the rows is held back.

    Returns
    -------
    published, counterfeits : DataFrame
        The table (`group_id`, quasi-identifiers, sensitive attributes), and the number of counterfeits of each group
        that has some (`group_id`, `count`). Groups are numbered from 1.
    recoding : Recoding
        What every box publishes: groups that share one publish the same.
    """
    boxes = int(made.boxes.max(initial=-1)) + 1
    recoding = recode(table, made.boxes[made.groups], boxes, method="generalization", spell_out=True)
    groups = np.concatenate((made.groups, made.counterfeit_groups))
    codes = np.concatenate((sensitive, made.counterfeit_values))
    words = [json.loads(value) for value in values]
    # By the values' texts: the order of their codes tells when each was published first.
    rank = np.empty(len(values), dtype=np.int64)
    rank[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
    order = np.lexsort((rank[codes], groups))
    groups, codes = groups[order], codes[order]
    index = pl.Series(made.boxes[groups].astype(np.uint32))
    columns = [pl.Series(GROUP, groups.astype(np.int64) + 1)]
    for column in recoding.columns:
        labels = column.labels.gather(pl.Series(column.group_codes.astype(np.uint32)))
        columns.append(labels.rechunk().gather(index).alias(column.name))
    for place, attribute in enumerate(table.sensitive):
        texts = pl.Series(attribute.name, [one[place] for one in words], dtype=pl.String)
        columns.append(_restored(texts, attribute.dictionary.dtype).gather(pl.Series(codes.astype(np.uint32))))
    with_counterfeits, count = np.unique(made.counterfeit_groups, return_counts=True)
    auxiliary = pl.DataFrame({GROUP: with_counterfeits.astype(np.int64) + 1, COUNT: count.astype(np.int64)})
    return pl.DataFrame(columns), auxiliary, recoding


def value_order(values: Sequence[str]) -> NDArray[np.int64]:
    """Return the codes of sensitive values in the order of the values: by the first attribute, then by the next.

    Parameters
    ----------
    values : sequence of str
        The sensitive values by code, as JSON lists with an entry for each attribute.

    Examples
    --------
    >>> value_order(['["10"]', '["9"]', '["unknown"]']).tolist()
    [1, 0, 2]
    """
    ranks: list[NDArray[np.int64]] = []
    for texts in zip(*map(json.loads, values), strict=True):
        distinct, code_of = np.unique(np.array(texts, dtype=object), return_inverse=True)
        places = np.empty(len(distinct), dtype=np.int64)
        places[natural_order(pl.Series(distinct.tolist(), dtype=pl.String))] = np.arange(len(distinct))
        ranks.append(places[code_of])
    return np.lexsort(ranks[::-1]).astype(np.int64)


def _restored(texts: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return values with the type that today's table has, where all of them can have it; else they stay text."""
    if kind == pl.Boolean:
        words = set(texts.unique())
        return texts == "true" if words <= {"true", "false"} else texts
    if not (kind.is_numeric() or kind in (pl.Date, pl.Datetime, pl.Time)):
        return texts
    try:
        return texts.cast(kind)
    except pl.exceptions.PolarsError:
        return texts
