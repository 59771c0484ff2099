"""Grouping of points in the plane into disjoint rectangles of at least k records."""

__all__: list[str] = []
