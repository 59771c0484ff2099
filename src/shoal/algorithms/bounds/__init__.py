"""Lower bounds: what any release with the same requirement must pay on a table."""

from shoal.algorithms.bounds.loss import LossBound, loss_bound
from shoal.algorithms.bounds.stars import LowerBound, lower_bound

__all__ = ["LossBound", "LowerBound", "loss_bound", "lower_bound"]
