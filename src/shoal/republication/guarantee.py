"""What a series promises, and against whom, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.republication.ledger.records import RecordedSeries

__all__ = ["guarantee_of"]

_AGAINST = {
    "independent": (
        "It holds against readers who know how shoal works, too: nothing that they see depends on who of the people "
        "with one set of values has which of them."
    ),
    "fewest": (
        "It holds against readers who draw conclusions from the releases alone. Who also knows how shoal works (new "
        "people take the places of those who left, where they have the same value) can conclude more from the "
        "counterfeits and from who is new in a group, up to certainty; counterfeits='independent' leaves nothing to be "
        "concluded."
    ),
}
_AGAINST["paper"] = _AGAINST["fewest"]


def guarantee_of(series: RecordedSeries) -> str:
    """Return what holds for everyone in a series, in words that depend on the series alone.

    Parameters
    ----------
    series : RecordedSeries
        The series.
    """
    m, sensitive = series.m, series.columns.sensitive
    names = " and ".join(f"'{name}'" for name in sensitive)
    what = names if len(sensitive) == 1 else f"the combination of {names} (one of them alone may be surer)"
    text = (
        f"m-invariance with m = {m}: nobody can tell {what} of a person with a confidence above 1/{m}, even with all "
        "releases of the series, the exact quasi-identifiers of everybody, and the knowledge of who is in which "
        f"release (Xiao and Tao 2007, Lemma 3). {_AGAINST[series.counterfeits]} It holds for readers who, but for the "
        "releases, know no more of one person's value than of another's, as long as every person has one id and one "
        "row in each release, and as long as all releases of these people come from this one series: two series, be "
        "they of one ledger, know nothing of each other."
    )
    if series.lost:
        numbers = ", ".join(map(str, series.lost))
        text += (
            f" It does not hold for people who were first published in release {numbers}: the ledger lost what it knew "
            "of them."
        )
    return text
