"""The table of metrics, from which names, titles, directions and explanations are taken everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shoal._core.file_formats import read_data_file


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measure of the information loss of a release, computed by `shoal.metrics.Metrics`."""

    name: str
    """Attribute name in `Metrics`; also used on the command line, in specs and in JSON."""
    title: str
    """Name in sentences and on axes."""
    heading: str
    """Heading of a narrow table column."""
    meaning: str
    """Explanation of the values for readers who do not know the metric."""
    higher_is_better: bool = False
    """Whether larger values are better."""
    tunable: bool = False
    """Whether coarsenings can be tuned for the metric: it distinguishes coarse values from stars, and compares the
    release with the table before coarsening."""
    of_cost: bool = False
    """Whether the metric is part of the cost in a certificate, so that a report need not repeat it."""

    def badness(self, value: float) -> float:
        """Convert a value so that lower is better."""
        return -value if self.higher_is_better else value


METRICS: Mapping[str, Metric] = MappingProxyType(
    {name: Metric(name=name, **entry) for name, entry in read_data_file(__package__, "metrics.toml").items()}
)
"""All metrics of a release by name."""
