"""Optimal 2-anonymity and 2-diversity: `matching` (the algorithm), `simplex_matching` and `bipartite` (the proofs).

The search for a cheapest cover is `cover_search`, with `parity_cuts`, `neighbourhoods` and `group_arrays`.
"""

from shoal.algorithms.matching.matching import Matching

__all__ = ["Matching"]
