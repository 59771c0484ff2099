"""From a request and a table to a verified release, step by step."""

__all__: list[str] = []
