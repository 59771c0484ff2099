"""Exact KL-divergence between a table and its release, without comparing every row with every group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.metrics.divergence_kernel import box_bits, box_densities, pattern_densities
from shoal.recoding import RecodedColumn, Recoding
from shoal.recoding.order import rank, sort
from shoal.table import Column, Table
from shoal.table.compressed import entries_of_rows

WORK_LIMIT = 4_000_000_000
"""Largest number of elementary steps that `kl_divergence` takes by default: about ten seconds."""

_PATTERN_STEPS = 6
"""Cost of a hash table look-up, in steps on bit sets."""
_BITS_MEMORY = 1 << 26
"""Largest number of bytes of bit sets in memory at a time."""
_INJECTIVE_KEYS = 1 << 62
"""Bound below which mixed-radix keys fit into 63 bits and cannot collide."""
# Number and length of the runs of combinations from which the work is estimated.
_SAMPLE_RUNS, _SAMPLE_LENGTH = 32, 64
"""Runs of combinations, and how long each is, that estimate the work."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """A divergence, or the reason why it was not computed."""

    value: float | None
    """The divergence in nats, at least 0; lower is better. None if computing it would take too long."""
    reason: str | None = None
    """The reason why there is no value, or None if there is one."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Points:
    """The distinct rows p = (x, v) of the table, on which the two distributions are compared."""

    codes: NDArray[np.int32]
    """Sorted codes of each point, of shape (d + 1, s): the quasi-identifiers, then the sensitive value."""
    counts: NDArray[np.int64]
    """Number of rows at each point."""
    of_row: NDArray[np.int64]
    """Index of the point of each row."""
    values: int
    """Number of distinct sensitive values (of combinations, if there are several sensitive attributes)."""

    @cached_property
    def combination_starts(self) -> NDArray[np.int64]:
        """Index of the first point of each combination of quasi-identifiers, followed by the number of points."""
        # Points are sorted, so a combination begins if any code differs from the point before.
        apart = np.ones(self.codes.shape[1] + 1, dtype=np.bool_)
        apart[1:-1] = (self.codes[:-1, 1:] != self.codes[:-1, :-1]).any(axis=0)
        return np.flatnonzero(apart)


def kl_divergence(
    table: Table, recoding: Recoding, groups: NDArray[np.int32], *, limit: int = WORK_LIMIT
) -> Divergence:
    r"""Compute the KL-divergence of the release from the table: equation 2 of the l-diversity paper.

    .. math:: KL(f, f^*) = \sum_p f(p) \ln \frac{f(p)}{f^*(p)}

    Both distributions are on the space of quasi-identifiers and sensitive value. f(p) is the share of the table's rows
    at p. For f*, each released row is spread uniformly over its sub-domains; a star is uniform over the attribute's
    domain (the values that occur in the table, including a missing value). In nats, from 0 (no loss) upwards; lower is
    better. Several sensitive attributes are treated as one, whose values are their combinations.

    Parameters
    ----------
    table : Table
        The original microdata.
    recoding : Recoding
        Published cells of every group.
    groups : int32 array of shape (rows,)
        Group of each row: the partition that was recoded.
    limit : int
        Largest number of elementary steps. If more are needed, the result has a reason instead of a value.

    Returns
    -------
    Divergence

    Notes
    -----
    If cells of an attribute overlap only if one of them is a star (as for suppression, also of a coarsened table, and
    for a single generalization of all rows), there are at most 2**d star patterns. The density of a pattern at each
    distinct row is then one hash look-up, O(2**d n) in total. Otherwise, or if that is more work, the released classes
    are treated as boxes. The boxes that contain a row are found by intersecting, for one attribute after another, bit
    sets of the boxes that contain its value. Both methods are exact up to rounding.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 6.2.
    S. Kullback and R. A. Leibler, "On information and sufficiency", Annals of Mathematical Statistics 22(1), 1951.
    doi:10.1214/aoms/1177729694
    """
    if table.rows == 0 or recoding.recoded_cells == 0:
        return Divergence(value=0.0)
    table, recoding = _sort_by_selectivity(table, recoding)
    points = _find_points(table)
    # Star patterns and a hash table, if cells overlap only with stars and the work is affordable.
    densities: NDArray[np.float64] | None = None
    steps = 0
    blocks = [
        _Blocks.of(column, original) for column, original in zip(recoding.columns, table.quasi_identifiers, strict=True)
    ]
    if all(one.disjoint for one in blocks):
        kept, pattern_of_group = _find_patterns(recoding)
        steps = _PATTERN_STEPS * len(kept) * len(points.counts)
        if steps <= limit:
            densities = _densities_of_patterns(table, points, groups, kept, pattern_of_group, blocks)
    # Boxes and bit sets otherwise.
    if densities is None:
        densities, steps = _densities_of_boxes(table, points, recoding, groups, limit)
    if densities is None:
        reason = (
            f"it would take about {steps:.1e} steps and the limit is {limit:.1e}: measure a sample of the rows, or "
            "raise the limit of kl_divergence"
        )
        return Divergence(value=None, reason=reason)
    # n f(p) ln(f(p) / f*(p)) at each point; the densities are n f*(p).
    terms = points.counts * np.log(points.counts / densities)
    return Divergence(value=max(0.0, math.fsum(terms) / table.rows))


