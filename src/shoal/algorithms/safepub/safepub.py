"""The partition of SafePub, whose records were sampled and whose small classes were left out before.

References
----------
R. Bild, K. A. Kuhn and F. Prasser: SafePub: a truthful data anonymization algorithm with strong privacy guarantees.
PoPETs 2018(1), pages 67-87. https://doi.org/10.1515/popets-2018-0004
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal.algorithms.base import NOTHING_TO_CHANGE, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.models import Requirement


@dataclass(frozen=True)
class SafePub(Algorithm):
    """Each class of equal records is a group: any other group would depend on the records.

    Notes
    -----
    The draw of levels and of records, and leaving out small classes, come before this step (`shoal.pipeline.sampling`).
    The paper scores the sample, step by step from the top of the lattice, and its scores change by up to k - 1 with a
    record. Here all combinations of levels are scored once, on the table, by the expected number of published records,
    which changes less: the same epsilon draws a good combination from fewer records.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(2000, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people,
    ...     quasi_identifiers=["age", "gender"],
    ...     direct_identifiers="income",
    ...     privacy=shoal.models.DifferentialPrivacy(epsilon=1, delta=1e-6),
    ...     coarsen={"age": shoal.Bins(50)},
    ... )
    >>> release.certificate.achieved["k"] >= 74
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(keeps_classes=True, bytes_per_row=30)
    """Capabilities of the algorithm."""
    name: ClassVar[str] = "safepub"
    """Name of the algorithm in requests and certificates."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why the algorithm cannot serve a requirement; see `Algorithm.unsupported`."""
        return None if requirement.sampling is not None else "it serves differential privacy alone"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        # Small classes were left out before (`shoal.pipeline.sampling`), so that each class is acceptable.
        groups = problem.table.classes.of_rows.astype(np.int32)
        problem.progress(self.name, 1, 1)
        guarantee = Guarantee(
            promise=Fact("classes_as_they_are"),
            tuples_ratio=1,
            stars_ratio=1,
            stars_bound=0,
            proof=NOTHING_TO_CHANGE,
        )
        return Partition.of(groups, guarantee)
