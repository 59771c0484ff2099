"""Tables of microdata: roles, columns as small integer codes with dictionaries, and equivalence classes."""

from shoal.table.classes import EquivalenceClasses, mixed_radix_keys
from shoal.table.encoding import Column, Table, encode
from shoal.table.fingerprint import fingerprint
from shoal.table.schema import Schema

__all__ = ["Column", "EquivalenceClasses", "Schema", "Table", "encode", "fingerprint", "mixed_radix_keys"]
