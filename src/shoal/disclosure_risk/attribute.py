"""Attribute disclosure: how sure an adversary can be of the sensitive value of a row.

References
----------
A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", ACM
Transactions on Knowledge Discovery from Data 1(1), 2007. doi:10.1145/1217299.1217302
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shoal.disclosure_risk.figures import Threshold
from shoal.disclosure_risk.frequencies import count_pairs
from shoal.disclosure_risk.reidentification import share_above

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from shoal.disclosure_risk.frequencies import Frequencies
    from shoal.table import Column

__all__ = ["attribute_disclosure", "most_common"]

_VALUES = 64
"""Sensitive values that are counted at a time over compatible classes."""


def most_common(frequencies: Frequencies, sensitive: Column) -> NDArray[np.int64]:
    """Return for each class how many of the rows that it matches have their most common sensitive value."""
    classes, values, counts = count_pairs(frequencies.class_of, frequencies.classes, sensitive.codes, sensitive.size)
    if frequencies.join is None:
        return np.maximum.reduceat(counts, np.flatnonzero(np.diff(classes, prepend=-1)))
    most = np.zeros(frequencies.classes, dtype=np.int64)
    for first in range(0, sensitive.size, _VALUES):
        some = (values >= first) & (values < first + _VALUES)
        carried = np.zeros((frequencies.classes, min(_VALUES, sensitive.size - first)), dtype=np.int64)
        carried[classes[some], values[some] - first] = counts[some]
        np.maximum(most, frequencies.matching(carried).max(axis=1), out=most)
    return most


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
