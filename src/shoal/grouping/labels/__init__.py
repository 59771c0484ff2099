"""Grouping of labels (values without an order) into classes of at least k records: min-max bin covering."""

__all__: list[str] = []
