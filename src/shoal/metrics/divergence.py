"""KL-divergence between the table and its release, exactly, without comparing every row with every group."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.metrics.divergence_kernel import box_bits, box_densities, pattern_densities
from shoal.recoding.order import rank, sort
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.recoding import RecodedColumn, Recoding
    from shoal.table import Column, Table

__all__ = ["Divergence", "kl_divergence", "kl_divergence_by_attribute"]

WORK_LIMIT = 4_000_000_000
"""Elementary steps that `kl_divergence` is willing to take: some ten seconds."""

_PATTERN_STEPS = 6
"""A look-up in a hash table takes about as long as this many steps on bit sets."""
_BITS_MEMORY = 1 << 26
"""Bytes of bit sets that are held at a time."""
_INJECTIVE_KEYS = 1 << 62
"""Keys below this cannot collide."""
_SAMPLE_RUNS, _SAMPLE_LENGTH = 32, 64
"""Runs of combinations, and how long each is, that estimate the work."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """A divergence, or why it was not computed."""

    value: float | None
    """In nats, at least 0; lower is better. None where it would take too long."""
    reason: str | None = None
    """Why there is no value; None where there is one."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Points:
    """The distinct rows of the table: points p = (x, v) of the space that the two distributions live on."""

    codes: NDArray[np.int32]
    """Shape (d + 1, s): quasi-identifiers, then the sensitive value, of each point; sorted."""
    counts: NDArray[np.int64]
    """Rows at each point."""
    of_row: NDArray[np.int64]
    """Point of each row."""
    values: int
    """Number of distinct sensitive values (of combinations, where there are several sensitive attributes)."""

    @cached_property
    def combination_starts(self) -> NDArray[np.int64]:
        """Where the points of each combination of quasi-identifiers start; one more than there are combinations."""
        apart = np.ones(self.codes.shape[1] + 1, dtype=np.bool_)
        apart[1:-1] = (self.codes[:-1, 1:] != self.codes[:-1, :-1]).any(axis=0)
        return np.flatnonzero(apart)


def kl_divergence(
    table: Table, recoding: Recoding, groups: NDArray[np.int32], *, limit: int = WORK_LIMIT
) -> Divergence:
    r"""Return how far the release's distribution is from the table's: equation 2 of the l-diversity paper.

    .. math:: KL(f, f^*) = \sum_p f(p) \ln \frac{f(p)}{f^*(p)}

    Both are distributions on the space of quasi-identifiers and sensitive value: f(p) is the share of the table's rows
    at p; a released row spreads evenly over its sub-domains, a star being uniform over the attribute's domain (the
    values that occur in the table, a missing one included). In nats, from 0 (nothing is lost) upwards; lower is better.
    Several sensitive attributes count as one, whose values are their combinations.

    Where no two cells of an attribute overlap but for stars (suppression, also of a coarsened table, and one
    generalization for all rows), there are at most 2**d star patterns, and the density of a pattern at every distinct
    row is one hash look-up: O(2**d n). Else (or where that is more work) the released classes are boxes, and the boxes
    that contain a row are found by intersecting, attribute after attribute, bit sets of the boxes that allow its value.
    The result is exact either way, but for rounding.

    Parameters
    ----------
    table : Table
        The original microdata.
    recoding : Recoding
        What every group publishes.
    groups : int32 array of shape (rows,)
        Group of each row: the partition that was recoded.
    limit : int
        How many elementary steps to take at most; beyond, the result has no value but a reason.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 6.2.
    S. Kullback and R. A. Leibler, "On information and sufficiency", Annals of Mathematical Statistics 22(1), 1951.
    doi:10.1214/aoms/1177729694
    """
    if table.rows == 0 or recoding.recoded_cells == 0:
        return Divergence(value=0.0)
    table, recoding = _most_selective_first(table, recoding)
    points = _distinct_points(table)
    densities: NDArray[np.float64] | None = None
    steps = 0
    blocks = [
        _Blocks.of(column, original) for column, original in zip(recoding.columns, table.quasi_identifiers, strict=True)
    ]
    if all(one.disjoint for one in blocks):
        kept, pattern_of_group = _patterns(recoding)
        steps = _PATTERN_STEPS * len(kept) * len(points.counts)
        if steps <= limit:
            densities = _densities_of_patterns(table, points, groups, kept, pattern_of_group, blocks)
    if densities is None:
        densities, steps = _densities_of_boxes(table, points, recoding, groups, limit)
    if densities is None:
        reason = (
            f"it would take about {steps:.1e} steps and the limit is {limit:.1e}: measure a sample of the rows, or "
            "raise the limit of kl_divergence"
        )
        return Divergence(value=None, reason=reason)
    terms = points.counts * np.log(points.counts / densities)
    return Divergence(value=max(0.0, math.fsum(terms) / table.rows))


