"""Tables of microdata: roles, columns as small integer codes with dictionaries, and equivalence classes."""

from shoal.table.classes import EquivalenceClasses, mixed_radix_keys
from shoal.table.encoding import Column, Table, encode
from shoal.table.fingerprint import KEYED, fingerprint, new_salt
from shoal.table.reading_alike import check_read_apart, count_alike, normalized_columns
from shoal.table.schema import Schema, roles
from shoal.table.text import dictionary_text

__all__ = [
    "KEYED",
    "Column",
    "EquivalenceClasses",
    "Schema",
    "Table",
    "check_read_apart",
    "count_alike",
    "dictionary_text",
    "encode",
    "fingerprint",
    "mixed_radix_keys",
    "new_salt",
    "normalized_columns",
    "roles",
]
