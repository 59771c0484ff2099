"""The ledger's database: how releases and people are remembered, sealed, recovered and brought up to date."""

from shoal.republication.ledger.records import RecordedRelease

__all__ = ["RecordedRelease"]
