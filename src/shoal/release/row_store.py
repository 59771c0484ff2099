"""Where the rows of a release are kept, and how they are handed on, written and read back.

A store knows the published rows and nothing of what was requested. `MemoryRows` holds every row, `RunRows` each run of
equal rows once, `StreamedRows` makes rows while they are read, and `SparkRows` lets Spark make them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.threads import start_in_thread
from shoal._core.unpicklable import Unpicklable
from shoal.errors import ReleaseUnsafeError
from shoal.io import Codebook, Dialect, repeat_rows, to_disk, write_table
from shoal.models.requirement import Requirement
from shoal.table import Schema, Table
from shoal.table.counts import multiplicities
from shoal.verification import Achieved, Fitting, MeasuredTable
from shoal.verification.published_folder import join_published, part_files, read_release

Files = dict[str, dict[str, Any]]
"""What a certificate states about each written file, by its path in the folder."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WrittenCheck:
    """What the files of a release must still satisfy when they are read back."""

    schema: Schema
    requirement: Requirement
    achieved: Mapping[str, Any]
    """What the certificate states."""
    rows: int
    """Rows of the published table."""
    dialect: Dialect
    """How CSV was written."""
    fitting: Fitting | None = None
    """Counts the members of a population that match written cells, if a model asks for that."""
    owners: pl.DataFrame | None = None
    """Whose each distinct row of the release is, in the order in which these are written, if owners are protected."""

    @property
    def reads_values(self) -> bool:
        """Whether a model looks at sensitive values, not only at which of them are equal."""
        return any(model.reads_values for model in self.requirement.models)

    def of_rows(self, counts: NDArray[np.int64]) -> WrittenCheck:
        """Return the check of all rows, each distinct one of which is written so many times."""
        return self if self.owners is None else replace(self, owners=repeat_rows(self.owners, counts))

    def measure(self, written: pl.DataFrame, times: NDArray[np.int64] | None, columns: Sequence[str]) -> Achieved:
        """Verify what was read of a file: its rows, or its distinct rows with the number of times each occurs."""
        table = MeasuredTable(
            written,
            self.schema.quasi_identifiers,
            self.schema.sensitive,
            self.requirement,
            times=times,
            owners=self.owners,
            fitting=self.fitting,
            pseudonym=self.requirement.counting.pseudonym,
        )
        return table.verify(columns)

    def require(self, written: pl.DataFrame, times: NDArray[np.int64] | None = None) -> None:
        """Refuse a file whose rows, or what they achieve, differ from the certificate.

        Raises
        ------
        ReleaseUnsafeError
            The file is not the release that was verified.
        """
        # The achieved privacy is measured again on the written cells.
        achieved = self.measure(written, times, self.schema.published)
        rows = int(multiplicities(written.height, times).sum())
        if rows != self.rows or achieved.to_dict() != self.achieved:
            raise ReleaseUnsafeError(
                "The written file is not the release that was verified: its rows or what they achieve differ from the "
                "certificate. Nothing was published."
            )


