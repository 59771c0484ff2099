"""Suppression of cells so that models hold for each of several sets of quasi-identifiers."""

from shoal.algorithms.column_sets.column_sets import SetSuppression

__all__ = ["SetSuppression"]
