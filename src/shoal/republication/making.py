"""The stages of a release of a series: linked rows, groups and their published cells, the verified release.

They are those of `shoal.pipeline.run`, with types of their own: a series adds counterfeits, and verifies a release
against what it remembers. `LinkedTable` stands for what is prepared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disclosure_risk import reidentification
from shoal.errors import InternalError
from shoal.metrics.certainty import gcp
from shoal.pipeline.prepare import generator
from shoal.republication.m_invariance.generalization import generalize
from shoal.republication.m_invariance.verification import (
    group_sizes,
    verify_invariance,
    verify_real_people,
    verify_release,
    verify_truth,
)
from shoal.republication.published_rows import published_tables, value_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal._core.progress import Clock
    from shoal.recoding import Recoding
    from shoal.republication.ledger.records import RecordedSeries
    from shoal.republication.linkage import LinkedTable
    from shoal.republication.m_invariance.generalization import Generalization

__all__ = ["generalize_and_recode", "verified_publication"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MadeRelease:
    """A release whose published cells were verified."""

    groups: Generalization
    """The group of each row, and the counterfeits."""
    frame: pl.DataFrame
    """The published table."""
    counterfeit_frame: pl.DataFrame
    """How many counterfeits the groups have."""
    recoding: Recoding
    """What every box of groups publishes."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells."""
    risk: Mapping[str, Mapping[str, Any]]
    """How easily a person's row is found, `before`, in the rows as they came, and `after`, in the published cells; a
    counterfeit counts as a row of its group, from which nobody can tell it."""

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
    """The groups of linked rows, and what they would publish. Nothing of it is verified yet."""

    linked: LinkedTable
    series: RecordedSeries
    groups: Generalization
    """The group of each row, and the counterfeits."""
    frame: pl.DataFrame
    """The table to publish."""
    counterfeit_frame: pl.DataFrame
    """How many counterfeits the groups have."""
    recoding: Recoding
    """What every box of groups publishes."""
    min_real: int
    """How many real people every box must have."""


def generalize_and_recode(
    linked: LinkedTable, series: RecordedSeries, *, signatures: str, min_real: int, seed: int | None, clock: Clock
) -> RecodedPublication:
    """Group the rows so that every person keeps a signature, and recode the groups.

    Parameters
    ----------
    linked : LinkedTable
        The rows, and what the series remembers of their people.
    series : RecordedSeries
        The series.
    signatures : {"any", "near"}
        Whether the values of new signatures are to lie near each other.
    min_real : int
        How many real people every box of quasi-identifiers must have.
    seed : int, optional
        For reproducible experiments; by default randomness comes from the operating system.
    clock : Clock
        Measures the steps "generalize" and "recode".

    Raises
    ------
    InfeasibleError
        Where the new rows are not m-eligible, or the people are fewer than `min_real`.
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
            rng=generator(seed),
            balancing=series.counterfeits,
            near=value_order(linked.values) if signatures == "near" else None,
            min_real=min_real,
            progress=clock.progress,
        )
    with clock.step("recode"):
        frame, counterfeit_frame, recoding = published_tables(table, linked.sensitive, linked.values, made)
    return RecodedPublication(
        linked=linked,
        series=series,
        groups=made,
        frame=frame,
        counterfeit_frame=counterfeit_frame,
        recoding=recoding,
        min_real=min_real,
    )


def verified_publication(recoded: RecodedPublication, clock: Clock) -> MadeRelease:
    """Verify what would be published: the cells by themselves, and against what the series remembers.

    Parameters
    ----------
    recoded : RecodedPublication
    clock : Clock
        Measures the step "verify".

    Raises
    ------
    ReleaseUnsafeError
        Where the release failed its verification.
    """
    linked, series, made = recoded.linked, recoded.series, recoded.groups
    known = linked.memory.signatures
    with clock.step("verify"):
        achieved = verify_release(
            recoded.frame,
            recoded.counterfeit_frame,
            quasi_identifiers=series.columns.quasi_identifiers,
            sensitive=series.columns.sensitive,
            m=series.m,
        )
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
        sizes = group_sizes(recoded.frame)
    return MadeRelease(
        groups=made,
        frame=recoded.frame,
        counterfeit_frame=recoded.counterfeit_frame,
        recoding=recoded.recoding,
        achieved=achieved,
        risk={"before": _risk(linked.table.classes.sizes_counted, series.m), "after": _risk(sizes, series.m)},
    )


def _risk(sizes: Mapping[int, int], m: int) -> dict[str, Any]:
    return reidentification(sizes, k=m).to_dict()
