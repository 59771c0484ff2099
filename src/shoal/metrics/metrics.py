"""All metrics of one release, each computed when it is first asked for."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.unpicklable import Unpicklable
from shoal.errors import UsageError
from shoal.metrics import certainty, classes, counts, divergence, specificity
from shoal.metrics.metric_list import METRICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.recoding import Recoding
    from shoal.table import Table

__all__ = ["Metrics"]


@dataclass(frozen=True, repr=False, eq=False)
class Metrics(Unpicklable):
    """The information loss of a release, by every metric of `shoal.metrics.METRICS`.

    It is measured against the original microdata: where columns were coarsened before, a published cell stands for all
    original values that became what it shows, so that coarsening and anonymization count together.
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    table: Table
    """The original microdata."""
    recoding: Recoding
    """What every group publishes, in values of `table`; see `shoal.recoding.compose`."""
    groups: NDArray[np.int32]
    """Group of each row."""
    _: KW_ONLY
    k: int | None = None
    """The size that every class has at least by request, for the average class size; None where none was asked for."""
    as_rows: bool = False
    """Whether cells with counts may become rows for the metrics that know nothing of counts: they fit into memory."""

    @cached_property
    def stars(self) -> int:
        """Suppressed cells; see `shoal.metrics.stars`."""
        return counts.stars(self.recoding)

    @cached_property
    def stars_fraction(self) -> float:
        """Suppressed cells as a share of all quasi-identifier cells."""
        return counts.stars_fraction(self.recoding)

    @cached_property
    def suppressed_tuples(self) -> int:
        """Rows with at least one star; see `shoal.metrics.suppressed_tuples`."""
        return counts.suppressed_tuples(self.recoding)

    @cached_property
    def suppressed_tuples_fraction(self) -> float:
        """Rows with at least one star as a share of all rows."""
        return counts.suppressed_tuples_fraction(self.recoding)

    @cached_property
    def recoded_cells(self) -> int:
        """Cells that are published less precisely than they were: stars, intervals and sets."""
        return self.recoding.recoded_cells

    @cached_property
    def discernability(self) -> int:
        """Sum of the squared class sizes; see `shoal.metrics.discernability`."""
        return classes.discernability(self.recoding)

    @cached_property
    def mean_class_size(self) -> float:
        """Rows / classes; see `shoal.metrics.mean_class_size`."""
        return classes.mean_class_size(self.recoding)

    @cached_property
    def average_class_size(self) -> float:
        """Rows / classes / k; see `shoal.metrics.average_class_size`."""
        return classes.average_class_size(self.recoding, self.k)

    @cached_property
    def ncp(self) -> dict[str, float]:
        """Normalized certainty penalty of each quasi-identifier; see `shoal.metrics.ncp`."""
        return certainty.ncp(self.recoding)

    @cached_property
    def gcp(self) -> float:
        """Global certainty penalty; see `shoal.metrics.gcp`."""
        return certainty.gcp(self.recoding)

    @cached_property
    def precision(self) -> float:
        """One minus the mean share of its hierarchy that a cell went up; see `shoal.metrics.precision`."""
        return specificity.precision(self.recoding)

    @cached_property
    def non_uniform_entropy(self) -> float:
        """Bits lost over the bits that stars everywhere would lose; see `shoal.metrics.non_uniform_entropy`."""
        rows = self._rows("non_uniform_entropy")
        return specificity.non_uniform_entropy(rows.table, self.recoding)

    @cached_property
    def divergence(self) -> divergence.Divergence:
        """KL-divergence, or why it was not computed; see `shoal.metrics.kl_divergence`."""
        rows = self._rows("kl_divergence")
        return divergence.kl_divergence(rows.table, self.recoding, rows.groups)

    @property
    def kl_divergence(self) -> float | None:
        """KL-divergence in nats; None where it would take too long (`divergence.reason` says so)."""
        return self.divergence.value

    @cached_property
    def by_attribute(self) -> dict[str, dict[str, float]]:
        """Stars, recoded cells, certainty penalty, precision, non-uniform entropy, KL-divergence of each attribute."""
        rows = self._rows("by_attribute")
        stars = counts.stars_by_attribute(self.recoding)
        recoded = counts.recoded_cells_by_attribute(self.recoding)
        precision = specificity.precision_by_attribute(self.recoding)
        entropy = specificity.non_uniform_entropy_by_attribute(rows.table, self.recoding)
        marginal = divergence.kl_divergence_by_attribute(rows.table, self.recoding)
        return {
            name: {
                "stars": stars[name],
                "recoded_cells": recoded[name],
                "ncp": self.ncp[name],
                "precision": precision[name],
                "non_uniform_entropy": entropy[name],
                "kl_divergence": marginal[name],
            }
            for name in stars
        }

    def _rows(self, name: str) -> Metrics:
        """Return the same of rows, each of which stands for itself: some metrics know nothing of counts."""
        times = self.table.counts
        if times is None:
            return self
        if not self.as_rows:
            raise UsageError(
                f"{name} is measured of tables in memory only: this release was made of cells with counts. Take gcp, "
                "ncp, stars, discernability or precision, or read the release and measure it as a table."
            )
        rows = np.repeat(np.arange(self.table.rows), times)
        return Metrics(self.table.entries(rows, None), self.recoding, self.groups[rows], k=self.k)

    def totals(self) -> dict[str, Any]:
        """Return the value of every metric of `METRICS`, by its name; computes those that were not asked for yet."""
        return {name: getattr(self, name) for name in METRICS}

    def to_dict(self) -> dict[str, Any]:
        """Return every metric by its name, for JSON; computes those that were not asked for yet."""
        result = self.totals() | {"by_attribute": self.by_attribute}
        if self.divergence.reason is not None:
            result["kl_divergence_reason"] = self.divergence.reason
        return result

    def __repr__(self) -> str:
        return f"Metrics(stars={self.stars}, suppressed_tuples={self.suppressed_tuples}, gcp={self.gcp:.4f})"
