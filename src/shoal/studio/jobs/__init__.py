"""Jobs that the worker process runs: calls of public functions that return plain values."""

__all__: list[str] = []
