"""Regions: neighbouring places in connected classes of at least k records."""

__all__: list[str] = []
