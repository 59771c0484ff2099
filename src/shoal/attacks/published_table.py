"""A published table before an adversary: what its cells stand for, its groups, and the sensitive values of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from shoal._messages import Subject, Suggestion
from shoal.attacks.same_values import alike, in_form_of
from shoal.errors import ColumnError, DataError, NoRowsError, ParameterError, near_matches
from shoal.io import open_frame, read
from shoal.joins import distinct_rows
from shoal.verification.cell_syntax import cell_text
from shoal.verification.meaning import declared_meanings, parameters_of
from shoal.verification.published_columns import read_table
from shoal.verification.published_folder import columns_said, read_published

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.verification.meaning import Tree
    from shoal.verification.published_columns import ReadTable

__all__ = [
    "PublishedTable",
    "Reading",
    "check_columns",
    "codes_of",
    "frame_of",
    "open_published",
    "opened_release",
    "place_of",
    "secret_of",
    "truth_of",
]


class Reading(TypedDict, total=False):
    """How a published table is read: what every attack takes by these names."""

    quasi_identifiers: Sequence[str]
    """Columns that the adversary knows; those of the certificate unless given."""
    sensitive: str | Sequence[str]
    """The sensitive attribute, of several each alone and their combination; as the certificate has it unless given."""
    star: str
    """How a suppressed cell is written; `*` unless the certificate says otherwise."""
    certificate: Mapping[str, Any]
    """The certificate that was published with the table; without one, cells say themselves what they are."""
    hierarchies: Mapping[str, Tree]
    """For columns whose cells are nodes of a hierarchy."""
    cells: Mapping[str, object]
    """What the cells of other columns are: `"values"` as they stand, a coarsening, or all values in their order."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedTable:
    """A published table, its columns and its groups: rows with the same cells in all quasi-identifiers."""

    frame: pl.DataFrame
    """The cells."""
    names: tuple[str, ...]
    """The quasi-identifiers."""
    secrets: tuple[str, ...]
    """The sensitive attributes."""
    star: str
    """How a suppressed cell is written."""
    reading: Reading
    """What else is said of the cells."""

    def read(self, beside: pl.DataFrame | None = None) -> ReadTable:
        """Return the quasi-identifiers, read; beside true values where there are some.

        Raises
        ------
        NotUnderstoodError
            Where it is in doubt what the cells of a column stand for.
        """
        meanings = declared_meanings(
            self.names,
            parameters_of(self.reading.get("certificate") or {}),
            trees=self.reading.get("hierarchies"),
            cells=self.reading.get("cells"),
        )
        understood = read_table(self.frame, self.names, star=self.star, meanings=meanings, beside=beside)
        understood.require()
        return understood

    def about(self, secrets: tuple[str, ...]) -> PublishedTable:
        """Return the same table with other sensitive columns; its groups are not counted again."""
        other = replace(self, secrets=secrets)
        if "group_of" in self.__dict__:
            other.__dict__["group_of"] = self.group_of
        return other

    def matched(self, people: pl.DataFrame) -> pl.DataFrame:
        """Return people with their quasi-identifiers in the form in which the release has them."""
        return in_form_of(self.read(people), people)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.frame.height

    @cached_property
    def secret(self) -> pl.Series:
        """The sensitive value of each row, as text."""
        return secret_of(self.frame, self.secrets)

    @cached_property
    def values(self) -> pl.Series:
        """The different sensitive values."""
        return self.secret.unique().sort()

    @cached_property
    def secret_codes(self) -> NDArray[np.int64]:
        """The place of each row's sensitive value among them."""
        return codes_of(self.secret, self.values)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How many rows have each value: the marginal distribution that the release publishes."""
        return np.bincount(self.secret_codes, minlength=len(self.values))

    @cached_property
    def group_of(self) -> NDArray[np.int64]:
        """The group of each row."""
        cells = [cell_text(self.frame.get_column(name)) for name in self.names]
        coded = [codes_of(column, column.unique(maintain_order=True)) for column in cells]
        return np.asarray(distinct_rows(np.column_stack(coded).astype(np.int32))[1], dtype=np.int64)

    @cached_property
    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """How often each value occurs in each group: the groups, ascending, the values, and the counts."""
        width = len(self.values)
        keys, counts = np.unique(self.group_of * width + self.secret_codes, return_counts=True)
        return keys // width, keys % width, counts

    def __repr__(self) -> str:
        return f"PublishedTable(rows={self.rows}, columns={len(self.names) + len(self.secrets)})"


def frame_of(data: Any) -> pl.DataFrame:
    """Return a table of any kind of frame, or of a file, as Polars has it."""
    if isinstance(data, str | os.PathLike):
        return read(data if isinstance(data, str) else Path(data))
    return open_frame(data).frame


def open_published(release: Any, reading: Reading, *, sensitive: bool = True) -> PublishedTable:
    """Return a published table with the roles of its columns.

    Parameters
    ----------
    release : frame, path, or Release
        The table: a file, or the folder of a release that shoal wrote. What `shoal.anonymize` returned and what it
        saved come with their certificate.
    reading : Reading
        What the caller says of it.
    sensitive : bool
        Whether a sensitive attribute is needed.

    Raises
    ------
    ColumnError
        Where a column is not there, or nobody says what the columns are.
    NoRowsError
        Where the table has no row.
    """
    own = getattr(release, "public_certificate", None)
    if own is not None:
        release = release.data
        reading = {**reading, "certificate": reading.get("certificate") or own.to_dict()}
    frame, beside = opened_release(release)
    reading = {**reading, "certificate": reading.get("certificate") or beside}
    certificate = reading.get("certificate") or {}
    names = _listed("quasi_identifiers", reading.get("quasi_identifiers"))
    names = names or columns_said(certificate, "quasi_identifiers")
    secrets = _listed("sensitive", reading.get("sensitive")) or columns_said(certificate, "sensitive")
    if not names or (sensitive and not secrets):
        missing = "quasi-identifiers" if not names else "sensitive attribute"
        raise ColumnError(
            f"No certificate says what the {missing} of the release are, and nobody named them. Name them with ",
            Suggestion("sensitive" if names else "quasi_identifiers"),
            ".",
        )
    check_columns(frame, (*names, *secrets), "the release")
    if not frame.height:
        raise NoRowsError("The release has no row: there is nothing to attack.")
    star = reading.get("star") or str((certificate.get("parameters") or {}).get("star") or "*")
    return PublishedTable(frame=frame, names=names, secrets=secrets, star=star, reading=reading)


def opened_release(release: Any) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Return a published table of any kind, and the certificate that lies beside it; empty where none does.

    Parameters
    ----------
    release : frame or path
        A path of a file, or of the folder of a release.
    """
    if isinstance(release, str | os.PathLike) and Path(release).exists():
        found = read_published(Path(release))
        return found.frame, found.certificate
    return frame_of(release), {}


