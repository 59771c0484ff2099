"""The values that the cells of a published column may hide, as integer positions, with what is certain of them.

Numbers are multiples of the last decimal place that the column shows, dates are days, and names are numbered in the
order of their text. A star hides any value that the column shows elsewhere (for numbers and dates, any between them)
or, unless the values are declared by a hierarchy or by their order, one of two others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.refinement.counting import Segments
from shoal.verification.published_columns import ReadColumn
from shoal.verification.sub_domains import AnyOf, Everything, Listed, Span, SubDomain

Piece = tuple[int, int]
"""The first and the last position of consecutive values."""
_DAY, _SECOND = 86_400 * 10**9, 10**9
_GRID_MONTHS = (
    *((1, 0), (3, 1), (12, 3), (120, 12)),
    *((12 * step * power, 12 * power) for power in (10, 100, 1000) for step in (2, 5)),
    *((1200 * power, 600 * power) for power in (1, 10)),
)
"""Months in the cells of the public grid of dates (a month, a quarter, a year, 10, 20, 50, 100, ... years), and in the
widest narrower cell that divides each; 0 for days."""
_MAX_VARIED_VALUES = 64
"""Largest number of values of a star that are segments of their own; more are one segment."""


@dataclass(frozen=True, kw_only=True)
class HiddenCell:
    """The segments of one cell."""

    segments: Segments
    """Their sizes, and what is certain of the rows of a group."""
    pieces: tuple[Piece, ...]
    """The first and the last position of each segment."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class HiddenColumn:
    """The cells of a published column."""

    name: str
    cells: tuple[HiddenCell | None, ...]
    """For each label, what it hides; None if it shows a single value."""
    weight: Callable[[Sequence[Piece]], float]
    """The share of the rows whose value lies in one of some pieces, if each cell's rows are spread evenly over it."""
    shown: tuple[tuple[Piece, ...], ...] = ()
    """The values of each label; empty if they have no size."""
    write: Callable[[Piece], str | None] = lambda _: None
    """Write consecutive values as a cell; None if they have no text."""
    problem: str | None = None
    """Why the column cannot be measured; None if it can."""

    def __repr__(self) -> str:
        return f"HiddenColumn({self.name!r})"


def read_hidden_column(
    column: ReadColumn, *, smallest: bool, shared_by: int, counts: NDArray[np.int64], below: int | None = None
) -> HiddenColumn:
    """Read what the cells of a column hide.

    Parameters
    ----------
    column : ReadColumn
        The published column.
    smallest : bool
        Whether each cell is the smallest that covers its group: an interval has a row at each end, each member of a set
        occurs, and the rows of a star differ.
    shared_by : int
        Ends that fewer than so many rows have were moved outwards on the public grid; 1 if ends are exact, 0 if the
        number is unknown.
    counts : int64 array
        Number of rows of each label.
    below : int, optional
        For a column whose cells are nodes of one level of a hierarchy: segments are the nodes that are one level below.
    """
    found = _Positions.of(column)
    problem = _find_problem(column, found, smallest=smallest, shared_by=shared_by, levels=below is not None)
    nothing = (None,) * len(column.labels)
    if found is None:
        return HiddenColumn(name=column.name, cells=nothing, weight=lambda _: 1.0, problem=problem)
    shown = [found.pieces(one) for one in column.sub_domains]
    read = HiddenColumn(
        name=column.name,
        cells=nothing,
        weight=_weights(shown, counts),
        shown=tuple(map(tuple, shown)),
        write=found.write,
        problem=problem,
    )
    if problem is not None:
        return read
    sure = _count_sure(shown, counts) if shared_by > 1 else None
    cells: list[HiddenCell | None] = []
    for label, one, pieces in zip(column.labels, column.sub_domains, shown, strict=True):
        if sum(last - first + 1 for first, last in pieces) <= 1:
            cells.append(None)
        elif below is not None:
            cells.append(_children(column, label, below, found) or _cut(pieces, ()))
        elif column.meaning.tree is not None:
            # The lowest node over a group: its rows lie in several children.
            node = _children(column, label, _level_of(column, label), found)
            cells.append(replace(node, segments=replace(node.segments, varied=True, solid=True)) if node else None)
        elif isinstance(one, Everything):
            cells.append(_star(pieces))
        elif column.form(str(label)).kind == "set":
            cells.append(_cut(pieces, _members(one, found)))
        else:
            cells.append(_cut(pieces, _ends(pieces, found, shared_by, sure)))
    return replace(read, cells=tuple(cells))


