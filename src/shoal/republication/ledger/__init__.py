"""The ledger's database: how releases and people are remembered, sealed and recovered."""

from shoal.republication.ledger.records import RecordedRelease

__all__ = ["RecordedRelease"]
