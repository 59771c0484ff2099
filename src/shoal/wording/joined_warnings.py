"""Warnings of one kind about several columns in one sentence, for terminals, reports, notebooks and the studio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shoal._core.facts import Fact
from shoal._core.words import number, percent, quote
from shoal._messages import Audience, Suggestion, current_audience
from shoal.wording.spoken import sentences


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
    # Warnings are of one kind if their sentences differ in arguments only.
    kinds: dict[tuple[str, str, str], list[tuple[Mapping[str, Any], Fact, Fact | None]]] = {}
    for one in warnings:
        found, advice = _read_fact(one["found"]), _read_fact(one["advice"]) if one.get("advice") else None
        kinds.setdefault((one["code"], found.code, advice.code if advice else ""), []).append((one, found, advice))
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
    """Return the share or the number of the records concerned; 0 if the warning states none."""
    return float(found.arguments.get("share", found.arguments.get("records", 0)))


def _name_with_figure(warning: Mapping[str, Any], found: Fact, advice: Fact | None, audience: Audience | None) -> str:
    """Return the columns of a warning with its figure, and with the suggested coarsening if there is one."""
    arguments = found.arguments
    names = [quote(arguments[key]) for key in ("column", "other") if key in arguments] or [quote(warning["column"])]
    figures = [percent(arguments["share"])] if "share" in arguments else []
    figures += [number(arguments["records"])] if "records" in arguments else []
    # Facts within the advice have no short form.
    coarser = advice.arguments.get("coarser") if advice else None
    if isinstance(coarser, Suggestion):
        coarser = coarser.render(current_audience() if audience is None else audience)
    figures += [coarser] if isinstance(coarser, str) else []
    return " + ".join(names) + (f" ({'; '.join(figures)})" if figures else "")
