"""Format facts as sentences, in the words of the audience; the sentences stand in `sentences.json`.

A placeholder names an argument of the fact. A format may follow after a colon: `percent` (a share from 0 to 1),
`number`, `share` (as a certificate has it), `value` (a loss), `list`, `names` and `quoted` (in quotation marks, of many
names only some, or all), `shares` (columns, with their shares), or a format of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from types import MappingProxyType
from typing import Any

from shoal._core.facts import Fact
from shoal._core.file_formats import read_data_file
from shoal._core.words import listed, number, percent, quote, quote_columns
from shoal._messages import Audience, Suggestion, current_audience
from shoal.errors import InternalError

_KINDS: Mapping[str, Mapping[str, str | list[str]]] = read_data_file(__package__, "sentences.json")
SENTENCES: Mapping[str, str | list[str]] = MappingProxyType(
    {code: form for kind in _KINDS.values() for code, form in kind.items()}
)
"""The sentence of each code; some have a singular and a plural, chosen by the argument `count`."""
_CODES = {
    "complete": "all of its work was done",
    "cut-short": "its budget of work was spent: these are the best groups that were found until then",
}
"""Values of certificates that pages show in words: how a search ended."""


def sentence(fact: Fact | Mapping[str, Any], audience: Audience | None = None) -> str:
    """Format a fact as a sentence.

    Parameters
    ----------
    fact : Fact or mapping
        The fact, or its `Fact.to_dict`.
    audience : Audience, optional
        The audience of suggestions; by default that of the current call.

    Raises
    ------
    InternalError
        The code has no sentence.

    Examples
    --------
    >>> stopped = Fact("search_stopped", more=1204)
    >>> sentence(stopped)
    'At most 1204 cells recoded by grouping more than the fewest possible: the search was stopped.'
    """
    fact = Fact.of(fact) if isinstance(fact, Mapping) else fact
    form = SENTENCES.get(fact.code)
    if form is None:
        raise InternalError(f"the code '{fact.code}' has no sentence in shoal/wording/sentences.json")
    # Singular and plural are sentences of their own.
    if isinstance(form, list):
        form = form[fact.arguments["count"] != 1]
    audience = current_audience() if audience is None else audience
    # The terms are those of the sentence: a column of such a name keeps it.
    for term, plain in audience.terms:
        form = form.replace(term, plain)
    return _Words(audience).vformat(form, (), fact.arguments)


def sentences(facts: Iterable[Fact | Mapping[str, Any] | None], audience: Audience | None = None) -> str:
    """Format several facts one after another, skipping None."""
    return " ".join(sentence(fact, audience) for fact in facts if fact is not None)


def find_code(*codes: str) -> str:
    """Find the first of some codes that has a sentence, the most specific first."""
    return next((code for code in codes if code in SENTENCES), codes[-1])


def say(*codes: str, **arguments: Any) -> str:
    """Format the sentence of a code with its arguments; of several codes, of the first that has one.

    Examples
    --------
    >>> say("mapped_by_hand", "mapped_by_count")
    'by a count of its people'
    """
    return sentence(Fact(find_code(*codes), **arguments))


def code_in_words(code: object) -> str:
    """Format a value of a certificate in words; other values are unchanged."""
    return _CODES.get(str(code), str(code))


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "percent": percent,
    "number": number,
    "value": lambda value: f"{value:,.0f}" if value >= 1000 else f"{value:.6g}",
    "share": lambda share: percent(float(share)) if isinstance(share, int | float) else str(share),
    "names": quote_columns,
    "quoted": lambda names: listed([*map(quote, names)]),
    "list": listed,
    "list_and_others": lambda names: listed([*names, "others"]),
    "shares": lambda pairs: ", ".join(f"{quote(name)} ({percent(share)})" for name, share in pairs),
}
"""Formats of placeholders; any other one is a format of Python."""


@dataclass(frozen=True)
class Sentence:
    """A fact as a part of a message, such as an error or a log record."""

    fact: Fact
    """The fact."""

    def render(self, audience: Audience) -> str:
        """Phrase the fact for an audience."""
        return sentence(self.fact, audience)


class _Words(Formatter):
    """Formatter of the placeholders of a sentence."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format an argument as its placeholder specifies."""
        if format_spec in _FORMATS:
            return _FORMATS[format_spec](value)
        # Facts may be nested; parts of messages depend on the audience.
        if isinstance(value, Fact):
            return sentence(value, self._audience)
        if hasattr(value, "render"):
            return str(value.render(self._audience))
        return value if isinstance(value, str) else format(value, format_spec)


