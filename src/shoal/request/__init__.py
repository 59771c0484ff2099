"""What is requested of a release."""

__all__: list[str] = []
