"""Precision and non-uniform entropy: the loss of specificity of published cells."""

from __future__ import annotations

import math

import numpy as np

from shoal.recoding import RecodedColumn, Recoding
from shoal.table import Column, Table


def precision_by_attribute(recoding: Recoding) -> dict[str, float]:
    """Compute the precision of each quasi-identifier: one minus the average of level / height over its cells.

    The level of a cell is the number of steps from its value up to the published node of the hierarchy; a star is at
    the top. An attribute without a hierarchy has a single step from a value to an interval, a set or a star. In [0, 1];
    **higher** is better.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", International Journal
    of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002, Section 5. doi:10.1142/S021848850200165X
    """
    rows = max(recoding.rows, 1)
    return {column.name: 1.0 - float(np.dot(_steps(column), recoding.sizes)) / rows for column in recoding.columns}


def _steps(column: RecodedColumn) -> np.ndarray:
    """Compute the generalization level of each group as a share of the height."""
    if column.levels is None:
        return np.asarray(~column.kept, dtype=np.float64)
    # A star is at the top, although it need not be a node of the hierarchy.
    return np.where(column.stars, 1.0, column.levels / max(column.height, 1))


def precision(recoding: Recoding) -> float:
    """Compute the precision of a release: the mean of `precision_by_attribute`, or 1 if there is no quasi-identifier.

    In [0, 1]; **higher** is better.
    """
    found = precision_by_attribute(recoding).values()
    return sum(found) / len(found) if found else 1.0


def non_uniform_entropy_by_attribute(table: Table, recoding: Recoding) -> dict[str, float]:
    r"""Compute the non-uniform entropy of each quasi-identifier, as a share of the entropy of full suppression.

    .. math:: \\sum_{i} -\\log_2 \\Pr(X = x_i \\mid X \\in X_i)

    Here :math:`X_i` is the set of values that the published cell of row i represents, and probabilities are shares of
    the table's rows. The sum is the number of bits that a reader who knows the frequency of each value lacks. In [0,
    1]; lower is better; 0 if the column is constant.

    References
    ----------
    A. Gionis and T. Tassa, "k-Anonymization with minimal loss of information", IEEE Transactions on Knowledge and Data
    Engineering 21(2), 2009, Section 4. doi:10.1109/TKDE.2008.129
    """
    bits = _bits(table, recoding)
    return {name: lost / most if most else 0.0 for name, (lost, most) in bits.items()}


def non_uniform_entropy(table: Table, recoding: Recoding) -> float:
    """Compute the non-uniform entropy of a release, as a share of the entropy of full suppression.

    Numerator and denominator are summed over all quasi-identifiers (see `non_uniform_entropy_by_attribute`). In [0, 1];
    lower is better.
    """
    bits = _bits(table, recoding).values()
    most = math.fsum(of_column for _, of_column in bits)
    return math.fsum(lost for lost, _ in bits) / most if most else 0.0


def _bits(table: Table, recoding: Recoding) -> dict[str, tuple[float, float]]:
    """Compute the lost bits of each quasi-identifier, and the bits that full suppression would lose."""
    pairs = zip(table.quasi_identifiers, recoding.columns, strict=True)
    return {original.name: _bits_of(original, column, recoding.sizes) for original, column in pairs}


def _bits_of(original: Column, column: RecodedColumn, sizes: np.ndarray) -> tuple[float, float]:
    counts = np.bincount(original.codes, minlength=original.size).astype(np.int64)
    # With c the count of a row's value and C that of its cell, a row loses log2(C) - log2(c) bits.
    own = float(np.dot(counts, np.log2(counts)))
    rows = int(counts.sum())
    most = max(rows * math.log2(rows) - own, 0.0) if original.size > 1 else 0.0
    if column.kept.all():
        return 0.0, most
    # C for each label: the rows with a value that the label represents.
    up_to = np.concatenate(([0], np.cumsum(counts)))
    domains = column.sub_domains
    of_runs = np.concatenate(([0], np.cumsum(up_to[domains.last.astype(np.int64) + 1] - up_to[domains.first])))
    inside = of_runs[domains.starts[1:]] - of_runs[domains.starts[:-1]]
    cell_bits = float(np.dot(sizes, np.log2(inside[column.group_codes])))
    # Rounding may leave a result slightly outside of the valid range.
    return min(max(cell_bits - own, 0.0), most), most
