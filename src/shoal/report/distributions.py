"""Distributions of the values of quasi-identifiers, in the original and by the published cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.words import number
from shoal.hierarchy.fitting import are_codes, round_width
from shoal.recoding import RecodedColumn, Recoding
from shoal.table import Column, Table
from shoal.table.text import dictionary_text

_MOST = 12
"""Largest number of bars; of more values the most frequent ones get a bar each, and the others share one."""

_YEARS_IN_MONTHS = 1
"""Largest range of dates, in years, that is shown by months."""

_Kind = Literal["value", "range", "below", "others", "missing"]


@dataclass(frozen=True, kw_only=True)
class DistributionBar:
    """A value or a range of values, with its shares of the records."""

    label: str
    """A range, or a value that is published in some cell, in English."""
    kind: _Kind = "value"
    """The form of the label: a value or a prefix, "20 to 29", "20 to below 30", "3 others" or "missing"."""
    parts: tuple[str, ...] = ()
    """The numbers of the label, in English notation."""
    before: float
    """Share of the records in the original."""
    after: float
    """Share of the records without stars, by the published cells."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The distribution of one quasi-identifier, before and after.

    An interval or a set counts in equal parts for its values; nothing is assumed about values behind stars.
    """

    name: str
    """The column."""
    told: float
    """Share of the records whose published cell is not a star."""
    bars: tuple[DistributionBar, ...]
    """Bars in the order of the values, the others last; empty if every cell is a star."""


def find_unchanged_groups(column: Column, recoded: RecodedColumn, *, coarsened: bool) -> NDArray[np.bool_]:
    """Flag the groups that publish the exact value of their rows.

    A coarsened value is not the exact value, even if it stands for a single value of the table.

    Parameters
    ----------
    column : Column
        The quasi-identifier before any coarsening.
    recoded : RecodedColumn
        The published sub-domains of all groups.
    coarsened : bool
        Whether the column was coarsened.
    """
    if not coarsened:
        return recoded.kept
    # A coarsened column shows an exact value only if both have the same text.
    stands_for = recoded.sub_domains.first[recoded.sub_domains.starts[:-1]]
    values = dictionary_text(column.dictionary.gather(pl.Series(stands_for))).cast(pl.String)
    same = recoded.labels.cast(pl.String).eq_missing(values).to_numpy()
    untouched: NDArray[np.bool_] = recoded.kept & same[recoded.group_codes]
    return untouched


def distributions(table: Table, recoding: Recoding, coarsened: Collection[str] = ()) -> tuple[Distribution, ...]:
    """Compute the distribution of each quasi-identifier, in the original and in the release.

    Parameters
    ----------
    table : Table
        The original, before any coarsening.
    recoding : Recoding
        The published sub-domains of all groups.
    coarsened : collection of str
        The columns that were coarsened.
    """
    return tuple(
        _distribution(
            column,
            recoded,
            recoding.sizes,
            table.counts,
            find_unchanged_groups(column, recoded, coarsened=column.name in coarsened),
        )
        for column, recoded in zip(table.quasi_identifiers, recoding.columns, strict=True)
    )


def _distribution(
    column: Column,
    recoded: RecodedColumn,
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64] | None,
    kept: NDArray[np.bool_],
) -> Distribution:
    rows = int(sizes.sum())
    # The original: each value with the multiplicities of its rows.
    before = np.bincount(column.codes, weights=counts, minlength=column.size).astype(np.float64)
    # Published shares are relative to the records without a star.
    told = ~recoded.stars
    weights = np.bincount(recoded.group_codes[told], weights=sizes[told], minlength=len(recoded.labels))
    after = _spread(recoded, weights.astype(np.float64), column.size)
    # Only values that are published somewhere may become labels.
    shown = np.zeros(column.size, dtype=np.bool_)
    untouched = np.unique(recoded.group_codes[kept])
    shown[recoded.sub_domains.first[recoded.sub_domains.starts[untouched]]] = True
    share = float(weights.sum()) / max(rows, 1)
    bars = () if share == 0 else tuple(_bars(column, before / rows, after / weights.sum(), shown))
    return Distribution(name=column.name, told=share, bars=bars)


def _spread(recoded: RecodedColumn, weights: NDArray[np.float64], values: int) -> NDArray[np.float64]:
    """Compute the published frequency of each value: a label counts evenly for its values."""
    # Each run of values adds a step at its start and removes it after its end.
    covered = recoded.sub_domains
    run = np.repeat(weights / np.maximum(covered.sizes, 1), np.diff(covered.starts))
    steps = np.zeros(values + 1)
    np.add.at(steps, covered.first, run)
    np.add.at(steps, covered.last + 1, -run)
    return np.maximum(np.cumsum(steps)[:values], 0.0)


def _bars(
    column: Column, before: NDArray[np.float64], after: NDArray[np.float64], shown: NDArray[np.bool_]
) -> Iterator[DistributionBar]:
    """Yield a bar for each range of numbers or years, or for the most frequent published values."""
    # Few values that are all published get a bar each.
    few = column.size <= _MOST and bool(shown.all())
    ranges = None if few else _ranges(column.dictionary.alias(column.name))
    if ranges is not None:
        for label, mine in ranges:
            yield label.covering(before, after, mine)
        rest = column.dictionary.is_null().to_numpy()
        if rest.any():
            yield _MISSING.covering(before, after, rest)
        return
    # Otherwise the most frequent published values, and one bar for all others.
    named = np.flatnonzero(shown)
    if len(named) > _MOST or not shown.all():
        named = np.sort(named[np.argsort(-before[named], kind="stable")[: _MOST - 1]])
    texts = dictionary_text(column.dictionary.gather(pl.Series(named))).cast(pl.String).to_list()
    for place, label in zip(named.tolist(), texts, strict=True):
        named_so = _MISSING if label is None else _Label(label)
        yield named_so.covering(before, after, np.arange(column.size) == place)
    # Values that are unpublished or rare share one bar, without a name.
    others = np.ones(column.size, dtype=np.bool_)
    others[named] = False
    if others.any():
        count = number(int(others.sum()))
        label = _Label(f"{count} other{'s' if others.sum() > 1 else ''}", "others", (count,))
        yield label.covering(before, after, others)


@dataclass(frozen=True)
class _Label:
    """The label of a bar."""

    text: str
    kind: _Kind = "value"
    parts: tuple[str, ...] = ()

    def covering(
        self, before: NDArray[np.float64], after: NDArray[np.float64], mine: NDArray[np.bool_]
    ) -> DistributionBar:
        """Make the bar for a subset of the values."""
        shares = {"before": float(before[mine].sum()), "after": float(after[mine].sum())}
        return DistributionBar(label=self.text, kind=self.kind, parts=self.parts, **shares)


_MISSING = _Label("missing", "missing")


def _ranges(dictionary: pl.Series) -> list[tuple[_Label, NDArray[np.bool_]]] | None:
    """Find ranges of round numbers, or of years, that cover all values; None if there are none."""
    if are_codes(dictionary.drop_nulls(), dictionary.name):
        return _prefixes(dictionary)
    dated = dictionary.dtype in (pl.Date, pl.Datetime)
    # Dates are shown by years, or by months if they lie within one.
    values = dictionary.dt.year() if dated else dictionary
    if dated and values.n_unique() <= _YEARS_IN_MONTHS + values.has_nulls():
        # One bar for each month of a single year.
        months = dictionary.dt.strftime("%Y-%m")
        found = months.drop_nulls().unique().sort().to_list()
        return [(_Label(month), (months == month).fill_null(value=False).to_numpy()) for month in found]
    if values.dtype == pl.String:
        # Text that is not a number has no ranges.
        values = values.cast(pl.Float64, strict=False)
        if values.null_count() > dictionary.null_count():
            return None
    if not values.dtype.is_numeric():
        return None
    present = values.drop_nulls()
    numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if not np.isfinite(numbers[~np.isnan(numbers)]).all():
        return None
    # A round width so that at most `_MOST` ranges cover all values.
    width = round_width(max(float(np.nanmax(numbers) - np.nanmin(numbers)), 1e-9) / _MOST)
    if values.dtype.is_integer():
        width = max(width, 1.0)
    whole = width >= 1 and bool((present.cast(pl.Float64) == present.cast(pl.Float64).floor()).all())
    # Ranges are multiples of the width, so that they do not reveal the extremes.
    place = np.floor(numbers / width)
    found = []
    for step in np.unique(place[~np.isnan(place)]).tolist():
        low, high = step * width, (step + 1) * width
        said = number if not dated else "{:.0f}".format
        # Integers have closed ranges, other numbers half-open ones.
        if whole and width == 1:
            label = _Label(said(low), "range", (said(low),))
        elif whole:
            label = _Label(f"{said(low)} to {said(high - 1)}", "range", (said(low), said(high - 1)))
        else:
            label = _Label(f"{said(low)} to below {said(high)}", "below", (said(low), said(high)))
        found.append((label, place == step))
    return found


def _prefixes(codes: pl.Series) -> list[tuple[_Label, NDArray[np.bool_]]] | None:
    """Find the longest prefixes of codes that are few enough and shared by several codes each; None if there are none.

    A prefix of a single code would identify the code, whether it is published or not.
    """
    texts = codes.cast(pl.String)
    longest = max(texts.str.len_chars().drop_nulls().to_list(), default=0)
    for kept in range(longest - 1, 0, -1):
        starts = texts.str.head(kept)
        if starts.drop_nulls().n_unique() <= _MOST and starts.drop_nulls().is_duplicated().all():
            found = starts.drop_nulls().unique().sort().to_list()
            return [(_Label(f"{start}..."), (starts == start).fill_null(value=False).to_numpy()) for start in found]
    return None
