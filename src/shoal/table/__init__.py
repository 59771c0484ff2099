"""Tables of microdata: column roles, dictionary-encoded columns, and equivalence classes."""

from shoal.table.classes import EquivalenceClasses, mixed_radix_keys
from shoal.table.encoding import Column, Table, encode
from shoal.table.fingerprint import KEYED, fingerprint, new_salt
from shoal.table.lists import find_separator, split_lists
from shoal.table.reading_alike import ENDS, INVISIBLE, check_distinguishable, count_alike, normalize_columns
from shoal.table.replacing import count_replaced, replace_values
from shoal.table.schema import Schema, roles
from shoal.table.text import dictionary_text

__all__ = [
    "ENDS",
    "INVISIBLE",
    "KEYED",
    "Column",
    "EquivalenceClasses",
    "Schema",
    "Table",
    "check_distinguishable",
    "count_alike",
    "count_replaced",
    "dictionary_text",
    "encode",
    "fingerprint",
    "mixed_radix_keys",
    "new_salt",
    "normalize_columns",
    "replace_values",
    "roles",
    "find_separator",
    "split_lists",
]
