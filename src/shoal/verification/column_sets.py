"""Verification for sets of quasi-identifiers: the groups of equal published cells of each set by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.models.base import GroupCounts
from shoal.models.column_sets import ColumnSet
from shoal.models.diversity import largest_entropy_l
from shoal.models.rationals import STATED_DIGITS, largest_ratio, round_down, round_up
from shoal.models.requirement import Requirement
from shoal.verification.counting import count_and_place_groups, count_groups, encode_cells
from shoal.verification.units import name_units


def measure_sets(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    *,
    times: NDArray[np.int64] | None = None,
    units: pl.DataFrame | None = None,
    judge: Callable[[ColumnSet, Sequence[GroupCounts]], None] | None = None,
) -> dict[str, Any]:
    """Measure the privacy that the groups of each set of quasi-identifiers achieve by themselves.

    Only equal cells are equal: a star, an interval and a missing value are values like any other.

    Parameters
    ----------
    frame : polars.DataFrame
        Any table, at least one row.
    quasi_identifiers : sequence of str
        All quasi-identifiers.
    requirement : Requirement
        Its sets, and the sensitive attributes, which are counted only if a model reads them.
    times : int64 array, optional
        Multiplicity of each row, if `frame` holds distinct rows only.
    units : polars.DataFrame, optional
        The unit of each row, if the requirement counts units.
    judge : callable, optional
        Called with each set and the counts of its groups, for each attribute of the requirement.

    Returns
    -------
    dict
        The number of sets and the worst figures of all, and under "named" the figures of each set that was named.
    """
    coded, attributes = _encode(frame, quasi_identifiers, requirement, units)
    if times is not None:
        coded = coded[np.repeat(np.arange(coded.height), times)]
    measured: list[dict[str, Any]] = []
    named: list[dict[str, Any]] = []
    for one in requirement.sets:
        counts = count_groups(coded, one.columns, attributes)
        if judge is not None:
            judge(one, counts)
        sensitive = counts[len(attributes) - len(requirement.sensitive) :] if _reads_values(requirement) else ()
        figures = {"columns": list(one.columns), **_measure(counts[0].sizes, sensitive)}
        of_number = one.k is None and len(one.columns) == requirement.knows
        (measured if of_number else named).append(figures)
    # The worst of the sets that a number of columns describes, if there are any.
    judged = measured or named
    worst = min(judged, key=lambda one: one["k"])
    return {"sets": len(requirement.sets), **_find_worst(judged), "columns": worst["columns"], "named": named}


def place_groups_of_sets(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    *,
    times: NDArray[np.int64] | None = None,
    units: pl.DataFrame | None = None,
) -> Iterator[tuple[ColumnSet, tuple[GroupCounts, ...], NDArray[np.int64]]]:
    """Count the groups of each set, and find the first row of each group; see `count_and_place_groups`."""
    coded, attributes = _encode(frame, quasi_identifiers, requirement, units)
    for one in requirement.sets:
        yield one, *count_and_place_groups(coded, one.columns, attributes, times=times)


def _encode(
    frame: pl.DataFrame, quasi_identifiers: Sequence[str], requirement: Requirement, units: pl.DataFrame | None
) -> tuple[pl.DataFrame, list[str]]:
    """Replace quasi-identifiers by codes of their cells, and add the columns of units; also return what to count."""
    with_units, named = name_units(frame, units if requirement.counts_units else None)
    coded = with_units.with_columns(encode_cells(frame, quasi_identifiers))
    return coded, [named.get(name, name) for name in requirement.attributes] if requirement.reads_sensitive else []


def _reads_values(requirement: Requirement) -> bool:
    """Return whether a model reads sensitive values, so that they are counted."""
    return any(model.needs_sensitive and not model.of_units for model in requirement.group_models)


def _measure(sizes: NDArray[np.int64], counts: Sequence[GroupCounts]) -> dict[str, Any]:
    """Measure the groups of one set; figures are rounded against the publisher."""
    found: dict[str, Any] = {"k": int(sizes.min())}
    if counts:
        alpha: Fraction = max(largest_ratio(groups.heights, groups.sizes) for groups in counts)
        distinct = min(int(groups.distinct.min()) for groups in counts)
        entropy = min(largest_entropy_l(groups, STATED_DIGITS) for groups in counts)
        found["l"] = {"frequency": round_down(1 / alpha, STATED_DIGITS), "distinct": distinct, "entropy": entropy}
        found["alpha"] = round_up(alpha, STATED_DIGITS)
    return found


def _find_worst(measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the worst of each figure among all sets."""
    worst: dict[str, Any] = {"k": min(one["k"] for one in measured)}
    if "l" in measured[0]:
        worst["l"] = {name: min(one["l"][name] for one in measured) for name in measured[0]["l"]}
        worst["alpha"] = max(one["alpha"] for one in measured)
    return worst
