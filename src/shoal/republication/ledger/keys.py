"""The keys of a ledger; without them published people cannot be recognized, nor their signatures read.

The publisher keeps the ledger's *key*: 32 random bytes in a file. It opens the *secrets*, which the ledger itself
holds, wrapped with AES-SIV (RFC 5297), so that the key can be changed. One secret identifies people and never changes:
a person's pseudonym is a keyed hash (BLAKE2b, 128 bits) of the id, and the ids are not available for another hash. The
other secret seals records and encrypts the memory; it is replaced together with the key. Both secrets derive keys for
each series and purpose.

Each seal is a keyed BLAKE2b hash with a label (the parameter `person`), so that no seal can replace another kind.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.outcome import reason_of
from shoal._core.unpicklable import Unpicklable
from shoal.errors import LedgerError, ParameterError
from shoal.io import to_disk

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

ENVIRONMENT = "SHOAL_LEDGER_KEY"
"""Environment variable that may hold the key as 64 hexadecimal digits."""
_BYTES = 32
"""Length of the key and of each secret."""
_IDS_AT_ONCE = 250_000
"""Number of ids that are hashed at a time, which bounds the memory used."""
_OTHERS = 0o077
"""Permission bits of other users."""


def check_mode(path: Path, what: str) -> None:
    """Check that only its owner can access a file.

    Raises
    ------
    LedgerError
        If another user can read or write it, or it does not exist.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise LedgerError(f"{what} '{path}' cannot be read: {reason_of(error)}.") from None
    # Windows has other permissions.
    if os.name == "posix" and mode & _OTHERS:
        raise LedgerError(
            f"{what} '{path}' is open to other users of this machine (mode {mode & 0o777:04o}): who has the ledger and "
            f"its key can tell who was published with what. Close it: chmod 600 '{path}'"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerKey(Unpicklable):
    """The key that opens a ledger."""

    _holds: ClassVar[str] = "the secret of a ledger"
    _instead: ClassVar[str] = "Hand on the path of its file."

    secret: bytes
    """32 random bytes."""

    @classmethod
    def new(cls) -> LedgerKey:
        """Generate a key from the operating system's randomness."""
        return cls(secret=secrets.token_bytes(_BYTES))

    @classmethod
    def parse(cls, text: str, *, source: str) -> LedgerKey:
        """Parse a key from its 64 hexadecimal digits.

        Raises
        ------
        LedgerError
            If the text is not a key; the message names the source, not the text.
        """
        try:
            secret = bytes.fromhex(text.strip())
        except ValueError:
            secret = b""
        if len(secret) != _BYTES:
            raise LedgerError(
                f"{source} holds no key of a ledger: that is {2 * _BYTES} hexadecimal digits, as they are written "
                "when a ledger is created. Restore it from a backup."
            )
        return cls(secret=secret)

    @classmethod
    def read(cls, path: Path) -> LedgerKey:
        """Read a key from its file, which must be private to its owner."""
        check_mode(path, "The key file")
        try:
            text = path.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise LedgerError(f"The key file '{path}' cannot be read: {reason_of(error)}.") from None
        return cls.parse(text, source=f"The key file '{path}'")

    def write(self, path: Path) -> None:
        """Write the key to a new file that only its owner can read, whole or not at all."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(self.secret.hex() + "\n")
                file.flush()
                os.fsync(file.fileno())
            to_disk(path.parent)  # a key that a loss of power takes is lost for good
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    @property
    def fingerprint(self) -> str:
        """Keyed digest that the ledger stores to recognize its key; it does not reveal the key."""
        return blake2b(b"the key of a shoal ledger", key=self.secret, digest_size=16).hexdigest()

    def fits(self, fingerprint: str) -> bool:
        """Check whether this is the key with a fingerprint."""
        return compare_digest(self.fingerprint, fingerprint)

    def wrap(self, held: Secrets, uid: str) -> bytes:
        """Encrypt the secrets of a ledger with this key."""
        return self._cipher().encrypt(held.people + held.records, [b"the secrets of a shoal ledger", uid.encode()])

    def unwrap(self, wrapped: bytes, uid: str) -> Secrets:
        """Decrypt the secrets of a ledger.

        Raises
        ------
        LedgerError
            If this key did not wrap them for that ledger.
        """
        from cryptography.exceptions import InvalidTag

        try:
            held = self._cipher().decrypt(wrapped, [b"the secrets of a shoal ledger", uid.encode()])
        except (InvalidTag, ValueError):
            raise LedgerError(
                "The secrets in the ledger were changed by something else than shoal. Restore the ledger from a backup."
            ) from None
        return Secrets(people=held[:_BYTES], records=held[_BYTES:])

    def _cipher(self) -> AESSIV:
        return _siv(blake2b(key=self.secret, digest_size=64, person=b"wrapping").digest())

    def __repr__(self) -> str:
        return f"LedgerKey(fingerprint={self.fingerprint!r})"


def _siv(key: bytes) -> AESSIV:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(key)


def get_default_key_file(ledger: Path) -> Path:
    """Get the default path of the key of a ledger in a file: next to it."""
    return ledger.with_name(ledger.name + ".key")


def get_pending_path(path: Path) -> Path:
    """Get the pending name of a key or an anchor while its ledger is created or rekeyed."""
    return path.with_name(path.name + ".new")


def parse_key(key: object) -> LedgerKey | Path | None:
    """Parse the `key` parameter: a key as bytes, the path of a file, or None for the default.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if key is None or isinstance(key, LedgerKey):
        return key
    if isinstance(key, bytes | bytearray):
        if len(key) != _BYTES:
            raise ParameterError(f"The 'key' parameter of Ledger must have {_BYTES} bytes. Got {len(key)}.")
        return LedgerKey(secret=bytes(key))
    if isinstance(key, str | os.PathLike):
        return Path(key).expanduser().absolute()
    raise ParameterError(
        f"The 'key' parameter of Ledger must be the path of a key file, or {_BYTES} bytes. Got {type(key).__name__}."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Secrets(Unpicklable):
    """The two secrets of a ledger."""

    _holds: ClassVar[str] = "secrets of a ledger"

    people: bytes
    """Secret that identifies people; it never changes."""
    records: bytes
    """Secret that seals and encrypts; it is replaced together with the key."""

    @classmethod
    def new(cls) -> Secrets:
        """Generate secrets from the operating system's randomness."""
        return cls(people=secrets.token_bytes(_BYTES), records=secrets.token_bytes(_BYTES))

    def renew(self) -> Secrets:
        """Replace the secret that seals and encrypts, and keep the secret that identifies people."""
        return replace(self, records=secrets.token_bytes(_BYTES))

    def derive_series_keys(self, uid: str) -> SeriesKeys:
        """Derive the keys of a series; a person in two series has two unrelated pseudonyms."""

        def derived(secret: bytes, purpose: str, size: int = _BYTES) -> bytes:
            return blake2b(f"{purpose}\0{uid}".encode(), key=secret, digest_size=size).digest()

        # Keys of people depend on the secret that never changes, the others on the one that does.
        return SeriesKeys(
            uid=uid,
            persons=derived(self.people, "persons"),
            values=derived(self.people, "values"),
            checks=derived(self.people, "checks"),
            seals=derived(self.records, "seals"),
            memory=derived(self.records, "memory", 64),
        )

    def seal(self, label: str, *parts: str | bytes) -> str:
        """Compute a keyed digest of texts that concern the whole ledger."""
        return _compute_seal(blake2b(b"ledger", key=self.records, digest_size=_BYTES).digest(), label, parts)

    def __repr__(self) -> str:
        return "Secrets(...)"


def _compute_seal(key: bytes, label: str, parts: Sequence[str | bytes]) -> str:
    """Compute a keyed digest of a list of texts; lengths and the label make it unambiguous."""
    digest = blake2b(key=key, digest_size=16, person=label.encode())
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True, repr=False)
class Pseudonyms:
    """The pseudonyms of people."""

    ids: NDArray[np.uint64]
    """Hash of each id, as an array of two columns."""
    words: NDArray[np.uint64]
    """A number for each person that is an input of the checks of the person's cells."""

    def of(self, rows: NDArray[np.integer]) -> Pseudonyms:
        """Select pseudonyms by row."""
        return Pseudonyms(ids=self.ids[rows], words=self.words[rows])

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Pseudonyms({len(self)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesKeys(Unpicklable):
    """The keys of a series, one for each purpose."""

    _holds: ClassVar[str] = "secrets of a ledger"

    uid: str
    """The uid of the series."""
    persons: bytes
    """Key of pseudonyms."""
    values: bytes
    """Key of the hashes of values."""
    checks: bytes
    """Key of the checks of cells."""
    seals: bytes
    """Key of seals."""
    memory: bytes
    """Key that encrypts the memory and the records."""

    def pseudonymize(self, ids: pl.Series) -> Pseudonyms:
        """Compute the pseudonyms of ids.

        Parameters
        ----------
        ids : polars.Series
            The ids as text, without missing values.
        """
        # Copy the keyed state for each id, which is faster than keying again.
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
        return Pseudonyms(ids=np.ascontiguousarray(words[:, :2]), words=np.ascontiguousarray(words[:, 2]))

    def hash_values(self, column: str, texts: Iterable[str | None]) -> NDArray[np.uint64]:
        """Compute a keyed hash of each value of a column."""
        keyed = blake2b(f"{column}\0".encode(), key=self.values, digest_size=8)
        digests = []
        for text in texts:
            one = keyed.copy()
            # A missing value differs from every text.
            one.update(b"\0" if text is None else b"\1" + text.encode())
            digests.append(one.digest())
        return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)

    def compute_checks(self, words: NDArray[np.uint64], tokens: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Compute a check of a cell of each person: half of the AES block of the person's word and the cell's hash.

        Equal cells of two persons have unrelated checks. Without the id a check reveals nothing, even to an adversary
        who has the key of the series.
        """
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        # One AES block for each cell: the person's word and the hash of the value.
        blocks = np.column_stack((words, tokens)).astype(">u8").tobytes()
        encryptor = Cipher(algorithms.AES(self.checks), modes.ECB()).encryptor()
        mixed = np.frombuffer(encryptor.update(blocks) + encryptor.finalize(), dtype=">u8").astype(np.uint64)
        return np.ascontiguousarray(mixed.reshape(-1, 2)[:, 0])

    def seal(self, label: str, *parts: str | bytes) -> str:
        """Compute a keyed digest of texts, which cannot be forged without the key."""
        return _compute_seal(self.seals, label, parts)

    def encrypt(self, content: bytes, *about: str) -> bytes:
        """Encrypt a piece of content; `about` identifies the piece."""
        return _siv(self.memory).encrypt(content, [part.encode() for part in (self.uid, *about)])

    def decrypt(self, content: bytes, *about: str) -> bytes:
        """Decrypt a piece of content.

        Raises
        ------
        ValueError
            If this series did not encrypt it as that piece.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return _siv(self.memory).decrypt(content, [part.encode() for part in (self.uid, *about)])
        except InvalidTag:
            raise ValueError("the content was not encrypted as this piece") from None

    def __repr__(self) -> str:
        return "SeriesKeys(...)"
