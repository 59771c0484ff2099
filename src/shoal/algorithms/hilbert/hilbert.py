"""Hilbert: groups of rows that are near each other on a space-filling curve (Ghinita, Karras, Kalnis, Mamoulis 2007).

References
----------
.. [1] G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis: Fast data anonymization with low information loss. VLDB 2007,
   pages 758-769. https://dl.acm.org/doi/10.5555/1325851.1325938
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import Boolean, parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.common.compiled import compile_requirement
from shoal.algorithms.common.tree_arrays import aligned_places, flat_trees
from shoal.algorithms.hilbert.curve_kernel import WORD_BITS, hilbert_words
from shoal.algorithms.hilbert.greedy_kernel import sweep_predicate
from shoal.algorithms.hilbert.sweep_kernel import sweep_lists, sweep_penalties, sweep_sizes
from shoal.models.requirement import FrequencyForm
from shoal.recoding import Levels
from shoal.table import Table
from shoal.table.sorting_kernel import sort_by_key

_ALIGNED_BITS = 24
"""Largest number of bits of a coordinate for the subtrees of a hierarchy: a curve need not separate finer ones."""
_MOST_STEPS = 2_000_000_000
"""Largest number of steps for the cuts of least penalty: a few seconds."""


@dataclass(frozen=True)
class Hilbert(Algorithm):
    """Order the rows along a Hilbert curve through the quasi-identifiers, and cut groups from it.

    Parameters
    ----------
    stretch : bool, default True
        Whether every attribute is stretched to the width of the largest domain before the curve is drawn. Otherwise
        the codes are the coordinates, small domains sit in a corner of the cube, and rows near each other on the curve
        differ in the small domains first: on census-like tables that leaves up to twice the stars.

    Notes
    -----
    The curve runs through the cube of the quasi-identifiers' codes; values without an order of their own come in the
    order of their dictionary. How domains of different sizes are scaled is our choice (`stretch`); as the refiner of
    TP+ the raw codes are used.

    * For l-diversity by frequency (and models that reduce to it) the sweep is that of the paper: one sorted list per
      sensitive value; a group takes from the lists that must be served so that the other rows stay eligible, then
      from the lists whose heads come first on the curve. Among heads at the same point the list with most rows there
      goes first. A group is larger than l if no group of l keeps the rest eligible, and if a smallest group is
      requested too (k > l) or l is a fraction.
    * For k-anonymity the cuts are optimal for that order, found by dynamic programming, if the cost of a group is
      the stars that it needs.
    * If values become nodes of hierarchies, the curve keeps the subtrees together: the children of a node share its
      part of the cube, rounded to a power of two so that it is halved as the curve halves the cube. The cost of a group
      is then the penalty of its lowest common ancestors, unless the rows times k are too many for that; an attribute
      without a hierarchy counts as a star.
    * For any other monotone requirement a group is closed as soon as it is acceptable: an extension of ours. If
      groups must be like the table, that takes long stretches of the curve (on Adult with t = 0.2 seven eighths of the
      information are lost); dealing each sensitive value out along the curve was tried and loses three quarters,
      because
      each value's rows are far from one another. The guarantee recommends SABRE instead.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people, quasi_identifiers=["age", "gender"], sensitive="income", k=5,
    ...     algorithm=shoal.algorithms.Hilbert(), seed=1
    ... )
    >>> release.certificate.achieved["k"] >= 5
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(divisible=True)
    """Capabilities of the algorithm."""

    name: ClassVar[str] = "hilbert"
    """Name of the algorithm in requests and certificates."""
    stretch: bool = field(
        default=True,
        metadata=parameter(Boolean(), "Whether every attribute is stretched to the width of the largest domain."),
    )

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        rows = np.arange(problem.table.rows, dtype=np.int32)
        groups, details = _sweep(problem, rows, self.stretch)
        like_table = problem.requirement.compares_with_table
        promise = Fact("hilbert_like_table") if like_table else Fact("heuristic", algorithm="Hilbert")
        return Partition.of(groups, Guarantee(promise=promise), details=details)


