"""Analysis of a release: bounds of its cells, charts, and the loss of prediction quality."""

from shoal.release.analysis.analyst_utility import AnalystUtility, measure_analyst_utility
from shoal.release.analysis.cell_bounds import bounds_of, midpoints_of
from shoal.release.analysis.charts import plot_distributions, plot_risk
from shoal.release.analysis.prediction_utility import Utility
from shoal.release.analysis.views import RowPairs, computable, measure_utility, select_row_pairs

__all__ = [
    "AnalystUtility",
    "RowPairs",
    "Utility",
    "bounds_of",
    "computable",
    "measure_analyst_utility",
    "measure_utility",
    "midpoints_of",
    "plot_distributions",
    "plot_risk",
    "select_row_pairs",
]
