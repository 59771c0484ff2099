"""Which published cells have values in common, for many rows at once: trees over boxes of cells."""

from shoal.covering.box_tree import BoxTree

__all__ = ["BoxTree"]