class RowStore(Protocol):
    """The rows of a release, wherever they are kept. A new place to keep rows is a class of this form."""

    @property
    def distinct(self) -> pl.DataFrame:
        """The published rows; rows that are equal and of one group may be kept once (`counts`)."""

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How often each row of `distinct` is published; None if once."""

    @property
    def height(self) -> int:
        """Rows of the published table."""

    @property
    def personal(self) -> tuple[str, ...]:
        """The columns of the table of persons, if persons and their rows are published as two tables."""

    @property
    def frame(self) -> pl.DataFrame:
        """The published rows, all of them if the memory holds them; otherwise `distinct`."""

    @property
    def rows(self) -> NDArray[np.int32]:
        """Private: the row number in the input of each row of `frame`."""

    @property
    def table_rows(self) -> NDArray[np.int32]:
        """Private: the row number in the input of each row of the table that losses are measured against."""

    @property
    def original(self) -> pl.DataFrame | None:
        """Private: the input, before text becomes dates or numbers; None if it may be larger than memory."""

    @property
    def types(self) -> Mapping[str, Any]:
        """The columns of the published table with their Polars types."""

    def data(self, published: pl.DataFrame, text: Sequence[str], restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return the table that users are handed.

        Parameters
        ----------
        published : polars.DataFrame
            `frame` as it is written to files.
        text : sequence of str
            Columns whose categories are text for users.
        restore : callable
            Turns a Polars frame into the kind of table that came in.
        """

    def hand_on(self, frame: pl.DataFrame, restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return a table with the rows of `frame` as the kind of table that came in, or as a lazy frame."""

    def preview(self, shown: pl.DataFrame) -> pl.DataFrame:
        """Return at least the first rows of the published table, given `distinct` as it is written to files."""

    def rows_of(self, table: Table) -> Table | None:
        """Return the table that losses are measured against row by row; None if only its cells are known."""

    def write(self, shown: pl.DataFrame, path: Path, *, dialect: Dialect, codebook: Codebook) -> Callable[[], Files]:
        """Write the published table, and return a function that waits for the facts about each file.

        Parameters
        ----------
        shown : polars.DataFrame
            `distinct` as it is written to files.
        path : Path
            The file, or the folder for stores that write several.
        dialect : Dialect
            How CSV is written.
        codebook : Codebook
            Labels of the input's columns and values.
        """

    def verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame, check: WrittenCheck) -> None:
        """Verify what was written from its cells; its columns have these names.

        Raises
        ------
        ReleaseUnsafeError
            The files are not the release that was verified.
        """


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MemoryRows(Unpicklable):
    """Every published row, in memory."""

    _instead: ClassVar[str] = "Pickle the data of the release, or save it to a folder."

    distinct: pl.DataFrame
    """The published rows; recoded columns are categories."""
    rows: NDArray[np.int32]
    table_rows: NDArray[np.int32]
    original: pl.DataFrame
    personal: tuple[str, ...] = ()
    """The columns of the table of persons, the pseudonym first, if it is written as a table of its own."""
    counts: None = None

    @property
    def frame(self) -> pl.DataFrame:
        """The published rows."""
        return self.distinct

    @property
    def height(self) -> int:
        """Rows of the published table."""
        return self.distinct.height

    @property
    def types(self) -> Mapping[str, Any]:
        """The columns of the published table with their Polars types."""
        return self.distinct.schema

    def data(self, published: pl.DataFrame, text: Sequence[str], restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return the table that users are handed; see `RowStore`."""
        # Column by column, because Polars takes the name "*" for all columns.
        return restore(pl.DataFrame(one.cast(pl.String) if one.name in text else one for one in published))

    def hand_on(self, frame: pl.DataFrame, restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return a table as the kind of table that came in."""
        return restore(frame)

    def preview(self, shown: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the published table."""
        return shown

    def rows_of(self, table: Table) -> Table | None:
        """Return the table that losses are measured against: it has a row for each of the input."""
        return table

    def write(self, shown: pl.DataFrame, path: Path, *, dialect: Dialect, codebook: Codebook) -> Callable[[], Files]:
        """Write the published table as one file, or as two (`personal`); see `RowStore`."""
        waits = []
        for name, table in split_tables(shown, self.personal).items():
            part = path.with_stem(name) if self.personal else path
            write_table(table, part, dialect=dialect, codebook=codebook)
            waits.append(describe_file(part, table.height, dialect))
        return lambda: {name: facts for wait in waits for name, facts in wait().items()}

    def verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame, check: WrittenCheck) -> None:
        """Verify the files row by row; see `RowStore`."""
        written = (
            None
            if not self.personal
            else join_published(*(read_release(one, check.dialect.delimiter) for one in part_files(path)))
        )
        if written is not None and set(written.columns) == set(names):
            written = written[list(names)]
        verify_rows(path, names=names, shown=shown, published=self.distinct, check=check, written=written)


def split_tables(frame: pl.DataFrame, personal: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Split a published table into persons and rows; a table without columns of persons stays whole ("release").

    Parameters
    ----------
    frame : polars.DataFrame
        The published rows.
    personal : sequence of str
        The pseudonym, then the columns of persons.

    Raises
    ------
    ReleaseUnsafeError
        If a person has different cells in a column of persons.
    """
    if not personal:
        return {"release": frame}
    persons = frame[list(personal)].unique(maintain_order=True)
    if persons.height != persons[personal[0]].n_unique():
        raise ReleaseUnsafeError("Published rows of one person differ in a column of persons. Nothing was published.")
    others = [name for name in frame.columns if name not in personal[1:]]
    order = [personal[0], *(name for name in others if name != personal[0])]
    return {"persons": persons, "rows": frame[order]}


def verify_rows(
    path: Path,
    *,
    names: Sequence[str],
    shown: pl.DataFrame,
    published: pl.DataFrame,
    check: WrittenCheck,
    written: pl.DataFrame | None = None,
) -> None:
    """Verify a file row by row.

    If a model looks at sensitive values, they must be those of the table that the file was written from.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        The names that its columns must have: those of a spreadsheet-safe file differ from the release's.
    shown : polars.DataFrame
        The rows as they were handed to the writer.
    published : polars.DataFrame
        The same rows with the types of the release.
    check : WrittenCheck
    written : polars.DataFrame, optional
        What was read of the file, if it was read already.
    """
    written = read_release(path, check.dialect.delimiter) if written is None else written
    # With other columns the file is rejected by `require`.
    if written.columns == list(names):
        written.columns = published.columns
        if written.height == shown.height and check.reads_values:
            written = written.with_columns(
                read_back(written[name], shown[name], published[name]) for name in check.schema.sensitive
            )
    check.require(written)


def read_back(written: pl.Series, shown: pl.Series, published: pl.Series) -> pl.Series:
    """Return a column of a file with the values that it was written from, if text alone does not determine them.

    Text does not determine declared categories and times, nor dates and numbers in forms of their own (`shown`).

    Raises
    ------
    ReleaseUnsafeError
        The file holds other values.
    """
    kind = published.dtype
    formed = shown.dtype != kind
    # Numbers and ISO dates are determined by their text.
    if (kind.is_numeric() or kind == pl.Date) and not formed:
        return written
    if formed or kind in (pl.String, pl.Categorical, pl.Enum):
        # An empty text is read as a missing one.
        text, found = (column.cast(pl.String).fill_null("") for column in (shown, written))
        # A spreadsheet-safe file has an apostrophe before what would be run as a formula.
        same = bool(((text == found) | ("'" + text == found)).all())
    else:
        # Other types, such as times: written and published values must correspond one to one.
        pairs = pl.DataFrame([written.alias("written"), published.alias("published")]).unique()
        same = pairs.height == pairs["written"].n_unique() == pairs["published"].n_unique()
    if not same:
        raise ReleaseUnsafeError(f"The file holds other values of '{published.name}'. Nothing was published.")
    return published


def describe_file(path: Path, rows: int, dialect: Dialect) -> Callable[[], Files]:
    """Start hashing a written file and flushing it to the disk in the background.

    Returns
    -------
    callable
        Waits for both, and returns what a certificate states about the file.
    """
    flushed, digest = start_in_thread(partial(to_disk, path)), start_in_thread(partial(sha256_of, path))

    def wait() -> Files:
        flushed()  # raises an error of the disk once
        return {path.name: {"sha256": digest(), "rows": rows, **(dialect.facts if path.suffix == ".csv" else {})}}

    return wait


def sha256_of(path: Path) -> str:
    """Return the hash of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
