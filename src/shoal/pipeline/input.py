"""Opening data of any kind: what came in, what its text means, and which column plays which role."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.unpicklable import Unpicklable
from shoal._messages import Suggestion
from shoal.errors import ColumnError, NoRowsError, near_matches
from shoal.hierarchy import Coarsening, DatePart
from shoal.io import Restorer, open_frame, read_table, reads_alike, understand
from shoal.table import Schema, normalize_columns
from shoal.verification.published_folder import columns_with_role, find_published

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.facts import Fact
    from shoal.io import Forms
    from shoal.models import Requirement
    from shoal.pipeline.linked_rows import LinkedRows
    from shoal.table import Column

__all__ = ["JudgedTable", "OpenedData", "judged", "open_data", "open_population", "understood"]


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedData(Unpicklable):
    """An input of any kind as a Polars frame, and what is needed to return the same kind of table."""

    frame: pl.DataFrame
    format: str
    """Format of a saved release: "parquet" for Parquet and Arrow files, "xlsx" or "ods" for workbooks, else "csv"."""
    restore: Restorer
    encoding: str | None = None
    """Encoding of delimited text; None for other inputs."""
    delimiter: str | None = None
    """Delimiter of delimited text; None for other inputs."""
    sheet: str | None = None
    """Sheet of a workbook; None for other inputs."""
    forms: Forms = field(default_factory=dict)
    """Written forms of the columns whose text became dates or numbers."""
    written: pl.DataFrame | None = None
    """The frame before text became dates or numbers; None if no column did."""
    unread: Mapping[str, Fact] = field(default_factory=dict)
    """Columns that look like dates and could not be read, and why not, in a sentence without a cell."""
    counts: NDArray[np.int64]
    """Number of input rows that each row of the frame represents. If equal rows are counted, columns
    that are neither published nor identify a unit are empty."""
    units: tuple[Column, ...] = ()
    """The unit that each row of the frame belongs to, for each protected kind of unit; see `shoal.pipeline.units`."""

    linked: LinkedRows | None = None
    """The persons that the rows belong to, if the rows of a person are published together."""
    kept: NDArray[np.int64] | None = None
    """Number of these input rows that may be published, if rows are left out so that no person has too many; else
    None."""

    @property
    def publishable(self) -> NDArray[np.int64]:
        """Number of input rows that each row of the frame represents in a release, if it is published."""
        return self.counts if self.kept is None else self.kept

    def units_of(self, rows: NDArray[np.integer]) -> tuple[Column, ...]:
        """Select the units of some rows of the frame."""
        return tuple(column.gather(rows) for column in self.units)

    @property
    def rows(self) -> int:
        """Number of rows of the input."""
        return int(self.counts.sum())

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> OpenedData:
        """Select rows of the frame (repeats allowed), each with a new count."""
        written = None if self.written is None else self.written[rows]
        return replace(
            self,
            frame=self.frame[rows],
            written=written,
            counts=counts,
            units=self.units_of(rows),
            kept=None,
            linked=None if self.linked is None else self.linked.select(rows),
        )

    def normalized(self, names: Sequence[str]) -> OpenedData:
        """Normalize the text of some columns; the result replaces the original input."""
        return replace(self, frame=normalize_columns(self.frame.lazy(), names).collect())

    @property
    def as_it_came(self) -> pl.DataFrame:
        """The original input, before text became dates or numbers."""
        return self.frame if self.written is None else self.written

    @property
    def reads_alike(self) -> bool:
        """Whether all values have the same written form as in the original input."""
        return self.written is None or reads_alike(self.written, self.frame, self.forms)


def open_data(
    data: Any, *, delimiter: str | None = None, encoding: str | None = None, sheet: str | None = None
) -> OpenedData:
    """Open a frame, a path or a database URL."""
    if isinstance(data, str | PathLike):
        source = data if isinstance(data, str) else Path(data)
        found = read_table(source, delimiter=delimiter, encoding=encoding, sheet=sheet)
        return OpenedData(
            frame=found.frame,
            counts=np.ones(found.frame.height, dtype=np.int64),
            format=found.format,
            restore=Restorer(),
            encoding=found.encoding,
            delimiter=found.delimiter,
            sheet=found.sheet,
        )
    opened = open_frame(data)
    counts = np.ones(opened.frame.height, dtype=np.int64)
    return OpenedData(frame=opened.frame, counts=counts, format="csv", restore=opened.restore)


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgedTable(Unpicklable):
    """A table to judge, with what its certificate says where the caller does not."""

    data: Any
    """The table itself: a frame, a file, a URL."""
    quasi_identifiers: Sequence[str]
    sensitive: str | Sequence[str] | None
    star: str
    """How a suppressed cell is written."""
    certificate: Mapping[str, Any]
    """What was published with the table; empty where nothing was, or nobody asked."""


def judged(
    data: Any,
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | Sequence[str] | None,
    star: str | None,
) -> JudgedTable:
    """Find a table to judge: what `anonymize` returned, the folder of a release, or any table.

    Where no quasi-identifiers are named, the columns have the roles of the certificate that lies in the folder, or
    beside a file of which it has the hash.

    Raises
    ------
    ColumnError
        Where neither the caller nor a certificate names quasi-identifiers.
    """
    certificate: Mapping[str, Any] = {}
    own = getattr(data, "public_certificate", None)
    if own is not None:
        data, certificate = data.data, own.to_dict()
    elif isinstance(data, str | PathLike) and (quasi_identifiers is None or os.path.isdir(data)):
        data, certificate = find_published(data if isinstance(data, str) else Path(data))
    if quasi_identifiers is None:
        quasi_identifiers = columns_with_role(certificate, "quasi_identifiers")
        if not quasi_identifiers:
            raise ColumnError(
                "No certificate says what the quasi-identifiers of the table are, and nobody named them. Name them "
                "with ",
                Suggestion("quasi_identifiers"),
                ".",
            )
        sensitive = columns_with_role(certificate, "sensitive") if sensitive is None else sensitive
    said = (certificate.get("parameters") or {}).get("star")
    return JudgedTable(
        data=data,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        star=star if star is not None else str(said or "*"),
        certificate=certificate,
    )


def open_population(
    population: Any, names: Sequence[str], delimiter: str | None = None, encoding: str | None = None
) -> pl.DataFrame:
    """Open the table of a population, and return the quasi-identifiers of it.

    Raises
    ------
    ColumnError
        Where it lacks one.
    NoRowsError
        Where nobody is in it.
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
    return frame[list(names)]


