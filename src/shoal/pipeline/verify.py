"""Verify the published cells of a release against what was asked, and against the table that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import InternalError
from shoal.verification import check_faithful, check_shown_values, verify

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.pipeline.recoded import Recoded
    from shoal.pipeline.source import Source
    from shoal.verification import Achieved

__all__ = ["Verified", "verify_published"]


class Verified(NamedTuple):
    """A published table that was checked against what was asked and what it was made of."""

    published: pl.DataFrame
    """The distinct rows."""
    entries: NDArray[np.integer]
    """The row of the recoded table that each of them is of."""
    achieved: Achieved
    """What was measured of them."""


def verify_published(recoded: Recoded, source: Source, clock: Clock) -> Verified:
    """Make the published table, and check everything that is checked of it before files are written.

    Parameters
    ----------
    recoded : Recoded
    source : Source
        Where the table comes from.
    clock : Clock
        Measures the steps "recode" and "verify".

    Raises
    ------
    ReleaseUnsafeError
        The published cells do not satisfy the request, or are not those of the table.
    """
    with clock.step("recode"):
        published, entries = recoded.published()
    with clock.step("verify"):
        return Verified(published, entries, _checked(published, entries, recoded, source))


def _checked(published: pl.DataFrame, entries: NDArray[np.integer], recoded: Recoded, source: Source) -> Achieved:
    prepared = recoded.prepared
    request, schema, opened = prepared.request, prepared.request.schema, prepared.opened
    if published.height != prepared.table.rows:
        raise InternalError("a release has more or fewer rows than were to be published")
    rows, times = prepared.rows[entries], prepared.counts[entries]
    achieved = verify(
        published,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        requirement=request.requirement,
        published=schema.published,
        times=times,
        fitting=prepared.fitting(),
    )
    check_faithful(
        published,
        opened.frame,
        rows,
        meanings=prepared.meanings,
        unchanged=schema.sensitive + schema.insensitive,
        star=request.star,
        coded_before={column.name: (column.codes, column.dictionary) for column in prepared.coded},
    )
    if request.shared_by > 1:
        check_shown_values(
            published,
            opened.frame,
            rows,
            meanings=prepared.meanings,
            least=request.shared_by,
            star=request.star,
            times=times,
        )
    source.check_rows(recoded.whole.opened, opened.as_it_came[list(schema.published)][rows], times)
    return achieved
