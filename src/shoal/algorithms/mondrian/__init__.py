"""Mondrian: recursive cuts at the median."""

from shoal.algorithms.mondrian.mondrian import Mondrian

__all__ = ["Mondrian"]
