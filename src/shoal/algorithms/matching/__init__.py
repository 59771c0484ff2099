"""Optimal 2-anonymity and 2-diversity: `matching` (the algorithm) and `cover_search` (the proof).

`cover_problem` defines covers and their costs. `cover_search` finds the cheapest cover, with the help of `parity_cuts`.
"""

from shoal.algorithms.matching.matching import Matching

__all__ = ["Matching"]
