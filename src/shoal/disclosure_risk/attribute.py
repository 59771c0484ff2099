"""Attribute disclosure: how sure an adversary can be of the sensitive value of a row.

References
----------
A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", ACM
Transactions on Knowledge Discovery from Data 1(1), 2007. doi:10.1145/1217299.1217302
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shoal.disclosure_risk.figures import Threshold
from shoal.disclosure_risk.frequencies import count_pairs
from shoal.disclosure_risk.reidentification import share_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.disclosure_risk.frequencies import Frequencies
    from shoal.table import Column

__all__ = ["attribute_disclosure", "class_confidence", "most_common"]

_VALUES = 64
"""Sensitive values that are counted at a time over compatible classes."""


def most_common(frequencies: Frequencies, sensitive: Column) -> NDArray[np.int64]:
    """Return for each class how many of the rows that it matches have their most common sensitive value."""
    classes, values, counts = count_pairs(frequencies.class_of, frequencies.classes, sensitive.codes, sensitive.size)
    if frequencies.join is None:
        return _most(classes, counts)
    most = np.zeros(frequencies.classes, dtype=np.int64)
    for first in range(0, sensitive.size, _VALUES):
        some = (values >= first) & (values < first + _VALUES)
        carried = np.zeros((frequencies.classes, min(_VALUES, sensitive.size - first)), dtype=np.int64)
        carried[classes[some], values[some] - first] = counts[some]
        np.maximum(most, frequencies.matching(carried).max(axis=1), out=most)
    return most


def _most(classes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.maximum.reduceat(counts, np.flatnonzero(np.diff(classes, prepend=-1)))


def class_confidence(
    class_of: NDArray[np.int64],
    sizes: NDArray[np.int64],
    sensitive: Column,
    times: NDArray[np.int64] | None = None,
) -> Threshold:
    """Return the confidence in the likeliest sensitive value of a row, for classes that are known already.

    Parameters
    ----------
    class_of : int64 array
        Class of each row.
    sizes : int64 array
        Rows of each class.
    sensitive : Column
        The sensitive attribute, in the order of the rows.
    times : int64 array, optional
        How many rows of the table each of them stands for, where that is not one.
    """
    classes, _, counts = count_pairs(class_of, len(sizes), sensitive.codes, sensitive.size, times)
    return attribute_disclosure(_most(classes, counts), sizes, sizes, Fraction(1, 2))


def attribute_disclosure(
    most: NDArray[np.int64], sample: NDArray[np.int64], rows_of: NDArray[np.int64], threshold: Fraction
) -> Threshold:
    """Return the confidence of an adversary in the likeliest sensitive value of a row: the share of its class.

    Parameters
    ----------
    most : int64 array
        How many of the f rows of each class have its most common value.
    sample, rows_of : int64 array
        f, and the rows of each class.
    threshold : Fraction
        The confidence that is still acceptable: 1 / l for l-diversity.
    """
    return Threshold(
        highest=float((most / sample).max()),
        average=math.fsum((most / sample * rows_of).tolist()) / int(rows_of.sum()),
        threshold=float(threshold),
        records_above=share_above(most, sample, rows_of, threshold),
    )
