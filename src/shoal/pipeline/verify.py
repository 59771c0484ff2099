"""Verify the published cells of a release against the requirement and against the original table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.errors import InternalError
from shoal.pipeline.recoded import RecodedTable
from shoal.pipeline.source import Source
from shoal.table.text import dictionary_text
from shoal.verification import (
    MeasuredTable,
    check_faithful,
    check_level_limits,
    check_shown_values,
    collect_meanings,
    find_owners,
)


class PublishedRows(NamedTuple):
    """The published rows, counted for the verification."""

    table: MeasuredTable
    """The distinct published rows."""
    entries: NDArray[np.integer]
    """Index in the recoded table of each row."""


def verify_published(recoded: RecodedTable, source: Source, clock: Clock) -> PublishedRows:
    """Create the published table, and run all checks that precede the writing of files.

    Parameters
    ----------
    recoded : RecodedTable
    source : Source
        The source of the table.
    clock : Clock
        Measures the steps "recode" and "verify".

    Raises
    ------
    ReleaseUnsafeError
        If the published cells do not satisfy the request, or are not those of the table.
    """
    with clock.step("recode"):
        rows = count_published(recoded)
    with clock.step("verify"):
        _check_published(rows, recoded, source)
    return rows


def count_published(recoded: RecodedTable) -> PublishedRows:
    """Create the published table; owners are read from the values of the input again."""
    prepared, (published, entries) = recoded.prepared, recoded.published()
    request, schema = prepared.request, prepared.request.schema
    rows = prepared.rows[entries]
    table = MeasuredTable(
        published,
        schema.quasi_identifiers,
        schema.sensitive,
        request.requirement,
        times=prepared.counts[entries],
        owners=find_owners(prepared.opened.frame[list(schema.owner_columns)][rows], schema.kinds)
        if schema.kinds
        else None,
        fitting=prepared.make_people_counter(),
        pseudonym=request.counting.pseudonym,
    )
    return PublishedRows(table, entries)


def _check_published(given: PublishedRows, recoded: RecodedTable, source: Source) -> None:
    """Check published rows against the requirement, the original rows, and the rules for owners and interval ends."""
    prepared, published, owners = recoded.prepared, given.table.frame, given.table.owners
    request, schema, opened = prepared.request, prepared.request.schema, prepared.opened
    if published.height != prepared.table.rows:
        raise InternalError("a release has more or fewer rows than were to be published")
    rows, times = prepared.rows[given.entries], prepared.counts[given.entries]
    # The models of the requirement.
    given.table.verify(schema.published)
    # Every published cell can represent the original value of its row, and so can those of coarse attributes.
    finer = opened.finer
    coarse = (
        {}
        if finer is None
        else collect_meanings(finer.frame.columns, {"coarsen": finer.described}, classes=finer.classes)
    )
    check_faithful(
        published,
        opened.frame if finer is None else opened.frame.with_columns(finer.frame.get_columns()),
        rows,
        meanings={**prepared.meanings, **coarse},
        unchanged=[name for name in schema.sensitive + schema.insensitive if name not in coarse],
        star=request.star,
        encodings={column.name: (column.codes, column.dictionary) for column in prepared.coded},
    )
    # Cells are at allowed levels.
    limits, trees = request.preferences.limits, prepared.encoded.trees
    check_level_limits(
        published,
        quasi_identifiers=schema.quasi_identifiers,
        limits=limits,
        trees=trees,
        values={
            column.name: set(dictionary_text(column.dictionary.drop_nulls()))
            for column in prepared.table.quasi_identifiers
            if column.name in limits and column.name not in trees
        },
        star=request.star,
    )
    # Ends of intervals are shared by enough rows or owners.
    if request.shared_by > 1:
        check_shown_values(
            published,
            opened.frame,
            rows,
            meanings=prepared.meanings,
            least=request.shared_by,
            star=request.star,
            times=times,
            owners=owners,
        )
    # The published rows are exactly those of the input.
    source.check_rows(recoded.whole.opened, opened.raw_frame[list(schema.published)][rows], times)
