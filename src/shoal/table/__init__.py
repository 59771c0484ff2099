"""Tables of microdata: roles, columns as small integer codes with dictionaries, and equivalence classes."""

from shoal.table.classes import EquivalenceClasses, mixed_radix_keys
from shoal.table.encoding import Column, Table, encode
from shoal.table.fingerprint import KEYED, fingerprint, new_salt
from shoal.table.schema import Schema
from shoal.table.text import check_seen_apart, dictionary_text

__all__ = [
    "KEYED",
    "Column",
    "EquivalenceClasses",
    "Schema",
    "Table",
    "check_seen_apart",
    "dictionary_text",
    "encode",
    "fingerprint",
    "mixed_radix_keys",
    "new_salt",
]
