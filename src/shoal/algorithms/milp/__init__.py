"""The integer program over generalization vectors: `milp` (the algorithm) and `program` (the program on arrays)."""

from shoal.algorithms.milp.milp import GeneralizationVectors

__all__ = ["GeneralizationVectors"]
