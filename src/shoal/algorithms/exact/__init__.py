"""The fewest stars of a small table, proven by dynamic programming over all groups."""

from shoal.algorithms.exact.exact import Exact

__all__ = ["Exact"]
