"""Which published cells cover which values, and which have values in common, for many rows at once."""

from shoal.covering.box_join import BoxJoin
from shoal.covering.point_tree import PointTree, distinct_rows

__all__ = ["BoxJoin", "PointTree", "distinct_rows"]