def hilbert_groups(problem: Problem, rows: NDArray[np.integer], *, stretch: bool = True) -> NDArray[np.int32]:
    """Partition a part of the rows with Hilbert, as TP+ does with TP's residue.

    Parameters
    ----------
    problem : Problem
        The table and a monotone requirement.
    rows : integer array of shape (r,)
        Different rows of the table. Together they satisfy the requirement.
    stretch : bool, default True
        See `Hilbert`.

    Returns
    -------
    int32 array of shape (r,)
        Group of each given row, 0 <= group < count; every group occurs and is acceptable.
    """
    return _sweep(problem, rows, stretch)[0]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Run:
    """A part of the rows along the curve."""

    sequence: NDArray[np.int32]
    """The rows, by class along the curve and by cell within."""
    cell_starts: NDArray[np.int32]
    """Start of each cell in `sequence`; one more than there are cells."""
    cell_values: NDArray[np.int32]
    """First sensitive value of each cell."""
    cell_ranks: NDArray[np.int32]
    """Place of each cell's class on the curve, ascending."""


def _sweep(problem: Problem, rows: NDArray[np.integer], stretch: bool) -> tuple[NDArray[np.int32], dict[str, Any]]:
    """Partition the given rows; return the group of each, and details for the certificate."""
    if len(rows) == 0:
        return np.empty(0, dtype=np.int32), {}
    problem.progress("hilbert", 0, 3)
    run = _run_of(problem, rows, stretch)
    problem.progress("hilbert", 1, 3)
    of_sequence = np.empty(len(rows), dtype=np.int32)
    # The requirement decides the sweep: lists, optimal cuts, or greedy groups.
    form = problem.requirement.frequency_form()
    if form is None:
        details = _close_greedily(problem, run, of_sequence)
    elif form.l == 1:
        details = _cut_optimally(problem, run, form.k, of_sequence)
    else:
        details = _sweep_lists(problem.table, run, form.within(problem.table.rows), of_sequence)
    problem.progress("hilbert", 2, 3)
    # From the sequence back to the given rows.
    of_row = np.empty(problem.table.rows, dtype=np.int32)
    of_row[run.sequence] = of_sequence
    problem.progress("hilbert", 3, 3)
    return of_row[rows], {"points": int(run.cell_ranks[-1]) + 1, **details}


def _run_of(problem: Problem, rows: NDArray[np.integer], stretch: bool) -> _Run:
    """Sort rows in the order of the curve, with one key for each class."""
    table = problem.table
    classes = table.classes
    # The cells of all rows, then of the given rows only.
    cells = np.repeat(np.arange(len(classes.cell_values), dtype=np.int32), classes.cell_counts)
    sequence = classes.order
    if len(rows) < table.rows:
        inside = np.zeros(table.rows, dtype=np.bool_)
        inside[rows] = True
        inside = inside[sequence]
        sequence, cells = sequence[inside], cells[inside]
    # Cells without a given row are dropped.
    counts = np.bincount(cells, minlength=len(classes.cell_values))
    kept = np.flatnonzero(counts)
    counts = counts[kept]
    class_of_cell = np.repeat(np.arange(classes.count, dtype=np.int32), np.diff(classes.class_starts))[kept]
    values = classes.cell_values[kept]
    firsts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    # Number the remaining classes without gaps, and choose a row of each.
    class_begins = np.flatnonzero(np.diff(class_of_cell, prepend=-1))
    class_sizes = np.diff(np.append(class_begins, len(kept)))
    ranks = curve_ranks(table, sequence[firsts[class_begins]], stretch, problem.levels if problem.hierarchies else ())
    cell_ranks = np.repeat(ranks, class_sizes)
    # Sort the cells along the curve, and move their rows with them.
    along = _argsort(cell_ranks.astype(np.int64), len(ranks))
    lengths = counts[along]
    ends = np.cumsum(lengths)
    moved = np.repeat(firsts[along] - (ends - lengths), lengths) + np.arange(len(sequence))
    return _Run(
        sequence=sequence[moved],
        cell_starts=np.concatenate(([0], ends)).astype(np.int32),
        cell_values=values[along],
        cell_ranks=cell_ranks[along],
    )


