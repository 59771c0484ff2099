"""The guarantee of a series, in words: what holds, and against which adversary."""

from __future__ import annotations

from shoal._core.words import listed, quote
from shoal.republication.ledger.records import RecordedSeries

_AGAINST = {
    "independent": (
        "It holds against readers who know how shoal works, too: nothing that they see depends on who of the "
        "people with one set of values has which of them."
    ),
    "fewest": (
        "It holds against readers who draw conclusions from the releases alone. Who also knows how shoal works "
        "(new people take the places of those who left, where they have the same value) can conclude more from "
        "the counterfeits and from who is new in a group, up to certainty; counterfeits='independent' leaves "
        "nothing to be concluded."
    ),
}
"""The adversary that the guarantee holds against, for each way to balance buckets."""
_AGAINST["paper"] = _AGAINST["fewest"]


def describe_guarantee(series: RecordedSeries) -> str:
    """Describe the guarantee of a series. The text depends on the series only, never on its rows.

    Parameters
    ----------
    series : RecordedSeries
        The series.

    Returns
    -------
    str
        Several sentences for certificates and reports.
    """
    # Several sensitive columns are protected as a combination.
    names = listed([quote(name) for name in series.columns.sensitive])
    if len(series.columns.sensitive) > 1:
        names = f"the combination of {names} (one of them alone may be surer)"
    text = (
        f"m-invariance with m = {series.m}: nobody can tell {names} of a person with a confidence above "
        f"1/{series.m}, even with all releases of the series, the exact quasi-identifiers of everybody, and the "
        "knowledge of who is in which release (Xiao and Tao 2007, Lemma 3)."
    )
    held = (
        "It holds for readers who, but for the releases, know no more of one person's value than of another's, "
        "as long as every person has one id and one row in each release, and as long as all releases of these "
        "people come from this one series: two series, be they of one ledger, know nothing of each other."
    )
    sentences = [text, _AGAINST[series.counterfeits], held]
    # Lost releases void the guarantee for the people whom they introduced.
    if series.lost:
        lost = (
            "It does not hold for people who were first published in release {numbers}: the ledger lost what it "
            "knew of them."
        )
        sentences.append(lost.format(numbers=", ".join(map(str, series.lost))))
    return " ".join(sentences)
