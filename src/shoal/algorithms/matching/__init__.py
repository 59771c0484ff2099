"""Optimal 2-anonymity and 2-diversity: `matching` (the algorithm), `simplex_matching` and `bipartite` (the proofs).

`cover_problem` defines covers and their costs. `cover_search` finds the cheapest cover, with the help of `parity_cuts`
and `group_arrays`.
"""

from shoal.algorithms.matching.matching import Matching

__all__ = ["Matching"]
