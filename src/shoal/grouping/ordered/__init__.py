"""Ordered values: in intervals of at least k records."""

__all__: list[str] = []