def check_columns(frame: pl.DataFrame, names: Iterable[str], what: str) -> None:
    """Raise where a column is not there."""
    for name in names:
        if name not in frame.columns:
            raise ColumnError(f"There is no column '{name}' in {what}. {near_matches(name, frame.columns)}")


def _listed(parameter: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(
            Subject("the attack", parameter), " must be names of columns. Got something that is not text."
        )
    if len(set(names)) < len(names):
        raise ColumnError(Subject("the attack", parameter), " names a column twice.")
    return names


def secret_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return the sensitive cells as text; of several attributes one text for the combination."""
    import polars as pl

    columns = [cell_text(frame.get_column(name)).fill_null("(missing)") for name in names]
    if len(columns) == 1:
        return columns[0].alias("secret")
    frame = pl.DataFrame([column.alias(str(at)) for at, column in enumerate(columns)])
    return frame.select(pl.concat_str(pl.all(), separator=" & ").alias("secret")).to_series()


def codes_of(column: pl.Series, distinct: pl.Series) -> NDArray[np.int64]:
    """Return the place of each cell among the distinct ones; -1 where it is not among them."""
    import polars as pl

    left = pl.DataFrame({"cell": column})
    right = pl.DataFrame({"cell": distinct, "place": np.arange(len(distinct))})
    joined = left.join(right, on="cell", how="left", nulls_equal=True, maintain_order="left")
    return np.asarray(joined["place"].fill_null(-1).to_numpy(), dtype=np.int64)


def place_of(frame: pl.DataFrame, table: PublishedTable) -> NDArray[np.int64]:
    """Return the place of each person's true sensitive value among those of the release; -1 for any other.

    Values are compared as they are written; if some differ then, by what they say: numbers by their value (`1.50` is
    `1.5`), dates in any format by their day.
    """
    import polars as pl

    codes = codes_of(secret_of(frame, table.secrets), table.values)
    if (codes >= 0).all():
        return codes
    pairs = [alike(table.frame.get_column(name), frame.get_column(name)) for name in table.secrets]
    shown, true = (secret_of(pl.DataFrame(side), table.secrets) for side in zip(*pairs, strict=True))
    first = shown.is_first_distinct()
    place = np.append(table.secret_codes[first.to_numpy()], -1)
    return np.where(codes < 0, place[codes_of(true, shown.filter(first))], codes)


def truth_of(frame: pl.DataFrame, table: PublishedTable) -> NDArray[np.int64]:
    """Return what `place_of` does.

    Raises
    ------
    DataError
        If no person has a value of the release: then the columns do not match.
    """
    codes = place_of(frame, table)
    if len(codes) and not (codes >= 0).any():
        listed = ", ".join(f"'{name}'" for name in table.secrets)
        raise DataError(
            f"None of the {len(codes):,} records has a value of {listed} that the release shows: the columns do not "
            "match. Compare how their values are written."
        )
    return codes
