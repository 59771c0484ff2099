"""Multidimensional generalization: a value that varies within a group becomes the smallest sub-domain that covers it.

For an ordered attribute this is the interval from the group's smallest to its largest value, "[21, 22]". For other
attributes it is the set of the group's values in dictionary order, "{a, b}". If the values are intervals themselves,
created by a coarsening, it is the interval that covers them all. A star is published instead in these cases:

* Some rows of the group lack the value and others do not. An interval cannot contain a missing value, and a set that
  names it would disclose more than the values do.
* The sub-domain is the whole domain. A star carries the same information and is shorter.
* A set would exceed the maximum size (`largest_set`). It would show exact values of many records, which can each be
  found, at little benefit to readers.
* A set would show a value that fewer than `shared_by` records of the table have, or an interval would have an end for
  which no cell of the grid has as many records.

The ends of an interval are values of records. If `shared_by` is above 1, an end is moved outwards on a public grid
until enough records of the table lie in its cell (`wide_ends`).

If all rows of a group lack the value, its cells stay missing. Within an interval or a set, a value that contains a
comma, a quote, a bracket or a brace is quoted, so that distinct sub-domains have distinct labels.

References
----------
R. J. Bayardo and R. Agrawal, "Data privacy through optimal k-anonymization", ICDE 2005. doi:10.1109/ICDE.2005.42
K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006.
doi:10.1109/ICDE.2006.101
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import DataError, ParameterError
from shoal.recoding.extents_kernel import group_extents
from shoal.recoding.order import sort
from shoal.recoding.penalty import LARGEST_SET, interval_penalty, set_penalty
from shoal.recoding.recoded import RecodedColumn, SubDomains, build_sub_domains
from shoal.recoding.suppression import check_star, keep_column
from shoal.recoding.wide_ends import IntervalEnds, WideEnds, interval_ends, wide_ends
from shoal.table import Column
from shoal.table.compressed import entries_of_rows
from shoal.table.text import dictionary_text, quote_text


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Labels:
    """Labels of the groups that publish a value or a proper sub-domain."""

    text: pl.Series
    """Distinct labels in canonical order."""
    generalized: NDArray[np.bool_]
    """Whether each label is an interval or a set, rather than a value of the data."""
    label_of_group: NDArray[np.int32]
    """Label of each group; arbitrary if the group publishes a star."""
    sub_domains: SubDomains
    """Values that the labels represent."""
    penalty: NDArray[np.float64]
    """Penalty of each group; arbitrary if the group publishes a star."""
    stars: NDArray[np.bool_]
    """Whether each group publishes a star."""


def generalize_column(
    column: Column,
    groups: NDArray[np.int32],
    count: int,
    star: str,
    *,
    least: NDArray[np.int32] | None = None,
    spell_out: bool = False,
    largest_set: int = LARGEST_SET,
    shared_by: int = 1,
    counts: NDArray[np.int64] | None = None,
) -> RecodedColumn:
    """Recode one quasi-identifier by generalization.

    Parameters
    ----------
    column : Column
        The quasi-identifier.
    groups : int32 array of shape (rows,)
        Group of each row.
    count : int
        Number of groups.
    star : str
        Symbol of a suppressed value.
    least : int32 array of shape (count,), optional
        Lowest level of each group; above 0 the group publishes a star even if its rows share the value.
    spell_out : bool
        Whether to publish a sub-domain that is the whole domain as an interval or a set instead of a star, for readers
        who need its extent for computations.
    largest_set : int
        Largest number of values of a set.
    shared_by : int
        If above 1, ends of intervals and members of sets are never exact values that fewer records of the table have.
    counts : int64 array, optional
        Number of records with each value, for `shared_by`.

    Raises
    ------
    ParameterError
        If the star symbol is a value of the column, or equals one of the published intervals or sets.
    DataError
        If one of these intervals or sets equals a value of the column.
    """
    text = dictionary_text(column.dictionary)
    check_star(column, text, star)
    codes = column.codes.astype(np.int32)
    low, high = group_extents(codes, groups, count)
    # A least level above 0 forces a star.
    forced = np.zeros(count, dtype=np.bool_) if least is None else least > 0
    kept = (low == high) & ~forced
    if kept.all():
        return keep_column(column, low)
    # These groups span the domain from its first to its last value. A set is checked for gaps later.
    whole = np.zeros(count, dtype=np.bool_) if spell_out else (low == 0) & (high == column.size - 1) & (low < high)
    # Choose the kind of sub-domain by the type of the column.
    ends = interval_ends(text.drop_nulls()) if column.ordered and column.of_intervals else None
    if ends is not None:
        published = _label_hulls(column, text, groups, (low, high), whole | forced, ends)
    elif column.ordered and counts is not None and shared_by > 1:
        wide = wide_ends(column, counts, shared_by)
        published = _label_wide_intervals(column, text, (low, high), whole | forced, wide, spell_out=spell_out)
    elif column.ordered:
        published = _label_intervals(column, text, (low, high), whole | forced)
    else:
        rare = np.zeros(column.size, dtype=np.bool_) if counts is None else counts < shared_by
        published = _label_sets(column, text, groups, (low, high), (whole, forced), largest=largest_set, rare=rare)
    # Labels must differ from the star symbol and from values of the data.
    generalized = published.text.filter(pl.Series(published.generalized))
    if (generalized == star).any():
        raise ParameterError(
            f"The star symbol reads like an interval or a set of the column '{column.name}'. Choose "
            "another symbol with ",
            Suggestion("star"),
            ".",
        )
    if generalized.is_in(text.implode()).any():
        raise DataError(
            f"The column '{column.name}' has a value that reads like one of the intervals or sets of "
            "this release, so readers could not tell the two apart. Use ",
            Suggestion("recoding", "suppression"),
            ", or rewrite that value.",
        )
    # The star is the last label and represents the whole domain.
    labels, sub_domains = published.text, published.sub_domains
    if published.stars.any():
        labels = pl.concat([labels, pl.Series([star], dtype=pl.String)], rechunk=True)
        sub_domains = SubDomains(
            starts=np.append(sub_domains.starts, sub_domains.starts[-1] + 1),
            first=np.append(sub_domains.first, np.int32(0)),
            last=np.append(sub_domains.last, np.int32(column.size - 1)),
        )
    return RecodedColumn(
        name=column.name,
        labels=labels.alias(column.name),
        group_codes=np.where(published.stars, np.int32(len(published.text)), published.label_of_group).astype(np.int32),
        kept=kept,
        stars=published.stars,
        penalty=np.where(published.stars, 1.0, np.where(kept, 0.0, published.penalty)),
        sub_domains=sub_domains,
    )


def _find_mixed_groups(column: Column, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Test if each group has both missing and present values."""
    return (high == column.size - 1) & (low < high) if column.has_missing else np.zeros(len(low), dtype=np.bool_)


