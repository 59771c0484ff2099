"""All metrics of one release, each computed at first access."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.unpicklable import Unpicklable
from shoal.errors import UsageError
from shoal.metrics import classes, divergence, specificity
from shoal.metrics.metric_list import METRICS
from shoal.recoding import Recoding
from shoal.table import Table


@dataclass(frozen=True, repr=False, eq=False)
class Metrics(Unpicklable):
    """Information loss of a release by every metric of `shoal.metrics.METRICS`.

    The loss is measured against the original microdata. If columns were coarsened first, a published cell represents
    all original values that were mapped to it, so that coarsening and anonymization are measured together.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"age": [31, 31, 40, 44], "city": ["Bonn", "Ulm", "Bonn", "Bonn"]})
    >>> shoal.anonymize(frame, k=2, quasi_identifiers=["age", "city"]).metrics.stars
    4
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    table: Table
    """The original microdata."""
    recoding: Recoding
    """Published cells of every group, in values of `table`; see `shoal.recoding.compose`."""
    groups: NDArray[np.int32]
    """Group of each row."""
    _: KW_ONLY
    k: int | None = None
    """Requested minimum class size, used by the average class size; None if there is none."""
    as_rows: bool = False
    """Whether cells with counts may be expanded to rows, for metrics that do not support counts. The rows must fit into
    memory."""
    finer: pl.DataFrame | None = None
    """The original values of sensitive and insensitive columns that were coarsened, row by row; None if there are
    none."""

    @cached_property
    def stars(self) -> int:
        """Number of suppressed cells; see `shoal.metrics.stars`."""
        return classes.stars(self.recoding)

    @cached_property
    def stars_fraction(self) -> float:
        """Suppressed cells as a share of all quasi-identifier cells."""
        return classes.stars_fraction(self.recoding)

    @cached_property
    def suppressed_tuples(self) -> int:
        """Number of rows with at least one star; see `shoal.metrics.suppressed_tuples`."""
        return classes.suppressed_tuples(self.recoding)

    @cached_property
    def suppressed_tuples_fraction(self) -> float:
        """Rows with at least one star as a share of all rows."""
        return classes.suppressed_tuples_fraction(self.recoding)

    @cached_property
    def recoded_cells(self) -> int:
        """Number of cells that coarsening or groups made less precise: stars, intervals and sets."""
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
        return classes.ncp(self.recoding)

    @cached_property
    def gcp(self) -> float:
        """Global certainty penalty; see `shoal.metrics.gcp`."""
        return classes.gcp(self.recoding)

    @cached_property
    def precision(self) -> float:
        """One minus the average generalization level as a share of the height; see `shoal.metrics.precision`."""
        return specificity.precision(self.recoding)

    @cached_property
    def non_uniform_entropy(self) -> float:
        """Lost bits as a share of the loss of full suppression; see `shoal.metrics.non_uniform_entropy`."""
        rows = self._rows("non_uniform_entropy")
        return specificity.non_uniform_entropy(rows.table, self.recoding)

    @cached_property
    def divergence(self) -> divergence.Divergence:
        """KL-divergence, or the reason why it was not computed; see `shoal.metrics.kl_divergence`."""
        rows = self._rows("kl_divergence")
        return divergence.kl_divergence(rows.table, self.recoding, rows.groups)

    @property
    def kl_divergence(self) -> float | None:
        """KL-divergence in nats, or None if it would take too long (see `divergence.reason`)."""
        return self.divergence.value

    @cached_property
    def by_attribute(self) -> dict[str, dict[str, float]]:
        """Stars, recoded cells, certainty penalty, precision, entropy and KL-divergence of each attribute."""
        # The first four support counts; entropy and divergence need rows.
        rows = self._rows("by_attribute")
        stars = classes.stars_by_attribute(self.recoding)
        recoded = classes.recoded_cells_by_attribute(self.recoding)
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
        """Return the metrics of the expanded rows, for metrics that do not support counts."""
        # Without counts, each entry is a row already.
        times = self.table.counts
        if times is None:
            return self
        if not self.as_rows:
            raise UsageError(
                f"{name} requires the table in memory, but this release was computed from cells with counts. Use gcp, "
                "ncp, stars, discernability or precision, or read the release and measure it as a table."
            )
        # Repeat each cell as often as it is counted.
        rows = np.repeat(np.arange(self.table.rows), times)
        finer = None if self.finer is None else self.finer[rows]
        return Metrics(self.table.entries(rows, None), self.recoding, self.groups[rows], k=self.k, finer=finer)

    def totals(self) -> dict[str, Any]:
        """Compute the value of every metric in `METRICS`, by name."""
        return {name: getattr(self, name) for name in METRICS}

    def to_dict(self) -> dict[str, Any]:
        """Serialize every metric by name, for JSON."""
        result = self.totals() | {"by_attribute": self.by_attribute}
        # JSON has no value for a metric that was not computed; its reason is reported.
        if self.divergence.reason is not None:
            result["kl_divergence_reason"] = self.divergence.reason
        return result

    def __repr__(self) -> str:
        return f"Metrics(stars={self.stars}, suppressed_tuples={self.suppressed_tuples}, gcp={self.gcp:.4f})"
