"""Publishing a table that changes again and again: m-invariance, and the ledger of who was published how."""

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
