"""Information loss: one metric, one function; `METRICS` lists them, `Metrics` computes each when it is asked for."""

from shoal.metrics.catalogue import METRICS, Metric
from shoal.metrics.certainty import gcp, ncp
from shoal.metrics.classes import average_class_size, discernability, mean_class_size
from shoal.metrics.counts import (
    recoded_cells_by_attribute,
    stars,
    stars_by_attribute,
    stars_fraction,
    suppressed_tuples,
    suppressed_tuples_fraction,
)
from shoal.metrics.divergence import Divergence, kl_divergence, kl_divergence_by_attribute
from shoal.metrics.metrics import Metrics
from shoal.metrics.published import (
    published_average_class_size,
    published_class_sizes,
    published_discernability,
    published_range_counts,
    published_star_counts,
    published_stars,
    published_suppressed_tuples,
)
from shoal.metrics.queries import random_ranges, workload_error
from shoal.metrics.specificity import (
    non_uniform_entropy,
    non_uniform_entropy_by_attribute,
    precision,
    precision_by_attribute,
)

__all__ = [
    "METRICS",
    "Divergence",
    "Metric",
    "Metrics",
    "average_class_size",
    "discernability",
    "gcp",
    "kl_divergence",
    "kl_divergence_by_attribute",
    "mean_class_size",
    "ncp",
    "non_uniform_entropy",
    "non_uniform_entropy_by_attribute",
    "precision",
    "precision_by_attribute",
    "published_average_class_size",
    "published_class_sizes",
    "published_discernability",
    "published_range_counts",
    "published_star_counts",
    "published_stars",
    "published_suppressed_tuples",
    "random_ranges",
    "recoded_cells_by_attribute",
    "stars",
    "stars_by_attribute",
    "stars_fraction",
    "suppressed_tuples",
    "suppressed_tuples_fraction",
    "workload_error",
]
