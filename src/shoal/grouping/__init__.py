"""Groupings of one quasi-identifier: classes of at least k records, with the largest as small as possible."""

from shoal.grouping.base import Grouping, GroupingBound, GroupingGuarantee, check_grouping, simple_lower_bound
from shoal.grouping.labels.bin_covering import labels
from shoal.grouping.labels.label_coarsening import Labels
from shoal.grouping.ordered.intervals import IntervalGrouping, ordered
from shoal.grouping.ordered.ordered_coarsening import Ordered
from shoal.grouping.points.point_coarsening import Points
from shoal.grouping.points.rectangles import PointGrouping, check_rectangles, points
from shoal.grouping.regions.region_coarsening import Regions
from shoal.grouping.regions.regionalization import RegionGrouping, regions

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
