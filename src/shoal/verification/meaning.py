"""The interpretation of a column's cells: how it was coarsened, the tree of its nodes, the order of its values.

A certificate (`parameters.coarsen`), a hierarchy's file or the caller can declare it. It is data here: the code that
coarsened the column is not used to interpret it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import exact_fraction
from shoal.errors import ParameterError
from shoal.verification.scales import Scale, number_of, period_of
from shoal.verification.sub_domains import Everything, Listed, Span, SubDomain
from shoal.verification.values import format_values

KINDS = {
    "": "nothing is declared",
    "values": "values of the table; if a group does not share one, an interval or a set",
    "bins": "half-open intervals",
    "round": "multiples of a number: the nearest one",
    "top-code": "numbers, and one code for all from a limit on",
    "bottom-code": "numbers, and one code for all up to a limit",
    "prefix": "the first characters of codes",
    "three-digit-zip": "the first three digits of ZIP codes, or 000",
    "date-part": "bands of years, years, quarters or months",
    "one-value": "one value for all",
    "ordered": "intervals",
    "points": "intervals",
    "labels": "classes of values",
    "regions": "classes of places",
    "level": "nodes of a hierarchy",
    "nodes": "nodes of a hierarchy",
}
"""The kinds of cells of a column; the names of coarsenings are those in certificates."""

_CLASS = re.compile(r"(class|region) [0-9]+|elsewhere")
"""Names that shoal gives to classes and that do not reveal their members."""


class Tree(Protocol):
    """A hierarchy as data, such as `shoal.Hierarchy`."""

    @property
    def labels(self) -> Sequence[Sequence[str]]:
        """The names of the nodes of each level; `labels[0]` are the values."""

    @property
    def levels(self) -> NDArray[np.integer]:
        """Node of each value at each level, shape (levels, values)."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Meaning:
    """The interpretation of the cells of one column."""

    kind: str = ""
    """A key of `KINDS`, or the name of an unknown coarsening."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the coarsening."""
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values of each named class."""
    tree: Tree | None = None
    """The hierarchy whose nodes the cells are; its values are interpreted like cells without a hierarchy."""
    tuned: bool = False
    """Whether a search may have coarsened the column, and its result is not published."""
    climbed: bool = False
    """Whether cells are nodes of a hierarchy, even if the hierarchy is not available."""
    order: tuple[str, ...] | None = None
    """The values in their order, if they are names that have one."""
    form: Mapping[str, str] = field(default_factory=dict)
    """The notation of dates or numbers (`_in_plain_form`); empty if it is the common one."""

    @classmethod
    def of(cls, given: object) -> Meaning:
        """Parse an interpretation in any of the ways in which callers declare it.

        Parameters
        ----------
        given : object
            `"values"` for unchanged values; a coarsening (`shoal.Prefix(3)`) or its entry in a certificate; a
            hierarchy; or all values in their order, as text.

        Raises
        ------
        ParameterError
            If it is none of these.
        """
        if isinstance(given, Meaning):
            return given
        if given == "values":
            return cls(kind="values")
        described = given.to_dict() if hasattr(given, "to_dict") else given
        # A coarsening, or its entry in a certificate.
        if isinstance(described, Mapping) and "coarsening" in described:
            tree = getattr(given, "hierarchy", None)
            facts = {name: value for name, value in described.items() if name != "coarsening"}
            # A certificate states whether the names of nodes list their values, so that no tree is needed.
            if tree is None and described["coarsening"] == "level" and facts.get("read_as"):
                return cls(kind="level", facts={**facts, "hierarchy": facts}, climbed=True)
            return cls(kind=str(described["coarsening"]), facts=facts, tree=tree, climbed=tree is not None)
        # A hierarchy over values.
        if hasattr(given, "labels") and hasattr(given, "levels"):
            return cls(kind="values").climbing(given)
        # All values in their order.
        if isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(one, str) for one in given):
            return cls(kind="values", order=tuple(given))
        raise ParameterError(
            "The 'cells' parameter must give for each column 'values', a coarsening such as shoal.Prefix(3), a "
            f"hierarchy, or all values in their order. Got {type(given).__name__}."
        )

    def climbing(self, tree: Tree) -> Meaning:
        """Derive the interpretation of a column whose cells are nodes of a tree over the present values."""
        return replace(self, kind=self.kind or "values", tree=tree, climbed=True)

    @property
    def scale(self) -> Scale | None:
        """The scale that values of such a column must have; None if it is undetermined."""
        if self.kind == "date-part":
            return "date"
        return "number" if self.kind in ("bins", "round", "top-code", "bottom-code", "points") else None

    @property
    def converts(self) -> bool:
        """Whether a number or date in a cell stands for a range of values."""
        return self.kind in ("round", "date-part")

    @property
    def shows_values(self) -> bool:
        """Whether cells show exact values, including the ends of intervals and the members of sets."""
        return self.kind in ("values", "top-code", "bottom-code") and not self.climbed

    @property
    def ends_at_values(self) -> bool:
        """Whether cells are intervals that were made of the values of records, by classes or rectangles."""
        return self.kind in ("ordered", "points") and not self.climbed

    @property
    def has_sides(self) -> bool:
        """Whether `<18` and `>=65` are intervals in such a column, and not values of the same spelling."""
        return self.kind in ("", "bins", "date-part", "top-code", "bottom-code") or self.kind not in KINDS

    @property
    def has_names(self) -> bool:
        """Whether cells may be names of classes, or codes."""
        return bool(self.classes) or self.kind in ("one-value", "bins", "top-code", "bottom-code")

    @property
    def is_cut_off(self) -> bool:
        """Whether values beyond a top or bottom code are shown by that code, and all others exactly."""
        return self.kind in ("top-code", "bottom-code") and not self.classes

    def plain(self, text: str) -> str:
        """Rewrite a date or a number in the common notation."""
        return _in_plain_form(text, self.form) if self.form else text

    def transformed(self, values: pl.Series) -> pl.Series:
        """Coarsen true values as the column was coarsened, if cells can be compared only then.

        Prefixes are cut and dates are extracted; other values are returned unchanged.
        """
        if self.form and values.dtype == pl.String:
            values = pl.Series(values.name, [None if text is None else self.plain(text) for text in values])
        # Prefixes are compared with prefixes; other coarsenings keep values comparable.
        if self.kind == "prefix":
            return _padded(values, self.facts.get("digits")).str.slice(0, int(self.facts["n"]))
        if self.kind == "three-digit-zip":
            area = _padded(values, 5).str.slice(0, 3)
            return area.set(area.is_in(list(self.facts["sparse"])), "000")
        if self.kind == "date-part":
            return _days(values, self.facts.get("format"))
        return values

    def named(self, text: str) -> SubDomain | None:
        """Look up the name of a class, or a code; None for any other text."""
        # Every other name is a code for all present values, or for one end of the scale.
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
        """Interpret a code for the top or the bottom: its label, or by default the limit with a sign."""
        top, limit, label = self.kind == "top-code", _number(self.facts["at"]), self.facts.get("label")
        sides = [
            (top, limit, label),
            *([(False, _number(self.facts["bottom"]), None)] if "bottom" in self.facts else []),
        ]
        for above, end, name in sides:
            signed = text == name
            if name is None:
                signed = number_of(text.removesuffix("+") if above else text.removeprefix("<=")) == end
                signed = signed and (text.endswith("+") if above else text.startswith("<="))
            if signed:
                return Span(low=end, high=None) if above else Span(low=None, high=end)
        return None

    def stands_for(self, text: str) -> SubDomain | None:
        """Interpret a value that stands for a range: a rounded number, or a part of a date."""
        if self.kind == "round":
            number = number_of(text)
            return None if number is None else _rounded(number, _number(self.facts["to"]))
        if self.kind == "date-part":
            period = period_of(text)
            return None if period is None else Span(low=period[0], high=period[1], high_included=False)
        return None

    def is_opaque(self, text: str) -> bool:
        """Check whether a text is the name of a class whose values are unknown."""
        if self.kind in ("labels", "regions") and self.tree is None and text not in self.classes:
            return _CLASS.fullmatch(text) is not None
        return False


def _number(said: Any) -> Fraction:
    """Parse a number of a certificate, in which fractions without a finite decimal are text."""
    return Fraction(said) if isinstance(said, str) else exact_fraction(said)


def _padded(values: pl.Series, digits: int | None) -> pl.Series:
    texts = format_values(values)
    return texts if digits is None else texts.str.zfill(digits)


def _days(values: pl.Series, pattern: str | None) -> pl.Series:
    """Convert times to dates (local ones if there is a time zone), and text to dates."""
    if isinstance(values.dtype, pl.Datetime):
        return values.dt.replace_time_zone(None).dt.date()
    if values.dtype == pl.Date:
        return values
    texts = format_values(values)
    if pattern is None:
        return texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return texts.str.to_date(pattern, strict=False)


def _rounded(number: Fraction, step: Fraction) -> Span:
    """Compute the numbers that round to a given multiple; a float is taken for the nearest multiple."""
    times = round(number / step)
    half = step / 2
    # A number halfway between two multiples rounds to the even one.
    return Span(
        low=times * step - half,
        high=times * step + half,
        low_included=times % 2 == 0,
        high_included=times % 2 == 0,
    )


def collect_meanings(
    columns: Iterable[str],
    parameters: Mapping[str, Any] | None,
    *,
    classes: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    trees: Mapping[str, Tree] | None = None,
    cells: Mapping[str, object] | None = None,
) -> dict[str, Meaning]:
    """Collect the interpretation of each column from the certificate, the hierarchies and the caller.

    Parameters
    ----------
    columns : iterable of str
        The quasi-identifiers.
    parameters : mapping, optional
        The `parameters` of a certificate; if None, columns without any other declaration have no interpretation.
    classes : mapping, optional
        The values of each named class, for columns of classes.
    trees : mapping of column to Tree, optional
        The hierarchies of columns.
    cells : mapping of column to object, optional
        The caller's declarations, as `Meaning.of` takes them; they override the certificate.
    """
    names = list(columns)
    coarsened = _by_column((parameters or {}).get("coarsen") or {}, names)
    climbed = (parameters or {}).get("hierarchies") or {}
    forms = (parameters or {}).get("read_as") or {}
    tuned = bool((parameters or {}).get("tuned"))
    found = {}
    for name in names:
        # The caller overrides the certificate, which overrides the default.
        said = cells[name] if cells and name in cells else coarsened.get(name)
        unsaid = Meaning(tuned=True) if tuned else Meaning(kind="" if parameters is None else "values")
        meaning = unsaid if said is None else Meaning.of(said)
        if isinstance(forms.get(name), Mapping):
            meaning = replace(meaning, form=forms[name])
        if classes and name in classes:
            meaning = replace(meaning, classes=classes[name])
        # A hierarchy applies on top of the coarsening: its leaves are the coarsened values.
        tree = (trees or {}).get(name)
        if tree is not None:
            meaning = meaning.climbing(tree)
        elif name in climbed and not (cells and name in cells):
            meaning = replace(meaning, climbed=True, facts={**meaning.facts, "hierarchy": climbed[name]})
        found[name] = meaning
    return found


def parameters_of(certificate: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Extract the parameters of a certificate, which interpret its cells; None if there are none."""
    parameters: Mapping[str, Any] | None = certificate.get("parameters")
    return parameters


