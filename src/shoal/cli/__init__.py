"""The command line: one module per command, shared options in one place. The only room that prints."""

__all__: list[str] = []
