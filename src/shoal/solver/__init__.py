"""Adapter to the solver of linear and mixed-integer programs.

The package depends neither on tables nor on privacy models: its input and output are arrays. Algorithms and groupings
build on it.
"""

from shoal.solver.highs import LiveProgram, Program, Rows, Solution, solve

__all__ = ["LiveProgram", "Program", "Rows", "Solution", "solve"]
