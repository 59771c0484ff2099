"""Verification: measure and judge the privacy of a table from its published cells alone, and check that these are true.

The package shares no code with the modules that make releases: neither the encoding nor the kernels nor the algorithms.
It also interprets published cells for other packages: see `read_table`.
"""

from shoal.verification.achieved import Achieved
from shoal.verification.failures import Failure
from shoal.verification.faithfulness import check_faithful, find_covered_values
from shoal.verification.level_limits import check_level_limits
from shoal.verification.meaning import Meaning, collect_meanings
from shoal.verification.measured_table import Fitting, MeasuredTable
from shoal.verification.node_names import scale_of_names
from shoal.verification.owners import find_owners
from shoal.verification.published_columns import ReadColumn, ReadTable, read_table
from shoal.verification.same_rows import RowSums, check_same_rows
from shoal.verification.shown_values import check_shown_values

__all__ = [
    "Achieved",
    "MeasuredTable",
    "Failure",
    "Fitting",
    "Meaning",
    "ReadColumn",
    "ReadTable",
    "RowSums",
    "check_faithful",
    "check_level_limits",
    "check_same_rows",
    "check_shown_values",
    "collect_meanings",
    "find_covered_values",
    "find_owners",
    "read_table",
    "scale_of_names",
]
