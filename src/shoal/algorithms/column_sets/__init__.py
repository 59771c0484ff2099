"""Suppression of cells, and generalization, so that models hold for each of several sets of quasi-identifiers."""

from shoal.algorithms.column_sets.column_sets import SetSuppression
from shoal.algorithms.column_sets.levels import SetGeneralization

__all__ = ["SetGeneralization", "SetSuppression"]
