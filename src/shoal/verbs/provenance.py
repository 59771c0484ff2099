"""Entry point `provenance`: check the keyed hash of a private certificate against a table."""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from os import PathLike
from pathlib import Path
from typing import Any

from shoal._messages import Suggestion
from shoal.errors import DataError, ParameterError, UnsupportedError
from shoal.pipeline.input import open_data
from shoal.pipeline.input_hash import compute_input_hash
from shoal.table import encode, roles
from shoal.verification.published_folder import read_certificate

_CERTIFICATE, _SALT = "certificate.json", "salt.txt"


def provenance(
    data: Any,
    certificate: str | PathLike[str] | Mapping[str, Any],
    *,
    salt: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    replace_values: Mapping[str, Mapping[str, str | None]] | None = None,
    derive: Mapping[str, str] | None = None,
) -> bool:
    """Check whether a release was made from a table, by the salted hash in its certificate.

    The publisher proves the origin of a release by revealing the salt. The hash covers the quasi-identifiers before any
    coarsening and the sensitive and insensitive values of all rows, in no order. Direct identifiers are excluded, so
    they may be missing from the table. With the salt and the certificate, other tables can be tested too: share them
    only with people who may see the table.

    Parameters
    ----------
    data : frame or path
        The table, as for `shoal.anonymize`.
    certificate : path or mapping
        The private folder of the release (or of a release of a series), its `certificate.json`, or the contents of that
        file; or a public certificate that was published with a proof.
    salt : str, optional
        The salt as hexadecimal digits. By default it is read from `salt.txt` in the folder of the certificate.
    delimiter, encoding : str, optional
        Of a CSV file; detected by default.
    sheet : str, optional
        Of a workbook.
    header_row : int, optional
        The line or row with the names of the columns, from 1.
    replace_values : mapping, optional
        The replacements of values of the release; no certificate holds them.
    derive : mapping, optional
        The derived columns of the release.

    Returns
    -------
    bool
        False if any row differs, or if the salt does not belong to the certificate.

    Raises
    ------
    DataError
        The certificate, the salt or the table cannot be read.
    ColumnError
        The table lacks a column of the release.
    ParameterError
        The certificate contains no hash of the input, or there is no salt.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.census(100, quasi_identifiers=["age"], seed=1)
    >>> release = shoal.anonymize(table, quasi_identifiers=["age"], sensitive="income", privacy=shoal.LDiversity(2))
    >>> shoal.provenance(table, release.certificate.to_dict(), salt=release.salt)
    True
    """
    facts, folder = _read(certificate)
    source, columns = facts.get("input") or {}, facts.get("columns") or {}
    # Public certificates have no hash of the input, unless they were published with a proof.
    if not {"sha256", "keyed"} <= set(source):
        raise ParameterError.refusing(
            "provenance",
            "certificate",
            "a certificate with a keyed hash of the input: the one in the private folder, or one that was published "
            "with a proof",
            hint="This one has none.",
        )
    if salt is None:
        salt = _salt(folder)
    if len(salt) != 64 or not set(salt) <= set("0123456789abcdef"):
        raise ParameterError.refusing("provenance", "salt", "64 hexadecimal digits, as salt.txt has them")
    parameters = facts.get("parameters") or {}
    if parameters.get("since_first") or parameters.get("link"):
        raise UnsupportedError(
            "The hash of a release with pseudonyms, or with days since a first date, cannot be computed again: it "
            "depends on whose the records are."
        )
    # Encode the columns of the release exactly as it was made, and hash them again.
    schema = roles(
        columns.get("quasi_identifiers", ()), columns.get("sensitive", ()), insensitive=columns.get("insensitive", ())
    )
    reading: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    opened = open_data(data, **reading, replace_values=replace_values, derive=derive)
    schema.check_known(opened.frame.columns)
    # The hash was computed after normalization, so the table is normalized in the same way.
    opened = opened.with_lists_as_text(parameters.get("lists") or {})
    if parameters.get("normalize"):
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive)
    frame = opened.frame[list(schema.published)]
    return compare_digest(compute_input_hash(frame, encode(frame, schema), salt)[0], source["sha256"])


def _read(certificate: str | PathLike[str] | Mapping[str, Any]) -> tuple[Mapping[str, Any], Path | None]:
    """Read a certificate; return it with its folder, or with None if it was passed as a mapping."""
    # A mapping has no folder, so its salt must be passed separately.
    if isinstance(certificate, Mapping):
        return certificate, None
    if not isinstance(certificate, str | PathLike):
        raise ParameterError.refusing(
            "provenance", "certificate", "a path or the contents of a certificate", got=type(certificate).__name__
        )
    path = Path(certificate)
    path = path / _CERTIFICATE if path.is_dir() else path
    return read_certificate(path), path.parent


def _salt(folder: Path | None) -> str:
    if folder is None or not (folder / _SALT).exists():
        raise ParameterError(
            f"There is no {_SALT} in the folder of the certificate. Give the salt that the publisher revealed with ",
            Suggestion("salt"),
            ".",
        )
    try:
        return (folder / _SALT).read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise DataError(f"The salt '{folder / _SALT}' cannot be read.") from error
