"""What every package of shoal uses: validation, progress, text, figures, threads, and optional imports."""

__all__: list[str] = []
