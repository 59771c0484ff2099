"""The stages of a release of a series: generalize and recode the linked rows, then verify the published cells.

`shoal.pipeline` has the same stages for single releases. A series has types of its own because it adds counterfeits
and verifies a release against the memory of the ledger; `LinkedTable` takes the place of the prepared table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.disclosure_risk import reidentification
from shoal.errors import InternalError
from shoal.metrics.classes import gcp
from shoal.pipeline.kept_rows import make_generator
from shoal.recoding import Recoding, recode
from shoal.republication.ledger.records import RecordedSeries
from shoal.republication.linkage import LinkedTable
from shoal.republication.m_invariance.generalization import Generalization, generalize
from shoal.republication.m_invariance.verification import (
    count_group_sizes,
    verify_invariance,
    verify_real_people,
    verify_release,
    verify_truth,
)
from shoal.table import Table
from shoal.table.natural_order import natural_order
from shoal.verification.published_folder import GROUP

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
    # The auxiliary table has only groups with counterfeits.
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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class VerifiedRelease:
    """A release whose published cells passed verification."""

    groups: Generalization
    """The group of each row, and the counterfeits."""
    frame: pl.DataFrame
    """The published table."""
    counterfeit_frame: pl.DataFrame
    """Number of counterfeits of each group."""
    recoding: Recoding
    """The published cells of each box of groups."""
    achieved: Mapping[str, Any]
    """Privacy measured on the published cells."""
    risk: Mapping[str, Mapping[str, Any]]
    """Re-identification risk `before` (in the input rows) and `after` (in the published cells). A counterfeit counts
    as a row of its group because readers cannot distinguish the two."""

    @property
    def cost(self) -> dict[str, Any]:
        """The cost of the release with the keys of a certificate."""
        bound = {"stars": 0, "suppressed_tuples": 0, "counterfeits": 0, "why": "none is known for m-invariance"}
        return {
            "counterfeits": self.groups.counterfeits,
            "stars": self.recoding.stars,
            "suppressed_tuples": self.recoding.suppressed_tuples,
            "recoded_cells": self.recoding.recoded_cells,
            "recoded_tuples": self.recoding.recoded_tuples,
            "gcp": round(gcp(self.recoding), 6),
            "lower_bound": bound,
            "optimal": False,
        }


def make_release(
    matched: LinkedTable, series: RecordedSeries, *, signatures: str, min_real: int, seed: int | None, clock: Clock
) -> VerifiedRelease:
    """Group the rows so that every person keeps a signature, recode the groups, and verify the published cells.

    Parameters
    ----------
    matched : LinkedTable
        The linked rows.
    series : RecordedSeries
        The series.
    signatures : {"any", "near"}
        Whether the values of new signatures should lie near each other.
    min_real : int
        Minimum number of real people of each box of quasi-identifiers.
    seed : int, optional
        For reproducible experiments; by default randomness comes from the operating system.
    clock : Clock
        Measures the steps "generalize" and "recode".

    Raises
    ------
    InfeasibleError
        If the new rows are not m-eligible, or there are fewer people than `min_real`.
    """
    table = matched.table
    with clock.step("generalize"):
        made = generalize(
            quasi_identifiers=np.column_stack([column.codes.astype(np.int32) for column in table.quasi_identifiers]),
            sensitive=matched.sensitive,
            values=len(matched.values),
            signature_of=matched.signature_of,
            signatures=matched.memory.signatures,
            m=series.m,
            rng=make_generator(seed),
            balancing=series.counterfeits,
            near=sort_values(matched.values) if signatures == "near" else None,
            min_real=min_real,
            progress=clock.progress,
        )
    with clock.step("recode"):
        # Publish the cells of each box, with counterfeits among the people.
        frame, counterfeits, recoding = build_published_tables(matched.table, matched.sensitive, matched.values, made)
    # Verification uses the signatures of the memory, not those of the algorithm.
    known, columns = matched.memory.signatures, series.columns.published
    with clock.step("verify"):
        # m-uniqueness of the published cells.
        achieved = verify_release(frame, counterfeits, **columns, m=series.m)
        # Every known person keeps the signature, and every cell is true.
        verify_invariance(
            groups=made.groups,
            sensitive=matched.sensitive,
            counterfeit_groups=made.counterfeit_groups,
            counterfeit_values=made.counterfeit_values,
            signature_of=matched.signature_of,
            signatures=[known[number] for number in range(len(known))],
        )
        verify_truth(frame, matched.frame, made.groups, **columns)
        # Boxes with enough real people, and no lost or extra row.
        if min_real > 1:
            verify_real_people(frame, counterfeits, **columns, min_real=min_real, groups=made.groups)
        if frame.height != matched.table.rows + made.counterfeits:
            raise InternalError("a release has more or fewer rows than were to be published")
        sizes = count_group_sizes(frame)
    return VerifiedRelease(
        groups=made,
        frame=frame,
        counterfeit_frame=counterfeits,
        recoding=recoding,
        achieved=achieved,
        risk={"before": _risk(matched.table.classes.sizes_counted, series.m), "after": _risk(sizes, series.m)},
    )


def _risk(sizes: Mapping[int, int], m: int) -> dict[str, Any]:
    """Summarize the re-identification risk for class sizes."""
    return reidentification(sizes, k=m).to_dict()
