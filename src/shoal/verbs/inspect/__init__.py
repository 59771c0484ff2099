"""Inspection: what a table is like before anything is asked of it, and a first proposal of what to do with it."""

from shoal.verbs.inspect.inspected_column import InspectedColumn
from shoal.verbs.inspect.inspection import Inspection
from shoal.verbs.inspect.inspector import inspect

__all__ = ["InspectedColumn", "Inspection", "inspect"]
