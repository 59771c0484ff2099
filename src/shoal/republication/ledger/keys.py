"""The key of a ledger: without it nobody can tell whose signature is whose, not even whether a person is there at all.

The ledger never holds an id. It holds a keyed hash of it (BLAKE2b, 128 bits), a check of the person's sensitive value
and one of the quasi-identifiers, to notice changes. A check is a keyed hash of the value, hidden under a pad that is
different for every person: equal values of two persons look unrelated to whoever has no key.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal._unpicklable import Unpicklable
from shoal.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["ENVIRONMENT", "LedgerKey", "Pseudonyms", "SeriesKeys", "key_file_of", "pending_of"]

ENVIRONMENT = "SHOAL_LEDGER_KEY"
"""The environment variable that may hold the key, as 64 hexadecimal digits."""
_BYTES = 32
_IDS_AT_ONCE = 250_000


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerKey(Unpicklable):
    """The secret of a ledger."""

    _holds: ClassVar[str] = "the secret of a ledger"
    _instead: ClassVar[str] = "Hand on the path of its file."

    secret: bytes
    """32 random bytes."""

    @classmethod
    def new(cls) -> LedgerKey:
        """Make a key of the operating system's randomness."""
        return cls(secret=secrets.token_bytes(_BYTES))

    @classmethod
    def parse(cls, text: str, *, source: str) -> LedgerKey:
        """Read a key from its 64 hexadecimal digits.

        Raises
        ------
        LedgerError
            Where it is none; the message names the source, not the text.
        """
        try:
            secret = bytes.fromhex(text.strip())
        except ValueError:
            secret = b""
        if len(secret) != _BYTES:
            raise LedgerError(
                f"{source} holds no key of a ledger: that is {2 * _BYTES} hexadecimal digits, as 'shoal republish "
                "init' writes them. Restore it from a backup."
            )
        return cls(secret=secret)

    @classmethod
    def read(cls, path: Path) -> LedgerKey:
        """Read a key from its file, which nobody else may read."""
        try:
            mode = path.stat().st_mode
            text = path.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            raise LedgerError(f"The key file '{path}' cannot be read: {reason}.") from None
        if os.name == "posix" and mode & 0o077:
            raise LedgerError(
                f"The key file '{path}' can be read by others (mode {mode & 0o777:04o}), who could then tell from the "
                f"ledger who was published with what. Close it: chmod 600 '{path}'"
            )
        return cls.parse(text, source=f"The key file '{path}'")

    def write(self, path: Path) -> None:
        """Write the key to a new file that only its owner can read."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(self.secret.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def fingerprint(self) -> str:
        """What the ledger keeps to recognize its key; it does not help to find the key."""
        return blake2b(b"the key of a shoal ledger", key=self.secret, digest_size=16).hexdigest()

    def fits(self, fingerprint: str) -> bool:
        """Return whether this is the key that a ledger was made with."""
        return compare_digest(self.fingerprint, fingerprint)

    def of_series(self, uid: str) -> SeriesKeys:
        """Return the keys of one series: a person in two series has two unrelated hashes."""
        return SeriesKeys(
            **{
                purpose: blake2b(f"{purpose}\0{uid}".encode(), key=self.secret, digest_size=_BYTES).digest()
                for purpose in ("persons", "values", "records")
            }
        )

    def __repr__(self) -> str:
        return f"LedgerKey(fingerprint={self.fingerprint!r})"


def key_file_of(ledger: Path) -> Path:
    """Return where the key of a ledger in a file lies unless told otherwise: beside it."""
    return ledger.with_name(ledger.name + ".key")


def pending_of(key_file: Path) -> Path:
    """Return where a key lies while its ledger is being made."""
    return key_file.with_name(key_file.name + ".new")


def key_given(key: object) -> LedgerKey | Path | None:
    """Return the key that a caller gives as bytes, or in a file; None where it is to be looked for.

    Raises
    ------
    ParameterError
        Where it is neither.
    """
    if key is None or isinstance(key, LedgerKey):
        return key
    if isinstance(key, bytes | bytearray):
        if len(key) != _BYTES:
            raise ParameterError(f"The 'key' parameter of Ledger must have {_BYTES} bytes. Got {len(key)}.")
        return LedgerKey(secret=bytes(key))
    if isinstance(key, str | os.PathLike):
        return Path(key).expanduser()
    raise ParameterError(
        f"The 'key' parameter of Ledger must be the path of a key file, or {_BYTES} bytes. Got {type(key).__name__}."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Pseudonyms:
    """What the ledger knows people by."""

    ids: NDArray[np.uint64]
    """The hash of each id: an array of two columns."""
    value_pads: NDArray[np.uint64]
    """What hides the check of each person's sensitive value."""
    quasi_identifier_pads: NDArray[np.uint64]
    """What hides the check of each person's quasi-identifiers."""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Pseudonyms({len(self)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesKeys(Unpicklable):
    """The keys of one series, each for one purpose."""

    _holds: ClassVar[str] = "secrets of a ledger"

    persons: bytes
    values: bytes
    records: bytes

    def pseudonyms(self, ids: pl.Series) -> Pseudonyms:
        """Return what the ledger knows people by.

        Parameters
        ----------
        ids : polars.Series
            The ids as text, none of them missing.
        """
        import polars as pl

        keyed = blake2b(key=self.persons, digest_size=32)
        parts = []
        for start in range(0, len(ids), _IDS_AT_ONCE):
            digests = []
            for name in ids.slice(start, _IDS_AT_ONCE).cast(pl.Binary).to_list():
                one = keyed.copy()
                one.update(name)
                digests.append(one.digest())
            parts.append(np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64).reshape(-1, 4))
        words = np.concatenate(parts) if parts else np.empty((0, 4), dtype=np.uint64)
        return Pseudonyms(
            ids=np.ascontiguousarray(words[:, :2]),
            value_pads=np.ascontiguousarray(words[:, 2]),
            quasi_identifier_pads=np.ascontiguousarray(words[:, 3]),
        )

    def tokens(self, column: str, texts: Iterable[str | None]) -> NDArray[np.uint64]:
        """Return a keyed hash of each value of a column."""
        keyed = blake2b(f"{column}\0".encode(), key=self.values, digest_size=8)
        digests = []
        for text in texts:
            one = keyed.copy()
            one.update(b"\0" if text is None else b"\1" + text.encode())
            digests.append(one.digest())
        return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)

    def seal(self, *parts: str | bytes) -> str:
        """Return a keyed digest of some texts: whoever has no key cannot change them unnoticed."""
        return self.seal_of(parts)

    def seal_of(self, parts: Sequence[str | bytes]) -> str:
        """Return a keyed digest of a list of texts, each behind its length."""
        digest = blake2b(key=self.records, digest_size=16)
        for part in parts:
            content = part.encode() if isinstance(part, str) else part
            digest.update(len(content).to_bytes(8, "little"))
            digest.update(content)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return "SeriesKeys(...)"
