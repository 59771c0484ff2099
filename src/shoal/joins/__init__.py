"""Joins of published rows (boxes of cells) with points and other boxes that have values in common with them."""

from shoal.joins.box_join import BoxJoin
from shoal.joins.box_tree import PointTree, distinct_rows

__all__ = ["BoxJoin", "PointTree", "distinct_rows"]
