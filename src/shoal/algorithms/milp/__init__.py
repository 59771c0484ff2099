"""The integer program over generalization vectors: the algorithm (`milp`) and the program on arrays (`program`)."""

from shoal.algorithms.milp.milp import GeneralizationVectors

__all__ = ["GeneralizationVectors"]
