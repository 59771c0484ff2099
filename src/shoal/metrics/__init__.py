"""Information loss metrics: each metric is one function, `METRICS` holds them, `Metrics` computes them on demand."""

from shoal.metrics.classes import (
    average_class_size,
    discernability,
    gcp,
    ncp,
    recoded_cells_by_attribute,
    stars,
    stars_by_attribute,
    stars_fraction,
    suppressed_tuples,
    suppressed_tuples_fraction,
)
from shoal.metrics.divergence import Divergence, kl_divergence, kl_divergence_by_attribute
from shoal.metrics.metric_list import METRICS
from shoal.metrics.metrics import Metrics
from shoal.metrics.published_loss import (
    published_class_sizes,
    published_range_counts,
    published_star_counts,
)
from shoal.metrics.queries import random_ranges, workload_error
from shoal.metrics.specificity import (
    non_uniform_entropy,
    precision,
)

__all__ = [
    "METRICS",
    "Divergence",
    "Metrics",
    "average_class_size",
    "discernability",
    "gcp",
    "kl_divergence",
    "kl_divergence_by_attribute",
    "ncp",
    "non_uniform_entropy",
    "precision",
    "published_class_sizes",
    "published_range_counts",
    "published_star_counts",
    "random_ranges",
    "recoded_cells_by_attribute",
    "stars",
    "stars_by_attribute",
    "stars_fraction",
    "suppressed_tuples",
    "suppressed_tuples_fraction",
    "workload_error",
]
