"""Lower bounds on the cost of any release of a table with the same requirement."""

from shoal.algorithms.bounds.loss import LeastLosses, LossBound, least_losses, loss_bound
from shoal.algorithms.bounds.stars import LowerBound, lower_bound, lower_bound_of_sets

__all__ = ["LeastLosses", "LossBound", "LowerBound", "least_losses", "loss_bound", "lower_bound", "lower_bound_of_sets"]
