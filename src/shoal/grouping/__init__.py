"""Groupings of one quasi-identifier: classes of at least k records, with the largest as small as possible."""

from shoal.grouping.base import Grouping, GroupingBound, GroupingGuarantee, check_grouping, simple_lower_bound
from shoal.grouping.labels.bin_covering import Labels, labels
from shoal.grouping.ordered.intervals import IntervalGrouping, Ordered, ordered
from shoal.grouping.points.rectangles import PointGrouping, Points, check_rectangles, points
from shoal.grouping.regions.regionalization import RegionGrouping, Regions, regions

__all__ = [
    "labels",
    "ordered",
    "points",
    "regions",
    "Grouping",
    "GroupingGuarantee",
    "IntervalGrouping",
    "Labels",
    "GroupingBound",
    "Ordered",
    "PointGrouping",
    "Points",
    "RegionGrouping",
    "Regions",
    "check_grouping",
    "check_rectangles",
    "simple_lower_bound",
]
