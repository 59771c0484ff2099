"""Which published cells cover which values, and which have values in common, for many rows at once."""

from shoal.joins.box_join import BoxJoin
from shoal.joins.point_tree import PointTree, distinct_rows

__all__ = ["BoxJoin", "PointTree", "distinct_rows"]
