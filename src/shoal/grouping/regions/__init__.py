"""Grouping of regions into connected classes of at least k records."""

__all__: list[str] = []
