"""Publishing a table that changes again and again: m-invariance, and the ledger of who was published how."""

from shoal.republication.generalization import Generalization, generalize
from shoal.republication.ledger import Ledger
from shoal.republication.publication import Publication, PublicationCertificate
from shoal.republication.records import RecordedRelease
from shoal.republication.series import Series
from shoal.republication.series_audit import SeriesAudit
from shoal.republication.signatures import Signatures

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
