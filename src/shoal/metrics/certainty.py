"""Normalized certainty penalty: how uncertain a reader is about each cell. Lower is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shoal.recoding import Recoding

__all__ = ["gcp", "ncp"]


def ncp(recoding: Recoding) -> dict[str, float]:
    """Return the normalized certainty penalty of each quasi-identifier, averaged over its cells.

    A cell's penalty is 0 where the value was kept and 1 for a star; for an interval its length over the length of the
    domain (numbers and dates by their values, declared categories by rank), for a set
    (values in it - 1) / (values in the domain - 1), and for a node of a hierarchy (values below it - 1) / (values below
    the root - 1), where values that do not occur in the table are not counted. In [0, 1]; lower is better. The domain
    is what occurs in the table.

    References
    ----------
    J. Xu, W. Wang, J. Pei, X. Wang, B. Shi and A. W.-C. Fu, "Utility-based anonymization using local recoding",
    KDD 2006, Section 2.2. doi:10.1145/1150402.1150504
    """
    rows = max(recoding.rows, 1)
    return {column.name: float(np.dot(column.penalty, recoding.sizes)) / rows for column in recoding.columns}


def gcp(recoding: Recoding) -> float:
    """Return the global certainty penalty: `ncp` averaged over all cells of all quasi-identifiers.

    In [0, 1]; lower is better. For suppression it is the share of stars. 0 where there is no quasi-identifier.

    References
    ----------
    G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "Fast data anonymization with low information loss", VLDB 2007,
    pp. 758-769.
    """
    penalties = ncp(recoding).values()
    return sum(penalties) / len(penalties) if penalties else 0.0