def _find_problem(
    column: ReadColumn, found: _Positions | None, *, smallest: bool, shared_by: int, levels: bool
) -> str | None:
    """Find why nothing can be said of a column; None if something can."""
    if found is None:
        return "the number of values of its cells is not known"
    if levels:
        return None
    if not smallest:
        return "its cells need not be the smallest of their groups"
    spans = any(column.form(str(label)).kind == "interval" for label in column.labels if label is not None)
    if any(part.low is None or part.high is None for part in _list_spans(column)):
        return "its intervals have open ends"
    if spans and shared_by != 1 and not (found.scale == "number" or found.unit == _DAY):
        return "its ends are shared by several records, on no known grid"
    return None


def _list_spans(column: ReadColumn) -> list[Span]:
    return [part for one in column.sub_domains for part in _parts(one) if isinstance(part, Span)]


def _star(pieces: Sequence[Piece]) -> HiddenCell:
    """Describe a cell whose rows are not all equal."""
    known, unseen = pieces[:1], pieces[1:]
    values = sum(last - first + 1 for first, last in known)
    if values <= _MAX_VARIED_VALUES:
        pieces = [*_singles(known), *unseen]
    sizes = tuple(last - first + 1 for first, last in pieces)
    return HiddenCell(segments=Segments(sizes=sizes, varied=True), pieces=tuple(pieces))


def _members(one: SubDomain, found: _Positions) -> list[Piece]:
    """List the members of a set, each of which occurs; none if a member has values that are not consecutive."""
    if isinstance(one, Listed):
        return [piece for text in one.texts for piece in found.pieces(Listed(texts=(text,)))]
    members = [found.pieces(part) for part in _parts(one)]
    return [piece for pieces in members for piece in pieces] if all(len(one) == 1 for one in members) else []


def _singles(pieces: Iterable[Piece]) -> list[Piece]:
    return [(at, at) for first, last in pieces for at in range(first, last + 1)]


def _cut(pieces: Sequence[Piece], occupied: Sequence[Piece]) -> HiddenCell:
    """Divide the values of a cell into segments at the boundaries of the occupied ranges."""
    borders = sorted({at for first, last in occupied for at in (first, last + 1)})
    pieces = [part for piece in pieces for part in _split(piece, borders)]
    starts = [first for first, _ in pieces]
    ranges = tuple((bisect_left(starts, first), bisect_right(starts, last)) for first, last in occupied)
    sizes = tuple(last - first + 1 for first, last in pieces)
    return HiddenCell(segments=Segments(sizes=sizes, occupied=tuple(sorted(set(ranges)))), pieces=tuple(pieces))


def _split(piece: Piece, borders: Sequence[int]) -> list[Piece]:
    inside = [at for at in borders if piece[0] < at <= piece[1]]
    return [(first, stop - 1) for first, stop in pairwise([piece[0], *inside, piece[1] + 1])]


# Positions of the values.


