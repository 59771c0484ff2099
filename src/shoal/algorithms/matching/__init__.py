"""Optimal 2-anonymity and 2-diversity: `matching` (the algorithm), `simplex_matching` and `bipartite` (the proofs).

The cover and what it costs are in `cover_problem`; the search for the cheapest is `cover_search`, with
`parity_cuts`, `neighbourhoods` and `group_arrays`.
"""

from shoal.algorithms.matching.matching import Matching

__all__ = ["Matching"]
