"""Inspection: describe a table before anything is requested of it, and propose a first request."""

from shoal.verbs.inspect.inspection import Inspection
from shoal.verbs.inspect.inspector import inspect

__all__ = ["Inspection", "inspect"]