@dataclass(frozen=True, kw_only=True)
class _Positions:
    """How texts and spans of a column become positions, and the values of a star."""

    scale: str
    unit: Fraction
    """One step of the positions: the last decimal place, or a day or a second in nanoseconds."""
    places: dict[str | None, int]
    """The position of each name, or of a missing value."""
    everything: tuple[Piece, ...]
    """The values that the column shows anywhere."""
    convert: Callable[[SubDomain], list[Piece] | None]

    @cached_property
    def names(self) -> dict[int, str | None]:
        """The name at each position."""
        return {at: text for text, at in self.places.items()}

    @classmethod
    def of(cls, column: ReadColumn) -> _Positions | None:
        """Choose positions for a column; None if some cell has no size, such as a mask."""
        shown = [one for one in column.sub_domains if not isinstance(one, Everything)]
        parts = [part for one in shown for part in _parts(one)]
        if any(not isinstance(part, Listed | Span) for part in parts):
            return None
        if column.scale == "text":
            return cls._of_names(parts, column)
        return cls._of_numbers(parts, column)

    @classmethod
    def _of_names(cls, parts: Sequence[SubDomain], column: ReadColumn) -> _Positions | None:
        if any(isinstance(part, Span) for part in parts):
            return None
        texts = {text for part in parts if isinstance(part, Listed) for text in part.texts}
        tree = column.meaning.tree
        if tree is not None:
            texts |= set(tree.labels[0])
        # Declared values keep their order; names are sorted as the dictionaries of shoal are.
        order = column.meaning.order
        names = [text for text in texts if text is not None]
        names = [text for text in order if text in texts] if order else sorted(names)
        places: dict[str | None, int] = {text: at for at, text in enumerate(names)}
        if None in texts:
            places[None] = len(places)

        def convert(one: SubDomain) -> list[Piece]:
            texts = {text for part in _parts(one) if isinstance(part, Listed) for text in part.texts}
            singles = [(at, at) for at in sorted(places[text] for text in texts)]
            # Intervals of names in a declared order are consecutive values.
            return _joined(singles, touching=1) if order and isinstance(one, Listed) else singles

        everything = (
            ((0, len(places) - 1), *_unseen(len(places), closed=tree is not None or bool(order))) if places else ()
        )
        return cls(scale="text", unit=Fraction(1), places=places, everything=everything, convert=convert)

    @classmethod
    def _of_numbers(cls, parts: Sequence[SubDomain], column: ReadColumn) -> _Positions | None:
        spans = [span for part in parts for span in _spans(part, column)]
        bounds = [Fraction(at) for span in spans for at in (span.low, span.high) if at is not None]
        if not bounds:
            return None
        if column.scale == "number":
            unit = _last_decimal(bounds)
        else:
            timed = any(":" in str(label) for label in column.labels)
            unit = Fraction(_SECOND if timed or any(at % _DAY for at in bounds) else _DAY)
        if unit is None or any(at % unit for at in bounds):
            return None
        # An open end goes beyond all others.
        least, greatest = int(min(bounds) / unit) - 1, int(max(bounds) / unit) + 1

        def convert(one: SubDomain) -> list[Piece]:
            found = []
            for span in (span for part in _parts(one) for span in _spans(part, column)):
                first = least if span.low is None else int(Fraction(span.low) / unit) + (not span.low_included)
                last = greatest if span.high is None else int(Fraction(span.high) / unit) - (not span.high_included)
                if first <= last:
                    found.append((first, last))
            return _joined(found)

        shown = [piece for part in parts for piece in convert(part)]
        if not shown:
            return None
        most = max(last for _, last in shown)
        closed = column.meaning.tree is not None
        everything = ((min(first for first, _ in shown), most), *_unseen(most + 1, closed=closed))
        return cls(scale=column.scale, unit=unit, places={}, everything=everything, convert=convert)

    def write(self, piece: Piece) -> str | None:
        """Write consecutive values as a value or an interval; None for a missing value, or a time."""
        if self.scale == "text":
            return self.names.get(piece[0]) if piece[0] == piece[1] else None
        ends = [self._write_position(at) for at in piece]
        if None in ends:
            return None
        return ends[0] if piece[0] == piece[1] else f"[{ends[0]}, {ends[1]}]"

    def _write_position(self, at: int) -> str | None:
        if self.scale == "number":
            number = at * self.unit
            return str(int(number)) if number.denominator == 1 else str(Decimal(number.numerator) / number.denominator)
        if self.scale == "date":
            moment = np.datetime64(int(at * self.unit), "ns")
            return str(moment.astype("M8[D]" if self.unit == _DAY else "M8[s]"))
        return None

    def pieces(self, one: SubDomain) -> list[Piece]:
        """List the positions of the values of a cell."""
        return list(self.everything) if isinstance(one, Everything) else self.convert(one) or []


