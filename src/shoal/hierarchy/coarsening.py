"""Base class of coarsenings, which reduce the precision of columns before anonymization."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from shoal._messages import Subject
from shoal.errors import ColumnError, InternalError, ParameterError, UsageError, near_matches
from shoal.hierarchy.distinct_values import encode_values, expand_to_rows
from shoal.table import Column
from shoal.table.text import dictionary_text


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoarseningResult:
    """Result of a coarsening: coarser columns, with facts and a figure for the report."""

    columns: tuple[pl.Series, ...]
    """The coarser columns."""
    encoded: Column | None = None
    """The column before, if it was encoded and is a single one."""
    of_intervals: bool = False
    """Whether the coarser values are intervals of numbers or dates. If so, several of them are generalized to an
    interval that covers them all."""
    classes: Mapping[str, Sequence[str]] | None = None
    """The original values, as text, that each coarser value represents. If None, they are derived from the columns
    before and after, unless the coarsening is `self_evident`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts about this application for the certificate, in addition to `Coarsening.to_dict`; no cell of the input."""
    picture: Callable[[], str] | None = None
    """Draws the coarsening as one SVG element, without a cell of the input; called when a report is written."""


class Coarsening(ABC):
    """A less precise form of one column, or of `takes` columns that belong together.

    Coarsenings are immutable, and their `repr` shows no cell.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.hierarchy import Bins
    >>> Bins(10).apply((pl.Series("age", [17, 18, 29]),))[0].to_list()
    ['[10, 20)', '[10, 20)', '[20, 30)']
    """

    takes: ClassVar[int] = 1
    """Number of columns: 1, or 2 for the coordinates of points."""
    self_evident: ClassVar[bool] = False
    """Whether `to_dict` determines which values a coarser value represents, as for bins of a fixed width."""
    ends_at_values: ClassVar[bool] = False
    """Whether the intervals that it creates end at exact values of the column; their ends are widened afterwards."""
    per_person: ClassVar[bool] = False
    """Whether the result depends on whose each row is; see `SinceFirst`."""
    takes_text: ClassVar[bool] = False
    """Whether text is used literally, even if it could be parsed as dates or numbers."""

    @property
    def streams(self) -> bool:
        """Whether the result depends on values but not on their frequencies, so that a table can be read in parts."""
        return False

    @abstractmethod
    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Coarsen the columns.

        Nulls stay nulls, unless the coarsening defines a value for them (as the line of a hierarchy for missing values
        does). The result depends on the columns alone, not on the order of their rows.

        Returns
        -------
        tuple of polars.Series
            As many columns, with the same names and lengths.

        Raises
        ------
        DataError, ParameterError
            If the column does not have the type or the values that this coarsening needs. The message shows no cell.
        """

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Coarsen the columns as `apply` does, and add facts and a figure if the coarsening provides them."""
        return CoarseningResult(columns=self.apply(columns))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate, without a cell: {"coarsening": name, ...}."""


