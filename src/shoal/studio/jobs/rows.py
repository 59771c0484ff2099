"""Row jobs: some records before and after, which are shown only on request and never written."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import polars as pl

from shoal._core.progress import Progress
from shoal.errors import ParameterError
from shoal.studio.jobs.parsing import coarsen_other_columns, coarsen_parsed, read_parsed
from shoal.studio.requests import arguments_in

MOST_ROWS = 100
"""Largest number of records that are shown."""


def coarse_rows(*, content: Mapping[str, Any], count: int, progress: Progress) -> dict[str, Any]:
    """Select records of a table at random, before and after its coarsenings."""
    # Coarsenings of several columns may leave fewer columns.
    asked = arguments_in(content)
    frame, names = read_parsed(asked, progress)
    _, coarser, _ = coarsen_parsed(frame, names, asked)
    places = _sample(frame.height, count)
    kept = [name for name in names if name in coarser.frame.columns]
    before, after = frame[places].select(kept), coarser.frame[places].select(kept)
    # Columns that are not quasi-identifiers are shown if they are made coarser.
    if (others := coarsen_other_columns(asked)) is not None and others.finer is not None:
        more = others.finer.frame
        before = before.hstack(more[places].get_columns())
        after = after.hstack(others.frame.select(more.columns)[places].get_columns())
    return {"numbers": places, "columns": before.columns, "before": _texts(before), "after": _texts(after)}


def sample_levels(releases: Mapping[str, Any]) -> dict[str, Any] | None:
    """Select records that all compared releases publish, before and in each of them; None if there are none."""
    from shoal.table import dictionary_text

    first = next(iter(releases.values()), None)
    if first is None or first.store.original is None:
        return None
    # The same records of every release, wherever it publishes them.
    places = [{int(number): place for place, number in enumerate(one.rows)} for one in releases.values()]
    common = sorted(set(places[0]).intersection(*places[1:]))
    numbers = [common[at] for at in _sample(len(common), MOST_ROWS)]
    columns, raw = first.published.columns, first.store.original[numbers]
    empty = [None] * len(numbers)
    before = [dictionary_text(raw[name]).to_list() if name in raw.columns else empty for name in columns]
    return {
        "numbers": numbers,
        "columns": columns,
        "before": [list(row) for row in zip(*before, strict=True)],
        "levels": [
            [title, _texts(release.published[[place[number] for number in numbers]].select(columns))]
            for (title, release), place in zip(releases.items(), places, strict=True)
        ],
    }


def sample_release(release: Any) -> dict[str, Any] | None:
    """Select published records at random, before and after; None if the original table is not in memory."""
    try:
        pairs = release.side_by_side(MOST_ROWS)
    except ParameterError:  # the table was read in pieces
        return None
    columns = pairs.after.columns
    return {
        "numbers": list(pairs.numbers),
        "columns": columns,
        "before": pairs.before.rows(),
        "after": pairs.after.rows(),
    }


def _sample(height: int, count: int) -> list[int]:
    """Choose rows at random; the same ones at each call, so that a choice can be compared with another."""
    return random.Random(0).sample(range(height), min(count, height))


def _texts(frame: pl.DataFrame) -> list[list[str | None]]:
    """Return the rows of a frame as texts."""
    from shoal.table import dictionary_text

    return [list(row) for row in pl.DataFrame([dictionary_text(column) for column in frame]).rows()]