def _unseen(after: int, *, closed: bool) -> list[Piece]:
    """Return two values that a column may have although it shows them nowhere, unless its values are declared."""
    return [] if closed else [(after, after + 1)]


def _parts(one: SubDomain) -> list[SubDomain]:
    return [part for inner in one.parts for part in _parts(inner)] if isinstance(one, AnyOf) else [one]


def _spans(part: SubDomain, column: ReadColumn) -> list[Span]:
    if isinstance(part, Span):
        return [part]
    texts = part.texts if isinstance(part, Listed) else ()
    positions = [column.position_of(text) for text in texts if text is not None]
    return [Span(low=at, high=at) for at in positions if at is not None]


def _last_decimal(bounds: Sequence[Fraction]) -> Fraction | None:
    for decimals in range(20):
        if all((at * 10**decimals).denominator == 1 for at in bounds):
            return Fraction(1, 10**decimals)
    return None


def _joined(pieces: list[Piece], *, touching: int = 0) -> list[Piece]:
    """Join pieces that overlap, or that touch."""
    found: list[Piece] = []
    for first, last in sorted(pieces):
        if found and first <= found[-1][1] + touching:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


# Ends of intervals.


def _ends(
    pieces: Sequence[Piece], found: _Positions, shared_by: int, sure: Callable[[int, int], int] | None
) -> list[Piece]:
    """List the ranges at both ends of an interval that have a row: single values, or cells of the public grid."""
    if len(pieces) != 1:
        return []
    first, last = pieces[0]
    if shared_by == 1:
        return [(first, first), (last, last)]
    occupied = []
    for upper in (False, True):
        widest = (last, last) if upper else (first, first)
        # The value at the end may lie in any cell there, unless it surely has enough rows in a narrower one.
        for cell, others in _grid_cells(found, last if upper else first, upper=upper):
            here = [tile for tile in others or () if tile[0] <= last and tile[1] >= first]
            if sure is None or others is None or not all(sure(*tile) >= shared_by for tile in here):
                widest = cell
            if cell[0] <= first and cell[1] >= last:
                break
        occupied.append((max(first, widest[0]), min(last, widest[1])))
    # A range that is the whole interval says nothing.
    return [one for one in occupied if one != (first, last)]


def _grid_cells(found: _Positions, end: int, *, upper: bool) -> Iterator[tuple[Piece, list[Piece] | None]]:
    """Yield the cells of the public grid that start, or end, at a position, and the narrower cells beyond the first."""
    if found.scale == "number":
        edge = end + 1 if upper and found.unit == 1 else end
        span = found.everything[0][1] - found.everything[0][0] + 1
        # Cells around zero, from -w to w, may start or end at any position.
        around = found.everything[0][0] < 0 and (end < 0) != upper
        for step, narrower in _number_widths(10 * span):
            if edge % step == 0:
                yield _cells_of(end, step, narrower, upper=upper)
        if around:
            yield ((end - span, end) if upper else (end, end + span)), None
    elif found.scale == "date" and found.unit == _DAY:
        yield from _date_cells(end, upper=upper)


def _number_widths(limit: int) -> Iterator[tuple[int, int]]:
    """Yield 2, 5, 10, 20, 50, ... with the widest narrower cell that divides each."""
    power = 1
    while power <= limit:
        yield from ((2 * power, power), (5 * power, power), (10 * power, 5 * power))
        power *= 10


def _cells_of(end: int, step: int, narrower: int, *, upper: bool) -> tuple[Piece, list[Piece]]:
    """Return a cell of a width, and the narrower cells in it that do not reach the end."""
    if upper:
        return (end - step + 1, end), [
            (at, at + narrower - 1) for at in range(end - step + 1, end - narrower + 1, narrower)
        ]
    return (end, end + step - 1), [(at, at + narrower - 1) for at in range(end + narrower, end + step, narrower)]


