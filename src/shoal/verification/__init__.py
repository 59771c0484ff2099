"""Verification: the privacy of a table, measured and judged from its published cells alone, and whether these are true.

It shares no code with what makes a release: not the encoding, not the kernels, not the algorithms. Published cells are
read here, for whoever asks what they stand for: `read_table`.
"""

from shoal.verification.achieved import Achieved, measure
from shoal.verification.counting import count_groups, count_population
from shoal.verification.failures import Failure, failures
from shoal.verification.faithfulness import check_faithful, covered_values
from shoal.verification.meaning import Meaning, declared_meanings
from shoal.verification.node_names import names_read_as
from shoal.verification.published_columns import ReadColumn, ReadTable, read_table
from shoal.verification.same_rows import RowSums, check_same_rows
from shoal.verification.shown_values import check_shown_values
from shoal.verification.units import number_units
from shoal.verification.verify import verify

__all__ = [
    "Achieved",
    "Failure",
    "Meaning",
    "ReadColumn",
    "ReadTable",
    "RowSums",
    "check_faithful",
    "check_same_rows",
    "check_shown_values",
    "count_groups",
    "count_population",
    "covered_values",
    "declared_meanings",
    "failures",
    "measure",
    "names_read_as",
    "number_units",
    "read_table",
    "verify",
]
