"""Open input tables of any kind, convert their text to dates and numbers, and find the roles of their columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.unpicklable import Unpicklable
from shoal._messages import Part, Suggestion
from shoal.algorithms.bundles.strata import Strata
from shoal.errors import ColumnError, DataError, NoRowsError, near_matches
from shoal.hierarchy import Coarsening, DatePart
from shoal.io import (
    Codebook,
    Dialect,
    Forms,
    Restorer,
    check_column_names,
    open_frame,
    read_table,
    reads_alike,
    understand,
)
from shoal.models.column_sets import ColumnSet, all_sets
from shoal.models.requirement import Requirement
from shoal.pipeline.deriving import derive_columns
from shoal.request.texts import columns_of_sets, read_set, set_texts
from shoal.table import Column, Schema, normalize_columns, replace_values
from shoal.verification.meaning import star_of
from shoal.verification.published_folder import columns_with_role, find_published


@dataclass(frozen=True, kw_only=True)
class JoinedTables:
    """The layout of an input of two tables, persons and their rows, which were joined."""

    personal: tuple[str, ...]
    """The columns of the table of persons."""
    without_rows: int
    """Number of persons without rows, who are not published."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class BundledRows:
    """The rows of an input whose persons are put into bundles, each with all of its rows."""

    strata: Strata
    """How many rows each person publishes."""
    persons: NDArray[np.int64]
    """Person of each row of the input, numbered from 0 in random order; -1 for rows that cannot be published."""
    positions: NDArray[np.int64]
    """Place of each row among the published rows of its person; -1 for rows that are left out."""
    ordered: bool
    """Whether the order of the rows of a person is a fact, not one of their values."""
    rows: int
    """Number of rows that could be published."""
    alone: bool = False
    """Whether each row is a person by itself, without a pseudonym."""

    def to_dict(self) -> dict[str, int]:
        """Serialize the numbers of persons and rows of the input as in a certificate."""
        return {
            "persons": len(self.strata.lengths),
            "rows_left_out": self.rows - int(self.strata.lengths.sum()),
            "fewest_rows_left_out": self.strata.fewest_left_out,
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class KeptRows:
    """The rows of an input that were chosen to be published."""

    counts: NDArray[np.int64]
    """Number of the input rows of each row of the frame that may be published."""
    bundled: BundledRows | None = None
    """The persons that the rows belong to, if groups are bundles of persons."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FinerColumns(Unpicklable):
    """Columns of an input before they were coarsened, for the verification."""

    frame: pl.DataFrame
    unconverted: pl.DataFrame
    """The same columns before text became dates or numbers, for the hash of the input."""
    described: Mapping[str, Any]
    """The coarsenings as a certificate describes them, by column."""
    classes: Mapping[str, Mapping[str, Sequence[str]]]
    """For each column whose values became names of classes: the values that each name represents."""

    def select(self, rows: NDArray[np.integer]) -> FinerColumns:
        """Select some rows."""
        return replace(self, frame=self.frame[rows], unconverted=self.unconverted[rows])


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedData(Unpicklable):
    """An input of any kind as a Polars frame, and what is needed to return the same kind of table."""

    frame: pl.DataFrame
    format: str
    """Format of a saved release: "parquet" for Parquet and Arrow files, "xlsx" or "ods" for workbooks, "dta",
    "sav" or "xpt" for files of Stata, SPSS and SAS, else "csv"."""
    restore: Restorer
    encoding: str | None = None
    """Encoding of delimited text; None for other inputs."""
    delimiter: str | None = None
    """Delimiter of delimited text; None for other inputs."""
    bom: bool = False
    """Whether delimited text had a byte order mark, or another encoding than UTF-8."""
    sheet: str | None = None
    """Sheet of a workbook; None for other inputs."""
    codebook: Codebook = field(default_factory=dict)
    """Labels of a file of Stata, SPSS or SAS."""
    forms: Forms = field(default_factory=dict)
    """Written forms of the columns whose text became dates or numbers."""
    unconverted: pl.DataFrame | None = None
    """The frame before text became dates or numbers; None if no column did."""
    unread: Mapping[str, Fact] = field(default_factory=dict)
    """Columns that look like dates and could not be read, with the reason, in a sentence without a cell."""
    derived: Mapping[str, Fact] = field(default_factory=dict)
    """Derived columns with missing values, and how many, in a sentence without a cell."""
    below: int = 0
    """Number of rows below the table, notes and sums, that were left out."""
    counts: NDArray[np.int64]
    """Number of input rows that each row of the frame represents. If equal rows are counted, columns
    that are neither published nor identify an owner are empty."""
    owners: tuple[Column, ...] = ()
    """The owner that each row of the frame belongs to, for each protected kind of owner
    (`shoal.pipeline.kept_rows`)."""

    joined: JoinedTables | None = None
    """The layout of the two tables that were joined; None for one table."""
    finer: FinerColumns | None = None
    """The sensitive and insensitive columns that were coarsened, as they were before; None if there are none."""
    kept: KeptRows | None = None
    """The rows that were chosen, by what the release counts or by chance; None if all may be published that have their
    sensitive values."""

    @property
    def dialect(self) -> Dialect:
        """How a release of it is written as CSV."""
        return Dialect(delimiter=self.delimiter or ",", bom=self.bom)

    @property
    def publishable_counts(self) -> NDArray[np.int64]:
        """Number of input rows that each row of the frame represents in a release, if it is published."""
        return self.counts if self.kept is None else self.kept.counts

    @property
    def bundled(self) -> BundledRows | None:
        """The persons of bundles; None if groups are not bundles."""
        return None if self.kept is None else self.kept.bundled

    def owners_of(self, rows: NDArray[np.integer]) -> tuple[Column, ...]:
        """Select the owners of some rows of the frame."""
        return tuple(column.gather(rows) for column in self.owners)

    @property
    def rows(self) -> int:
        """Number of rows of the input."""
        return int(self.counts.sum())

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> OpenedData:
        """Select rows of the frame (repeats allowed), each with a new count."""
        unconverted = None if self.unconverted is None else self.unconverted[rows]
        return replace(
            self,
            frame=self.frame[rows],
            unconverted=unconverted,
            counts=counts,
            owners=self.owners_of(rows),
            kept=None,
            finer=None if self.finer is None else self.finer.select(rows),
        )

    def select_publishable(self, schema: Schema, missing_sensitive: str) -> tuple[pl.DataFrame, NDArray[np.int32]]:
        """Select the rows that may be published; return them and their indices.

        Rows without a sensitive value are an error, are left out, or are kept, as `missing_sensitive` states.
        """
        frame = self.frame
        rows = np.arange(frame.height, dtype=np.int32)
        if frame.height == 0:
            raise DataError("The table has no rows: there is nothing to publish.")
        # Rows that are left out for their person include those with missing values.
        if self.kept is not None:
            rows = rows[self.kept.counts > 0]
            return frame[rows], rows
        if missing_sensitive == "value" or not schema.sensitive:
            return frame, rows
        absent = find_missing_rows(frame, schema.sensitive)
        count = int(np.count_nonzero(absent))
        if count == 0:
            return frame, rows
        if missing_sensitive == "error":
            rows_missing = int(self.counts[absent].sum())
            # Cells stand for several rows each, so that the rows are counted.
            one, several = "1 row has", f"{rows_missing} rows have"
            raise DataError(
                f"{one if rows_missing == 1 else several} no sensitive value. Choose how to treat such rows: ",
                Suggestion("missing_sensitive", "value"),
                " makes it a value like any other, ",
                Suggestion("missing_sensitive", "drop"),
                " leaves the rows out.",
            )
        # Nothing would be left to publish.
        if count == frame.height:
            raise DataError("Every row misses a sensitive value: there is nothing to publish.")
        return frame.filter(~absent), rows[~absent]

    def normalized(self, names: Sequence[str]) -> OpenedData:
        """Normalize the text of some columns; the result replaces the original input."""
        return replace(self, frame=normalize_columns(self.frame.lazy(), names).collect())

    def cleaned(
        self, replaced: Mapping[str, Mapping[str, str | None]] | None, derive: Mapping[str, str] | None
    ) -> OpenedData:
        """Replace values of columns, then derive columns; the result replaces the original input."""
        frame = replace_values(self.frame.lazy(), replaced).collect() if replaced else self.frame
        frame, notes = derive_columns(frame, derive) if derive else (frame, {})
        return replace(self, frame=frame, derived=notes)

    def with_lists_as_text(self, separators: Mapping[str, str]) -> OpenedData:
        """Write columns of lists as text with a separator; the result replaces the original input.

        Raises
        ------
        DataError
            A value contains the separator.
        """
        # A value that contains the separator would be split when it is read.
        columns = []
        for name, separator in separators.items():
            column = self.frame.get_column(name)
            if not isinstance(column.dtype, pl.List):
                continue
            text = column.cast(pl.List(pl.String))
            if text.explode().str.contains(separator, literal=True).any():
                raise DataError(f"A value of the column '{name}' contains the separator of its lists. Choose another.")
            columns.append(text.list.join(separator))
        return replace(self, frame=self.frame.with_columns(columns)) if columns else self

    @property
    def raw_frame(self) -> pl.DataFrame:
        """The original input, before text became dates or numbers."""
        return self.frame if self.unconverted is None else self.unconverted

    @property
    def reads_alike(self) -> bool:
        """Whether all values have the same written form as in the original input."""
        return self.unconverted is None or reads_alike(self.unconverted, self.frame, self.forms)


def find_missing_rows(frame: pl.DataFrame, names: Sequence[str]) -> NDArray[np.bool_]:
    """Find the rows in which a column is null or NaN."""
    absent = np.zeros(frame.height, dtype=np.bool_)
    for name in names:
        column = frame.get_column(name)
        absent |= (column.fill_nan(None) if column.dtype.is_float() else column).is_null().to_numpy()
    return absent


def open_data(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    replace_values: Mapping[str, Mapping[str, str | None]] | None = None,
    derive: Mapping[str, str] | None = None,
) -> OpenedData:
    """Open a frame, a path or a database URL; replace values and derive columns before anything else."""
    opened = _open(data, delimiter=delimiter, encoding=encoding, sheet=sheet, header_row=header_row)
    return opened.cleaned(replace_values, derive) if replace_values or derive else opened


def _open(data: Any, **reading: Any) -> OpenedData:
    if isinstance(data, str | PathLike):
        source = data if isinstance(data, str) else Path(data)
        found = read_table(source, **reading)
        return OpenedData(
            frame=found.frame,
            counts=np.ones(found.frame.height, dtype=np.int64),
            format=found.format,
            restore=Restorer(),
            encoding=found.encoding,
            delimiter=found.delimiter,
            bom=found.bom,
            sheet=found.sheet,
            codebook=found.codebook,
            below=found.below,
        )
    opened = open_frame(data, lenient=True)  # columns that are only dropped never stop a run
    check_column_names(opened.frame, header_row=reading.get("header_row"), in_file=False)
    counts = np.ones(opened.frame.height, dtype=np.int64)
    return OpenedData(frame=opened.frame, counts=counts, format="csv", restore=opened.restore)


@dataclass(frozen=True, kw_only=True, repr=False)
class AssessedTable(Unpicklable):
    """A table to assess, with the roles of its columns from the caller or from its certificate."""

    data: Any
    """The table: a frame, a file or a URL."""
    quasi_identifiers: Sequence[str]
    """The quasi-identifiers."""
    sensitive: str | Sequence[str] | None
    """The sensitive columns, if there are any."""
    star: str
    """The text of a suppressed cell."""
    certificate: Mapping[str, Any]
    """The public certificate of the table; empty if there is none or if it was not needed."""
    sets: tuple[ColumnSet, ...]
    """The sets of quasi-identifiers to assess; empty if all quasi-identifiers together are the only one."""
    knows: int | None
    """The number of columns of the sets that are not named one by one."""


def open_assessed(
    data: Any,
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | Sequence[str] | None,
    star: str | None,
    qi_sets: Sequence[str | Sequence[str]] = (),
    knows: int | None = None,
    *,
    propose: Callable[[Any], Sequence[Part]] = lambda _: (),
) -> AssessedTable:
    """Find a table to assess: a release in memory, the folder of a release, or any table.

    If neither quasi-identifiers nor sets of them are given, the columns have the roles of the certificate in the
    folder, or of one next to a file whose hash it contains; so have sets, if none are given.

    Raises
    ------
    ColumnError
        If neither the caller nor a certificate names quasi-identifiers; the message ends with the proposals.
    """
    texts = set_texts(qi_sets)
    quasi_identifiers = (columns_of_sets(texts) or None) if quasi_identifiers is None else quasi_identifiers
    certificate: Mapping[str, Any] = {}
    # A release in memory has its own certificate; a folder, or a file without named columns, may have one on disk.
    own = getattr(data, "public_certificate", None)
    if own is not None:
        data, certificate = data.data, own.to_dict()
    elif isinstance(data, str | PathLike) and (quasi_identifiers is None or os.path.isdir(data)):
        data, certificate = find_published(data if isinstance(data, str) else Path(data))
    stated = certificate.get("parameters") or {}
    if quasi_identifiers is None:
        quasi_identifiers = columns_with_role(certificate, "quasi_identifiers")
        if not quasi_identifiers:
            raise ColumnError(
                "No certificate states the quasi-identifiers of the table. Name them with ",
                Suggestion("quasi_identifiers"),
                ".",
                *propose(data),
            )
        sensitive = columns_with_role(certificate, "sensitive") if sensitive is None else sensitive
        if knows is None:
            texts, knows = tuple(stated.get("qi_sets", ())), stated.get("knows")
    return AssessedTable(
        data=data,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        star=star if star is not None else star_of(certificate),
        certificate=certificate,
        sets=all_sets([*map(read_set, texts)], knows, quasi_identifiers),
        knows=knows,
    )


def open_population(
    population: Any,
    names: Sequence[str],
    delimiter: str | None = None,
    encoding: str | None = None,
    *,
    kinds: Sequence[Sequence[str]] = (),
) -> pl.DataFrame:
    """Open the table of a population, and select its quasi-identifiers.

    Parameters
    ----------
    population : path or frame
    names : sequence of str
        The quasi-identifiers.
    delimiter, encoding : str, optional
        Of delimited text.
    kinds : sequence of sequence of str
        The columns that identify each kind of owner. If the population has them, each owner must have one row.

    Raises
    ------
    ColumnError
        If a quasi-identifier is missing.
    DataError
        If an owner has several rows.
    NoRowsError
        If the table has no rows.
    """
    frame = open_data(population, delimiter=delimiter, encoding=encoding).frame
    for name in names:
        if name not in frame.columns:
            raise ColumnError(
                f"The population has no column '{name}', which is a quasi-identifier of the table. "
                f"{near_matches(name, frame.columns)} Rename it, or leave '{name}' out."
            )
    if frame.height == 0:
        raise NoRowsError("The population has no rows.")
    # A population without these columns is taken at its word.
    for columns in kinds:
        if set(columns) <= set(frame.columns) and (different := frame[list(columns)].n_unique()) < frame.height:
            raise DataError(
                f"The population has {frame.height:,} rows of {different:,} persons, and each row counts as one "
                "person. Give a population with one row of each person."
            )
    return frame[list(names)]


def convert_text(
    opened: OpenedData,
    schema: Schema,
    requirement: Requirement | None,
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    rows: NDArray[np.int32] | None = None,
) -> OpenedData:
    """Convert text columns to dates and numbers if something depends on their values.

    These are the quasi-identifiers and other columns with a coarsening, except those whose hierarchy or coarsening
    takes text, and the sensitive columns if a model compares their values and was not given values by name. Only
    publishable rows determine the form of a column: in all other rows the converted columns are null.

    Parameters
    ----------
    opened : OpenedData
        The input.
    schema : Schema
        The roles of its columns.
    requirement : Requirement, optional
        The requirement for the release.
    dates, decimal, coarsen, hierarchies
        See `shoal.anonymize`.
    rows : int32 array, optional
        Indices of the publishable rows; all rows by default.

    Returns
    -------
    OpenedData
        All rows of the input, with converted columns and their written forms.
    """
    # Columns whose coarsening or hierarchy takes text stay text.
    given = {name: one for key, one in _select_coarsenings(coarsen).items() for name in key}
    formats = {name: one.format for name, one in given.items() if isinstance(one, DatePart) and one.format}
    as_text = {name for name, one in given.items() if one.takes_text} | set(_as_mapping(hierarchies))
    read = dict.fromkeys((*schema.quasi_identifiers, *(name for name in given if name in schema.published)))
    names = [name for name in read if name not in as_text]
    # Sensitive columns are converted only for models that compare values.
    models = () if requirement is None else requirement.models
    if any(model.reads_values for model in models) and not any(model.names_values for model in models):
        names += [name for name in schema.sensitive if name not in names]
    # A date format that is given for a column applies in any case.
    named = {**formats, **_as_mapping(dates)}
    # Different offsets from UTC could not be written again, so columns that are published unchanged stay text.
    unchanged = {name for name in schema.insensitive if "z" in named.get(name, "") and name not in read}
    names += [name for name in named if name not in {*names, *unchanged} and name in schema.published]
    counts = opened.counts if (opened.counts > 1).any() else None
    frame = _blank_other_rows(opened.frame, names, rows)
    converted = understand(frame, names, dates=named, decimal=decimal, counts=counts)
    converted.check()
    if not converted.forms:
        return replace(opened, unread=converted.unread)
    # Keep the unconverted frame, because a release is written in the original form.
    frame = opened.frame.with_columns(converted.frame.select(*converted.forms).get_columns())
    return replace(opened, frame=frame, forms=converted.forms, unconverted=opened.frame, unread=converted.unread)


def _blank_other_rows(frame: pl.DataFrame, names: Sequence[str], rows: NDArray[np.int32] | None) -> pl.DataFrame:
    """Replace the text of some columns by null in all rows except the selected ones; row numbers stay the same."""
    if rows is None or len(rows) == frame.height:
        return frame
    published = np.zeros(frame.height, dtype=np.bool_)
    published[rows] = True
    text = [name for name in names if frame.schema[name] in (pl.String, pl.Categorical)]
    return frame.with_columns(pl.when(pl.Series(published)).then(pl.col(text)))


def _select_coarsenings(coarsen: object) -> dict[tuple[str, ...], Coarsening]:
    """Select the coarsenings among the given values, which are validated later, and key them by tuples of columns."""
    return {
        (key,) if isinstance(key, str) else tuple(key): one
        for key, one in _as_mapping(coarsen).items()
        if isinstance(one, Coarsening)
    }


def _as_mapping(given: object) -> Mapping[Any, Any]:
    return given if isinstance(given, Mapping) else {}
