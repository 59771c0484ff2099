"""Assertions that hold for every algorithm, for the one parametrised suite that all of them pass."""

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
    """What an algorithm returns: `shoal.algorithms.base.Partition` is one."""

    @property
    def groups(self) -> NDArray[np.int32]:
        """Group of each row."""

    @property
    def count(self) -> int:
        """Number of groups."""


class Promise(Protocol):
    """What an algorithm promises: `shoal.algorithms.base.Guarantee` is one."""

    @property
    def tuples_ratio(self) -> Fraction | int | None:
        """Suppressed tuples over the fewest possible, at most."""

    @property
    def stars_ratio(self) -> Fraction | int | None:
        """Stars over the fewest possible, at most."""


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
        What an algorithm returned.
    rows : int
        Rows of the table.
    sensitive : sequence of sequences
        The values of each sensitive attribute; none where the requirement looks at none.
    predicates : sequence of callables
        What every group must satisfy, for each sensitive attribute (`oracles.predicate_of`); where there is no
        sensitive attribute, the row numbers stand for one.

    Returns
    -------
    list of lists of int
        The rows of each group, by group number.

    Raises
    ------
    AssertionError
        Says which invariant is broken, with group and row numbers.
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
    """Check that what an algorithm promised for a run is true of it.

    Parameters
    ----------
    promise : Guarantee
        What the algorithm returned with its partition.
    groups : list of lists of int
        The partition.
    rows : sequence of sequences
        Quasi-identifiers of each row.
    fewest : dict
        The optimal cost by kind, "stars" and "tuples", as `oracles.optimal_partition` finds it.
    """
    ratios = {"tuples": promise.tuples_ratio, "stars": promise.stars_ratio}
    for kind, optimum in fewest.items():
        cost = cost_of_partition(rows, groups, kind)  # type: ignore[arg-type]
        assert cost >= optimum, f"{cost} {kind}, fewer than the optimum of {optimum}: some oracle is wrong"
        ratio = ratios[kind]
        assert ratio is None or cost <= ratio * optimum, f"{cost} {kind}, promised were at most {ratio} times {optimum}"


def check_lower_bound(bound: int, optimum: int) -> None:
    """Check that a lower bound is one."""
    assert 0 <= bound <= optimum, f"a lower bound of {bound} on a cost that can be {optimum}"


@contextmanager
def unchanged(*arrays: NDArray[Any]) -> Iterator[None]:
    """Check that a block of code changes none of some arrays."""
    before = [array.copy() for array in arrays]
    yield
    for position, (array, copy) in enumerate(zip(arrays, before, strict=True)):
        assert np.array_equal(array, copy), f"array {position} was changed"
