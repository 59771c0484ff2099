"""Requests: everything that is requested of a release, as a value."""

__all__: list[str] = []
