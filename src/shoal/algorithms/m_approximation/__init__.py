"""The approximation of the fewest stars for k-anonymity; its cascade is that of `tp`."""

from shoal.algorithms.m_approximation.m_approximation import MApproximation

__all__ = ["MApproximation"]
