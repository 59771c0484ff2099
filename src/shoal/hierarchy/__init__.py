"""Hierarchies of values, and coarsenings: less precise columns before a table is anonymized."""

from shoal.hierarchy.coarsening import Coarsened, Coarsening, coarsen_columns
from shoal.hierarchy.tree import Hierarchy

__all__ = ["Coarsened", "Coarsening", "Hierarchy", "coarsen_columns"]
