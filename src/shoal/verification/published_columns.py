"""Interpret whole columns of a published table: the values that every cell stands for, or why this is unknown.

The interpretation of a cell is decided by what is declared for its column (`Meaning`: by a certificate, a hierarchy or
the caller) and, if nothing is declared, by all cells of the column together. If a doubt remains, the column is not
understood: it has a `problem`, which states how to declare what is missing. Ambiguous cells are never silently taken
for plain values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Audience, Part, Phrase, Suggestion, text_of
from shoal.errors import DataError, NotUnderstoodError
from shoal.verification.cell_syntax import Cell, cell_text, loose_cell, read_cell
from shoal.verification.meaning import KINDS, Meaning
from shoal.verification.scales import Position, Scale, is_plain_number, moment_of, number_of, period_of
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Masked, Span, SubDomain, hull
from shoal.verification.values import Values, encode_values, scale_of

_YEAR = re.compile(r"[0-9]{4}")
UNNAMED = re.compile(r"(node )*level [0-9]+, node [0-9]+")
"""Names that shoal gives to nodes with many values."""


@dataclass(frozen=True, kw_only=True)
class ReadingProblem:
    """Why a column is not understood."""

    column: str
    why: str
    """The doubt, in words; never a cell."""
    how: Part
    """How to declare what is missing."""
    order_only: bool = False
    """Whether only the order of the values is unknown: values and intervals can be distinguished."""

    def render(self, audience: Audience) -> str:
        """Phrase the problem for an audience."""
        return text_of((f"'{self.column}': {self.why}. ", self.how), audience)


def suggest_declaration(column: str) -> Part:
    """Suggest how to declare the interpretation of a column."""
    return Phrase(
        "If they are nodes of a hierarchy, give it with ",
        _suggest("hierarchies", column, "FILE", "..."),
        "; else say what was made of the values, with ",
        _suggest("cells", column, "prefix:3", "shoal.Prefix(3)"),
        " for example, or that they are values as they stand, with ",
        _suggest("cells", column, "values", "'values'"),
        ".",
    )


def _suggest(parameter: str, column: str, words: str, value: str) -> Part:
    """Phrase a declaration for one column, for the command line and for Python."""
    return Suggestion(parameter, f"{column}={words}", python=f"{parameter}={{'{column}': {value}}}")


class ReadColumn:
    """The cells of one column, with the values that each of them stands for.

    Parameters
    ----------
    name : str
        The column.
    labels : sequence of str or None
        Its distinct cells as text; None is a missing one.
    codes : integer array
        The position of each row's cell among the labels.
    meaning : Meaning
        How the cells are interpreted.
    star : str
        The symbol of a suppressed cell.
    scale : Scale, optional
        The scale of the values, if known; by default it is detected from all cells.
    true_scale : Scale, optional
        The scale of the true values that the cells will be compared with: cells that are years (`2003`) are periods
        if the true values are dates.
    """

    def __init__(
        self,
        name: str,
        labels: Sequence[str | None],
        codes: NDArray[np.integer],
        *,
        meaning: Meaning,
        star: str = "*",
        scale: Scale | None = None,
        true_scale: Scale | None = None,
    ) -> None:
        self.name = name
        self.labels = labels
        self.codes = codes
        self.meaning = meaning
        self.star = star
        self.foreign = not meaning.kind or (meaning.climbed and meaning.tree is None)
        """Whether cells may have any form: nothing is declared, or they are nodes of an unavailable hierarchy."""
        self._known: dict[str | None, SubDomain] = {}
        self.years = meaning.kind == "date-part"
        """Whether years, quarters and months are periods."""
        self.problem: ReadingProblem | None = None
        """Why the column is not understood; None if it is."""
        if scale is None:
            self.scale: Scale = "text"
            """The scale of the values."""
            self.problem = self._decide(true_scale)
        else:
            self.scale = scale

    # The values that a cell stands for.

    def sub_domain(self, text: str | None) -> SubDomain:
        """Interpret a cell of this column."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._read(text)
        return found

    @cached_property
    def sub_domains(self) -> list[SubDomain]:
        """The values that each label stands for."""
        return [self.sub_domain(label) for label in self.labels]

    def _read(self, text: str | None) -> SubDomain:
        if text is None:
            return Listed(texts=(None,))
        if text == self.star:
            return Everything()
        # Names of classes and nodes take precedence over forms: a node may be called `20-29`.
        named = self.meaning.named(text)
        if named is not None:
            return named
        return self._node(text) if text in self.leaves else self._by_form(text)

    def _by_form(self, text: str) -> SubDomain:
        cell = self.form(text)
        match cell.kind:
            case "star":
                return Everything()
            case "interval":
                return self._interval(cell)
            case "set":
                return AnyOf(parts=tuple(part for member in cell.atoms for part in self.members(str(member))))
            case "mask":
                return Masked(text=text, star=self.star)
        return self._value(text)

    def form(self, text: str) -> Cell:
        """Parse a cell, restricted to the forms that occur in such a column."""
        # Loose forms such as `20-29` are intervals only in columns of numbers without any declaration.
        cell = read_cell(text, self.star)
        # Text with stars or signs is a value unless the column can have masks or open intervals.
        if cell.kind in ("star", "mask") and not (self.foreign or self.meaning.climbed):
            return Cell(kind="value", atoms=(text,))
        if cell.kind == "interval" and None in cell.atoms and not self.meaning.has_sides and not self.foreign:
            return Cell(kind="value", atoms=(text,))
        if cell.kind == "value" and self.foreign and self.scale == "number":
            return loose_cell(text) or cell
        return cell

    def inner(self, text: str | None) -> SubDomain:
        """Interpret an end of an interval, or a member of a set."""
        if text is not None and self.meaning.kind == "values" and not self.foreign:
            # Such a column shows unchanged values, even if one is spelled like an interval.
            return self._node(text) if text in self.leaves else self._value(text)
        return self.sub_domain(text)

    def members(self, text: str) -> Iterable[SubDomain]:
        """Yield the interpretations of a member of a set: its form, and the value of the same spelling."""
        found = self.inner(text)
        yield found
        if self.scale == "text" and not isinstance(found, Listed) and self.meaning.named(text) is None:
            yield Listed(texts=(text,))

    def _value(self, text: str) -> SubDomain:
        if self.meaning.converts:
            return self.meaning.stands_for(text) or Listed(texts=(text,))
        if self.years:
            period = period_of(text)
            if period is not None:
                return Span(low=period[0], high=period[1], high_included=False)
        return Listed(texts=(text,))

    def _interval(self, cell: Cell) -> SubDomain:
        low_included, high_included = cell.low_included, cell.high_included
        low, high = (None if atom is None else self.inner(atom) for atom in cell.atoms)
        # Ends with positions make a span of the scale.
        first, last = (None if end is None else self.span_of(end) for end in (low, high))
        if (low is None) == (first is None) and (high is None) == (last is None):
            return hull(first, last, low_included=low_included, high_included=high_included)
        # Names have positions only in a declared order; otherwise the true values must decide.
        order = self.meaning.order
        if order is not None and all(atom in order for atom in cell.atoms):
            begin, end = (order.index(str(atom)) for atom in cell.atoms)
            return Listed(texts=order[begin + (not low_included) : end + high_included])
        return Between(low=low, high=high, low_included=low_included, high_included=high_included)

    def span_of(self, found: SubDomain) -> Span | None:
        """Convert a sub-domain to a span of the column's scale, or None if it is not contiguous."""
        if isinstance(found, Span):
            return found
        if isinstance(found, Listed) and len(found.texts) == 1 and found.texts[0] is not None:
            position = self.position_of(found.texts[0])
            return None if position is None else Span(low=position, high=position)
        return None

    def position_of(self, text: str) -> Position | None:
        """Look up the position of a text on the column's scale; None if it has none."""
        if self.scale == "number":
            return number_of(text)
        return None if self.scale == "text" else moment_of(text, self.scale)

    # Nodes of a tree.

    @cached_property
    def leaves(self) -> dict[str, list[str]]:
        """The values below each node that is a label, or an end or a member in a label."""
        tree = self.meaning.tree
        if tree is None:
            return {}
        # Only nodes that occur are looked up, from the lowest level on: a name means its lowest node.
        wanted = {label for label in self.labels if label is not None}
        wanted |= {atom for label in wanted for atom in read_cell(label, self.star).atoms if atom is not None}
        found: dict[str, list[str]] = {}
        for names, nodes in zip(tree.labels[1:], tree.levels[1:], strict=True):
            chosen = {number for number, name in enumerate(names) if name in wanted and name not in found}
            if not chosen:
                continue
            of_wanted = np.flatnonzero(np.isin(nodes, list(chosen)))
            for value, node in zip(of_wanted.tolist(), nodes[of_wanted].tolist(), strict=True):
                found.setdefault(names[node], []).append(tree.labels[0][value])
        return found

    def _node(self, text: str) -> SubDomain:
        """Interpret a node as the union of its values, each read as a cell of the underlying column."""
        parts = [self._below(leaf) for leaf in self.leaves[text]]
        texts = [one for part in parts if isinstance(part, Listed) for one in part.texts]
        others = tuple(part for part in parts if not isinstance(part, Listed))
        return AnyOf(parts=(Listed(texts=tuple(texts)), *others)) if others else Listed(texts=tuple(texts))

    def _below(self, leaf: str) -> SubDomain:
        named = self.meaning.named(leaf)
        if named is not None:
            return named
        return self._value(leaf) if self.meaning.kind == "values" else self._by_form(leaf)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is declared and cells show unchanged values, or stars."""
        if self.meaning.kind or self.problem is not None:
            return False
        return all(isinstance(one, Everything | Listed) for one in self.sub_domains)

    def values(self, series: pl.Series) -> tuple[Values, NDArray[np.int32]]:
        """Order the true values of a column so that cells can be compared with them, and rank each row."""
        codes, distinct = encode_values(series)
        values = Values(self.meaning.transformed(distinct), self.scale)
        return values, values.ranks(codes)

    def _decide(self, true_scale: Scale | None) -> ReadingProblem | None:
        """Detect the scale of the values from all cells; return the reason if this fails."""
        # Reasons to refuse the column before its cells are interpreted, the most specific first.
        opaque = sum(self._is_opaque(label) for label in self.labels if label is not None)
        if opaque:
            return self._problem(f"{opaque} of its distinct cells are names of classes that do not say their values")
        if self.meaning.tuned and self.meaning.tree is None and not all(map(self._tells_itself, self.labels)):
            return self._problem("tuning may have made it less precise, and the public certificate does not say how")
        if self.meaning.kind not in KINDS:
            return self._problem("it was made less precise in a way that is not known here")
        if self.meaning.climbed and self.meaning.tree is None and not self._reads_itself:
            return self._problem("its cells are nodes of a hierarchy, which is not here")
        # A declared coarsening determines the scale; otherwise all cells together do.
        found = _Atoms.of(self)
        if self.meaning.scale is not None:
            self.scale = self.meaning.scale
        else:
            decided = self._stated_scale() or found.scale(true_scale)
            if decided is None and not self.meaning.climbed:
                return self._problem(found.doubt())
            self.scale = decided or "text"
            if self.scale == "text" and found.scale(true_scale) == "time":
                self.scale = "time"  # untouched times may be written with more digits than those in sets
            if self.meaning.climbed and self.scale == "text":
                self.foreign = False  # the nodes are sets of names; all other cells are values
            self.years = self.years or (self.scale == "date" and self.foreign)
        # Cells were interpreted on another scale while it was being decided.
        self._known.clear()
        if any(isinstance(one, Between) for one in self._in_order()):
            return ReadingProblem(
                column=self.name,
                why="it has intervals between names, and nothing says in which order these are",
                how=Phrase(
                    "List the values in order, with ", _suggest("cells", self.name, "order:A,B,C", "[...]"), "."
                ),
                order_only=True,
            )
        return None

    def _in_order(self) -> Iterable[SubDomain]:
        return self.sub_domains if self.scale == "text" else ()

    @property
    def _reads_itself(self) -> bool:
        """Whether a certificate states that the names of the nodes describe the values below them."""
        said = self.meaning.facts.get("hierarchy")
        return isinstance(said, Mapping) and bool(said.get("automatic") or said.get("read_as"))

    def _stated_scale(self) -> Scale | None:
        """Look up the scale on which names of nodes are interpreted by a certificate."""
        said = self.meaning.facts.get("hierarchy")
        stated = said.get("read_as") if isinstance(said, Mapping) and self.meaning.tree is None else None
        return next((scale for scale in ("number", "date", "text") if scale == stated), None)

    def _tells_itself(self, text: str | None) -> bool:
        """Check whether a cell is unambiguous in any coarsening, such as a bin or an interval of dates."""
        cell = read_cell(text, self.star)
        if cell.kind != "interval":
            return text is None or cell.kind == "star"
        opened = None in cell.atoms or not (cell.low_included and cell.high_included)
        return opened or all(moment_of(str(atom)) is not None for atom in cell.atoms)

    def _is_opaque(self, text: str) -> bool:
        """Check whether a cell, or a part of it, is a name without declared values."""
        cell = read_cell(text, self.star)
        if cell.kind in ("set", "interval") and any(atom is not None and self._is_opaque(atom) for atom in cell.atoms):
            return True
        # Nodes of an unavailable hierarchy are opaque above level 0.
        if self.meaning.kind == "level" and not self.meaning.climbed:
            return text not in (self.star, *self.meaning.classes) and self.meaning.facts.get("level") != 0
        if self.meaning.climbed and self.meaning.tree is None:
            return UNNAMED.fullmatch(text) is not None
        return self.meaning.is_opaque(text)

    def _problem(self, why: str) -> ReadingProblem:
        return ReadingProblem(column=self.name, why=why, how=suggest_declaration(self.name))

    def __repr__(self) -> str:
        return f"ReadColumn({self.name!r}, labels={len(self.labels)}, scale={self.scale!r})"


@dataclass(kw_only=True)
class _Atoms:
    """The parts that the cells of a column consist of."""

    values: list[str]
    """Plain values, and members of sets."""
    ends: list[str]
    """Ends of intervals."""
    loose: bool
    """Whether `20-29` may be an interval."""

    @classmethod
    def of(cls, column: ReadColumn) -> _Atoms:
        found = cls(values=[], ends=[], loose=column.foreign)
        for label in column.labels:
            if label is not None and label != column.star:
                found._add(column, label)
        return found

    def _add(self, column: ReadColumn, text: str) -> None:
        if column.meaning.named(text) is not None:
            return
        if text in column.leaves:
            self.values += column.leaves[text]
            return
        cell = column.form(text)
        if cell.kind == "value":
            self.values.append(text)
        elif cell.kind in ("interval", "set"):
            # Ends and members may be cells themselves, unless the column shows unchanged values.
            nested = column.meaning.kind != "values" or column.foreign
            into = self.ends if cell.kind == "interval" else self.values
            for atom in cell.atoms:
                inner = None if atom is None else column.form(atom)
                if inner is not None and nested and inner.kind in ("interval", "set"):
                    self._add(column, str(atom))
                elif atom is not None:
                    into.append(atom)

    def scale(self, true_scale: Scale | None) -> Scale | None:
        """Detect the common scale of all parts; None if they differ although some need an order."""
        texts = [*self.values, *self.ends]
        if not texts:
            return "text"
        # Years alone are numbers, unless the true values are dates.
        years = all(_YEAR.fullmatch(text) for text in texts)
        if all(map(_is_dated, texts)) and (not years or (self.loose and true_scale == "date")):
            return "date"
        # Numbers with leading zeros or signs are codes, unless they end intervals.
        numbers = [number_of(text) is not None for text in texts]
        loose = [self.loose and loose_cell(text) is not None for text in texts]
        if all(number or form for number, form in zip(numbers, loose, strict=True)):
            codes = not self.ends and not any(loose) and not all(map(is_plain_number, self.values))
            return "text" if codes else "number"
        if all(moment_of(text, "time") is not None for text in texts):
            return "time"
        # Names, possibly with an order of their own.
        ordered = not self.loose or not any(number_of(end) is not None or _is_dated(end) for end in self.ends)
        return "text" if ordered and not any(loose) else None

    def doubt(self) -> str:
        """Describe in words why the scale is ambiguous."""
        placed = [number_of(text) is not None or loose_cell(text) or _is_dated(text) for text in self.values]
        named = len(placed) - sum(map(bool, placed))
        if named:
            return f"{named} of the values that its cells show are names, next to intervals"
        return "its cells show numbers and dates at once, or intervals of both"


def _is_dated(text: str) -> bool:
    """Check whether a text is a date or a period; a number is a year if it has four digits."""
    if text.isdigit():
        return _YEAR.fullmatch(text) is not None
    return moment_of(text) is not None or period_of(text) is not None


@dataclass(frozen=True, kw_only=True, repr=False)
class ReadTable:
    """The interpreted columns of a published table."""

    columns: Mapping[str, ReadColumn]
    """Each column by its name."""

    @property
    def not_understood(self) -> tuple[ReadingProblem, ...]:
        """The reasons why columns are not understood, one per column."""
        return tuple(column.problem for column in self.columns.values() if column.problem is not None)

    def require(self, names: Iterable[str] | None = None) -> None:
        """Check that columns are understood, by default all of them.

        Raises
        ------
        NotUnderstoodError
            If columns are not understood. The message names them and states how to declare what is missing.
        """
        asked = set(self.columns if names is None else names)
        problems = [problem for problem in self.not_understood if problem.column in asked]
        if problems:
            raise not_understood_error(problems)

    def __getitem__(self, name: str) -> ReadColumn:
        return self.columns[name]

    def __repr__(self) -> str:
        return f"ReadTable(columns={len(self.columns)}, not_understood={len(self.not_understood)})"


def not_understood_error(problems: Sequence[ReadingProblem]) -> NotUnderstoodError:
    """Create the error for columns that are not understood."""
    said = f"The cells of {len(problems)} column(s) are not understood, so nothing was measured."
    return NotUnderstoodError(
        said, *(Phrase(" ", problem) for problem in problems), columns=tuple(problem.column for problem in problems)
    )


def check_true_values(column: ReadColumn, given: pl.Series, whose: str) -> None:
    """Check that a column of persons holds true values, not cells of the release that stand for several values.

    Parameters
    ----------
    column : ReadColumn
    given : polars.Series
        The column of the persons.
    whose : str
        Whose column it is, for the message.

    Raises
    ------
    DataError
        If a cell of a person stands for several values in the release.
    """
    if given.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return
    # Labels that stand for several values in the release cannot be true values of a person.
    coarse = [
        label
        for label, one in zip(column.labels, column.sub_domains, strict=True)
        if label is not None and _stands_for_several(one, column.scale)
    ]
    wrong = int(given.cast(pl.String).is_in(coarse).sum())
    if wrong:
        raise DataError(
            f"The column '{column.name}' of {whose} has stars, intervals, sets or nodes as the release has, in "
            f"{wrong:,} row(s): what such a row stands for is not one value. Give the table as it was before it was "
            "generalized or suppressed."
        )


def _stands_for_several(found: SubDomain, scale: str) -> bool:
    """Check whether a cell cannot be a true value; text that looks like an interval may be one."""
    if isinstance(found, Listed):
        return len(found.texts) > 1
    if isinstance(found, Span | Between):
        return scale != "text" and not (isinstance(found, Span) and found.low == found.high)
    return True


def read_column(
    column: pl.Series, meaning: Meaning, *, star: str = "*", true_values: pl.Series | None = None
) -> ReadColumn:
    """Read the cells of a published column.

    Parameters
    ----------
    column : polars.Series
        The cells.
    meaning : Meaning
        How the cells are interpreted; `Meaning()` if nothing is declared.
    star : str
        The symbol of a suppressed cell.
    true_values : polars.Series, optional
        True values that the cells will be compared with.
    """
    # Only cells that occur are interpreted; dates and numbers are first rewritten in the common notation.
    codes, distinct = encode_values(column)
    occurs = np.flatnonzero(np.bincount(codes, minlength=len(distinct) + 1))
    texts = [*map(meaning.plain, cell_text(distinct)), None]
    place_of = np.zeros(len(texts), dtype=np.int64)
    place_of[occurs] = np.arange(len(occurs))
    found = ReadColumn(
        column.name,
        [texts[at] for at in occurs.tolist()],
        place_of[codes],
        meaning=meaning,
        star=star,
        true_scale=None if true_values is None else scale_of(encode_values(true_values)[1]),
    )
    doubt = found.problem is not None and found.problem.order_only
    if doubt and true_values is not None and Values(true_values.head(0)).ordered:
        found.problem = None  # the true values have a natural order
    return found


def read_table(
    frame: pl.DataFrame,
    names: Iterable[str],
    *,
    star: str = "*",
    meanings: Mapping[str, Meaning] | None = None,
    true_values: pl.DataFrame | None = None,
) -> ReadTable:
    """Read columns of a published table.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    names : iterable of str
        The columns.
    star : str
        The symbol of a suppressed cell.
    meanings : mapping of column to Meaning, optional
        How columns are interpreted (`collect_meanings`).
    true_values : polars.DataFrame, optional
        A table of true values with these columns.
    """
    given = {} if true_values is None else {column.name: column for column in true_values}
    return ReadTable(
        columns={
            name: read_column(
                frame.get_column(name),
                (meanings or {}).get(name, Meaning()),
                star=star,
                true_values=given.get(name),
            )
            for name in names
        }
    )
