"""One quasi-identifier: its values grouped into classes of at least k records, the largest as small as possible."""

from shoal.geography.bin_covering import labels
from shoal.geography.column_coarsenings import Labels, Ordered, Points
from shoal.geography.grouping import Grouping, Guarantee, LowerBound, check_grouping, simple_lower_bound
from shoal.geography.intervals import IntervalGrouping, ordered
from shoal.geography.rectangles import PointGrouping, check_rectangles, points
from shoal.geography.region_coarsening import Regions
from shoal.geography.regions import RegionGrouping, regions

__all__ = [
    "labels",
    "ordered",
    "points",
    "regions",
    "Grouping",
    "Guarantee",
    "IntervalGrouping",
    "Labels",
    "LowerBound",
    "Ordered",
    "PointGrouping",
    "Points",
    "RegionGrouping",
    "Regions",
    "check_grouping",
    "check_rectangles",
    "simple_lower_bound",
]
