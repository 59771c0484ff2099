"""Publishing a table that changes again and again: m-invariance, and the ledger of who was published how."""

from shoal.republication.ledger import RecordedRelease
from shoal.republication.m_invariance import Generalization, Signatures, generalize
from shoal.republication.publication import Publication, PublicationCertificate
from shoal.republication.release_ledger import Ledger
from shoal.republication.series import Series
from shoal.republication.series_audit import SeriesAudit

__all__ = [
    "Generalization",
    "Ledger",
    "Publication",
    "PublicationCertificate",
    "RecordedRelease",
    "Series",
    "SeriesAudit",
    "Signatures",
    "generalize",
]
