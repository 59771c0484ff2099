"""How the values of a quasi-identifier are spread, in the original and as the published cells tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from shoal._core.words import number
from shoal.hierarchy.fitting import are_codes, round_width
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from shoal.recoding import RecodedColumn, Recoding
    from shoal.table import Column, Table

__all__ = ["Distribution", "DistributionBar", "as_it_was", "distributions"]

_MOST = 12
"""Bars of a distribution, at most; of more values the most frequent ones have one, and the others share one."""

_YEARS_IN_MONTHS = 1
"""Dates in so many years are shown by months."""

_Kind = Literal["value", "range", "below", "others", "missing"]


@dataclass(frozen=True, kw_only=True)
class DistributionBar:
    """One value, or one range of values."""

    label: str
    """A range, or a value that the published table shows somewhere, in English."""
    kind: _Kind = "value"
    """What the label is: a value or the beginning of codes, "20 to 29", "20 to below 30", "3 others" or "missing"."""
    parts: tuple[str, ...] = ()
    """The numbers in the label, as English writes them."""
    before: float
    """Share of the records in the original."""
    after: float
    """Share of the records as the published cells tell it, the stars not counted."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """How the values of one quasi-identifier are spread, before and after.

    An interval or a set counts for its values in equal parts; of what stars hide nothing is assumed.
    """

    name: str
    """The column."""
    told: float
    """Share of the records whose published cell is no star."""
    bars: tuple[DistributionBar, ...]
    """In the order of the values, the others last; none where every cell is a star."""


def as_it_was(column: Column, recoded: RecodedColumn, *, coarsened: bool) -> NDArray[np.bool_]:
    """Return for each group whether it publishes the very value that its rows had.

    A value that was coarsened may stand for one value of the table alone, and is not that value.

    Parameters
    ----------
    column : Column
        The quasi-identifier before any coarsening.
    recoded : RecodedColumn
        What every group publishes of it, in its values.
    coarsened : bool
        Whether it was coarsened.
    """
    if not coarsened:
        return recoded.kept
    stands_for = recoded.sub_domains.first[recoded.sub_domains.starts[:-1]]
    values = dictionary_text(column.dictionary.gather(pl.Series(stands_for))).cast(pl.String)
    same = recoded.labels.cast(pl.String).eq_missing(values).to_numpy()
    untouched: NDArray[np.bool_] = recoded.kept & same[recoded.group_codes]
    return untouched


def distributions(table: Table, recoding: Recoding, coarsened: Collection[str] = ()) -> tuple[Distribution, ...]:
    """Return how the values of each quasi-identifier are spread, in the original and in the release.

    Parameters
    ----------
    table : Table
        The original, before any coarsening.
    recoding : Recoding
        What every group publishes, in its values.
    coarsened : collection of str
        The columns that were coarsened.
    """
    return tuple(
        _distribution(
            column,
            recoded,
            recoding.sizes,
            table.counts,
            as_it_was(column, recoded, coarsened=column.name in coarsened),
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
    before = np.bincount(column.codes, weights=counts, minlength=column.size).astype(np.float64)
    told = ~recoded.stars
    weights = np.bincount(recoded.group_codes[told], weights=sizes[told], minlength=len(recoded.labels))
    after = _spread(recoded, weights.astype(np.float64), column.size)
    shown = np.zeros(column.size, dtype=np.bool_)
    untouched = np.unique(recoded.group_codes[kept])
    shown[recoded.sub_domains.first[recoded.sub_domains.starts[untouched]]] = True
    share = float(weights.sum()) / max(rows, 1)
    bars = () if share == 0 else tuple(_bars(column, before / rows, after / weights.sum(), shown))
    return Distribution(name=column.name, told=share, bars=bars)


def _spread(recoded: RecodedColumn, weights: NDArray[np.float64], values: int) -> NDArray[np.float64]:
    """Return for each value the rows that the published cells tell it has: labels count for their values evenly."""
    covered = recoded.sub_domains
    run = np.repeat(weights / np.maximum(covered.sizes, 1), np.diff(covered.starts))
    steps = np.zeros(values + 1)
    np.add.at(steps, covered.first, run)
    np.add.at(steps, covered.last + 1, -run)
    return np.maximum(np.cumsum(steps)[:values], 0.0)


def _bars(
    column: Column, before: NDArray[np.float64], after: NDArray[np.float64], shown: NDArray[np.bool_]
) -> Iterator[DistributionBar]:
    """Yield a bar for each range of numbers or years, or for the most frequent values that are published."""
    few = column.size <= _MOST and bool(shown.all())
    ranges = None if few else _ranges(column.dictionary.alias(column.name))
    if ranges is not None:
        for label, mine in ranges:
            yield label.covering(before, after, mine)
        rest = column.dictionary.is_null().to_numpy()
        if rest.any():
            yield _MISSING.covering(before, after, rest)
        return
    named = np.flatnonzero(shown)
    if len(named) > _MOST or not shown.all():
        named = np.sort(named[np.argsort(-before[named], kind="stable")[: _MOST - 1]])
    texts = dictionary_text(column.dictionary.gather(pl.Series(named))).cast(pl.String).to_list()
    for place, label in zip(named.tolist(), texts, strict=True):
        named_so = _MISSING if label is None else _Label(label)
        yield named_so.covering(before, after, np.arange(column.size) == place)
    others = np.ones(column.size, dtype=np.bool_)
    others[named] = False
    if others.any():
        count = number(int(others.sum()))
        label = _Label(f"{count} other{'s' if others.sum() > 1 else ''}", "others", (count,))
        yield label.covering(before, after, others)


@dataclass(frozen=True)
class _Label:
    """What a bar is called."""

    text: str
    kind: _Kind = "value"
    parts: tuple[str, ...] = ()

    def covering(
        self, before: NDArray[np.float64], after: NDArray[np.float64], mine: NDArray[np.bool_]
    ) -> DistributionBar:
        """Return the bar of some of the values."""
        shares = {"before": float(before[mine].sum()), "after": float(after[mine].sum())}
        return DistributionBar(label=self.text, kind=self.kind, parts=self.parts, **shares)


_MISSING = _Label("missing", "missing")


def _ranges(dictionary: pl.Series) -> list[tuple[_Label, NDArray[np.bool_]]] | None:
    """Return ranges of round numbers, or of years, that have all values; None where values have no such ranges."""
    if are_codes(dictionary.drop_nulls(), dictionary.name):
        return _prefixes(dictionary)
    dated = dictionary.dtype in (pl.Date, pl.Datetime)
    values = dictionary.dt.year() if dated else dictionary
    if dated and values.n_unique() <= _YEARS_IN_MONTHS + values.has_nulls():
        months = dictionary.dt.strftime("%Y-%m")
        found = months.drop_nulls().unique().sort().to_list()
        return [(_Label(month), (months == month).fill_null(value=False).to_numpy()) for month in found]
    if values.dtype == pl.String:
        values = values.cast(pl.Float64, strict=False)
        if values.null_count() > dictionary.null_count():
            return None
    if not values.dtype.is_numeric():
        return None
    present = values.drop_nulls()
    numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if not np.isfinite(numbers[~np.isnan(numbers)]).all():
        return None
    width = round_width(max(float(np.nanmax(numbers) - np.nanmin(numbers)), 1e-9) / _MOST)
    if values.dtype.is_integer():
        width = max(width, 1.0)
    whole = width >= 1 and bool((present.cast(pl.Float64) == present.cast(pl.Float64).floor()).all())
    place = np.floor(numbers / width)
    found = []
    for step in np.unique(place[~np.isnan(place)]).tolist():
        low, high = step * width, (step + 1) * width
        said = number if not dated else "{:.0f}".format
        if whole and width == 1:
            label = _Label(said(low), "range", (said(low),))
        elif whole:
            label = _Label(f"{said(low)} to {said(high - 1)}", "range", (said(low), said(high - 1)))
        else:
            label = _Label(f"{said(low)} to below {said(high)}", "below", (said(low), said(high)))
        found.append((label, place == step))
    return found


def _prefixes(codes: pl.Series) -> list[tuple[_Label, NDArray[np.bool_]]] | None:
    """Return the longest prefixes of codes of which there are few enough, each of several codes; None without such.

    A prefix that only one code has would name it, whether it is published or not.
    """
    texts = codes.cast(pl.String)
    longest = max(texts.str.len_chars().drop_nulls().to_list(), default=0)
    for kept in range(longest - 1, 0, -1):
        starts = texts.str.head(kept)
        if starts.drop_nulls().n_unique() <= _MOST and starts.drop_nulls().is_duplicated().all():
            found = starts.drop_nulls().unique().sort().to_list()
            return [(_Label(f"{start}..."), (starts == start).fill_null(value=False).to_numpy()) for start in found]
    return None