def curve_ranks(
    table: Table, representatives: NDArray[np.int32], stretch: bool, levels: Sequence[Levels] = ()
) -> NDArray[np.int32]:
    """Rank classes along the curve from a row of each, and the levels of attributes, if any."""
    order = np.arange(len(representatives), dtype=np.int32)
    # A column with a single value has no width.
    columns = [(a, column) for a, column in enumerate(table.quasi_identifiers) if column.size > 1]
    if columns:
        bits = max((column.size - 1).bit_length() for _, column in columns)
        trees = {a: levels[a] for a, _ in columns if levels and levels[a].hierarchical}
        aligned = {a: aligned_places(tree) for a, tree in trees.items()} if stretch else {}
        bits = max([bits, *(min(needed, _ALIGNED_BITS) for _, needed in aligned.values())])
        # Scale each column to the width of the cube.
        points = np.empty((len(representatives), len(columns)), dtype=np.int32)
        for place, (a, column) in enumerate(columns):
            codes = column.codes[representatives].astype(np.int64)
            if a in aligned:
                points[:, place] = aligned[a][0][codes] * (1 << bits)
            elif stretch:
                points[:, place] = codes * (1 << bits) // column.size
            else:
                points[:, place] = trees[a].places[codes] if a in trees else codes
        words = hilbert_words(points, bits)
        last = bits * len(columns) - WORD_BITS * (len(words) - 1)
        # Radix sort: least significant word first, stable.
        for word, width in zip(words[::-1], [last, *[WORD_BITS] * (len(words) - 1)], strict=True):
            _, order = sort_by_key(word[order], order, width)
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def _argsort(keys: NDArray[np.int64], bound: int) -> NDArray[np.int32]:
    """Sort keys below `bound`, stably; return the order."""
    order: NDArray[np.int32]
    _, order = sort_by_key(keys.copy(), np.arange(len(keys), dtype=np.int32), max(bound - 1, 0).bit_length())
    return order


def _sweep_lists(table: Table, run: _Run, form: FrequencyForm, groups: NDArray[np.int32]) -> dict[str, Any]:
    # One list for each sensitive value, sorted along the curve.
    m = table.sensitive[0].size
    by_value = _argsort(run.cell_values.astype(np.int64), m)
    list_starts = np.concatenate(([0], np.cumsum(np.bincount(run.cell_values, minlength=m)))).astype(np.int32)
    count, forced = sweep_lists(
        run.cell_ranks[by_value],
        run.cell_starts[by_value],
        np.diff(run.cell_starts)[by_value],
        list_starts,
        form.l.numerator,
        form.l.denominator,
        form.k,
        groups,
    )
    return {"sweep": "lists by sensitive value", "groups": int(count), "rows_served_because_they_must": int(forced)}


def _cut_optimally(problem: Problem, run: _Run, k: int, groups: NDArray[np.int32]) -> dict[str, Any]:
    columns = problem.table.quasi_identifiers
    # With hierarchies the cost is a penalty, if there is time for it.
    if problem.hierarchies and groups.size * 2 * k * len(columns) <= _MOST_STEPS:
        places = np.empty((len(run.sequence), len(columns)), dtype=np.int32)
        for place, (column, levels) in enumerate(zip(columns, problem.levels, strict=True)):
            places[:, place] = levels.places[column.codes[run.sequence]]
        count, penalty = sweep_penalties(places, flat_trees(problem.levels, every=True), k, groups)
        return {"sweep": "least penalty along the curve", "groups": int(count), "penalty": float(penalty)}
    # Otherwise the cost is the number of stars.
    changes = np.zeros((len(run.sequence), len(columns)), dtype=np.bool_)
    for place, column in enumerate(columns):
        codes = column.codes[run.sequence]
        np.not_equal(codes[1:], codes[:-1], out=changes[1:, place])
    count, stars = sweep_sizes(changes, k, groups)
    return {"sweep": "optimal cuts along the curve", "groups": int(count), "stars": int(stars)}


def _close_greedily(problem: Problem, run: _Run, groups: NDArray[np.int32]) -> dict[str, Any]:
    compiled = compile_requirement(problem.table, problem.requirement)
    # At each point the values are dealt out evenly, each in proportion to its rows there.
    counts = np.diff(run.cell_starts)
    place = np.arange(len(run.sequence)) - np.repeat(run.cell_starts[:-1], counts)
    dealt = (2 * place + 1) / np.repeat(2 * counts, counts)
    ranks = np.repeat(run.cell_ranks, counts)
    order = np.lexsort((dealt, ranks))
    of_order = np.empty(len(order), dtype=np.int32)
    count, tail = sweep_predicate(
        compiled.codes[run.sequence[order]],
        ranks[order],
        compiled.starts,
        compiled.rules,
        compiled.bounds,
        compiled.smallest,
        of_order,
    )
    groups[order] = of_order
    return {"sweep": "closed when acceptable", "groups": int(count), "rows_left_at_the_end": int(tail)}
