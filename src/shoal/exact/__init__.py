"""Programs and searches that prove optimality, and the one adapter to a solver.

Nothing here knows tables or privacy models: arrays go in, arrays come out. Algorithms and the geography build on it.
"""

from shoal.exact.highs import LiveProgram, Program, Rows, Solution, solve

__all__ = ["LiveProgram", "Program", "Rows", "Solution", "solve"]
