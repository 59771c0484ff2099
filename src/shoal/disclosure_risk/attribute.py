"""Attribute disclosure: the confidence of an adversary in the sensitive value of a row.

References
----------
A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", ACM
Transactions on Knowledge Discovery from Data 1(1), 2007. doi:10.1145/1217299.1217302
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.disclosure_risk.figures import Threshold
from shoal.disclosure_risk.frequencies import Frequencies, count_pairs
from shoal.disclosure_risk.reidentification import compute_share_above
from shoal.table import Column

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
