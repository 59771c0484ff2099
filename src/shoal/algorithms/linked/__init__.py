"""Linked rows: the rows of a unit stay together, and bundles of units publish the same rows."""

__all__: list[str] = []
