"""The command line: one module per command and one for shared options; only these modules print."""

__all__: list[str] = []
