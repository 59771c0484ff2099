"""What every coarsening is: a column, or several that belong together, made less precise before anonymization."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._messages import Subject
from shoal.errors import ColumnError, InternalError, ParameterError, UsageError, near_matches
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

__all__ = ["Coarsened", "Coarsening", "check_coarsenings", "coarsen_columns"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Coarsened:
    """What a coarsening made of columns, and what there is to say and to draw of it."""

    columns: tuple[pl.Series, ...]
    """The coarser columns."""
    of_intervals: bool = False
    """Whether the coarser values are intervals of numbers or dates: several of them become one that covers them all."""
    classes: Mapping[str, Sequence[str]] | None = None
    """Where the coarser values are names of classes: the values, as text, that each name stands for. None where the
    coarsening is `self_evident`; from any other the coarser column is believed then, value by value."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the certificate says of this very use, beside `Coarsening.to_dict`; no cell of the input."""
    picture: Callable[[], str] | None = None
    """Draws it as one SVG element, without a cell of the input; called when a report is written."""


class Coarsening(ABC):
    """A less precise form of one column (or of `takes` columns that belong together).

    Coarsenings are frozen, keyword-friendly values whose `repr` shows no cell.
    """

    takes: ClassVar[int] = 1
    """How many columns it takes: 1, or 2 for the coordinates of points."""
    self_evident: ClassVar[bool] = False
    """Whether a reader of the coarser values who has `to_dict` knows which values they stand for."""
    takes_text: ClassVar[bool] = False
    """Whether text is taken as it is written, and not as the dates or numbers that it may mean."""

    @property
    def streams(self) -> bool:
        """Whether it looks at values and not at how many rows have them, so that a table can be read in pieces."""
        return False

    @abstractmethod
    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the coarser columns: as many, with the same names and lengths.

        Nulls stay nulls, unless the coarsening says what becomes of them (the line of a hierarchy for the missing
        value).

        The result depends on the columns alone, not on the order of their rows.

        Raises
        ------
        DataError, ParameterError
            The column has not the type or the values that this coarsening needs. The message shows no cell.
        """

    def applied(self, columns: tuple[pl.Series, ...]) -> Coarsened:
        """Return the coarser columns of `apply`, with facts and a picture where the coarsening has some."""
        return Coarsened(columns=self.apply(columns))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate, without a cell: {"coarsening": name, ...}."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoarsenedColumns:
    """A frame with coarser columns, and what is known of them."""

    frame: pl.DataFrame
    """The frame."""
    described: Mapping[str, dict[str, Any]]
    """What was done, for the certificate: the names of the columns, joined by commas, and `Coarsening.to_dict` with
    the facts of this use."""
    pictures: Mapping[str, Callable[[], str]]
    """What draws it, by the same names, for coarsenings that draw themselves."""
    of_intervals: frozenset[str]
    """The columns whose values are intervals now."""
    classes: Mapping[str, Mapping[str, Sequence[str]]]
    """For each column whose values are names of classes now: the values that each name stands for. Private."""


def coarsen_columns(
    frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening], allowed: Sequence[str]
) -> CoarsenedColumns:
    """Coarsen columns of a frame.

    Parameters
    ----------
    frame : polars.DataFrame
    coarsen : mapping
        The coarsening of each column, or of each tuple of columns for those that take several.
    allowed : sequence of str
        The columns that may be coarsened: the quasi-identifiers.

    Returns
    -------
    CoarsenedColumns

    Raises
    ------
    ColumnError
        A column is unknown, is no quasi-identifier, or is coarsened twice.
    ParameterError
        Something is no coarsening, or takes another number of columns.
    DataError
        A column has not the values that its coarsening needs.
    """
    check_coarsenings(coarsen, allowed)
    described: dict[str, dict[str, Any]] = {}
    pictures: dict[str, Callable[[], str]] = {}
    of_intervals: set[str] = set()
    classes: dict[str, Mapping[str, Sequence[str]]] = {}
    for key, coarsening in coarsen.items():
        names = (key,) if isinstance(key, str) else tuple(key)
        before = tuple(frame.get_column(name) for name in names)
        try:
            made = coarsening.applied(before)
        except UsageError as error:
            raise type(error)(f"Column {', '.join(repr(name) for name in names)}: ", error) from error
        after = made.columns
        if [(c.name, len(c)) for c in after] != [(c.name, len(c)) for c in before]:
            raise InternalError("a coarsening returned other columns than it was given")
        frame = frame.with_columns(after)
        described[",".join(names)] = {**coarsening.to_dict(), **made.facts}
        if made.picture is not None:
            pictures[",".join(names)] = made.picture
        of_intervals.update(names if made.of_intervals else ())
        if not coarsening.self_evident:
            classes.update(
                (fine.name, made.classes if made.classes is not None else _as_it_became(fine, coarse))
                for fine, coarse in zip(before, after, strict=True)
            )
    return CoarsenedColumns(
        frame=frame, described=described, pictures=pictures, of_intervals=frozenset(of_intervals), classes=classes
    )


def _as_it_became(before: pl.Series, after: pl.Series) -> dict[str, list[str]]:
    """Return the values that became each coarser one, as text."""
    import polars as pl

    pairs = pl.DataFrame([before.alias("before"), after.alias("after")]).drop_nulls().unique(maintain_order=True)
    texts = zip(dictionary_text(pairs["after"]), dictionary_text(pairs["before"]), strict=True)
    classes: dict[str, list[str]] = {}
    for coarse, fine in texts:
        classes.setdefault(coarse, []).append(fine)
    return classes


def check_coarsenings(coarsen: Mapping[str | tuple[str, ...], object], allowed: Sequence[str]) -> None:
    """Check that coarsenings are some, of columns that may be coarsened, and of each column once.

    Raises
    ------
    ColumnError, ParameterError
        See `coarsen_columns`.
    """
    if not isinstance(coarsen, Mapping):
        raise ParameterError(
            Subject("anonymize", "coarsen"), f" must map names of columns to coarsenings. Got {type(coarsen).__name__}."
        )
    seen: set[str] = set()
    for key, coarsening in coarsen.items():
        names = (key,) if isinstance(key, str) else tuple(key)
        _check(names, coarsening, allowed, seen)
        seen.update(names)


def _check(names: tuple[str, ...], coarsening: object, allowed: Sequence[str], seen: set[str]) -> None:
    for name in names:
        if name not in allowed:
            raise ColumnError(
                f"The column '{name}' cannot be coarsened: it is no quasi-identifier. {near_matches(name, allowed)}"
            )
        if name in seen:
            raise ColumnError(f"The column '{name}' is coarsened twice.")
    if not isinstance(coarsening, Coarsening):
        got = f"the class {coarsening.__name__}" if isinstance(coarsening, type) else type(coarsening).__name__
        raise ParameterError(f"The coarsening of {', '.join(map(repr, names))} must be a shoal.Coarsening. Got {got}.")
    if coarsening.takes != len(names):
        raise ParameterError(
            f"{type(coarsening).__name__} takes {coarsening.takes} column(s) together, name them in a tuple. "
            f"Got {len(names)}."
        )
