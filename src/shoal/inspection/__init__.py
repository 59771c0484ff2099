"""Inspection: what a table is like before anything is asked of it, and a first proposal of what to do with it."""

from shoal.inspection.columns import InspectedColumn
from shoal.inspection.inspector import inspect
from shoal.inspection.result import Inspection

__all__ = ["InspectedColumn", "Inspection", "inspect"]
