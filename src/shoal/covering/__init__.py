"""Which published cells cover which values, and which have values in common, for many rows at once."""

from shoal.covering.box_tree import BoxTree
from shoal.covering.point_tree import PointTree, distinct_rows

__all__ = ["BoxTree", "PointTree", "distinct_rows"]