def _label_intervals(
    column: Column, text: pl.Series, extents: tuple[NDArray[np.int32], NDArray[np.int32]], whole: NDArray[np.bool_]
) -> _Labels:
    """Label each group with the interval from its smallest to its largest value."""
    low, high = extents
    stars = _find_mixed_groups(column, low, high) | whole
    # An interval is identified by its two ends; keys in ascending order are canonical.
    pairs, label_of_group = np.unique(low.astype(np.int64) * column.size + high, return_inverse=True)
    used = np.zeros(len(pairs), dtype=np.bool_)
    used[label_of_group[~stars]] = True
    pairs, renumbered = pairs[used], np.cumsum(used) - 1
    first, last = (pairs // column.size).astype(np.int32), (pairs % column.size).astype(np.int32)
    # Write values as they are, and intervals with quoted ends.
    ends = quote_text(text)
    generalized = first < last
    frame = pl.DataFrame(
        {"plain": text.gather(first), "low": ends.gather(first), "high": ends.gather(last), "generalized": generalized}
    )
    label = pl.when("generalized").then(pl.format("[{}, {}]", "low", "high")).otherwise("plain")
    proper = ~stars & (low < high)
    penalty = np.zeros(len(low), dtype=np.float64)
    penalty[proper] = interval_penalty(column, low[proper], high[proper])
    return _Labels(
        text=frame.select(label).to_series(),
        generalized=generalized,
        label_of_group=renumbered[label_of_group].astype(np.int32),
        sub_domains=SubDomains(starts=np.arange(len(pairs) + 1), first=first, last=last),
        penalty=penalty,
        stars=stars,
    )


def _label_wide_intervals(
    column: Column,
    text: pl.Series,
    extents: tuple[NDArray[np.int32], NDArray[np.int32]],
    whole: NDArray[np.bool_],
    ends: WideEnds,
    *,
    spell_out: bool,
) -> _Labels:
    """Label each group with the interval between the admissible ends of its smallest and largest values."""
    low, high = extents
    stars = _find_mixed_groups(column, low, high) | whole
    generalized = (low < high) & ~stars
    # Groups without an admissible end publish a star.
    stars[generalized] |= ends.lost[0, low[generalized]] | ends.lost[1, high[generalized]]
    generalized &= ~stars
    first, last = low.copy(), high.copy()
    first[generalized], last[generalized] = ends.first[low[generalized]], ends.last[high[generalized]]
    if not spell_out:  # as for any other sub-domain that is the whole domain
        stars |= generalized & (first == 0) & (last == column.size - 1)
        generalized &= ~stars
    # The distinct labels: values in the order of their codes, then intervals in the order of their ends.
    alone = ~generalized & ~stars
    kept, of_kept = np.unique(low[alone], return_inverse=True)
    begins, of_begin = np.unique(ends.low[low[generalized]], return_inverse=True)
    stops, of_stop = np.unique(ends.high[high[generalized]], return_inverse=True)
    pairs, example, of_generalized = np.unique(of_begin * len(stops) + of_stop, return_index=True, return_inverse=True)
    begin, stop = np.divmod(pairs, max(len(stops), 1))
    lows, highs = (np.array(ends.format_ends(some), dtype=object) for some in (begins, stops))
    intervals = [f"[{one}, {other}]" for one, other in zip(lows[begin], highs[stop], strict=True)]
    labels = pl.concat([text.gather(kept), pl.Series(intervals, dtype=pl.String)])
    # Sort values and intervals together. A value lies at both of its ends, and a missing value comes last.
    places = np.append(ends.places, ends.places[-1:])[kept]
    lowest, highest = np.concatenate((places, begins[begin])), np.concatenate((places, stops[stop]))
    missing = np.append(kept == len(ends.places), np.zeros(len(pairs), dtype=np.bool_))
    order = np.lexsort((*(np.unique(some, return_inverse=True)[1] for some in (highest, lowest)), missing))
    place_of = np.argsort(order)
    label_of_group = np.zeros(len(low), dtype=np.int32)
    label_of_group[alone], label_of_group[generalized] = place_of[of_kept], place_of[len(kept) + of_generalized]
    penalty = np.zeros(len(low), dtype=np.float64)
    penalty[generalized] = interval_penalty(column, first[generalized], last[generalized])
    return _Labels(
        text=labels.gather(order),
        generalized=order >= len(kept),
        label_of_group=label_of_group,
        sub_domains=SubDomains(
            starts=np.arange(len(labels) + 1),
            first=np.concatenate((kept, first[generalized][example])).astype(np.int32)[order],
            last=np.concatenate((kept, last[generalized][example])).astype(np.int32)[order],
        ),
        penalty=penalty,
        stars=stars,
    )


def _label_hulls(
    column: Column,
    text: pl.Series,
    groups: NDArray[np.int32],
    extents: tuple[NDArray[np.int32], NDArray[np.int32]],
    whole: NDArray[np.bool_],
    ends: IntervalEnds,
) -> _Labels:
    """Label each group with the interval from the smallest lower to the largest upper end of its intervals.

    A label represents all values from the first to the last of its groups, like other intervals. If intervals overlap,
    values in between may extend beyond it.
    """
    low, high = extents
    stars = _find_mixed_groups(column, low, high) | whole
    generalized = (low < high) & ~stars
    # Ranks of the lower and the upper end of each group. A missing value has no ends and comes last.
    first = np.append(ends.low, [len(ends.lows)] * column.has_missing)[low]
    upper_ranks = np.append(ends.high, [-1] * column.has_missing).astype(np.int32)
    last = group_extents(upper_ranks[column.codes], groups, len(low))[1]
    # Write each distinct hull once.
    pairs, of_generalized = np.unique(
        first[generalized].astype(np.int64) * len(ends.highs) + last[generalized], return_inverse=True
    )
    hulls = [ends.format_ends(*divmod(pair, len(ends.highs))) for pair in pairs.tolist()]
    # Without an end on either side: everything.
    stars[generalized] = np.array([hull is None for hull in hulls], dtype=np.bool_)[of_generalized]
    of_generalized, generalized = of_generalized[~stars[generalized]], generalized & ~stars
    # Groups with the same text share a label.
    alone = ~generalized & ~stars
    values, of_alone = np.unique(low[alone], return_inverse=True)
    labels: dict[str | None, int] = {}
    of_values = np.array([labels.setdefault(one, len(labels)) for one in text.gather(values).to_list()], dtype=np.int32)
    of_hulls = np.array([0 if one is None else labels.setdefault(one, len(labels)) for one in hulls], dtype=np.int32)
    label = np.zeros(len(low), dtype=np.int32)
    label[alone], label[generalized] = of_values[of_alone], of_hulls[of_generalized]
    firsts, lasts, lows = (group_extents(some[~stars], label[~stars], len(labels))[0] for some in (first, last, low))
    highs = group_extents(high[~stars], label[~stars], len(labels))[1]
    texts = [*labels]
    order = sorted(range(len(texts)), key=lambda at: (firsts[at], lasts[at], lows[at], texts[at] or ""))
    place_of = np.zeros(len(texts) + 1, dtype=np.int32)
    place_of[order] = np.arange(len(texts))
    own = {*text.to_list()}
    penalty = np.zeros(len(low), dtype=np.float64)
    penalty[generalized] = interval_penalty(column, low[generalized], high[generalized])
    return _Labels(
        text=pl.Series([texts[at] for at in order], dtype=pl.String),
        # A hull that equals one of the values is the same interval, not a new label.
        generalized=np.array([texts[at] not in own for at in order], dtype=np.bool_),
        label_of_group=place_of[label],
        sub_domains=SubDomains(starts=np.arange(len(texts) + 1), first=lows[order], last=highs[order]),
        penalty=penalty,
        stars=stars,
    )


def _label_sets(
    column: Column,
    text: pl.Series,
    groups: NDArray[np.int32],
    extents: tuple[NDArray[np.int32], NDArray[np.int32]],
    starred: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    *,
    largest: int,
    rare: NDArray[np.bool_],
) -> _Labels:
    """Label each group with the set of its values."""
    (low, high), (whole, forced) = extents, starred
    starts, members = _list_members(column, groups, len(low))
    sizes = np.diff(starts)
    # Stars: sets that are too large, mix missing values, contain rare values, or are the whole domain.
    stars = (sizes > largest) | _find_mixed_groups(column, low, high)
    stars |= (sizes > 1) & np.logical_or.reduceat(rare[members], starts[:-1])
    stars |= whole & (sizes == column.size)
    stars |= forced
    # Write the proper sets: join the quoted members in braces.
    proper = np.flatnonzero(~stars & (sizes > 1))
    entries = entries_of_rows(starts[proper], starts[proper + 1])
    listed = pl.DataFrame(
        {"group": np.repeat(proper, sizes[proper]), "value": quote_text(text).gather(members[entries])}
    )
    joined = listed.group_by("group", maintain_order=True).agg(pl.col("value").str.join(", "))
    labels = pl.DataFrame({"group": np.arange(len(low)), "low": low, "set": sizes > 1}).with_columns(
        text=text.gather(low), star=pl.Series(stars)
    )
    braced = joined.select(pl.col("group").cast(pl.Int64), set_text=pl.lit("{") + pl.col("value") + pl.lit("}"))
    labels = labels.join(braced, on="group", how="left", maintain_order="left").with_columns(
        label=pl.when("set").then("set_text").otherwise("text")
    )
    # Quoting makes the text of a set unique, so that sets are identified by their text.
    distinct = (
        labels.filter(~pl.col("star"))
        .group_by("low", "set", "label")
        .agg(pl.col("group").min())
        .sort("low", "set", "label")
        .with_columns(number=pl.int_range(pl.len(), dtype=pl.Int32))
    )
    numbered = labels.join(
        distinct.drop("group"), on=["low", "set", "label"], how="left", maintain_order="left", nulls_equal=True
    )
    return _Labels(
        text=distinct["label"],
        generalized=distinct["set"].to_numpy(),
        label_of_group=numbered["number"].fill_null(0).to_numpy(),
        sub_domains=_convert_to_runs(starts, members, distinct["group"].to_numpy()),
        penalty=np.minimum(set_penalty(sizes, column.size, largest), 1.0),
        stars=stars,
    )


def _list_members(column: Column, groups: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the distinct codes of every group as compressed rows, in ascending order."""
    keys, _ = sort([(groups, count), (column.codes, column.size)], len(groups))
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    members = (keys % column.size).astype(np.int32)
    starts = np.searchsorted(keys // column.size, np.arange(count + 1))
    return starts.astype(np.int64), members


def _convert_to_runs(starts: NDArray[np.int64], members: NDArray[np.int32], chosen: NDArray[np.int64]) -> SubDomains:
    """Convert the member sets of the chosen groups to runs of consecutive codes."""
    sizes = starts[chosen + 1] - starts[chosen]
    return build_sub_domains(
        np.concatenate(([0], np.cumsum(sizes))), members[entries_of_rows(starts[chosen], starts[chosen + 1])]
    )
