"""The normalized certainty penalty, which measures how imprecise the published cells are. Lower is better."""

from __future__ import annotations

import numpy as np

from shoal.recoding import Recoding


def ncp(recoding: Recoding) -> dict[str, float]:
    """Compute the normalized certainty penalty of each quasi-identifier, averaged over its cells.

    The penalty of a cell is 0 if its value was kept, and 1 for a star. For an interval, it is the length of the
    interval divided by the length of the domain (numbers and dates by value, declared categories by rank). For a set,
    it is (values in the set - 1) / (values in the domain - 1). For a node of a hierarchy, it is (values below the node
    - 1) / (values below the root - 1). Domains consist of the values that occur in the table. In [0, 1]; lower is
    better.

    References
    ----------
    J. Xu, W. Wang, J. Pei, X. Wang, B. Shi and A. W.-C. Fu, "Utility-based anonymization using local recoding", KDD
    2006, Section 2.2. doi:10.1145/1150402.1150504

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"age": [31, 31, 40, 44], "city": ["Bonn", "Ulm", "Bonn", "Bonn"]})
    >>> release = shoal.anonymize(frame, k=2, quasi_identifiers=["age", "city"], algorithm="mondrian")
    >>> sorted(release.metrics.ncp)
    ['age', 'city']
    """
    rows = max(recoding.rows, 1)
    return {column.name: float(np.dot(column.penalty, recoding.sizes)) / rows for column in recoding.columns}


def gcp(recoding: Recoding) -> float:
    """Compute the global certainty penalty: `ncp` averaged over all cells of all quasi-identifiers.

    In [0, 1]; lower is better. For suppression this is the share of stars. 0 if there is no quasi-identifier.

    References
    ----------
    G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "Fast data anonymization with low information loss", VLDB 2007,
    pp. 758-769.
    """
    penalties = ncp(recoding).values()
    return sum(penalties) / len(penalties) if penalties else 0.0
