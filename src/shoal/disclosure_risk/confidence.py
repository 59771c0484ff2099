"""Confidence of an adversary in a sensitive value of a row, or of a person over all of the person's unlinked rows.

The adversary knows the quasi-identifiers of all rows of all persons, sees the groups, and considers all matchings of
the rows of a group with its persons equally likely. If a person has r of the g rows of a group, and c of the g rows
have a value, the person has that value in none of its rows with probability C(g - c, r) / C(g, r). Groups are matched
independently, so the probabilities of several groups are multiplied.

References
----------
A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", ACM
Transactions on Knowledge Discovery from Data 1(1), 2007. doi:10.1145/1217299.1217302
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.disclosure_risk.confidence_kernel import compute_least_doubt
from shoal.disclosure_risk.figures import Threshold
from shoal.disclosure_risk.frequencies import Frequencies, count_pairs
from shoal.disclosure_risk.reidentification import Reidentification, compute_share_above, reidentification_of_persons
from shoal.models.base import GroupCounts
from shoal.models.diversity import count_harmless_once
from shoal.models.rationals import STATED_DIGITS, largest_ratio, round_up
from shoal.table import Column
from shoal.verification import MeasuredTable

_MAX_FLOAT_ERROR = 1e-6
"""Upper bound on the error of floating-point confidences. Persons this close to a bound are decided with fractions."""
_LIKELY = Fraction(1, 2)
"""Confidence in a value from which it is more likely than all others together."""


@dataclass(frozen=True, kw_only=True)
class PersonConfidence:
    """Confidence of an adversary that a person has one sensitive value in some of its rows."""

    largest: Fraction
    """The largest probability, over all persons and values."""
    limit: Fraction | None
    """The largest share of a group that the models allow one value to have, or 1/2 without such a model; None if
    persons without such a model have one record each."""
    above: int
    """Number of persons with a value whose probability exceeds the limit; 0 without a limit."""
    average: float
    """Mean over the persons of the probability of their most probable value."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as in a certificate: the largest probability is rounded up."""
        stated: dict[str, Any] = {"largest": round_up(self.largest, STATED_DIGITS)}
        return stated if self.limit is None else {**stated, "limit": str(self.limit), "units_above": self.above}


@dataclass(frozen=True, kw_only=True)
class PersonFigures:
    """Counts of the records and persons of a release, for the publisher, who knows the persons of the records."""

    unit: str
    """Columns that identify the persons."""
    records: int
    """Number of rows of the release."""
    persons: int
    """Number of persons with at least one row."""
    most_records: int
    """Largest number of rows of a person."""
    least_in_group: int
    """Smallest number of distinct persons of a group."""
    average_in_group: Fraction
    """Mean number of distinct persons of a group."""
    largest_share: Fraction
    """Largest share that one person has of the rows of a group."""
    risk: Reidentification
    """The risk of re-identification of a person: the highest of any of its rows, in groups of different persons."""
    confidence: dict[str, PersonConfidence]
    """For each sensitive attribute: the confidence in a value of a person."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as in a certificate, rounded against the publisher."""
        return {
            "unit": self.unit,
            "records": self.records,
            "units": self.persons,
            "most_records": self.most_records,
            "least_in_group": self.least_in_group,
            "average_in_group": round(float(self.average_in_group), 2),
            "largest_share": round_up(self.largest_share, STATED_DIGITS),
            "k": int(1 / self.largest_share),
            "risk": self.risk.to_dict(),
            "confidence": {name: one.to_dict() for name, one in self.confidence.items()},
        }


def measure_persons(table: MeasuredTable) -> list[dict[str, Any]]:
    """Measure a published table by each kind of persons that have rows in it.

    A risk of 1 / k is acceptable for the k of its models, or 1 / 5 if there is none. Without a model that limits the
    share of a sensitive value, persons with several records are counted from a confidence of more than 1 / 2.

    Returns
    -------
    list of dict
        The `PersonFigures` of each kind, as in a certificate.
    """
    # The linked rows of a person reveal no more together than the bundles allow.
    asked = table.requirement
    sensitive = () if asked.counting.pseudonym else table.sensitive
    kinds = table.counts_of_owners.items()
    values = table.counts if kinds and sensitive else ()
    if asked.harmless:
        # Each row that has a harmless value counts as if its value were its own.
        values = tuple(replace(one, counts=count_harmless_once(one, asked.harmless)) for one in values)
    attributes = list(zip(sensitive, values, strict=False))
    limits = (asked.value_share or (_LIKELY if persons.population.height > 1 else None) for _, persons in kinds)
    found = (
        person_figures(kind, persons, attributes, limit, k=table.k)
        for (kind, persons), limit in zip(kinds, limits, strict=True)
    )
    return [{**one.to_dict(), **asked.counting.noted} for one in found]


