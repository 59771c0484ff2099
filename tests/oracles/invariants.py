"""Assertions that hold for every algorithm, used by the suite that all algorithms pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tests.oracles.oracles import Partition, Predicate, cost_of_partition, groups_of_labels, is_partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LabelledRows", "Promise", "check_guarantee", "check_lower_bound", "check_partition", "unchanged"]


class LabelledRows(Protocol):
    """Protocol of the result of an algorithm, such as `shoal.algorithms.base.Partition`."""

    @property
    def groups(self) -> NDArray[np.int32]:
        """Group of each row."""

    @property
    def count(self) -> int:
        """Number of groups."""


class Promise(Protocol):
    """Protocol of a guarantee, such as `shoal.algorithms.base.Guarantee`."""

    @property
    def tuples_ratio(self) -> Fraction | int | None:
        """Upper bound on suppressed tuples relative to the fewest possible."""

    @property
    def stars_ratio(self) -> Fraction | int | None:
        """Upper bound on stars relative to the fewest possible."""


def check_partition(
    partition: LabelledRows,
    *,
    rows: int,
    sensitive: Sequence[Sequence[Any]] = (),
    predicates: Sequence[Predicate] = (),
) -> Partition:
    """Check that a result is a partition of the rows into acceptable groups.

    Parameters
    ----------
    partition : Partition
        The result of an algorithm.
    rows : int
        Number of rows of the table.
    sensitive : sequence of sequences
        Values of each sensitive attribute; empty if the requirement uses none.
    predicates : sequence of callables
        Predicates of every group, for each sensitive attribute (`oracles.predicate_of`). If there is no sensitive
        attribute, the row numbers replace its values.

    Returns
    -------
    list of lists of int
        The rows of each group, by group number.

    Raises
    ------
    AssertionError
        If an invariant is broken; the message has group and row numbers.
    """
    labels = partition.groups
    assert isinstance(labels, np.ndarray), "groups are no array"
    assert labels.dtype == np.int32, f"groups are of type {labels.dtype}, not int32"
    assert labels.shape == (rows,), f"groups have the shape {labels.shape}, the table has {rows} rows"
    found = sorted(set(labels.tolist()))
    assert found == list(range(partition.count)), f"group numbers are not 0 to {partition.count - 1}, each used"
    groups = groups_of_labels(labels.tolist())
    assert is_partition(groups, rows), "rows are lost or repeated"
    for attribute, values in enumerate(sensitive or [range(rows)]):
        for number, group in enumerate(groups):
            for position, predicate in enumerate(predicates):
                assert predicate([values[row] for row in group]), (
                    f"group {number} of {len(group)} rows breaks predicate {position} of attribute {attribute}"
                )
    return groups


def check_guarantee(
    promise: Promise, groups: Partition, rows: Sequence[Sequence[Any]], *, fewest: dict[str, int]
) -> None:
    """Check that the guarantee of a run holds.

    Parameters
    ----------
    promise : Guarantee
        Guarantee of the partition.
    groups : list of lists of int
        The partition.
    rows : sequence of sequences
        Quasi-identifiers of each row.
    fewest : dict
        Optimal cost by kind, "stars" and "tuples", from `oracles.optimal_partition`.
    """
    ratios = {"tuples": promise.tuples_ratio, "stars": promise.stars_ratio}
    for kind, optimum in fewest.items():
        cost = cost_of_partition(rows, groups, kind)  # type: ignore[arg-type]
        assert cost >= optimum, f"{cost} {kind}, fewer than the optimum of {optimum}: some oracle is wrong"
        ratio = ratios[kind]
        assert ratio is None or cost <= ratio * optimum, f"{cost} {kind}, promised were at most {ratio} times {optimum}"


def check_lower_bound(bound: int, optimum: int) -> None:
    """Check that a lower bound does not exceed the optimum."""
    assert 0 <= bound <= optimum, f"a lower bound of {bound} on a cost that can be {optimum}"


@contextmanager
def unchanged(*arrays: NDArray[Any]) -> Iterator[None]:
    """Check that a block of code does not change given arrays."""
    before = [array.copy() for array in arrays]
    yield
    for position, (array, copy) in enumerate(zip(arrays, before, strict=True)):
        assert np.array_equal(array, copy), f"array {position} was changed"
