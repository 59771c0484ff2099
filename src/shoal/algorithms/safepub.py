"""SafePub: the classes of sampled records, and levels of hierarchies that are chosen by the exponential mechanism.

Each combination of levels has a score: the sum, over its classes, of the information that a published record of the
class shows, times about how many of its records will be published. Another record changes one class of each
combination, by at most the sensitivity, and lowers no score. A combination is drawn with a probability in proportion to
e^(epsilon * score / sensitivity), which is epsilon-differentially private: the factor of two of the general mechanism
is needed only if a record may raise some scores and lower others. The draws need no rounded probabilities.

References
----------
R. Bild, K. A. Kuhn and F. Prasser: SafePub: a truthful data anonymization algorithm with strong privacy guarantees.
PoPETs 2018(1), pages 67-87. https://doi.org/10.1515/popets-2018-0004
F. McSherry and K. Talwar, "Mechanism design via differential privacy", FOCS 2007. doi:10.1109/FOCS.2007.66
C. L. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Algorithm 1.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import NOTHING_TO_CHANGE, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.errors import UnsupportedError
from shoal.hierarchy import Hierarchy
from shoal.models.requirement import Requirement
from shoal.table import mixed_radix_keys
from shoal.table.counts import rows_by_code


@dataclass(frozen=True)
class SafePub(Algorithm):
    """Each class of equal records is a group: any other group would depend on the records.

    Notes
    -----
    The draw of levels and of records, and leaving out small classes, come before this step (`shoal.pipeline.sampling`).
    The paper scores the sample, step by step from the top of the lattice, and its scores change by up to k - 1 with a
    record. Here all combinations of levels are scored once, on the table, by the expected number of published records,
    which changes less: the same epsilon draws a good combination from fewer records.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(2000, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people,
    ...     quasi_identifiers=["age", "gender"],
    ...     direct_identifiers="income",
    ...     privacy=shoal.models.DifferentialPrivacy(epsilon=1, delta=1e-6),
    ...     coarsen={"age": shoal.Bins(50)},
    ... )
    >>> release.certificate.achieved["k"] >= 74
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(keeps_classes=True, bytes_per_row=30)
    """Capabilities of the algorithm."""
    name: ClassVar[str] = "safepub"
    """Name of the algorithm in requests and certificates."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why the algorithm cannot serve a requirement; see `Algorithm.unsupported`."""
        return None if requirement.sampling is not None else "it serves differential privacy alone"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        # Small classes were left out before (`shoal.pipeline.sampling`), so that each class is acceptable.
        groups = problem.table.classes.of_rows.astype(np.int32)
        problem.progress(self.name, 1, 1)
        guarantee = Guarantee(
            promise=Fact("classes_as_they_are"),
            tuples_ratio=1,
            stars_ratio=1,
            stars_bound=0,
            proof=NOTHING_TO_CHANGE,
        )
        return Partition.of(groups, guarantee)


_FULL = 1000
"""Information of an exact value; that of a node is rounded down to an integer."""
_SLOPE = 6
"""Steepness of the expected number of published rows of a class around the least size. It is the sensitivity of a
score, up to a factor. A binomial distribution with a mean of 74 is about as steep."""
_MAX_COMBINATIONS = 50_000
"""Largest number of combinations of levels, all of which are scored; ten million rows with 141,108 distinct cells and
432 combinations take about four seconds."""


