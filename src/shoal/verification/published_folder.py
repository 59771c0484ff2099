"""Read a published release as its readers do: from a folder that shoal wrote, or from a file of any origin."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal._core.file_formats import ARROW, FORMATS, PARQUET
from shoal._core.outcome import reason_of
from shoal._core.validation import fits_shape
from shoal.errors import DataError
from shoal.io import read
from shoal.io.scanning import parquet_files
from shoal.verification.meaning import Meaning, Tree, collect_meanings, parameters_of, star_of

COUNTERFEITS = "counterfeits.csv"
"""The file with the number of counterfeits of each group, in a release of a series."""
_SHAPE: dict[str, Any] = {
    "columns?": {"*": [str]},
    "requested?": [{"model": str}],
    "parameters?": {"star?": str, "recoding?": str, "coarsen?": {"*": dict}, "hierarchies?": {"*": dict}},
    "output?": {"files?": {"*": {"sha256": str, "rows?": int, "delimiter?": str}}},
    "input?": dict,
    "quasi_identifiers?": [str],
    "sensitive?": [str],
    "guarantee?": {"text?": str},
    "shoal?": str,
}
"""The types of what commands read in a certificate."""
GROUP = "group_id"
"""The column of a release of a series that numbers its groups."""
_PARTS = ("persons", "rows")
"""The names, without ending, of the files of a release of two tables."""
_NAMES = tuple(f"release.{ending}" for ending in FORMATS)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReadRelease:
    """A published table with the files that accompany it."""

    frame: pl.DataFrame
    """The table."""
    counterfeits: pl.DataFrame | None
    """Number of counterfeits of each group; None if it is not published."""
    certificate: Mapping[str, Any]
    """The certificate; empty if there is none."""
    empty_is_missing: bool = True
    """Whether an empty text was read as a missing value, as in CSV and workbooks."""

    def columns(self, role: str) -> tuple[str, ...]:
        """List the columns with a role ("quasi_identifiers", "sensitive") as the certificate names them."""
        return columns_with_role(self.certificate, role)

    def meanings(
        self,
        names: Sequence[str],
        *,
        trees: Mapping[str, Tree] | None = None,
        cells: Mapping[str, object] | None = None,
    ) -> dict[str, Meaning]:
        """Collect the interpretations of quasi-identifiers from the certificate and the caller."""
        return collect_meanings(names, parameters_of(self.certificate), trees=trees, cells=cells)

    @property
    def star(self) -> str:
        """The symbol of a suppressed cell."""
        return star_of(self.certificate)

    def __repr__(self) -> str:
        return f"ReadRelease(rows={self.frame.height})"


def read_published(path: str | Path, *, delimiter: str | None = None, encoding: str | None = None) -> ReadRelease:
    """Read a release folder, or a file or database table with a published table.

    In a folder only the files that its certificate names are read. A certificate in the folder of a file counts if it
    has the hash of the file.

    Raises
    ------
    DataError
        If there is no release, a file cannot be read, or a file does not have the hash that the certificate states.
    """
    # A file or a database table has at most a certificate, which must have its hash.
    folder = _release_folder(Path(path))
    if not folder.is_dir():
        certificate = _beside(folder)
        # The names of a release were confirmed when it was made.
        frame = read(path, delimiter=delimiter, encoding=encoding, header_row=1 if certificate else None)
        return ReadRelease(
            frame=frame, counterfeits=None, certificate=certificate, empty_is_missing=_empty_is_missing(str(path))
        )
    # A folder: its certificate names the files that belong to the release.
    path = folder / "certificate.json"
    certificate = read_certificate(path) if path.exists() else {}
    named = _named_files(certificate)
    tables = _find_tables(folder, named)
    beside = folder / COUNTERFEITS if (COUNTERFEITS in named if named else (folder / COUNTERFEITS).exists()) else None
    for file in (*tables, *([] if beside is None else [beside])):
        _check_table(file, named)
    return ReadRelease(
        frame=_read_tables(tables, named),
        counterfeits=None if beside is None else read_counterfeits(beside),
        certificate=certificate,
        empty_is_missing=_empty_is_missing(tables[0].name),
    )


def _empty_is_missing(name: str) -> bool:
    """Check whether an empty text in a file or a database table is a missing value."""
    return "://" not in name and not name.lower().endswith((*PARQUET, *ARROW))


def columns_with_role(certificate: Mapping[str, Any], role: str) -> tuple[str, ...]:
    """List the columns with a role ("quasi_identifiers", "sensitive") by a certificate."""
    return tuple((certificate.get("columns") or {}).get(role) or ())


def find_published(path: str | Path) -> tuple[str | Path | pl.DataFrame, Mapping[str, Any]]:
    """Find the file of a published table and the certificate of this file (empty if there is none).

    A release of two tables, persons and rows, has no single file: it is read and joined.

    Parameters
    ----------
    path : str or Path
        The folder of a release, or a file; any other source is returned unchanged.

    Raises
    ------
    DataError
        If a file of a release folder is missing, or is not the one that its certificate names.
    """
    folder = _release_folder(Path(path))
    if not folder.is_dir():
        return path, _beside(folder)
    certificate = read_certificate(folder / "certificate.json") if (folder / "certificate.json").is_file() else {}
    # Without a certificate the folder must hold a table under one of the known names.
    named = _named_files(certificate)
    if not named and not any((folder / name).is_file() for name in _NAMES):
        return path, {}  # a table in several files
    tables = _find_tables(folder, named)
    for table in tables:
        _check_table(table, named)
    return tables[0] if len(tables) == 1 else _read_tables(tables, named), certificate


def digest_tables(path: str | Path) -> dict[str, tuple[str, bool | None]]:
    """Compute the SHA-256 of each file of a published table, by name.

    The second value is whether the certificate in the folder states this hash; None if it does not name the file.
    """
    source = _release_folder(Path(path))
    folder = source if source.is_dir() else source.parent
    try:
        named = _named_files(read_certificate(folder / "certificate.json"))
    except DataError:  # there is none, or it is damaged and the source is another file
        named = {}
    tables = _find_tables(folder, named) if folder == source else (source,)
    files = [file for table in tables for file in (parquet_files(table) if table.is_dir() else [table])]
    names = [str(file.relative_to(folder)) for file in files]
    stated = [_is_named(folder / name, named, name) if name in named else None for name in names]
    return {name: (file_digest(folder / name), one) for name, one in zip(names, stated, strict=True)}


def _release_folder(path: Path) -> Path:
    """Name the folder of a release for the folder of its table, which was written in pieces; else return the path."""
    if path.name not in _NAMES or not path.is_dir():
        return path
    return path.parent if path.with_name("certificate.json").is_file() else path


def _beside(path: Path) -> Mapping[str, Any]:
    """Read the certificate in the folder of a file, if it has the hash of this file.

    Raises
    ------
    DataError
        If the file is one of two tables of a release.
    """
    certificate = path.with_name("certificate.json")
    if not path.is_file() or not certificate.is_file():
        return {}
    # A broken certificate in the folder of another file is ignored.
    try:
        facts = read_certificate(certificate)
    except DataError:
        return {}
    named = _named_files(facts)
    if not _is_named(path, named):
        return {}
    # The certificate is about both tables of a release of two.
    if all(part.name in named for part in part_files(path)):
        raise DataError(f"'{path.name}' is one of the two tables of a release. Name their folder, '{path.parent}'.")
    return facts


def _named_files(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Map the file names in a certificate to their entries."""
    output = certificate.get("output")
    files = output.get("files") if isinstance(output, dict) else None
    return dict(files) if isinstance(files, dict) else {}


