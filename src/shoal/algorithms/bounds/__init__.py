"""Lower bounds: what any release with the same requirement must pay on a table."""

from shoal.algorithms.bounds.stars import LowerBound, lower_bound

__all__ = ["LowerBound", "lower_bound"]