class LeveledColumn(NamedTuple):
    """A column as codes of values, with the node of each value at each level that may be drawn."""

    codes: NDArray[np.integer]
    """The code of the value of each row."""
    nodes: NDArray[np.integer]
    """Node of each value at each level, of shape (levels, values)."""
    information: NDArray[np.int64]
    """What a cell shows that publishes the node, from 0 for a star to 1000 for a value; the same shape."""

    @classmethod
    def fixed(cls, codes: NDArray[np.integer], size: int) -> LeveledColumn:
        """Describe a column that is published as it is."""
        nodes = np.arange(size)[None]
        return cls(codes, nodes, np.full(nodes.shape, _FULL))

    @classmethod
    def of_hierarchy(cls, codes: NDArray[np.integer], tree: Hierarchy, positions: NDArray[np.integer]) -> LeveledColumn:
        """Describe a column with a hierarchy, whose values are at these positions; -1 for the missing value."""
        # The information depends on the hierarchy alone, not on the values that occur.
        values, levels = len(tree.values), tree.levels[:, positions]
        below = [leaves[nodes] for leaves, nodes in zip(tree.leaves, levels, strict=True)]
        shown = [_FULL * (values - number) // max(values - 1, 1) for number in below]
        # A missing value stays missing at each level.
        missing = positions < 0
        return cls(codes, np.where(missing, values, levels), np.where(missing, _FULL, shown))


def sensitivity_of(columns: Sequence[LeveledColumn]) -> int:
    """Bound the change of a score by one row."""
    return _SLOPE * _FULL * len(columns)


def score_levels(columns: Sequence[LeveledColumn], counts: NDArray[np.int64], least: Fraction) -> list[int]:
    """Score all combinations of levels, the levels of the last column varying fastest.

    Parameters
    ----------
    columns : sequence of LeveledColumn
        At least one.
    counts : int64 array
        Number of rows of each entry of the columns.
    least : Fraction
        Size of a class of which about half of the draws are large enough to be published.

    Raises
    ------
    UnsupportedError
        If there are too many combinations.
    """
    combinations = prod(len(column.nodes) for column in columns)
    if combinations > _MAX_COMBINATIONS:
        raise UnsupportedError(
            f"The hierarchies have {combinations:,} combinations of levels, more than the {_MAX_COMBINATIONS:,} that "
            "are scored. Fix the levels of some columns, or leave levels out of their hierarchies."
        )
    # Of a class of the least size about half of the rows are published: the number rises from 0 a twelfth below it.
    begin = int(least * (2 * _SLOPE - 1) / (2 * _SLOPE))
    nothing = np.zeros(len(counts), dtype=np.int64)
    return list(_score(columns, [column.codes for column in columns], counts, nothing, begin))


def _score(
    columns: Sequence[LeveledColumn],
    codes: list[NDArray[np.integer]],
    counts: NDArray[np.int64],
    information: NDArray[np.int64],
    begin: int,
) -> Iterator[int]:
    """Yield the score of each combination of levels of some columns, which are the last ones of `codes`.

    The earlier columns are at a level already: their codes are nodes, and their cells show `information`.
    """
    if not columns:
        # The expected number of published rows is 0 up to `begin`, and rises faster than the size until it is the size.
        yield int((information * np.minimum(counts, _SLOPE * np.maximum(counts - begin, 0))).sum())
        return
    done = len(codes) - len(columns)
    for nodes, shown in zip(columns[0].nodes, columns[0].information, strict=True):
        # The classes of a level are unions of those of the level below, each with the codes of one of its rows.
        leveled = [*codes[:done], nodes[codes[done]], *codes[done + 1 :]]
        keys, _ = mixed_radix_keys([(one, int(one.max()) + 1) for one in leveled], len(counts))
        _, first, classes = np.unique(keys, return_index=True, return_inverse=True)
        counts = rows_by_code(classes, len(first), counts)
        codes = [one[first] for one in codes]
        information = information[first]
        published = [*codes[:done], nodes[codes[done]], *codes[done + 1 :]]
        yield from _score(columns[1:], published, counts, information + shown[codes[done]], begin)


def draw_levels(scores: Sequence[int], rate: Fraction, below: Callable[[int], int] = secrets.randbelow) -> int:
    """Draw an index with a probability in exact proportion to e^(rate * score).

    Parameters
    ----------
    scores : sequence of int
    rate : Fraction
        Above 0.
    below : callable
        Draws an integer of at least 0 and below its argument; by default of the operating system.
    """
    # Every index is equally likely to be tried, and accepted with the probability e^-(rate * (best - score)).
    best = max(scores)
    while True:
        tried = below(len(scores))
        if _flip(rate * (best - scores[tried]), below):
            return tried


def _flip(exponent: Fraction, below: Callable[[int], int]) -> bool:
    """Return True with the probability e^-exponent."""
    while exponent > 1:
        if not _flip(Fraction(1), below):
            return False
        exponent -= 1
    # The first failure of trials with the probabilities exponent / 1, exponent / 2, ... has an odd number.
    trial = 1
    while below(exponent.denominator * trial) < exponent.numerator:
        trial += 1
    return trial % 2 == 1