def kl_divergence_by_attribute(table: Table, recoding: Recoding) -> dict[str, float]:
    """Compute the KL-divergence of each quasi-identifier's marginal distribution from the table's.

    In nats, at least 0; lower is better. It is 0 if the release preserves the frequency of each value.
    """
    return {
        column.name: _marginal_divergence(column, original, recoding.sizes)
        for column, original in zip(recoding.columns, table.quasi_identifiers, strict=True)
    }


def _marginal_divergence(column: RecodedColumn, original: Column, sizes: NDArray[np.int64]) -> float:
    # Each published row spreads weight 1 over the codes of its label.
    domains = column.sub_domains
    weights = np.bincount(column.group_codes, weights=sizes, minlength=len(column.labels)) / domains.sizes
    run_weights = np.repeat(weights, np.diff(domains.starts))
    # Single codes and full domains are handled apart, because they need no difference array.
    single = domains.first == domains.last
    whole = (domains.first == 0) & (domains.last == original.size - 1) & ~single
    density = np.bincount(domains.first[single], weights=run_weights[single], minlength=original.size)
    # Difference array: a run's weight is added at its first code and subtracted after its last one.
    steps = np.zeros(original.size + 1, dtype=np.longdouble)
    np.add.at(steps, domains.first[~single & ~whole], run_weights[~single & ~whole])
    np.subtract.at(steps, domains.last[~single & ~whole] + 1, run_weights[~single & ~whole])
    density = density + run_weights[whole].sum() + np.cumsum(steps)[:-1].astype(np.float64)
    counts = np.bincount(original.codes, minlength=original.size)
    present = counts > 0
    terms = counts[present] * np.log(counts[present] / density[present])
    return max(0.0, math.fsum(terms) / len(original.codes)) if len(original.codes) else 0.0


def _sort_by_selectivity(table: Table, recoding: Recoding) -> tuple[Table, Recoding]:
    """Sort the quasi-identifiers by selectivity, so that early intersections rule out most boxes."""
    # Average share of the domain that a published cell covers.
    allowed = [
        np.dot(column.sub_domains.sizes[column.group_codes], recoding.sizes) / original.size
        for column, original in zip(recoding.columns, table.quasi_identifiers, strict=True)
    ]
    order = np.argsort(allowed, kind="stable")
    return (
        replace(table, quasi_identifiers=tuple(table.quasi_identifiers[i] for i in order)),
        replace(recoding, columns=tuple(recoding.columns[i] for i in order)),
    )


def _find_points(table: Table) -> _Points:
    # Combine all sensitive attributes into one.
    value_of_row, values = rank([(column.codes, column.size) for column in table.sensitive], table.rows)
    columns: list[tuple[NDArray[Any], int]] = [(column.codes, column.size) for column in table.quasi_identifiers]
    columns.append((value_of_row, values))
    of_row, count = rank(columns, table.rows)
    # One row per point, from which its codes are copied.
    representatives = np.empty(count, dtype=np.int32)
    representatives[of_row] = np.arange(table.rows, dtype=np.int32)
    codes = np.empty((len(columns), count), dtype=np.int32)
    for i, (column, _) in enumerate(columns):
        codes[i] = column[representatives]
    return _Points(codes=codes, counts=np.bincount(of_row, minlength=count), of_row=of_row, values=values)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Blocks:
    """Blocks of values that the cells of an attribute other than stars represent, if they are pairwise disjoint."""

    disjoint: bool
    """Whether the blocks are disjoint; if not, the other fields are meaningless."""
    of_code: NDArray[np.int32]
    """Block of each code. Codes that only stars represent form an additional, last block."""
    shares: NDArray[np.float64]
    """Reciprocal of the number of values in each block."""

    @classmethod
    def of(cls, column: RecodedColumn, original: Column) -> _Blocks:
        domains = column.sub_domains
        # Labels of stars are left out.
        shown = np.ones(len(column.labels), dtype=np.bool_)
        shown[column.group_codes[column.stars]] = False
        run_shown = np.repeat(shown, np.diff(domains.starts))
        block_of_run = np.repeat(np.arange(len(shown), dtype=np.int32), np.diff(domains.starts))[run_shown]
        first, last = domains.first[run_shown].astype(np.int64), domains.last[run_shown].astype(np.int64)
        # Runs are disjoint if each one ends before the next one in order begins.
        order = np.argsort(first)
        disjoint = bool((last[order][:-1] < first[order][1:]).all())
        of_code = np.full(original.size, len(shown), dtype=np.int32)
        if disjoint:
            of_code[entries_of_rows(first, last + 1)] = np.repeat(block_of_run, last - first + 1)
        return cls(disjoint=disjoint, of_code=of_code, shares=np.append(1.0 / domains.sizes, 1.0))

    def __repr__(self) -> str:
        return f"_Blocks(values={len(self.of_code)}, blocks={len(self.shares)})"


