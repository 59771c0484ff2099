"""The database of the ledger: records of releases and people, seals, encryption and recovery after a crash."""

from shoal.republication.ledger.records import RecordedRelease

__all__ = ["RecordedRelease"]