def kl_divergence_by_attribute(table: Table, recoding: Recoding) -> dict[str, float]:
    """Return how far each quasi-identifier by itself is from the table's: the divergence of its distribution.

    In nats, at least 0; lower is better. 0 where a release tells how often each value occurs, whoever it belongs to.
    """
    return {
        column.name: _marginal_divergence(column, original, recoding.sizes)
        for column, original in zip(recoding.columns, table.quasi_identifiers, strict=True)
    }


def _marginal_divergence(column: RecodedColumn, original: Column, sizes: NDArray[np.int64]) -> float:
    domains = column.sub_domains
    weights = np.bincount(column.group_codes, weights=sizes, minlength=len(column.labels)) / domains.sizes
    run_weights = np.repeat(weights, np.diff(domains.starts))
    single = domains.first == domains.last
    whole = (domains.first == 0) & (domains.last == original.size - 1) & ~single
    density = np.bincount(domains.first[single], weights=run_weights[single], minlength=original.size)
    # What begins with a code is added there, and taken off behind the last one.
    steps = np.zeros(original.size + 1, dtype=np.longdouble)
    np.add.at(steps, domains.first[~single & ~whole], run_weights[~single & ~whole])
    np.subtract.at(steps, domains.last[~single & ~whole] + 1, run_weights[~single & ~whole])
    density = density + run_weights[whole].sum() + np.cumsum(steps)[:-1].astype(np.float64)
    counts = np.bincount(original.codes, minlength=original.size)
    present = counts > 0
    terms = counts[present] * np.log(counts[present] / density[present])
    return max(0.0, math.fsum(terms) / len(original.codes)) if len(original.codes) else 0.0


def _most_selective_first(table: Table, recoding: Recoding) -> tuple[Table, Recoding]:
    """Put the quasi-identifiers in the order in which they rule out most boxes, which changes no density."""
    allowed = [
        np.dot(column.sub_domains.sizes[column.group_codes], recoding.sizes) / original.size
        for column, original in zip(recoding.columns, table.quasi_identifiers, strict=True)
    ]
    order = np.argsort(allowed, kind="stable")
    return (
        replace(table, quasi_identifiers=tuple(table.quasi_identifiers[i] for i in order)),
        replace(recoding, columns=tuple(recoding.columns[i] for i in order)),
    )


def _distinct_points(table: Table) -> _Points:
    value_of_row, values = rank([(column.codes, column.size) for column in table.sensitive], table.rows)
    columns: list[tuple[NDArray[Any], int]] = [(column.codes, column.size) for column in table.quasi_identifiers]
    columns.append((value_of_row, values))
    of_row, count = rank(columns, table.rows)
    representatives = np.empty(count, dtype=np.int32)
    representatives[of_row] = np.arange(table.rows, dtype=np.int32)
    codes = np.empty((len(columns), count), dtype=np.int32)
    for i, (column, _) in enumerate(columns):
        codes[i] = column[representatives]
    return _Points(codes=codes, counts=np.bincount(of_row, minlength=count), of_row=of_row, values=values)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Blocks:
    """What the cells of an attribute that are no stars stand for: blocks of its values, if no two of them overlap."""

    disjoint: bool
    """Whether they do not overlap; the rest means nothing where they do."""
    of_code: NDArray[np.int32]
    """The block of each code; those that only stars stand for have one of their own, the last."""
    shares: NDArray[np.float64]
    """One over the number of values in each block."""

    @classmethod
    def of(cls, column: RecodedColumn, original: Column) -> _Blocks:
        domains = column.sub_domains
        told = np.ones(len(column.labels), dtype=np.bool_)
        told[column.group_codes[column.stars]] = False
        run_told = np.repeat(told, np.diff(domains.starts))
        block_of_run = np.repeat(np.arange(len(told), dtype=np.int32), np.diff(domains.starts))[run_told]
        first, last = domains.first[run_told].astype(np.int64), domains.last[run_told].astype(np.int64)
        order = np.argsort(first)
        disjoint = bool((last[order][:-1] < first[order][1:]).all())
        of_code = np.full(original.size, len(told), dtype=np.int32)
        if disjoint:
            of_code[entries_of_rows(first, last + 1)] = np.repeat(block_of_run, last - first + 1)
        return cls(disjoint=disjoint, of_code=of_code, shares=np.append(1.0 / domains.sizes, 1.0))

    def __repr__(self) -> str:
        return f"_Blocks(values={len(self.of_code)}, blocks={len(self.shares)})"


