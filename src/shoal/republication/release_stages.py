"""The stages of a release of a series: generalize and recode the linked rows, then verify the published cells.

`shoal.pipeline` has the same stages for single releases. A series has types of its own because it adds counterfeits
and verifies a release against the memory of the ledger; `LinkedTable` takes the place of the prepared table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal._core.progress import Clock
from shoal.disclosure_risk import reidentification
from shoal.errors import InternalError
from shoal.metrics.certainty import gcp
from shoal.pipeline.prepare import make_generator
from shoal.recoding import Recoding
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
from shoal.republication.published_rows import build_published_tables, sort_values


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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RecodedPublication:
    """Groups of linked rows and the cells that they would publish, not yet verified."""

    linked: LinkedTable
    series: RecordedSeries
    groups: Generalization
    """The group of each row, and the counterfeits."""
    frame: pl.DataFrame
    """The table to publish."""
    counterfeit_frame: pl.DataFrame
    """Number of counterfeits of each group."""
    recoding: Recoding
    """The published cells of each box of groups."""
    min_real: int
    """Minimum number of real people of each box."""


def generalize_and_recode(
    linked: LinkedTable, series: RecordedSeries, *, signatures: str, min_real: int, seed: int | None, clock: Clock
) -> RecodedPublication:
    """Group the rows so that every person keeps a signature, and recode the groups.

    Parameters
    ----------
    linked : LinkedTable
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
    table = linked.table
    with clock.step("generalize"):
        made = generalize(
            quasi_identifiers=np.column_stack([column.codes.astype(np.int32) for column in table.quasi_identifiers]),
            sensitive=linked.sensitive,
            values=len(linked.values),
            signature_of=linked.signature_of,
            signatures=linked.memory.signatures,
            m=series.m,
            rng=make_generator(seed),
            balancing=series.counterfeits,
            near=sort_values(linked.values) if signatures == "near" else None,
            min_real=min_real,
            progress=clock.progress,
        )
    with clock.step("recode"):
        # Publish the cells of each box, with counterfeits among the people.
        frame, counterfeit_frame, recoding = build_published_tables(table, linked.sensitive, linked.values, made)
    return RecodedPublication(
        linked=linked,
        series=series,
        groups=made,
        frame=frame,
        counterfeit_frame=counterfeit_frame,
        recoding=recoding,
        min_real=min_real,
    )


def verify_publication(recoded: RecodedPublication, clock: Clock) -> VerifiedRelease:
    """Verify the published cells by themselves, and against the memory of the series.

    Parameters
    ----------
    recoded : RecodedPublication
        The cells to verify.
    clock : Clock
        Measures the step "verify".

    Raises
    ------
    ReleaseUnsafeError
        If the release fails verification.
    """
    linked, series, made = recoded.linked, recoded.series, recoded.groups
    # Verification uses the signatures of the memory, not those of the algorithm.
    known = linked.memory.signatures
    with clock.step("verify"):
        # m-uniqueness of the published cells.
        achieved = verify_release(
            recoded.frame,
            recoded.counterfeit_frame,
            quasi_identifiers=series.columns.quasi_identifiers,
            sensitive=series.columns.sensitive,
            m=series.m,
        )
        # Every known person keeps the signature, and every cell is true.
        verify_invariance(
            groups=made.groups,
            sensitive=linked.sensitive,
            counterfeit_groups=made.counterfeit_groups,
            counterfeit_values=made.counterfeit_values,
            signature_of=linked.signature_of,
            signatures=[known[number] for number in range(len(known))],
        )
        verify_truth(
            recoded.frame,
            linked.frame,
            made.groups,
            quasi_identifiers=series.columns.quasi_identifiers,
            sensitive=series.columns.sensitive,
        )
        # Boxes with enough real people, and no lost or extra row.
        if recoded.min_real > 1:
            verify_real_people(
                recoded.frame,
                recoded.counterfeit_frame,
                quasi_identifiers=series.columns.quasi_identifiers,
                sensitive=series.columns.sensitive,
                min_real=recoded.min_real,
                groups=made.groups,
            )
        if recoded.frame.height != linked.table.rows + made.counterfeits:
            raise InternalError("a release has more or fewer rows than were to be published")
        sizes = count_group_sizes(recoded.frame)
    return VerifiedRelease(
        groups=made,
        frame=recoded.frame,
        counterfeit_frame=recoded.counterfeit_frame,
        recoding=recoded.recoding,
        achieved=achieved,
        risk={"before": _risk(linked.table.classes.sizes_counted, series.m), "after": _risk(sizes, series.m)},
    )


def _risk(sizes: Mapping[int, int], m: int) -> dict[str, Any]:
    """Summarize the re-identification risk for class sizes."""
    return reidentification(sizes, k=m).to_dict()
