"""What analysts do with a release: compute with its cells, look at pictures of it, and see what a prediction loses."""

from shoal.analysis.bounds import Categories, Computable, bounds_of, midpoints_of
from shoal.analysis.pictures import plot_distributions, plot_risk
from shoal.analysis.release import ForAnalysts
from shoal.analysis.utility import Utility, Views, utility_of

__all__ = [
    "Categories",
    "Computable",
    "ForAnalysts",
    "Utility",
    "Views",
    "bounds_of",
    "midpoints_of",
    "plot_distributions",
    "plot_risk",
    "utility_of",
]
