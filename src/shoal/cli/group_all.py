"""The group `shoal group` with all its commands."""

from __future__ import annotations

from shoal.cli.group import group
from shoal.cli.group_labels import labels
from shoal.cli.group_ordered import ordered
from shoal.cli.group_points import points
from shoal.cli.group_regions import regions

__all__ = ["group"]

for one in (labels, ordered, points, regions):
    group.add(one)
