"""What is said of a column's cells beside them: how it was coarsened, the tree of its nodes, the order of its values.

A certificate says some of it (`parameters.coarsen`), a hierarchy's file the rest, and a caller can say it. It is data
here: nothing of what coarsened the column is used to read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from shoal._core.validation import exact_fraction
from shoal.errors import ParameterError
from shoal.verification.scales import number_of, period_of
from shoal.verification.sub_domains import Everything, Listed, Span, SubDomain
from shoal.verification.values import written
from shoal.verification.written_forms import in_plain_form

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from shoal.verification.scales import Scale

__all__ = ["KINDS", "Meaning", "Tree", "declared_meanings", "parameters_of"]

KINDS = {
    "": "nothing was said of them",
    "values": "values as they were in the table; what a group does not share is an interval or a set",
    "bins": "half-open intervals",
    "round": "multiples of a number: the nearest one",
    "top-code": "numbers, and one code for all from a limit on",
    "bottom-code": "numbers, and one code for all up to a limit",
    "prefix": "the first characters of codes",
    "three-digit-zip": "the first three digits of ZIP codes, or 000",
    "date-part": "years, quarters or months",
    "one-value": "one value for all",
    "ordered": "intervals",
    "points": "intervals",
    "labels": "classes of values",
    "regions": "classes of places",
    "level": "nodes of a hierarchy",
    "nodes": "nodes of a hierarchy",
}
"""What the cells of a column can be; the names of coarsenings are those in certificates."""

_CLASS = re.compile(r"(class|region) [0-9]+|elsewhere")
"""Names of classes that do not tell their members, as shoal gives them."""


class Tree(Protocol):
    """A hierarchy, as data: `shoal.Hierarchy` is one."""

    @property
    def labels(self) -> Sequence[Sequence[str]]:
        """The names of the nodes of each level; `labels[0]` are the values."""

    @property
    def levels(self) -> NDArray[np.integer]:
        """Node of each value at each level, shape (levels, values)."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Meaning:
    """What is said of the cells of one column."""

    kind: str = ""
    """One of `KINDS`, or the name of a coarsening that is not known here."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the coarsening."""
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values that names of classes stand for."""
    tree: Tree | None = None
    """The hierarchy of which cells are nodes; its values are read like cells without one."""
    tuned: bool = False
    """Whether a search chose how the column was coarsened, if it was, and readers are not told what it found."""
    climbed: bool = False
    """Whether cells are nodes of a hierarchy, whether it is there or not."""
    order: tuple[str, ...] | None = None
    """The values in their order, where they are names that have one."""
    form: Mapping[str, str] = field(default_factory=dict)
    """How dates or numbers are written (`in_plain_form`); empty where they are in the common form."""

    @classmethod
    def of(cls, given: object) -> Meaning:
        """Return what is said in any of the ways in which callers say it.

        Parameters
        ----------
        given : object
            `"values"` for values as they stand; a coarsening (`shoal.Prefix(3)`) or its entry in a certificate; a
            hierarchy; or all values in their order, as text.

        Raises
        ------
        ParameterError
            Where it is nothing of the kind.
        """
        if isinstance(given, Meaning):
            return given
        if given == "values":
            return cls(kind="values")
        described = given.to_dict() if hasattr(given, "to_dict") else given
        if isinstance(described, Mapping) and "coarsening" in described:
            tree = getattr(given, "hierarchy", None)
            facts = {name: value for name, value in described.items() if name != "coarsening"}
            return cls(kind=str(described["coarsening"]), facts=facts, tree=tree, climbed=tree is not None)
        if hasattr(given, "labels") and hasattr(given, "levels"):
            return cls(kind="values").climbing(given)
        if isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(one, str) for one in given):
            return cls(kind="values", order=tuple(given))
        raise ParameterError(
            "The 'cells' parameter must say for each column 'values', a coarsening such as shoal.Prefix(3), a "
            f"hierarchy, or all values in their order. Got {type(given).__name__}."
        )

    def climbing(self, tree: Tree) -> Meaning:
        """Return what is said of a column whose cells are nodes of a tree over what they were else."""
        return replace(self, kind=self.kind or "values", tree=tree, climbed=True)

    @property
    def scale(self) -> Scale | None:
        """What the values of such a column must be; None where that is open."""
        if self.kind == "date-part":
            return "date"
        return "number" if self.kind in ("bins", "round", "top-code", "bottom-code", "points") else None

    @property
    def converts(self) -> bool:
        """Whether a number or date in a cell stands for more than itself."""
        return self.kind in ("round", "date-part")

    @property
    def shows_values(self) -> bool:
        """Whether cells show values as they were, as ends of intervals and members of sets, too."""
        return self.kind in ("values", "top-code", "bottom-code") and not self.climbed

    @property
    def ends_at_values(self) -> bool:
        """Whether cells are intervals that were made of the values of records, by classes or rectangles."""
        return self.kind in ("ordered", "points") and not self.climbed

    @property
    def has_sides(self) -> bool:
        """Whether `<18` and `>=65` are intervals in such a column, and not values that read so."""
        return self.kind in ("", "bins", "date-part", "top-code", "bottom-code") or self.kind not in KINDS

    @property
    def has_names(self) -> bool:
        """Whether some cells may be names of classes, or codes."""
        return bool(self.classes) or self.kind in ("one-value", "bins", "top-code", "bottom-code")

    def plain(self, text: str) -> str:
        """Return a date or a number as it is written in the common form."""
        return in_plain_form(text, self.form) if self.form else text

    def transformed(self, values: pl.Series) -> pl.Series:
        """Return what the cells of such a column say of true values: their prefixes, or their days."""
        if self.form and values.dtype == pl.String:
            values = pl.Series(values.name, [None if text is None else self.plain(text) for text in values])
        if self.kind == "prefix":
            return _padded(values, self.facts.get("digits")).str.slice(0, int(self.facts["n"]))
        if self.kind == "three-digit-zip":
            area = _padded(values, 5).str.slice(0, 3)
            return area.set(area.is_in(list(self.facts["sparse"])), "000")
        if self.kind == "date-part":
            return _days(values, self.facts.get("format"))
        return values

    def named(self, text: str) -> SubDomain | None:
        """Return what a name stands for that is a name of a class, or a code; None for any other text."""
        if text in self.classes:
            return Listed(texts=tuple(self.classes[text]))
        if self.kind == "one-value" and text == self.facts["label"]:
            return Everything(missing=False)
        if self.kind == "bins" and text == "any":
            return Everything(missing=False)
        if self.kind in ("top-code", "bottom-code"):
            return self._coded(text)
        return None

    def _coded(self, text: str) -> Span | None:
        """Return what a code of the top or the bottom stands for: the limit with a sign, unless it has a label."""
        top, limit, label = self.kind == "top-code", _number(self.facts["at"]), self.facts.get("label")
        signed = text == label
        if label is None:
            signed = number_of(text.removesuffix("+") if top else text.removeprefix("<=")) == limit
            signed = signed and (text.endswith("+") if top else text.startswith("<="))
        if not signed:
            return None
        return Span(low=limit, high=None) if top else Span(low=None, high=limit)

    def stands_for(self, text: str) -> SubDomain | None:
        """Return what a value stands for that says less than it seems to: a rounded number, a part of a date."""
        if self.kind == "round":
            number = number_of(text)
            return None if number is None else _rounded(number, _number(self.facts["to"]))
        if self.kind == "date-part":
            period = period_of(text)
            return None if period is None else Span(low=period[0], high=period[1], high_included=False)
        return None

    def is_opaque(self, text: str) -> bool:
        """Return whether a text is the name of a class of which nothing more is said."""
        if self.kind in ("labels", "regions") and self.tree is None and text not in self.classes:
            return _CLASS.fullmatch(text) is not None
        return False


def _number(said: Any) -> Fraction:
    """Return a number of a certificate: a fraction that no decimal says stands there as text."""
    return Fraction(said) if isinstance(said, str) else exact_fraction(said)


def _padded(values: pl.Series, digits: int | None) -> pl.Series:
    texts = written(values)
    return texts if digits is None else texts.str.zfill(digits)


def _days(values: pl.Series, pattern: str | None) -> pl.Series:
    """Return the days of dates; the local ones of times."""
    if isinstance(values.dtype, pl.Datetime):
        return values.dt.replace_time_zone(None).dt.date()
    if values.dtype == pl.Date:
        return values
    texts = written(values)
    if pattern is None:
        return texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return texts.str.to_date(pattern, strict=False)


def _rounded(number: Fraction, step: Fraction) -> Span:
    """Return what rounds to the multiple that a number is, or that a float of it is nearest to."""
    times = round(number / step)
    half = step / 2
    # Halfway lies with the even multiple.
    return Span(
        low=times * step - half,
        high=times * step + half,
        low_included=times % 2 == 0,
        high_included=times % 2 == 0,
    )


def declared_meanings(
    columns: Iterable[str],
    parameters: Mapping[str, Any] | None,
    *,
    classes: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    trees: Mapping[str, Tree] | None = None,
    cells: Mapping[str, object] | None = None,
) -> dict[str, Meaning]:
    """Return what is said of each column.

    Parameters
    ----------
    columns : iterable of str
        The quasi-identifiers.
    parameters : mapping, optional
        The `parameters` of a certificate; without one nothing is known of a column of which nothing else is said.
    classes : mapping, optional
        For columns of classes: the values that each name stands for.
    trees : mapping of column to Tree, optional
        The hierarchies of columns.
    cells : mapping of column to object, optional
        What the caller says, as `Meaning.of` takes it; it counts more than the certificate.
    """
    names = list(columns)
    coarsened = _by_column((parameters or {}).get("coarsen") or {}, names)
    climbed = (parameters or {}).get("hierarchies") or {}
    forms = (parameters or {}).get("read_as") or {}
    tuned = bool((parameters or {}).get("tuned"))
    found = {}
    for name in names:
        said = cells[name] if cells and name in cells else coarsened.get(name)
        unsaid = Meaning(tuned=True) if tuned else Meaning(kind="" if parameters is None else "values")
        meaning = unsaid if said is None else Meaning.of(said)
        if isinstance(forms.get(name), Mapping):
            meaning = replace(meaning, form=forms[name])
        if classes and name in classes:
            meaning = replace(meaning, classes=classes[name])
        tree = (trees or {}).get(name)
        if tree is not None:
            meaning = meaning.climbing(tree)
        elif name in climbed and not (cells and name in cells):
            meaning = replace(meaning, climbed=True, facts={**meaning.facts, "hierarchy": climbed[name]})
        found[name] = meaning
    return found


def parameters_of(certificate: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a certificate says of the cells; None where there is none, or it says nothing of them."""
    parameters: Mapping[str, Any] | None = certificate.get("parameters")
    return parameters


def _by_column(coarsen: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the entries of a certificate by column: of columns that were coarsened together the names are joined."""
    found = {}
    for key, described in coarsen.items():
        together = [(one, other) for one in names for other in names if f"{one},{other}" == key]
        for name in [key] if key in names else [name for pair in together[:1] for name in pair]:
            found[name] = described
    return found
