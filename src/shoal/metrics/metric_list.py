"""The table of metrics, from which names, titles, directions and explanations are taken everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
    {
        metric.name: metric
        for metric in (
            Metric(
                name="gcp",
                title="global certainty penalty",
                heading="GCP",
                meaning="the share of its domain that a cell may be, on average: 0 nothing is lost, 1 everything is",
                tunable=True,
            ),
            Metric(
                name="kl_divergence",
                title="KL-divergence",
                heading="KL",
                meaning="Kullback-Leibler divergence of what a reader estimates from the release and the table, in "
                "nats; 0 is best (Kifer and Gehrke 2006)",
                tunable=True,
            ),
            Metric(
                name="non_uniform_entropy",
                title="non-uniform entropy",
                heading="entropy",
                meaning="the bits that were lost over the bits that stars everywhere would lose",
                tunable=True,
            ),
            Metric(
                name="precision",
                title="precision",
                heading="precision",
                meaning="1 minus the share of its hierarchy that a cell went up, on average; 1 is best (Sweeney 2002)",
                higher_is_better=True,
            ),
            Metric(name="stars", title="stars", heading="stars", meaning="suppressed cells", of_cost=True),
            Metric(
                name="stars_fraction",
                title="share of stars",
                heading="stars/cells",
                meaning="suppressed cells over all cells of quasi-identifiers",
                of_cost=True,
            ),
            Metric(
                name="suppressed_tuples",
                title="records with a star",
                heading="records",
                meaning="records with a suppressed cell",
                of_cost=True,
            ),
            Metric(
                name="suppressed_tuples_fraction",
                title="share of records with a star",
                heading="records/all",
                meaning="records with a suppressed cell over all records",
                of_cost=True,
            ),
            Metric(
                name="recoded_cells",
                title="recoded cells",
                heading="recoded",
                meaning="cells that are published less precisely than they were: stars, intervals and sets",
                of_cost=True,
            ),
            Metric(
                name="discernability",
                title="discernability",
                heading="DM",
                meaning="sum of the squared group sizes; smaller is better (Bayardo and Agrawal 2005)",
            ),
            Metric(
                name="mean_class_size",
                title="average group size",
                heading="size",
                meaning="records per group",
            ),
            Metric(
                name="average_class_size",
                title="normalized average group size",
                heading="size/k",
                meaning="records per group over the k of the request; 1 is best (LeFevre, DeWitt, Ramakrishnan 2006)",
            ),
        )
    }
)
"""All metrics of a release by name."""
