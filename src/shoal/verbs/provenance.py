"""Whether a release was made of a given table: the keyed hash of its private certificate, computed again."""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from os import PathLike
from pathlib import Path
from typing import Any

from shoal._messages import Suggestion
from shoal.errors import DataError, ParameterError
from shoal.pipeline.input import open_data
from shoal.pipeline.input_hash import input_hash
from shoal.table import encode, roles
from shoal.verification.published_folder import read_certificate

__all__ = ["provenance"]

_CERTIFICATE, _SALT = "certificate.json", "salt.txt"


def provenance(
    data: Any,
    certificate: str | PathLike[str] | Mapping[str, Any],
    *,
    salt: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> bool:
    """Return whether a release was made of a table: its publisher shows that by revealing the salt of the hash.

    The hash covers all rows with their quasi-identifiers before any coarsening, sensitive and insensitive values; in no
    order, and without the direct identifiers, which may be missing from the table. Whoever is given the salt and the
    certificate can also try other tables: give them to people who may see the table, and to nobody else.

    Parameters
    ----------
    data : frame or path
        The table, as `shoal.anonymize` takes it.
    certificate : path or mapping
        The private folder of the release (or of a release of a series), its `certificate.json`, or what that holds; or
        a public certificate that was published with a proof.
    salt : str, optional
        The salt as hexadecimal digits; by default that of `salt.txt` beside the certificate.
    delimiter, encoding : str, optional
        Of a CSV file; detected by default.

    Returns
    -------
    bool
        False where any row differs, or where the salt is another one.

    Raises
    ------
    DataError
        The certificate or the salt cannot be read, or the table.
    ColumnError
        The table misses a column that the release was made of.
    ParameterError
        The certificate has no hash of the input, or no salt was given.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.census(100, quasi_identifiers=["age"], seed=1)
    >>> release = shoal.anonymize(table, quasi_identifiers=["age"], sensitive="income", privacy=shoal.LDiversity(2))
    >>> shoal.provenance(table, release.certificate.to_dict(), salt=release.salt)
    True
    """
    facts, beside = _read(certificate)
    source, columns = facts.get("input") or {}, facts.get("columns") or {}
    if not {"sha256", "keyed"} <= set(source):
        raise ParameterError.refusing(
            "provenance",
            "certificate",
            "a certificate with a keyed hash of the input: the one in the private folder, or one that was published "
            "with a proof",
            hint="This one has none.",
        )
    if salt is None:
        salt = _salt(beside)
    if len(salt) != 64 or not set(salt) <= set("0123456789abcdef"):
        raise ParameterError.refusing("provenance", "salt", "64 hexadecimal digits, as salt.txt has them")
    schema = roles(
        columns.get("quasi_identifiers", ()), columns.get("sensitive", ()), insensitive=columns.get("insensitive", ())
    )
    opened = open_data(data, delimiter=delimiter, encoding=encoding)
    schema.check_known(opened.frame.columns)
    if (facts.get("parameters") or {}).get("normalize"):
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive)
    frame = opened.frame[list(schema.published)]
    return compare_digest(input_hash(frame, encode(frame, schema), salt)[0], source["sha256"])


def _read(certificate: str | PathLike[str] | Mapping[str, Any]) -> tuple[Mapping[str, Any], Path | None]:
    """Return a certificate, and the folder that it lies in."""
    if isinstance(certificate, Mapping):
        return certificate, None
    if not isinstance(certificate, str | PathLike):
        raise ParameterError.refusing(
            "provenance", "certificate", "a path or what a certificate holds", got=type(certificate).__name__
        )
    path = Path(certificate)
    path = path / _CERTIFICATE if path.is_dir() else path
    return read_certificate(path), path.parent


def _salt(beside: Path | None) -> str:
    if beside is None or not (beside / _SALT).exists():
        raise ParameterError(
            f"There is no {_SALT} beside the certificate. Give the salt that the publisher revealed with ",
            Suggestion("salt"),
            ".",
        )
    try:
        return (beside / _SALT).read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise DataError(f"The salt '{beside / _SALT}' cannot be read.") from error
