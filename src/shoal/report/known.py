"""The sentences of certificates, which are English, in the language of a page.

A certificate is one text for everybody: what it says of a run is written in English by the algorithm that ran. A page
in another language recognizes these sentences by their forms, and says them with the same figures. A sentence that is
not among them stays as it is; the tests hold that every algorithm's is.
"""

from __future__ import annotations

import re
from functools import cache

from shoal._language import ENGLISH, language, marked, numeral, percentage
from shoal._language import gettext as _

__all__ = ["KNOWN", "known"]

KNOWN = (
    # Why an algorithm was chosen.
    marked("asked for"),
    marked("a model of the release as a whole, which it alone decides about"),
    marked("groups that must be like the table, by suppression: fewest stars in our trials"),
    marked("groups that must be like the table, by generalization: smallest sub-domains in our trials"),
    marked("k-anonymity by suppression: fewest stars within a factor d"),
    marked("a frequency requirement by suppression: fewest stars, with a guarantee"),
    marked("a monotone requirement by suppression: fewest stars in our trials"),
    marked("a monotone requirement by generalization: smallest sub-domains in our trials"),
    marked("the published forms are those of a plan"),
    marked("{known}, which it alone serves"),
    marked("{known} and {known_of_more}"),
    marked("weights of attributes"),
    marked("limits of their levels"),
    marked("a limit of suppressed rows"),
    # What algorithms guarantee.
    marked("No cell is suppressed: the table met the requirement as it was."),
    marked("Phase one ended TP: no release with this requirement suppresses fewer tuples"),
    marked("Phase two ended TP: at most l - 1 = {number} suppressed tuples more than the fewest possible"),
    marked("Phase three ended TP: at most l = {number} times the fewest suppressed tuples possible"),
    marked("{known}, and at most {number} times the fewest stars."),
    marked("At most {number} times the fewest stars possible: phase one ended TP, and the cascade leaves no more stars "
           "than TP."),
    marked("At most {number} times the fewest stars possible: phase two ended TP, and the cascade leaves no more stars "
           "than TP."),
    marked("At most {number} times the fewest stars possible: phase three ended TP, and the cascade leaves no more "
           "stars than TP."),
    marked("No approximation is guaranteed for this requirement (k above l, or a fractional l); see the lower bound."),
    marked("At most d = {number} times the fewest stars possible (case {number_of_case} of the proof)."),
    marked("Mondrian is a heuristic: nothing is promised about the cost."),
    marked("SABRE is a heuristic: nothing is promised about the cost."),
    marked("Clustering is a heuristic: nothing is promised about the cost."),
    marked("Hilbert is a heuristic: nothing is promised about the cost."),
    marked("Where groups must be like the table, stretches of a curve must be long: the algorithms 'sabre' and "
           "'cluster' lose far less."),
    marked("No value can be specialized further for all rows alike. Nothing is promised about the cost."),
    marked("Optimal for this metric ({name}) among full-domain generalizations of these hierarchies (any name of a "
           "root is a star), within the suppression limit."),
    marked("The search stopped at its limit: {name} is {number}, and among full-domain generalizations of these "
           "hierarchies (any name of a root is a star) within the suppression limit none is better than "
           "{number_of_bound}."),
    marked("Local recoding repeats the full-domain search on the suppressed rows: no optimum, and nothing is promised "
           "about the cost."),
    marked("Local recoding drew groups that are like the table from the rows of each node of the hierarchies: no "
           "optimum, and nothing is promised about the cost."),
    marked("Proven optimal: no release with this requirement recodes fewer cells."),
    marked("None: the search was stopped before it proved anything."),
    marked("At most {number} recoded cells more than the fewest possible: the search was stopped."),
    marked("No release with this requirement recodes fewer than {number} cells, {percent} fewer than this one: the "
           "time limit ended the search for fewer."),
    marked("No release with this requirement recodes fewer than {number} cells, {percent} fewer than this one: an "
           "interruption ended the search for fewer."),
    marked("No release with this requirement recodes fewer than {number} cells, {percent} fewer than this one: the gap "
           "that was asked for ended the search for fewer."),
    marked("The fewest stars of any k-anonymous release whose rows follow these patterns ({known})."),
    marked("The fewest weighted stars of any k-anonymous release whose rows follow these patterns ({known})."),
    marked("At most {percent} more than the fewest stars of any k-anonymous release whose rows follow these patterns "
           "({known})."),
    marked("At most {percent} more than the fewest weighted stars of any k-anonymous release whose rows follow these "
           "patterns ({known})."),
    marked("At most d = {number} times the fewest stars of any k-anonymous release whose rows follow these patterns "
           "(Theorem 4)."),
    marked("Nothing is promised of weighted stars; algorithm='patterns-optimal' proves a bound."),
    marked("The table was solved in {number} part, most rows of its large classes aside: nothing is promised of the "
           "whole beyond the lower bound."),
    marked("The table was solved in {number} parts, most rows of its large classes aside: nothing is promised of the "
           "whole beyond the lower bound."),
    marked("The table was solved in {number} parts: nothing is promised of the whole beyond the lower bound."),
    marked("The published forms are those of a plan; nothing is promised of their cost."),
    # What lower bounds rest on.
    marked("every row can keep all its values"),
    marked("residue after phase one: rows that no group of identical rows can hold"),
    marked("l times the pillar height of the residue after phase one"),
    marked("a group with a changed row has at least k rows, and all of them change"),
    marked("small classes cannot be filled without giving up a whole large class"),
    marked("rows that no group of identical rows can hold, priced by the cheapest projections that could hold them"),
    marked("no group costs less than nothing"),
    marked("assignment of the rows of one value to those of the other, its dual solution checked in integers"),
    marked("mixed integer program over generalization vectors, solved by HiGHS (milp)"),
    marked("dynamic programming over every group that the rows can form (exact)"),
    marked("Lagrangian relaxation of the integer program"),
    marked("linear program with rounding inequalities over output row types"),
    marked("integer program over output row types"),
    marked("{known}, over releases whose rows follow the patterns"),
    marked("The algorithm, its costs, bounds and ratios depend on the original table, not on the published one alone. "
           "Whoever knows how the algorithm works can rule out originals with them, and may learn more of a person "
           "than the models allow. They are here because the publisher asked for it."),
    # Warnings.
    marked("The smallest group has 1 record. Tables about people are hardly ever published with groups of fewer than "
           "{number}."),
    marked("The smallest group has {number} records. Tables about people are hardly ever published with groups of "
           "fewer than {number_of_least}."),
    marked("Ask for more as well: {words}."),
    marked("{percent} of the records are in groups in which all share one value of '{name}': it is known of everybody "
           "there."),
    marked("Ask for {words} or more as well."),
    marked("{percent} of the records have a value of '{name}' of their own, and it is published as it is: whoever "
           "knows it of a person finds the record."),
    marked("Round it in the input, or take it from the sensitive columns and drop it ({words})."),
    marked("Drop it ({words}), or make it a quasi-identifier."),
    marked("{percent} of the records have a pair of values of '{name}' and '{name_of_other}' of their own, and both "
           "are published as they are: whoever knows them of a person finds the record."),
    marked("Make one of them a quasi-identifier, or drop it."),
    marked("{percent} of the records show a star for '{name}'."),
    marked("Make it coarser first, and more of it can stay: {words}."),
    marked("Make it coarser still, or drop it ({words})."),
    marked("{percent} of the records show a set of {number} or more exact values of '{name}', {number_of_all} "
           "different ones in all sets: whoever knows somebody's sees whether it is there."),
    marked("Make it coarser first: {words}; or allow smaller sets only: {words_of_set}."),
    marked("{percent} of the records have the same value of '{name}': who guesses it is nearly always right, and what "
           "the others have stands out."),
    marked("Ask for groups that are like the table: {words}; or group the rare values before."),
    marked("The column '{name}' looks like what every person has one of, but {number} record(s) repeat one: groups "
           "count records, and several of one person hide nobody."),
    marked("Make it one record per person first."),
    marked("The column '{name}' looks like dates, but no format reads all of them: it is taken as names without an "
           "order. Write its dates in one format and leave missing ones empty, or say the format, as in {words}."),
    marked("The column '{name}' looks like dates, but {number} of its values is none, the first in row "
           "{number_of_row}: it is taken as names without an order. Write its dates in one format and leave missing "
           "ones empty, or say the format, as in {words}."),
    marked("The column '{name}' looks like dates, but {number} of its values are none, the first in row "
           "{number_of_row}: it is taken as names without an order. Write its dates in one format and leave missing "
           "ones empty, or say the format, as in {words}."),
    # How searches went.
    marked("all of its work was done"),
    marked("its budget of work was spent: these are the best groups that were found until then"),
    marked("lists by sensitive value"),
    marked("least penalty along the curve"),
    marked("optimal cuts along the curve"),
    marked("closed when acceptable"),
    # Steps, and what is measured.
    *(marked("read"), marked("coarsen"), marked("encode"), marked("partition"), marked("recode"), marked("verify")),
    *(marked("bound"), marked("certify"), marked("write"), marked("groups"), marked("unique rows"), marked("missing")),
)  # fmt: skip
"""Sentences of certificates, and words; a placeholder says what it holds: a number, a percentage, a name of a column,
words of a call, or another of these sentences."""

