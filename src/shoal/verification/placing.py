"""Map cells to the ranks of the true values that they cover, many cells of the common forms at once."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.verification.cell_syntax import BLANKS, INTERVAL, SET
from shoal.verification.covered_ranks import CoveredRanks, RankSet
from shoal.verification.published_columns import ReadColumn
from shoal.verification.sub_domains import Between, Everything, Listed, Masked, Span, SubDomain
from shoal.verification.values import Values, encode_values

_MAX_CELLS_READ_SINGLY = 64
"""Up to this number cells are read one by one: the setup of the vectorized path takes longer."""


def ranks_of(found: SubDomain, values: Values) -> RankSet:
    """Compute the ranks of the true values in a sub-domain."""
    if isinstance(found, Everything):
        return RankSet(low=0, stop=values.size + found.missing)
    if isinstance(found, Listed):
        if len(found.texts) == 1:
            rank = _rank(found.texts[0], values)
            return RankSet() if rank < 0 else RankSet(low=rank, stop=rank + 1)
        return RankSet.of([rank for rank in (_rank(text, values) for text in found.texts) if rank >= 0])
    # Ranks have positions on the scale only below `placed`; `below` counts those up to an end.
    if isinstance(found, Span):
        low = 0 if found.low is None else values.below(found.low)[not found.low_included]
        stop = values.placed if found.high is None else values.below(found.high)[found.high_included]
        return RankSet(low=low, stop=max(low, stop))
    if isinstance(found, Between):
        return _between(found, values)
    if isinstance(found, Masked):
        return _masked(found, values)
    # A union of a few ranges stays a range if they touch; any other union is listed.
    parts = [ranks_of(part, values) for part in found.parts]
    if all(part.members is None for part in parts) and len(parts) < 4:
        result = RankSet()
        for part in parts:
            result = result.with_(part)
        return result
    return RankSet.of(np.concatenate([part.listed() for part in parts]))  # type: ignore[arg-type]


def _rank(text: str | None, values: Values) -> int:
    if text is None:
        return values.missing
    rank = values.find(text)
    # Empty text in a hierarchy means a missing value, unless the column has empty text.
    return values.missing if rank < 0 and not text else rank


def _between(found: Between, values: Values) -> RankSet:
    low, stop = 0, values.size
    # An excluded end that covers several ranks belongs to the interval nevertheless.
    if found.low is not None:
        # An end that is not among the values leaves the interval empty.
        first = ranks_of(found.low, values)
        if first.low >= first.stop:
            return RankSet()
        low = first.low if found.low_included or first.stop - first.low > 1 else first.stop
    if found.high is not None:
        last = ranks_of(found.high, values)
        if last.low >= last.stop:
            return RankSet()
        stop = last.stop if found.high_included or last.stop - last.low > 1 else last.low
    return RankSet(low=low, stop=max(low, stop))


def _masked(found: Masked, values: Values) -> RankSet:
    # Stars at the end may stand for no character at all, other stars for exactly one.
    fixed = found.text.rstrip(found.star)
    pattern = "".join("." if one == found.star else re.escape(one) for one in fixed)
    pattern = f"(?s)^{pattern}.{{0,{len(found.text) - len(fixed)}}}$"
    matching = values.texts.str.contains(pattern).fill_null(value=False)
    return RankSet.of(values.rank_of_code[matching.to_numpy()])


def place_cells(column: ReadColumn, values: Values) -> CoveredRanks:
    """Compute the true values that each label of a column covers."""
    labels = column.labels
    # Columns with a hierarchy resolve names of nodes first, so their labels are read one by one.
    together = _Together(column, values) if len(labels) > _MAX_CELLS_READ_SINGLY and not column.leaves else None
    done = np.zeros(len(labels), dtype=np.bool_) if together is None else together.done
    # The remaining labels, in rare forms, are read one by one.
    sets: dict[int, RankSet] = {}
    for at in np.flatnonzero(~done).tolist():
        sets[at] = _with_itself(labels[at], column.sub_domain(labels[at]), values)
    if together is None:
        return CoveredRanks.of([sets[at] for at in range(len(labels))])
    return together.with_(sets)


def _with_itself(label: str | None, found: SubDomain, values: Values) -> RankSet:
    """Add the value that is spelled like the cell, if there is one, to the values that a cell covers."""
    ranks = ranks_of(found, values)
    if label is None or values.scale != "text" or isinstance(found, Everything) or found == Listed(texts=(label,)):
        return ranks
    itself = values.known.get(label)
    return ranks if itself is None else ranks.with_(RankSet(low=itself, stop=itself + 1))


class _Together:
    """Vectorized reading of intervals and sets without quotes, which are most of the cells of large columns."""

    def __init__(self, column: ReadColumn, values: Values) -> None:
        self._column, self._values = column, values
        texts = pl.Series("cell", ["" if label is None else label for label in column.labels], dtype=pl.String)
        count = len(texts)
        self._low = np.zeros(count, dtype=np.int64)
        self._stop = np.zeros(count, dtype=np.int64)
        self._owner: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._rank: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        # Names of classes and text values of the same spelling take precedence over forms.
        free = np.ones(count, dtype=np.bool_)
        if column.meaning.has_names:
            free &= [label is None or column.meaning.named(label) is None for label in column.labels]
        if values.scale == "text":
            free &= values.find_written(texts) < 0
        cell = pl.col("cell").str
        forms = texts.to_frame().select(interval=cell.contains(INTERVAL), set=cell.contains(SET))
        intervals, sets = (forms.get_column(form).to_numpy() & free for form in ("interval", "set"))
        self.done = intervals | sets
        """Whether each cell was read."""
        self._read_intervals(texts.filter(pl.Series(intervals)), np.flatnonzero(intervals))
        self._read_sets(texts.filter(pl.Series(sets)), np.flatnonzero(sets))

    def _read_intervals(self, texts: pl.Series, at: NDArray[np.int64]) -> None:
        if not len(texts):
            return
        # Both ends of all intervals together, each distinct text once.
        parts = texts.str.extract_groups(INTERVAL).struct.unnest()
        codes, ends = encode_values(pl.concat([parts.get_column("2"), parts.get_column("3")]))
        # Most ends are values; the others are interpreted like cells.
        low = self._literal(ends)
        stop, nowhere = low + 1, low < 0
        for end in np.flatnonzero(nowhere).tolist():
            found = self._end(ends[end])
            low[end], stop[end] = (0, 0) if found is None else (found.low, found.stop)
            nowhere[end] = found is None
        # An excluded end is left out if it is a single value; an end that covers several belongs to the interval.
        alone = stop - low <= 1
        first, last = codes[: len(texts)], codes[len(texts) :]
        opened = (parts.get_column("1") == "[").to_numpy()
        closed = (parts.get_column("4") == "]").to_numpy()
        self._low[at] = np.where(opened | ~alone[first], low[first], stop[first])
        self._stop[at] = np.where(closed | ~alone[last], stop[last], low[last])
        self._stop[at[nowhere[first] | nowhere[last]]] = 0
        self._stop[at] = np.maximum(self._stop[at], self._low[at])

    def _literal(self, texts: pl.Series) -> NDArray[np.int64]:
        """Look up the ranks of ends and members that are plain values; -1 for others."""
        if self._column.meaning.converts or self._column.years:
            return np.full(len(texts), -1, dtype=np.int64)
        return self._values.find_written(texts)

    def _end(self, text: str) -> RankSet | None:
        """Compute the ranks on which an end of an interval falls; None if it is not among the values."""
        found = self._column.inner(text)
        span = self._column.span_of(found)
        ranks = ranks_of(found if span is None else span, self._values)
        return None if span is None and ranks.low >= ranks.stop else ranks

    def _read_sets(self, texts: pl.Series, at: NDArray[np.int64]) -> None:
        if not len(texts):
            return
        # One row per member, each distinct member interpreted once.
        listed = pl.LazyFrame({"at": at, "member": texts})
        listed = listed.with_columns(pl.col("member").str.slice(1).str.strip_suffix("}").str.split(","))
        frame = listed.explode("member").with_columns(pl.col("member").str.strip_chars(BLANKS)).collect()
        codes, members = encode_values(frame.get_column("member"))
        literal = self._literal(members)
        sets = [
            self._member(member) if rank < 0 else np.array([rank], dtype=np.int32)
            for member, rank in zip(members, literal.tolist(), strict=True)
        ]
        # Repeat the ranks of each member for every cell that has it.
        sizes = np.array([len(one) for one in sets], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        ranks = np.concatenate([np.empty(0, dtype=np.int32), *sets])
        owner = frame.get_column("at").to_numpy()
        self._owner = np.repeat(owner, sizes[codes])
        within = np.arange(len(self._owner)) - np.repeat(np.cumsum(sizes[codes]) - sizes[codes], sizes[codes])
        self._rank = ranks[np.repeat(starts[codes], sizes[codes]) + within].astype(np.int64)

    def _member(self, text: str) -> NDArray[np.int32]:
        parts = [ranks_of(part, self._values).listed() for part in self._column.members(text)]
        return np.unique(np.concatenate(parts))

    def with_(self, sets: dict[int, RankSet]) -> CoveredRanks:
        """Combine these cells with others that were read one by one."""
        owners, ranks = [self._owner], [self._rank]
        for at, one in sets.items():
            self._low[at], self._stop[at] = one.low, one.stop
            if one.members is not None:
                owners.append(np.full(len(one.members), at))
                ranks.append(one.members.astype(np.int64))
        # Sort pairs of a cell and a rank as single numbers, and drop duplicates.
        width = self._values.size + 2
        keys = np.sort(np.concatenate(owners) * width + np.concatenate(ranks))
        keys = keys[np.diff(keys, prepend=-1) > 0]
        owner, rank = keys // width, keys % width
        # Cells with members keep the bounding range of these, as `CoveredRanks` requires.
        starts = np.searchsorted(owner, np.arange(len(self._low) + 1))
        listed = np.flatnonzero(np.diff(starts))
        self._low[listed], self._stop[listed] = rank[starts[listed]], rank[starts[listed + 1] - 1] + 1
        # `high` is inclusive.
        return CoveredRanks(
            low=self._low.astype(np.int32),
            high=(self._stop - 1).astype(np.int32),
            starts=starts.astype(np.int64),
            members=rank.astype(np.int32),
        )