def star_of(certificate: Mapping[str, Any]) -> str:
    """Extract the symbol of suppressed cells from a certificate; the default if it states none."""
    return str((certificate.get("parameters") or {}).get("star") or "*")


def _by_column(coarsen: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Map columns to their entries in a certificate; the key of columns coarsened together joins their names."""
    found = {}
    for key, described in coarsen.items():
        together = [(one, other) for one in names for other in names if f"{one},{other}" == key]
        for name in [key] if key in names else [name for pair in together[:1] for name in pair]:
            found[name] = described
    return found


def _in_plain_form(text: str, form: Mapping[str, str]) -> str:
    """Rewrite a date or a number from the given notation to the common one; any other text is returned unchanged.

    Examples
    --------
    >>> _in_plain_form("31.12.1980", {"dates": "%d.%m.%Y"}), _in_plain_form("*", {"dates": "%d.%m.%Y"})
    ('1980-12-31', '*')
    >>> _in_plain_form("-1.234,5", {"decimal": ",", "thousands": "."})
    '-1234.5'
    """
    # Text that does not match the notation, such as a star, is not a date.
    if "dates" in form:
        try:
            moment = datetime.strptime(text, form["dates"].replace("%-", "%").replace("%^", "%"))
        except ValueError:
            return text
        return moment.date().isoformat() if moment.time() == time() else moment.isoformat()
    # Thousands must be grouped correctly: `1.23` is not a number with separators.
    decimal, thousands = re.escape(form.get("decimal", ".")), form.get("thousands", "")
    grouped = rf"[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|" if thousands else ""
    if re.fullmatch(rf"-?(?:{grouped}[0-9]+)(?:{decimal}[0-9]+)?", text) is None:
        return text
    return (text.replace(thousands, "") if thousands else text).replace(form.get("decimal", "."), ".")
