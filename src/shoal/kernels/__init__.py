"""Compiled functions of arrays and scalars. They import nothing of shoal's and are cached after the first call."""

__all__: list[str] = []
