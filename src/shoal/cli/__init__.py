"""The command line: one module per command, shared options in one place; nothing else prints."""

__all__: list[str] = []
