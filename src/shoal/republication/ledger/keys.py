"""The keys of a ledger: without them nobody can tell who was published, let alone with which signature.

The ledger's *key* is what the publisher keeps: 32 random bytes in a file. It opens the *secrets*, which lie in the
ledger itself, wrapped with AES-SIV (RFC 5297), so that the key can be changed. One secret names people and is for life:
a person is known by a keyed hash (BLAKE2b, 128 bits) of the id, and nobody could hash the ids again. The other seals
records and encrypts what the ledger remembers, and is made anew whenever the key is. From both, keys are derived for
each series and purpose.

Each seal is a keyed BLAKE2b with the label of what it seals (`person`), so that none can stand for another.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal._core.unpicklable import Unpicklable
from shoal.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from numpy.typing import NDArray

__all__ = [
    "ENVIRONMENT",
    "LedgerKey",
    "Pseudonyms",
    "Secrets",
    "SeriesKeys",
    "check_mode",
    "get_default_key_file",
    "get_pending_path",
]

ENVIRONMENT = "SHOAL_LEDGER_KEY"
"""The environment variable that may hold the key, as 64 hexadecimal digits."""
_BYTES = 32
_IDS_AT_ONCE = 250_000
_OTHERS = 0o077


def check_mode(path: Path, what: str) -> None:
    """Check that a file is its owner's alone.

    Raises
    ------
    LedgerError
        Where somebody else can read or write it, or it is not there.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise LedgerError(f"{what} '{path}' cannot be read: {reason}.") from None
    if os.name == "posix" and mode & _OTHERS:
        raise LedgerError(
            f"{what} '{path}' is open to other users of this machine (mode {mode & 0o777:04o}): who has the ledger and "
            f"its key can tell who was published with what. Close it: chmod 600 '{path}'"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerKey(Unpicklable):
    """What a publisher keeps to open a ledger."""

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
        check_mode(path, "The key file")
        try:
            text = path.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
            raise LedgerError(f"The key file '{path}' cannot be read: {reason}.") from None
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
        """Return whether this is the key that a ledger has."""
        return compare_digest(self.fingerprint, fingerprint)

    def wrap(self, held: Secrets, uid: str) -> bytes:
        """Return the secrets of a ledger, encrypted with this key."""
        return self._cipher().encrypt(held.people + held.records, [b"the secrets of a shoal ledger", uid.encode()])

    def unwrap(self, wrapped: bytes, uid: str) -> Secrets:
        """Return the secrets of a ledger.

        Raises
        ------
        LedgerError
            Where they are not what this key wrapped for that ledger.
        """
        from cryptography.exceptions import InvalidTag

        try:
            held = self._cipher().decrypt(wrapped, [b"the secrets of a shoal ledger", uid.encode()])
        except (InvalidTag, ValueError):
            raise LedgerError(
                "The secrets in the ledger were changed by something else than shoal. Nothing was published. Restore "
                "the ledger from a backup."
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
    """Return where the key of a ledger in a file lies unless told otherwise: beside it."""
    return ledger.with_name(ledger.name + ".key")


def get_pending_path(path: Path) -> Path:
    """Return where a key or an anchor lies while the ledger that it belongs to is being made, or gets another key."""
    return path.with_name(path.name + ".new")


def parse_key(key: object) -> LedgerKey | Path | None:
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
        return Path(key).expanduser().absolute()
    raise ParameterError(
        f"The 'key' parameter of Ledger must be the path of a key file, or {_BYTES} bytes. Got {type(key).__name__}."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Secrets(Unpicklable):
    """What a ledger's key opens."""

    _holds: ClassVar[str] = "secrets of a ledger"

    people: bytes
    """Names people; for life."""
    records: bytes
    """Seals and encrypts; made anew with every new key."""

    @classmethod
    def new(cls) -> Secrets:
        """Make secrets of the operating system's randomness."""
        return cls(people=secrets.token_bytes(_BYTES), records=secrets.token_bytes(_BYTES))

    def renew(self) -> Secrets:
        """Return secrets that name people as these do, and seal and encrypt in a way of their own."""
        return replace(self, records=secrets.token_bytes(_BYTES))

    def derive_series_keys(self, uid: str) -> SeriesKeys:
        """Return the keys of one series: a person in two series has two unrelated hashes."""

        def derived(secret: bytes, purpose: str, size: int = _BYTES) -> bytes:
            return blake2b(f"{purpose}\0{uid}".encode(), key=secret, digest_size=size).digest()

        return SeriesKeys(
            uid=uid,
            persons=derived(self.people, "persons"),
            values=derived(self.people, "values"),
            checks=derived(self.people, "checks"),
            seals=derived(self.records, "seals"),
            memory=derived(self.records, "memory", 64),
        )

    def seal(self, label: str, *parts: str | bytes) -> str:
        """Return a keyed digest of some texts that concern the whole ledger."""
        return _compute_seal(blake2b(b"ledger", key=self.records, digest_size=_BYTES).digest(), label, parts)

    def __repr__(self) -> str:
        return "Secrets(...)"


def _compute_seal(key: bytes, label: str, parts: Sequence[str | bytes]) -> str:
    """Return a keyed digest of a list of texts, each behind its length, that can stand for nothing of another label."""
    digest = blake2b(key=key, digest_size=16, person=label.encode())
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True, repr=False)
class Pseudonyms:
    """What the ledger knows people by."""

    ids: NDArray[np.uint64]
    """The hash of each id: an array of two columns."""
    words: NDArray[np.uint64]
    """A number of each person that goes into the checks of the person's cells."""

    def of(self, rows: NDArray[np.integer]) -> Pseudonyms:
        """Return those of some of the people."""
        return Pseudonyms(ids=self.ids[rows], words=self.words[rows])

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Pseudonyms({len(self)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesKeys(Unpicklable):
    """The keys of one series, each for one purpose."""

    _holds: ClassVar[str] = "secrets of a ledger"

    uid: str
    """The series."""
    persons: bytes
    values: bytes
    checks: bytes
    seals: bytes
    memory: bytes

    def pseudonymize(self, ids: pl.Series) -> Pseudonyms:
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
        return Pseudonyms(ids=np.ascontiguousarray(words[:, :2]), words=np.ascontiguousarray(words[:, 2]))

    def hash_values(self, column: str, texts: Iterable[str | None]) -> NDArray[np.uint64]:
        """Return a keyed hash of each value of a column."""
        keyed = blake2b(f"{column}\0".encode(), key=self.values, digest_size=8)
        digests = []
        for text in texts:
            one = keyed.copy()
            one.update(b"\0" if text is None else b"\1" + text.encode())
            digests.append(one.digest())
        return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)

    def compute_checks(self, words: NDArray[np.uint64], tokens: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return a check of a cell of each person: half of the AES block of the person's word and the cell's token.

        Equal cells of two persons have unrelated checks, and a check tells nothing to whoever does not know the id, the
        key of the series notwithstanding.
        """
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        blocks = np.column_stack((words, tokens)).astype(">u8").tobytes()
        encryptor = Cipher(algorithms.AES(self.checks), modes.ECB()).encryptor()
        mixed = np.frombuffer(encryptor.update(blocks) + encryptor.finalize(), dtype=">u8").astype(np.uint64)
        return np.ascontiguousarray(mixed.reshape(-1, 2)[:, 0])

    def seal(self, label: str, *parts: str | bytes) -> str:
        """Return a keyed digest of some texts: whoever has no key cannot change them unnoticed."""
        return _compute_seal(self.seals, label, parts)

    def encrypt(self, content: bytes, *about: str) -> bytes:
        """Return a piece of what the series remembers, encrypted; `about` says which piece it is."""
        return _siv(self.memory).encrypt(content, [part.encode() for part in (self.uid, *about)])

    def decrypt(self, content: bytes, *about: str) -> bytes:
        """Return what was encrypted.

        Raises
        ------
        ValueError
            Where it is not that piece, as this series encrypted it.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return _siv(self.memory).decrypt(content, [part.encode() for part in (self.uid, *about)])
        except InvalidTag:
            raise ValueError("not what was encrypted") from None

    def __repr__(self) -> str:
        return "SeriesKeys(...)"