def _find_patterns(recoding: Recoding) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """List the star patterns that occur, as masks of kept attributes, and the pattern of each group."""
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
    """Compute n f*(p) at every point for a release of disjoint blocks and stars."""
    # Replace codes by blocks.
    codes = points.codes.copy()
    for i, block in enumerate(blocks):
        codes[i] = block.of_code[codes[i]]
    sizes = [len(block.shares) for block in blocks]
    shares = np.concatenate([block.shares for block in blocks])
    # Mixed-radix keys if they fit into 63 bits, random odd multipliers (with comparison) otherwise.
    injective = math.prod(sizes) * points.values < _INJECTIVE_KEYS
    if injective:
        radices = [*sizes[1:], points.values, 1]
        multipliers = np.array([math.prod(radices[i:]) for i in range(len(radices))], dtype=np.int64)
    else:
        multipliers = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, len(sizes) + 1, dtype=np.int64) | 1
    # Rows sorted by pattern; a star contributes the factor 1 / |domain|.
    pattern_of_row = pattern_of_group[groups]
    _, rows = sort([(pattern_of_row, len(kept))], table.rows)
    starts = np.concatenate(([0], np.cumsum(np.bincount(pattern_of_row, minlength=len(kept)))))
    domains = np.array([column.size for column in table.quasi_identifiers])
    weights = np.where(kept, 1.0, 1.0 / domains).prod(axis=1)
    # Without blocks of several values, the kernel skips the factors.
    if (shares == 1.0).all():
        shares = shares[:0]
    offsets = np.cumsum(sizes) - sizes
    return np.asarray(
        pattern_densities(codes, multipliers, injective, points.of_row, rows, starts, kept, weights, offsets, shares)
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Entries:
    """Sensitive values of each released class, with the weight that they give to every point of its box."""

    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, points: _Points, recoding: Recoding, groups: NDArray[np.int32]) -> _Entries:
        classes = recoding.classes
        # Volume of each class's box.
        volumes = np.ones(classes.count)
        for column in recoding.columns:
            volumes *= column.sub_domains.sizes[column.group_codes[classes.representatives]]
        value_of_row = points.codes[-1][points.of_row]
        # Runs of equal keys are the rows of a class with the same sensitive value.
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
    """A traversal of the distinct combinations of quasi-identifiers that finds the boxes containing each of them."""

    points: _Points
    combinations: NDArray[np.int32]
    bits: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    entries: _Entries
    first: int
    """Index of the first released class of this block."""

    def visit(self, start: int, stop: int, densities: NDArray[np.float64]) -> int:
        """Add the weights of the boxes to the points of the combinations from start to stop; return the steps taken."""
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
        """Extrapolate the steps of the whole traversal from short runs, spread evenly over the combinations."""
        count = self.combinations.shape[1]
        length = min(_SAMPLE_LENGTH, count)
        runs = np.unique(np.linspace(0, count - length, _SAMPLE_RUNS).astype(np.int64))
        ignored = np.zeros(len(self.points.counts))
        work = sum([self.visit(int(start), int(start) + length, ignored) for start in runs])
        return int(work * count // (length * len(runs)))


def _densities_of_boxes(
    table: Table, points: _Points, recoding: Recoding, groups: NDArray[np.int32], limit: int
) -> tuple[NDArray[np.float64] | None, int]:
    """Compute n f*(p) at every point, or None if it takes too many steps; also return the steps, estimated or taken.

    Released classes are sorted by their cells, so that classes with common values share words of the bit sets.
    """
    classes = recoding.classes
    entries = _Entries.of(points, recoding, groups)
    combinations = np.ascontiguousarray(points.codes[:-1, points.combination_starts[:-1]])
    # The bit sets of all attributes are stacked; a block of classes fits into the memory limit.
    sizes = np.array([column.size for column in table.quasi_identifiers])
    offsets = np.cumsum(sizes) - sizes
    words = max(1, min(_BITS_MEMORY // (8 * int(sizes.sum())), -(-classes.count // 64)))
    blocks = range(0, classes.count, 64 * words)
    densities = np.zeros(len(points.counts))
    spent = 0
    # One block of classes after the other adds its weights.
    for number, first in enumerate(blocks):
        chosen = classes.representatives[first : first + 64 * words]
        bits = np.zeros((int(sizes.sum()), words), dtype=np.uint64)
        for column, offset, size in zip(recoding.columns, offsets, sizes, strict=True):
            domains = column.sub_domains
            labels = column.group_codes[chosen]
            box_bits(bits[offset : offset + size], labels, domains.starts, domains.first, domains.last)
        walk = _Walk(points=points, combinations=combinations, bits=bits, offsets=offsets, entries=entries, first=first)
        # Stop early if the estimate for the remaining blocks exceeds the limit.
        expected = spent + (bits.size + walk.expected_work()) * (len(blocks) - number)
        if expected > limit:
            return None, expected
        spent += bits.size + walk.visit(0, combinations.shape[1], densities)
    return densities, spent