def person_figures(
    name: str,
    persons: GroupCounts,
    attributes: Sequence[tuple[str, GroupCounts]],
    limit: Fraction | None,
    *,
    k: int = 1,
) -> PersonFigures:
    """Measure a release by its persons.

    Parameters
    ----------
    name : str
        Columns that identify the persons.
    persons : GroupCounts
        The rows of each person in each group.
    attributes : sequence of (name, GroupCounts)
        The rows of each sensitive value in the same groups.
    limit : Fraction, optional
        The share that models allow one value to have of a group.
    k : int
        As for `measure_persons`.
    """
    groups = np.repeat(np.arange(len(persons.sizes)), persons.distinct)
    return PersonFigures(
        unit=name,
        records=int(persons.sizes.sum()),
        persons=persons.population.distinct,
        most_records=persons.population.height,
        least_in_group=int(persons.distinct.min()),
        average_in_group=Fraction(len(persons.values), len(persons.sizes)),
        largest_share=largest_ratio(persons.heights, persons.sizes),
        risk=reidentification_of_persons(groups, persons.values, k=k),
        confidence={attribute: person_confidence(persons, counts, limit) for attribute, counts in attributes},
    )


def person_confidence(persons: GroupCounts, values: GroupCounts, limit: Fraction | None = None) -> PersonConfidence:
    """Measure the confidence of an adversary that a person has a value in some of its rows.

    Parameters
    ----------
    persons : GroupCounts
        The rows of each person in each group.
    values : GroupCounts
        The rows of each sensitive value in the same groups.
    limit : Fraction, optional
        Persons with a larger confidence are counted.

    Returns
    -------
    PersonConfidence
        Decided with integers: floating point only selects the persons that need them.
    """
    # Groups of each person, with its rows in them.
    order = np.argsort(persons.values, kind="stable")
    owners = persons.values[order]
    starts = np.append(np.flatnonzero(np.diff(owners, prepend=-1)), len(owners)).astype(np.int64)
    groups = np.repeat(np.arange(len(persons.sizes)), persons.distinct)[order]
    rows = persons.counts[order].astype(np.int64)
    least = compute_least_doubt(
        starts, groups, rows, values.starts, values.values, values.counts, values.sizes, np.int64(len(values.totals))
    )
    confidence = -np.expm1(least)
    exact = _ExactConfidence(starts, groups, rows, values)
    # The largest confidence, exactly: each different profile of a person is computed once.
    largest = exact.largest(np.flatnonzero(confidence >= confidence.max() - _MAX_FLOAT_ERROR))
    average = math.fsum(confidence.tolist()) / len(confidence)
    if limit is None:
        return PersonConfidence(largest=largest, limit=None, above=0, average=average)
    # Persons near the limit are decided exactly, all others by floating point.
    bound = float(limit)
    above = int(np.count_nonzero(confidence > bound + _MAX_FLOAT_ERROR))
    unsure = np.flatnonzero(np.abs(confidence - bound) <= _MAX_FLOAT_ERROR)
    return PersonConfidence(
        largest=largest, limit=limit, above=above + exact.count_above(unsure, limit), average=average
    )


def disclosure_to_persons(table: MeasuredTable, threshold: Fraction) -> dict[str, Threshold]:
    """Measure the confidence of an adversary in the most probable value of a person, over all of her rows.

    Parameters
    ----------
    table : MeasuredTable
        Its owners are the persons.
    threshold : Fraction
        The largest acceptable confidence.

    Returns
    -------
    dict of str to Threshold
        For each sensitive attribute; shares are of the persons.
    """
    (persons,) = table.counts_of_owners.values()
    found = {}
    for name, counts in zip(table.sensitive, table.counts, strict=False):
        one = person_confidence(persons, counts, threshold)
        found[name] = Threshold(
            highest=float(one.largest),
            average=one.average,
            threshold=float(threshold),
            records_above=one.above / persons.population.distinct,
        )
    return found