def _is_named(path: Path, named: Mapping[str, Any], name: str = "") -> bool:
    """Check whether a file has the hash that a certificate states under its name, or another one."""
    said = named.get(name or path.name)
    return isinstance(said, dict) and said.get("sha256") == file_digest(path)


def _pieces(table: str, named: Mapping[str, Any]) -> list[str]:
    """List the files in a certificate of a table that was written in pieces, as engines for large tables do."""
    return [name for name in named if name.startswith(f"{table}/")]


def _find_tables(folder: Path, named: Mapping[str, Any]) -> tuple[Path, ...]:
    """Find the file of the published table, or the two files if the certificate names persons and rows."""
    # Without a certificate any known name counts, as long as there is only one.
    for one in map(Path, _NAMES):
        parts = part_files(folder / one)
        if all(part.name in named for part in parts):
            return parts
    found = [name for name in _NAMES if (name in named or _pieces(name, named) if named else (folder / name).exists())]
    if not found:
        raise DataError(f"The folder '{folder}' holds no table of a release ({', '.join(_NAMES)}). Name its file.")
    if len(found) > 1:
        raise DataError(
            f"The folder '{folder}' holds {' and '.join(found)}, and no certificate says which of them is the release. "
            "Name the file."
        )
    return (folder / found[0],)


