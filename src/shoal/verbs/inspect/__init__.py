"""Inspection: describe a table before anything is requested of it, and propose a first request."""

from shoal.verbs.inspect.inspection import InspectedColumn, Inspection
from shoal.verbs.inspect.inspector import inspect

__all__ = ["InspectedColumn", "Inspection", "inspect"]
