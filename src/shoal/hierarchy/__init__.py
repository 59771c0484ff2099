"""Hierarchies of values, and coarsenings: less precise columns before a table is anonymized."""

from shoal.hierarchy.coarsening import Coarsening, coarsen_columns

__all__ = ["Coarsening", "coarsen_columns"]
