"""The database of the ledger: records of releases and people, seals, encryption and recovery after a crash."""

from shoal._core.optional import require

for _library in ("sqlalchemy", "cryptography"):
    require(_library, extra="ledger", purpose="A ledger")

from shoal.republication.ledger.records import RecordedRelease  # noqa: E402  (it imports these libraries)

__all__ = ["RecordedRelease"]