def part_files(path: Path) -> tuple[Path, ...]:
    """Name the files of persons and of rows in the folder of a file, with its ending."""
    return tuple(path.with_name(f"{name}{path.suffix}") for name in _PARTS)


def join_published(persons: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Join the published tables of persons and of rows by their only common column, in the order of the rows.

    Raises
    ------
    DataError
        If there is no such column, or a pseudonym occurs twice among persons, or in one of the tables only.
    """
    common = [name for name in persons.columns if name in rows.columns]
    if len(common) != 1:
        raise DataError("The published tables of persons and rows have no column of pseudonyms in common.")
    of_persons, of_rows = persons[common[0]], rows[common[0]]
    if of_persons.n_unique() != persons.height or not of_persons.sort().equals(of_rows.unique().sort()):
        raise DataError("The published tables of persons and rows do not have the same pseudonyms.")
    order = of_persons.arg_sort()
    place = order[of_persons[order].search_sorted(of_rows)]
    own = [column for column in persons[place] if column.name != common[0]]
    return pl.DataFrame([*rows, *own])


def _read_tables(tables: Sequence[Path], named: Mapping[str, Any]) -> pl.DataFrame:
    """Read the table of a release, or its tables of persons and rows as one."""
    frames = [read_release(table, named.get(table.name, {}).get("delimiter", ",")) for table in tables]
    return frames[0] if len(frames) == 1 else join_published(*frames)


def _check_table(table: Path, named: Mapping[str, Any]) -> None:
    """Check that the files of a table exist and are those that the certificate names, if there is a certificate."""
    pieces = _pieces(table.name, named)
    if pieces and sorted(pieces) != sorted(f"{table.name}/{one.name}" for one in parquet_files(table)):
        raise DataError(f"The folder '{table}' does not hold the files that its certificate names.")
    for name in pieces or [table.name]:
        path = table.parent / name
        if not path.exists():
            raise DataError(f"The file '{path}', which its certificate names, is missing.")
        if named and not _is_named(path, named, name):
            raise DataError(
                f"The file '{path}' is not the one that its certificate names: it was changed after it was "
                "published, or the certificate was. To read it nevertheless, name the file itself."
            )


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate that shoal wrote.

    Raises
    ------
    DataError
        If the file cannot be read, or is not a certificate.
    """
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"The certificate '{path}' cannot be read: it is no JSON text.") from error
    if not fits_shape(facts, _SHAPE):
        raise DataError(f"The certificate '{path}' is damaged, or not one that shoal wrote. Restore it from a copy.")
    return facts


def read_release(path: Path, delimiter: str = ",") -> pl.DataFrame:
    """Read a table that shoal wrote, whose format is known."""
    text = {"delimiter": delimiter, "encoding": "utf-8"} if path.suffix == ".csv" else {}
    return read(path, **text, header_row=1)


def read_counterfeits(path: Path) -> pl.DataFrame:
    """Read the number of counterfeits of each group; a file without groups is valid."""
    return pl.read_csv(path, schema_overrides={GROUP: pl.Int64, "count": pl.Int64})


def file_digest(path: Path) -> str:
    """Compute the SHA-256 of a file.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"The file '{path}' cannot be read: {reason_of(error)}.") from None
