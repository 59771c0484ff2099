"""Top-down specialization: the search, and the taxonomy that it specializes along."""

from shoal.algorithms.tds.top_down_specialization import TopDownSpecialization

__all__ = ["TopDownSpecialization"]