_HOLDS = {"number": r"-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?", "percent": r"[<>]?[\d,]+(?:\.\d+)? ?%"}
"""What placeholders of a kind match; others match any text."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def known(text: str) -> str:
    """Return what a certificate says in the language of the page; text that is no known sentence stays as it is.

    Examples
    --------
    >>> from shoal._language import written_in
    >>> with written_in("de"):
    ...     known("At most 1,204 recoded cells more than the fewest possible: the search was stopped.")
    'Höchstens 1.204 vergröberte Zellen mehr als die kleinstmögliche Zahl: Die Suche wurde vorzeitig beendet.'
    """
    if language() == ENGLISH or not text:
        return text
    return _said(text) or text


def _said(text: str) -> str | None:
    """Return a text of one or more known sentences in the language of the page, None where it has others."""
    for message, form in _forms():
        found = form.fullmatch(text)
        if found is None:
            continue
        rest = found["rest"]
        more = "" if rest is None else _said(rest)
        held = {name: _held(name, value) for name, value in found.groupdict().items() if name != "rest"}
        if more is not None and None not in held.values():
            return _(message).format(**held) + (f" {more}" if more else "")
    return None


def _held(name: str, text: str) -> str | None:
    """Return what a placeholder holds as the language writes it."""
    kind = name.partition("_of_")[0]
    if kind == "known":
        return _said(text)
    if kind == "number":
        return numeral(text)
    if kind == "percent":
        sign = text[:1] if text[:1] in "<>" else ""
        return sign + percentage(text.strip("<>% "))
    with_ = _("with")
    return text.replace(" with ", f" {with_} ") if kind == "words" else text


@cache
def _forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each sentence with what recognizes it, and what may follow it."""
    forms = []
    for message in KNOWN:
        parts = _PLACEHOLDER.split(message)
        matched = "".join(
            f"(?P<{part}>{_HOLDS.get(part.partition('_of_')[0], '.+?')})" if at % 2 else re.escape(part)
            for at, part in enumerate(parts)
        )
        more = "(?: (?P<rest>.+))?" if message.endswith(".") else "(?P<rest>(?!))?"  # behind whole sentences only
        forms.append((message, re.compile(matched + more, re.DOTALL)))
    return tuple(forms)
