"""Labels: values without an order, in classes of at least k records (min-max bin covering)."""

__all__: list[str] = []