def join_warnings(warnings: Iterable[Mapping[str, Any]], audience: Audience | None = None) -> list[tuple[str, str]]:
    """Phrase warnings, those of one kind in one text: the most serious in full, and the figure of each other column.

    Parameters
    ----------
    warnings : iterable of mapping
        Warnings with their "code", "column", "found" and "advice" (`Remark.to_dict`); a "text" is used as it is.
    audience : Audience, optional
        The audience of suggestions; by default that of the current call.

    Returns
    -------
    list of (str, str)
        The code and the text of each, in the order of first occurrence.

    Examples
    --------
    >>> def of_column(name, share):
    ...     found = {"code": "stars", "arguments": {"share": share, "column": name}}
    ...     return {"code": "mostly_stars", "found": found, "text": f"{share:.0%} of '{name}' are stars."}
    >>> join_warnings([of_column("a", 0.9), of_column("b", 1.0)])
    [('mostly_stars', "100% of 'b' are stars. The same holds for 'a' (90%).")]
    """
    # Warnings are of one kind if their sentences differ in a column and figures only, and are of the same units.
    kinds: dict[tuple[str, ...], list[tuple[Mapping[str, Any], Fact, Fact | None]]] = {}
    for one in warnings:
        found, advice = _read_fact(one["found"]), _read_fact(one["advice"]) if one.get("advice") else None
        units = str(found.arguments["columns"]) if "units" in found.arguments else ""
        kind = one["code"], found.code, advice.code if advice else "", units
        kinds.setdefault(kind, []).append((one, found, advice))
    joined = []
    for (code, *_codes), several in kinds.items():
        first, *others = sorted(several, key=lambda one: -_figure(one[1]))
        text = first[0].get("text")
        text = sentences(first[1:], audience) if text is None else str(text)
        if others:
            columns = ", ".join(_name_with_figure(*one, audience) for one in others)
            text += " " + f"The same holds for {columns}."
        joined.append((code, text))
    return joined


def _read_fact(given: Fact | Mapping[str, Any]) -> Fact:
    return given if isinstance(given, Fact) else Fact.of(given)


def _figure(found: Fact) -> float:
    """Return the share or the number of the records concerned, or a confidence; 0 if the warning states none."""
    return float(next((found.arguments[key] for key in ("share", "largest", "records") if key in found.arguments), 0))


def _name_with_figure(warning: Mapping[str, Any], found: Fact, advice: Fact | None, audience: Audience | None) -> str:
    """Return the columns of a warning with its figure, and with the suggested coarsening if there is one."""
    arguments = found.arguments
    names = [quote(arguments[key]) for key in ("column", "other") if key in arguments] or [quote(warning["column"])]
    figures = [percent(arguments[key]) for key in ("share", "largest") if key in arguments]
    figures += [number(arguments["records"])] if "records" in arguments else []
    # Facts within the advice have no short form.
    coarser = advice.arguments.get("coarser") if advice else None
    if isinstance(coarser, Suggestion):
        coarser = coarser.render(current_audience() if audience is None else audience)
    figures += [coarser] if isinstance(coarser, str) else []
    return " + ".join(names) + (f" ({'; '.join(figures)})" if figures else "")
