"""Verification: the privacy of a table, measured and judged from its published cells alone.

It shares no code with what makes a release: not the encoding, not the kernels, not the algorithms.
"""

from shoal.verification.achieved import Achieved, measure
from shoal.verification.counting import count_groups, count_population
from shoal.verification.verify import verify

__all__ = ["Achieved", "count_groups", "count_population", "measure", "verify"]
