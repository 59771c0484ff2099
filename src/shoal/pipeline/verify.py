"""Verify the published cells of a release against what was asked, and against the table that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import InternalError
from shoal.verification import check_faithful, check_rows_per_unit, check_shown_values, number_units, verify

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.pipeline.recoded import Recoded
    from shoal.pipeline.source import Source
    from shoal.verification import Achieved

__all__ = ["Verified", "units_of_entries", "verify_published"]


class Verified(NamedTuple):
    """A published table that was checked against what was asked and what it was made of."""

    published: pl.DataFrame
    """The distinct rows."""
    entries: NDArray[np.integer]
    """The row of the recoded table that each of them is of."""
    achieved: Achieved
    """What was measured of them."""
    units: pl.DataFrame | None
    """Whose each of them is, as numbers; None if no units are protected."""


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
        return _checked(published, entries, recoded, source)


def units_of_entries(recoded: Recoded, entries: NDArray[np.integer]) -> pl.DataFrame | None:
    """Read once more whose published rows are, by the values of the input; None if no units are protected.

    Parameters
    ----------
    recoded : Recoded
    entries : integer array
        The row of the recoded table that each published row is of.
    """
    prepared = recoded.prepared
    schema = prepared.request.schema
    if not schema.units:
        return None
    rows = prepared.opened.frame[list(schema.unit_columns)][prepared.rows[entries]]
    return number_units(rows, schema.units)


def _checked(published: pl.DataFrame, entries: NDArray[np.integer], recoded: Recoded, source: Source) -> Verified:
    prepared = recoded.prepared
    request, schema, opened = prepared.request, prepared.request.schema, prepared.opened
    if published.height != prepared.table.rows:
        raise InternalError("a release has more or fewer rows than were to be published")
    rows, times = prepared.rows[entries], prepared.counts[entries]
    units = units_of_entries(recoded, entries)
    if units is not None and request.rows_per_person is not None:
        check_rows_per_unit(units.to_series(0), times, request.rows_per_person)
    achieved = verify(
        published,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        requirement=request.requirement,
        published=schema.published,
        times=times,
        fitting=prepared.fitting(),
        units=units,
        pseudonym=schema.pseudonym,
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
            units=units,
        )
    source.check_rows(recoded.whole.opened, opened.as_it_came[list(schema.published)][rows], times)
    return Verified(published, entries, achieved, units)
