"""Re-publication of a table that changes: m-invariant series of releases, and the ledger that remembers them."""

from shoal.republication.ledger import RecordedRelease
from shoal.republication.m_invariance import Signatures, generalize
from shoal.republication.publication import Publication
from shoal.republication.release_ledger import Ledger
from shoal.republication.series import Series

__all__ = [
    "Ledger",
    "Publication",
    "RecordedRelease",
    "Series",
    "Signatures",
    "generalize",
]
