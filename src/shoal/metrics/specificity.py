"""Precision and non-uniform entropy: how much less specific the published cells are than the original ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shoal.recoding import RecodedColumn, Recoding
    from shoal.table import Column, Table

__all__ = ["non_uniform_entropy", "non_uniform_entropy_by_attribute", "precision", "precision_by_attribute"]


def precision_by_attribute(recoding: Recoding) -> dict[str, float]:
    """Return the precision of each quasi-identifier: one minus the mean of steps up / height over its cells.

    A cell's steps are those from its value to the published node of its hierarchy; a star is at the top. An attribute
    without a hierarchy has one step, from a value to anything else: an interval, a set, a star. In [0, 1]; **higher**
    is better.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", International Journal
    of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002, Section 5. doi:10.1142/S021848850200165X
    """
    rows = max(recoding.rows, 1)
    return {column.name: 1.0 - float(np.dot(_steps(column), recoding.sizes)) / rows for column in recoding.columns}


def _steps(column: RecodedColumn) -> np.ndarray:
    """Return for each group the share of its hierarchy that a cell went up."""
    if column.levels is None:
        return np.asarray(~column.kept, dtype=np.float64)
    return np.where(column.stars, 1.0, column.levels / max(column.height, 1))


def precision(recoding: Recoding) -> float:
    """Return the precision of a release: the mean of `precision_by_attribute`; 1 where there is no quasi-identifier.

    In [0, 1]; **higher** is better.
    """
    found = precision_by_attribute(recoding).values()
    return sum(found) / len(found) if found else 1.0


def non_uniform_entropy_by_attribute(table: Table, recoding: Recoding) -> dict[str, float]:
    r"""Return the non-uniform entropy of each quasi-identifier, as a share of what stars in all its cells would lose.

    .. math:: \\sum_{i} -\\log_2 \\Pr(X = x_i \\mid X \\in X_i)

    where :math:`X_i` are the values that the published cell of row i stands for, and probabilities are shares of the
    table's rows: what a reader who knows how often each value occurs still has to learn. In [0, 1]; lower is better; 0
    where the column has one value only.

    References
    ----------
    A. Gionis and T. Tassa, "k-Anonymization with minimal loss of information", IEEE Transactions on Knowledge and Data
    Engineering 21(2), 2009, Section 4. doi:10.1109/TKDE.2008.129
    """
    bits = _bits(table, recoding)
    return {name: lost / most if most else 0.0 for name, (lost, most) in bits.items()}


def non_uniform_entropy(table: Table, recoding: Recoding) -> float:
    """Return the non-uniform entropy of a release as a share of what stars everywhere would lose.

    The bits of all quasi-identifiers (see `non_uniform_entropy_by_attribute`) are added up on both sides. In [0, 1];
    lower is better.
    """
    bits = _bits(table, recoding).values()
    most = math.fsum(of_column for _, of_column in bits)
    return math.fsum(lost for lost, _ in bits) / most if most else 0.0


def _bits(table: Table, recoding: Recoding) -> dict[str, tuple[float, float]]:
    """Return for each quasi-identifier the bits that were lost, and those that stars in all cells would lose."""
    pairs = zip(table.quasi_identifiers, recoding.columns, strict=True)
    return {original.name: _bits_of(original, column, recoding.sizes) for original, column in pairs}


def _bits_of(original: Column, column: RecodedColumn, sizes: np.ndarray) -> tuple[float, float]:
    counts = np.bincount(original.codes, minlength=original.size).astype(np.int64)
    own = float(np.dot(counts, np.log2(counts)))
    rows = int(counts.sum())
    most = max(rows * math.log2(rows) - own, 0.0) if original.size > 1 else 0.0
    if column.kept.all():
        return 0.0, most
    # Rows with a value that each label stands for.
    up_to = np.concatenate(([0], np.cumsum(counts)))
    domains = column.sub_domains
    of_runs = np.concatenate(([0], np.cumsum(up_to[domains.last.astype(np.int64) + 1] - up_to[domains.first])))
    inside = of_runs[domains.starts[1:]] - of_runs[domains.starts[:-1]]
    told = float(np.dot(sizes, np.log2(inside[column.group_codes])))
    return min(max(told - own, 0.0), most), most
