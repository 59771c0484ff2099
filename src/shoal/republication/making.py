"""From linked rows to a verified release: groups, published cells, and what they achieve."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import InternalError
from shoal.metrics.certainty import gcp
from shoal.republication.m_invariance.generalization import generalize
from shoal.republication.m_invariance.verification import verify_invariance, verify_release
from shoal.republication.published import published_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal._progress import Clock
    from shoal.recoding import Recoding
    from shoal.republication.ledger.records import RecordedSeries
    from shoal.republication.linkage import LinkedTable
    from shoal.republication.m_invariance.generalization import Generalization

__all__ = ["MadeRelease", "make_release"]


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
    """What every group publishes."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells."""

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


def make_release(linked: LinkedTable, series: RecordedSeries, *, seed: int | None, clock: Clock) -> MadeRelease:
    """Group the rows, recode them, and verify what would be published.

    Parameters
    ----------
    linked : LinkedTable
        The rows, and what the series remembers of their people.
    series : RecordedSeries
        The series.
    seed : int, optional
        For reproducible experiments; by default randomness comes from the operating system.
    clock : Clock
        Measures the steps "generalize", "recode" and "verify".

    Raises
    ------
    InfeasibleError
        Where the new rows are not m-eligible.
    ReleaseUnsafeError
        Where the release failed its verification.
    """
    table = linked.table
    known = linked.memory.signatures
    with clock.step("generalize"):
        made = generalize(
            quasi_identifiers=np.column_stack([column.codes.astype(np.int32) for column in table.quasi_identifiers]),
            sensitive=linked.sensitive,
            values=len(linked.values),
            signature_of=linked.signature_of,
            signatures=known,
            m=series.m,
            rng=np.random.default_rng(secrets.randbits(256) if seed is None else seed),
            balancing=series.counterfeits,
            progress=clock.progress,
        )
    with clock.step("recode"):
        frame, counterfeit_frame, recoding = published_tables(table, linked.sensitive, linked.values, made)
    with clock.step("verify"):
        achieved = verify_release(
            frame,
            counterfeit_frame,
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
        if frame.height != table.rows + made.counterfeits:
            raise InternalError("a release has more or fewer rows than were to be published")
    return MadeRelease(
        groups=made, frame=frame, counterfeit_frame=counterfeit_frame, recoding=recoding, achieved=achieved
    )