def _patterns(recoding: Recoding) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the patterns of attributes without a star that occur, and the pattern of each group."""
    of_group, count = rank([(column.stars, 2) for column in recoding.columns], len(recoding.sizes))
    kept = np.empty((count, len(recoding.columns)), dtype=np.bool_)
    for i, column in enumerate(recoding.columns):
        kept[of_group, i] = ~column.stars
    return kept, of_group


def _densities_of_patterns(
    table: Table,
    points: _Points,
    groups: NDArray[np.int32],
    kept: NDArray[np.bool_],
    pattern_of_group: NDArray[np.int64],
    blocks: Sequence[_Blocks],
) -> NDArray[np.float64]:
    """Return n f*(p) of every point, where the release holds blocks of values and stars only."""
    codes = points.codes.copy()
    for i, block in enumerate(blocks):
        codes[i] = block.of_code[codes[i]]
    sizes = [len(block.shares) for block in blocks]
    shares = np.concatenate([block.shares for block in blocks])
    injective = math.prod(sizes) * points.values < _INJECTIVE_KEYS
    if injective:
        radices = [*sizes[1:], points.values, 1]
        multipliers = np.array([math.prod(radices[i:]) for i in range(len(radices))], dtype=np.int64)
    else:
        multipliers = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, len(sizes) + 1, dtype=np.int64) | 1
    pattern_of_row = pattern_of_group[groups]
    _, rows = sort([(pattern_of_row, len(kept))], table.rows)
    starts = np.concatenate(([0], np.cumsum(np.bincount(pattern_of_row, minlength=len(kept)))))
    domains = np.array([column.size for column in table.quasi_identifiers])
    weights = np.where(kept, 1.0, 1.0 / domains).prod(axis=1)
    if (shares == 1.0).all():
        shares = shares[:0]
    offsets = np.cumsum(sizes) - sizes
    return np.asarray(
        pattern_densities(codes, multipliers, injective, points.of_row, rows, starts, kept, weights, offsets, shares)
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Entries:
    """The sensitive values of each released class, with the weight that they give to every point of its box."""

    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, points: _Points, recoding: Recoding, groups: NDArray[np.int32]) -> _Entries:
        classes = recoding.classes
        volumes = np.ones(classes.count)
        for column in recoding.columns:
            volumes *= column.sub_domains.sizes[column.group_codes[classes.representatives]]
        value_of_row = points.codes[-1][points.of_row]
        keys, _ = sort([(classes.of_group[groups], classes.count), (value_of_row, points.values)], len(groups))
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        owner = keys[begins] // points.values
        return cls(
            starts=np.searchsorted(owner, np.arange(classes.count + 1)).astype(np.int64),
            values=(keys[begins] % points.values).astype(np.int32),
            weights=np.diff(np.append(begins, len(keys))) / volumes[owner],
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Walk:
    """A walk over the distinct combinations of quasi-identifiers, looking for the boxes that contain each."""

    points: _Points
    combinations: NDArray[np.int32]
    bits: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    entries: _Entries
    first: int
    """The first released class of this block."""

    def visit(self, start: int, stop: int, densities: NDArray[np.float64]) -> int:
        """Add the weights of the boxes to the points of some combinations, and return the steps that it took."""
        work: int = box_densities(
            self.combinations,
            self.points.combination_starts,
            self.points.codes[-1],
            self.bits,
            self.offsets,
            self.entries.starts[self.first :],
            self.entries.values,
            self.entries.weights,
            np.array([start, stop]),
            np.full(self.points.values, -1, dtype=np.int64),
            densities,
        )
        return int(work)

    def expected_work(self) -> int:
        """Estimate the steps of the whole walk from those of a few short ones, spread evenly over it."""
        count = self.combinations.shape[1]
        length = min(_SAMPLE_LENGTH, count)
        runs = np.unique(np.linspace(0, count - length, _SAMPLE_RUNS).astype(np.int64))
        ignored = np.zeros(len(self.points.counts))
        work = sum([self.visit(int(start), int(start) + length, ignored) for start in runs])
        return int(work * count // (length * len(runs)))


def _densities_of_boxes(
    table: Table, points: _Points, recoding: Recoding, groups: NDArray[np.int32], limit: int
) -> tuple[NDArray[np.float64] | None, int]:
    """Return n f*(p) of every point, or None where it takes too many steps; and the steps, estimated or taken.

    Released classes stand in the order of their cells, so those that allow the same values share words of the bit sets.
    """
    classes = recoding.classes
    entries = _Entries.of(points, recoding, groups)
    combinations = np.ascontiguousarray(points.codes[:-1, points.combination_starts[:-1]])
    sizes = np.array([column.size for column in table.quasi_identifiers])
    offsets = np.cumsum(sizes) - sizes
    words = max(1, min(_BITS_MEMORY // (8 * int(sizes.sum())), -(-classes.count // 64)))
    blocks = range(0, classes.count, 64 * words)
    densities = np.zeros(len(points.counts))
    spent = 0
    for number, first in enumerate(blocks):
        chosen = classes.representatives[first : first + 64 * words]
        bits = np.zeros((int(sizes.sum()), words), dtype=np.uint64)
        for column, offset, size in zip(recoding.columns, offsets, sizes, strict=True):
            domains = column.sub_domains
            labels = column.group_codes[chosen]
            box_bits(bits[offset : offset + size], labels, domains.starts, domains.first, domains.last)
        walk = _Walk(points=points, combinations=combinations, bits=bits, offsets=offsets, entries=entries, first=first)
        expected = spent + (bits.size + walk.expected_work()) * (len(blocks) - number)
        if expected > limit:
            return None, expected
        spent += bits.size + walk.visit(0, combinations.shape[1], densities)
    return densities, spent