class _ExactConfidence:
    """Confidences as fractions, for the persons that floating point does not decide."""

    def __init__(
        self, starts: NDArray[np.int64], groups: NDArray[np.int64], rows: NDArray[np.int64], values: GroupCounts
    ) -> None:
        self._starts, self._groups, self._rows, self._values = starts, groups, rows, values
        self._known: dict[tuple[tuple[int, int], ...], Fraction] = {}

    def largest(self, persons: NDArray[np.intp]) -> Fraction:
        """Compute the largest confidence of the given persons."""
        single, several = self._split(persons)
        found = [self._compute(unit) for unit in several]
        groups = np.unique(self._groups[self._starts[single]])
        found += [Fraction(int(self._values.heights[g]), int(self._values.sizes[g])) for g in groups]
        return max(found)

    def count_above(self, persons: NDArray[np.intp], limit: Fraction) -> int:
        """Count the persons whose confidence exceeds a limit."""
        single, several = self._split(persons)
        groups = self._groups[self._starts[single]]
        # In Python's integers, group by group: the height of a group is its most frequent value.
        numbers, times = np.unique(groups, return_counts=True)
        heights, sizes = self._values.heights[numbers].tolist(), self._values.sizes[numbers].tolist()
        count = sum(
            time
            for height, size, time in zip(heights, sizes, times.tolist(), strict=True)
            if height * limit.denominator > size * limit.numerator
        )
        return int(count) + sum(self._compute(unit) > limit for unit in several)

    def _split(self, persons: NDArray[np.intp]) -> tuple[NDArray[np.intp], list[int]]:
        """Split persons into those with a single row, whose confidence is the largest share of a value, and others."""
        begins = self._starts[persons]
        alone = (self._starts[persons + 1] - begins == 1) & (self._rows[begins] == 1)
        return persons[alone], persons[~alone].tolist()

    def _compute(self, unit: int) -> Fraction:
        """Compute the largest confidence in a value of a person."""
        entries = slice(self._starts[unit], self._starts[unit + 1])
        profile = tuple(sorted(zip(self._groups[entries].tolist(), self._rows[entries].tolist(), strict=True)))
        # Persons with the same numbers of rows in the same groups have the same confidence.
        if profile not in self._known:
            without: dict[int, Fraction] = {}
            for g, r in profile:
                own = slice(self._values.starts[g], self._values.starts[g + 1])
                size = int(self._values.sizes[g])
                pairs = zip(self._values.values[own].tolist(), self._values.counts[own].tolist(), strict=True)
                for value, count in pairs:
                    without[value] = without.get(value, Fraction(1)) * Fraction(comb(size - count, r), comb(size, r))
            self._known[profile] = 1 - min(without.values())
        return self._known[profile]


_MAX_VALUES_PER_PASS = 64
"""Sensitive values that are counted in one pass over compatible classes."""


def most_common(frequencies: Frequencies, sensitive: Column) -> NDArray[np.int64]:
    """Count the rows with the most common sensitive value, for each class and the rows that it matches."""
    classes, values, counts = count_pairs(frequencies.class_of, frequencies.classes, sensitive.codes, sensitive.size)
    if frequencies.join is None:
        return _count_most_common(classes, counts)
    # If classes are compatible with others, count some values at a time to bound the memory.
    most = np.zeros(frequencies.classes, dtype=np.int64)
    for first in range(0, sensitive.size, _MAX_VALUES_PER_PASS):
        # The (class, value) pairs of this range of values, as a matrix of counts.
        some = (values >= first) & (values < first + _MAX_VALUES_PER_PASS)
        carried = np.zeros((frequencies.classes, min(_MAX_VALUES_PER_PASS, sensitive.size - first)), dtype=np.int64)
        carried[classes[some], values[some] - first] = counts[some]
        np.maximum(most, frequencies.matching(carried).max(axis=1), out=most)
    return most


def _count_most_common(classes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the largest count of each class."""
    return np.maximum.reduceat(counts, np.flatnonzero(np.diff(classes, prepend=-1)))


def class_confidence(
    class_of: NDArray[np.int64],
    sizes: NDArray[np.int64],
    sensitive: Column,
    times: NDArray[np.int64] | None = None,
) -> Threshold:
    """Measure the confidence in the most likely sensitive value of a row, for known classes.

    Parameters
    ----------
    class_of : int64 array
        Class of each row.
    sizes : int64 array
        Number of rows of each class.
    sensitive : Column
        The sensitive attribute, in the order of the rows.
    times : int64 array, optional
        Multiplicity of each row; one by default.
    """
    classes, _, counts = count_pairs(class_of, len(sizes), sensitive.codes, sensitive.size, times)
    return attribute_disclosure(_count_most_common(classes, counts), sizes, sizes, Fraction(1, 2))


def attribute_disclosure(
    most: NDArray[np.int64], sample: NDArray[np.int64], rows_of: NDArray[np.int64], threshold: Fraction
) -> Threshold:
    """Measure the confidence of an adversary in the most likely sensitive value of a row: its share in the class.

    Parameters
    ----------
    most : int64 array
        Number of the f rows of each class with its most common value.
    sample, rows_of : int64 array
        f, and the number of rows of each class.
    threshold : Fraction
        Largest acceptable confidence: 1 / l for l-diversity.

    Examples
    --------
    >>> import numpy as np
    >>> attribute_disclosure(np.array([2, 1]), np.array([2, 4]), np.array([2, 4]), Fraction(1, 2)).average
    0.5
    """
    # Rows of a class share the confidence of its most common value.
    return Threshold(
        highest=float((most / sample).max()),
        average=math.fsum((most / sample * rows_of).tolist()) / int(rows_of.sum()),
        threshold=float(threshold),
        records_above=compute_share_above(most, sample, rows_of, threshold),
    )