def understood(
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
    """Turn columns of text into the dates and numbers that they mean, where something depends on what they mean.

    These are the quasi-identifiers, but for those whose hierarchy or coarsening takes text as it is written, and the
    sensitive columns where a model looks at their values and was given none by name. Rows that are not published say
    nothing of how a column is written: what they hold in these columns is missing in the table that is meant.

    Parameters
    ----------
    opened, schema, requirement
        The input, the roles of its columns, and what is asked of it.
    dates, decimal, coarsen, hierarchies
        As for `shoal.anonymize`.
    rows : int32 array, optional
        The numbers of the rows to publish; all by default.

    Returns
    -------
    OpenedData
        The table that is meant, with all rows of the input; it knows how these columns were written.
    """
    given = {name: one for key, one in _by_columns(coarsen).items() for name in key}
    formats = {name: one.format for name, one in given.items() if isinstance(one, DatePart) and one.format}
    as_text = {name for name, one in given.items() if one.takes_text} | set(_mapping(hierarchies))
    names = [name for name in schema.quasi_identifiers if name not in as_text]
    models = () if requirement is None else requirement.models
    if any(model.reads_values for model in models) and not any(model.names_values for model in models):
        names += schema.sensitive
    named = {**formats, **_mapping(dates)}
    names += [name for name in named if name not in names and name in schema.published]
    meant = understand(_without_other_rows(opened.frame, names, rows), names, dates=named, decimal=decimal)
    meant.check()
    if not meant.forms:
        return replace(opened, unread=meant.unread)
    frame = opened.frame.with_columns(meant.frame.select(*meant.forms).get_columns())
    return replace(opened, frame=frame, forms=meant.forms, written=opened.frame, unread=meant.unread)


def _without_other_rows(frame: pl.DataFrame, names: Sequence[str], rows: NDArray[np.int32] | None) -> pl.DataFrame:
    """Return a table whose columns of text are missing in all rows but some, which keep their numbers."""
    import polars as pl

    if rows is None or len(rows) == frame.height:
        return frame
    published = np.zeros(frame.height, dtype=np.bool_)
    published[rows] = True
    text = [name for name in names if frame.schema[name] in (pl.String, pl.Categorical)]
    return frame.with_columns(pl.when(pl.Series(published)).then(pl.col(text)))


def _by_columns(coarsen: object) -> dict[tuple[str, ...], Coarsening]:
    """Return the coarsenings among what was given, which is checked later, by their columns."""
    return {
        (key,) if isinstance(key, str) else tuple(key): one
        for key, one in _mapping(coarsen).items()
        if isinstance(one, Coarsening)
    }


def _mapping(given: object) -> Mapping[Any, Any]:
    return given if isinstance(given, Mapping) else {}
