"""Points in the plane: in disjoint rectangles of at least k records."""

__all__: list[str] = []