def _date_cells(end: int, *, upper: bool) -> Iterator[tuple[Piece, list[Piece] | None]]:
    """Yield the months, quarters, years and more that start, or end, at a day, with the narrower cells in each."""
    month = np.datetime64(end + upper, "D").astype("M8[M]")
    if month.astype("M8[D]") != np.datetime64(end + upper, "D"):
        return
    number = int(month.astype(np.int64)) + 1970 * 12
    for months, narrower in sorted(_GRID_MONTHS):
        if number % months:
            continue
        steps = range(0, months + 1, narrower) if narrower else (0, months)
        days = sorted(int((month + (-at if upper else at)).astype("M8[D]").astype(np.int64)) for at in steps)
        tiles = [(first, stop - 1) for first, stop in pairwise(days)]
        cell = (days[0], days[-1] - 1)
        if not narrower:
            # The days of a month.
            tiles = [(day, day) for day in range(cell[0], cell[1] + 1)]
        yield cell, tiles[:-1] if upper else tiles[1:]


def _count_sure(shown: Sequence[Sequence[Piece]], counts: NDArray[np.int64]) -> Callable[[int, int], int]:
    """Return a function that counts the rows whose cell lies within a range of positions."""
    ranges = [
        (pieces[0][0], pieces[-1][1], count) for pieces, count in zip(shown, counts.tolist(), strict=True) if pieces
    ]
    firsts = np.array([first for first, _, _ in ranges], dtype=np.float64)
    lasts = np.array([last for _, last, _ in ranges], dtype=np.float64)
    rows = np.array([count for _, _, count in ranges], dtype=np.int64)
    return lambda low, high: int(rows[(firsts >= low) & (lasts <= high)].sum())


def _weights(shown: Sequence[Sequence[Piece]], counts: NDArray[np.int64]) -> Callable[[Sequence[Piece]], float]:
    """Return a function that computes the share of rows in some pieces, with each cell's rows spread evenly over it."""
    # The density between neighbouring edges is constant.
    edges = sorted({at for pieces in shown for first, last in pieces for at in (first, last + 1)})
    place = {at: number for number, at in enumerate(edges)}
    density = np.zeros(len(edges) + 1)
    for pieces, count in zip(shown, counts.tolist(), strict=True):
        size = sum(last - first + 1 for first, last in pieces)
        for first, last in pieces:
            density[place[first]] += count / size
            density[place[last + 1]] -= count / size
    # Its integral up to each edge.
    density = np.cumsum(density)[: len(edges)]
    below = np.append(0.0, np.cumsum(density[:-1] * np.diff(edges))) if edges else np.zeros(1)
    rows = float(counts.sum())

    def share_below(at: int) -> float:
        number = bisect_right(edges, at) - 1
        if number < 0:
            return 0.0
        return float(below[number] + density[number] * (at - edges[number]))

    return lambda pieces: sum(share_below(last + 1) - share_below(first) for first, last in pieces) / rows


# Nodes of one level.


def _level_of(column: ReadColumn, label: str | None) -> int:
    """Find the lowest level with a node of this name; a star is the root, 0 if there is none."""
    tree = column.meaning.tree
    levels = [] if tree is None else [level for level, names in enumerate(tree.labels) if label in names]
    return levels[0] if levels else (len(tree.labels) - 1 if tree is not None and label == column.star else 0)


def _children(column: ReadColumn, label: str | None, level: int, found: _Positions) -> HiddenCell | None:
    """Describe a node by the nodes of the level below it; a star is the root. None if there is no hierarchy."""
    tree = column.meaning.tree
    if tree is None or label is None or level < 1:
        return None
    nodes = [number for number, name in enumerate(tree.labels[level]) if name == label]
    below = np.asarray(tree.levels[level - 1])
    inside = np.isin(np.asarray(tree.levels[level]), nodes) | (label == column.star)
    sizes, pieces = [], []
    for child in np.unique(below[inside]).tolist():
        leaves = [tree.labels[0][at] for at in np.flatnonzero(inside & (below == child)).tolist()]
        alone = found.pieces(Listed(texts=(leaves[0],))) if len(leaves) == 1 else []
        sizes.append(len(leaves))
        pieces.append(alone[0] if alone else (0, -1))
    return HiddenCell(segments=Segments(sizes=tuple(sizes)), pieces=tuple(pieces))