class ValueCoarsening(Coarsening):
    """A coarsening that gives each value of one column a coarser one; missing values stay missing."""

    self_evident: ClassVar[bool] = True
    of_intervals: ClassVar[bool] = False
    """Whether the coarser values are intervals of numbers or dates."""

    @property
    def streams(self) -> bool:
        """Whether the result depends on values but not on their frequencies."""
        return True

    @abstractmethod
    def _coarsen_values(self, column: Column) -> pl.Series | list[str] | None:
        """Give a coarser value to each different one: in a list, categories in their order; None changes nothing."""

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Coarsen the column; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Coarsen the column, and mark intervals; see `Coarsening.coarsen`."""
        column = encode_values(*columns)
        values = None if column is None else self.coarsen_values(column)
        if column is None or values is None:
            return CoarseningResult(columns=columns, encoded=column)
        coarser = expand_to_rows(column, values)
        return CoarseningResult(columns=(coarser,), encoded=column, of_intervals=self.of_intervals)

    def coarsen_values(self, column: Column) -> pl.Series | None:
        """Give a coarser value to each different one of an encoded column; None if nothing changes."""
        values = self._coarsen_values(column)
        return pl.Series(values, dtype=pl.Enum(list(dict.fromkeys(values)))) if isinstance(values, list) else values


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoarsenedColumns:
    """A frame with coarser columns, and the description of what was done."""

    frame: pl.DataFrame
    """The frame with the coarser columns."""
    described: Mapping[str, dict[str, Any]]
    """Description for the certificate, by column names joined by commas: `Coarsening.to_dict` and the facts of this
    application."""
    pictures: Mapping[str, Callable[[], str]]
    """Functions that draw figures, by the same names, for coarsenings that provide them."""
    of_intervals: frozenset[str]
    """Columns whose values are intervals after coarsening."""
    classes: Mapping[str, Mapping[str, Sequence[str]]]
    """For each column whose coarsening is not `self_evident`: the original values that each coarser value represents.
    Private: never published."""
    encoded: Mapping[str, Column]
    """The columns before, if their coarsening encoded them."""


def coarsen_columns(
    frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening], allowed: Sequence[str]
) -> CoarsenedColumns:
    """Coarsen columns of a frame.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    coarsen : mapping
        The coarsening of each column, or of each tuple of columns if it takes several.
    allowed : sequence of str
        Columns that may be coarsened: the quasi-identifiers.

    Returns
    -------
    CoarsenedColumns

    Raises
    ------
    ColumnError
        If a column is unknown, is not a quasi-identifier, or is coarsened twice.
    ParameterError
        If a value of the mapping is not a coarsening, or takes another number of columns.
    DataError
        If a column does not have the values that its coarsening needs.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.hierarchy import TopCode
    >>> coarsen_columns(pl.DataFrame({"age": [9, 103]}), {"age": TopCode(90)}, ["age"]).frame["age"].to_list()
    ['9', '90+']
    """
    check_coarsenings(coarsen, allowed)
    described: dict[str, dict[str, Any]] = {}
    pictures: dict[str, Callable[[], str]] = {}
    of_intervals: set[str] = set()
    classes: dict[str, Mapping[str, Sequence[str]]] = {}
    encoded: dict[str, Column] = {}
    # Each coarsening sees the original columns, because no column is coarsened twice.
    for key, coarsening in coarsen.items():
        names = (key,) if isinstance(key, str) else tuple(key)
        before = tuple(frame.get_column(name) for name in names)
        try:
            result = coarsening.coarsen(before)
        # The error names the column, which the coarsening itself does not know.
        except UsageError as error:
            raise type(error)(f"Column {', '.join(map(repr, names))}: ", error) from error
        # User-defined coarsenings are checked here.
        after = result.columns
        if [(c.name, len(c)) for c in after] != [(c.name, len(c)) for c in before]:
            raise InternalError("a coarsening returned other columns than it was given")
        frame = frame.with_columns(after)
        # The certificate combines parameters and facts.
        described[",".join(names)] = {**coarsening.to_dict(), **result.facts}
        if result.picture is not None:
            pictures[",".join(names)] = result.picture
        of_intervals.update(names if result.of_intervals else ())
        if result.encoded is not None:
            encoded[names[0]] = result.encoded
        # Classes are recorded, so that metrics can compare with the original values.
        if not coarsening.self_evident:
            classes.update(
                (fine.name, result.classes if result.classes is not None else _list_classes(fine, coarse))
                for fine, coarse in zip(before, after, strict=True)
            )
    return CoarsenedColumns(
        frame=frame,
        described=described,
        pictures=pictures,
        of_intervals=frozenset(of_intervals),
        classes=classes,
        encoded=encoded,
    )


def _list_classes(before: pl.Series, after: pl.Series) -> dict[str, list[str]]:
    """List the original values of each coarser value, as text."""
    # Distinct pairs only, because columns may be long.
    pairs = pl.DataFrame([before.alias("before"), after.alias("after")]).drop_nulls().unique(maintain_order=True)
    texts = zip(dictionary_text(pairs["after"]), dictionary_text(pairs["before"]), strict=True)
    classes: dict[str, list[str]] = {}
    for coarse, fine in texts:
        classes.setdefault(coarse, []).append(fine)
    return classes


def check_coarsenings(coarsen: Mapping[str | tuple[str, ...], object], allowed: Sequence[str]) -> None:
    """Check that all values are coarsenings, of columns that may be coarsened, at most one per column.

    Raises
    ------
    ColumnError, ParameterError
        See `coarsen_columns`.
    """
    if not isinstance(coarsen, Mapping):
        raise ParameterError(
            Subject("anonymize", "coarsen"), f" must map names of columns to coarsenings. Got {type(coarsen).__name__}."
        )
    # A column may be a key of its own or a part of a tuple: both count.
    seen: set[str] = set()
    for key, coarsening in coarsen.items():
        names = (key,) if isinstance(key, str) else tuple(key)
        _check_coarsening(names, coarsening, allowed, seen)
        seen.update(names)


def _check_coarsening(names: tuple[str, ...], coarsening: object, allowed: Sequence[str], seen: set[str]) -> None:
    # Names first, so that a misspelled column is reported before its coarsening.
    for name in names:
        if name not in allowed:
            raise ColumnError(
                f"The column '{name}' cannot be coarsened: it is not a quasi-identifier. {near_matches(name, allowed)}"
            )
        if name in seen:
            raise ColumnError(f"The column '{name}' is coarsened twice.")
    if not isinstance(coarsening, Coarsening):
        got = f"the class {coarsening.__name__}" if isinstance(coarsening, type) else type(coarsening).__name__
        raise ParameterError(f"The coarsening of {', '.join(map(repr, names))} must be a shoal.Coarsening. Got {got}.")
    # Coordinates are coarsened together.
    if coarsening.takes != len(names):
        raise ParameterError(
            f"{type(coarsening).__name__} takes {coarsening.takes} column(s) together, name them in a tuple. "
            f"Got {len(names)}."
        )
