"""The one adapter to a solver of linear and mixed integer programs.

It knows neither tables nor privacy models: arrays go in, arrays come out. Algorithms and groupings build on it.
"""

from shoal.solver.highs import LiveProgram, Program, Rows, Solution, solve

__all__ = ["LiveProgram", "Program", "Rows", "Solution", "solve"]
