"""Grouping of ordered values into intervals of at least k records."""

__all__: list[str] = []
