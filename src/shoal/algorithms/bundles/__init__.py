"""Linked rows: the rows of a person stay together, and bundles of persons publish the same rows."""

__all__: list[str] = []
