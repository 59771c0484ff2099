"""Checks of a release against the record of its series, notes about it, and the guarantee of the series in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal._core.words import listed, quote
from shoal.errors import LedgerError
from shoal.republication.ledger import journal
from shoal.republication.ledger.memory import Memory
from shoal.republication.ledger.records import RecordedSeries
from shoal.republication.publication import PublicationCertificate
from shoal.republication.series_audit import find_unknown_releases, is_foreign


def check_latest(series: RecordedSeries, memory: Memory) -> None:
    """Check that the last release can be taken back, and that an earlier memory has the tombstones of erased people."""
    if series.latest is None:
        raise LedgerError(f"The series '{series.name}' has no release to take back.")
    last = series.releases[-1]
    if last.state == "withdrawn":
        raise LedgerError(
            f"Release {last.number} of the series '{series.name}' was taken back already, and the ledger "
            "remembers how to take back one release only. Publish the next one."
        )
    if last.state == "lost":
        raise LedgerError(
            f"Release {last.number} of the series '{series.name}' was published, and the ledger lost what it knew of "
            "it: there is nothing to take back."
        )
    if series.before(last.number) is None and len(memory.erased):
        raise LedgerError(
            f"The series '{series.name}' has no earlier release, and people were erased from it "
            f"({len(memory.erased)}): without this release the ledger would forget that they must not "
            "return. Start another series."
        )


def check_stands(series: RecordedSeries, certificate: PublicationCertificate) -> None:
    """Check that the ledger has recorded a release as published; otherwise the next release would not fit it."""
    number = certificate.number
    held = next((one for one in series.releases if one.number == number), None)
    # The release was taken back: the next one may contradict it.
    if held is not None and held.state == "withdrawn":
        raise LedgerError(
            f"Release {number} of the series '{series.name}' was taken back, and is not written: the next release does "
            "not fit it. Write the one that was published in its place."
        )
    # The ledger may be older than the object.
    if held is None or held.state != "published" or held.input_sha256 != certificate.input["sha256"]:
        raise LedgerError(
            f"Release {number} of the series '{series.name}' is not the one that the ledger knows by this number, and "
            "is not written. If the ledger was restored from a backup, restore a newer one."
        )


def refuse_unknown_releases(series: RecordedSeries, target: Path) -> None:
    """Check that the ledger knows all releases of the series next to the target folder."""
    unknown = find_unknown_releases(series, [target])
    # A series of the same name from another ledger.
    if unknown and is_foreign(series, unknown[0]):
        raise LedgerError(
            f"'{unknown[0]}' holds a release of another series named '{series.name}', of a ledger that this one does "
            "not know: perhaps it was lost, and this one started in its place. Restore that ledger from a backup. If "
            "these are releases of other people, publish into another folder, or start a series of another name."
        )
    if unknown:
        raise LedgerError(
            f"'{unknown[0]}' holds a release of the series '{series.name}' that the ledger does not know: "
            "the ledger was restored from an older backup, or the folder is of another ledger. "
            "Restore a newer backup, or take the folder away if it is not of this series."
        )


def merge_files(
    held: Mapping[str, Mapping[str, Any]], added: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Merge the file hashes of a release with those of another copy, which may have the same file names."""
    files = dict(held)
    for name, facts in added.items():
        # A file may have been saved several times: keep all hashes.
        earlier = journal.get_recorded_digests(held[name]) - {facts["sha256"]} if name in held else set()
        files[name] = {**facts, **({"others": sorted(earlier)} if earlier else {})}
    return files


def describe_counts(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield notes for the publisher about a release, as sentences."""
    # Each sentence in the singular and in the plural.
    sentences = {
        "missing_sensitive": (
            "row is left out because of a missing sensitive value.",
            "rows are left out because of missing sensitive values.",
        ),
        "changed_quasi_identifiers": (
            "person has other quasi-identifiers than before.",
            "people have other quasi-identifiers than before.",
        ),
        "returned": (
            "person returns after a gap, with the same signature as before.",
            "people return after a gap, with the same signatures as before.",
        ),
        "shown_alone": (
            "person stands alone behind exact quasi-identifiers: ask for two real people, with a minimum of 2.",
            "people stand alone behind exact quasi-identifiers: ask for two real people, with a minimum of 2.",
        ),
    }
    for name, (one, several) in sentences.items():
        if counts[name]:
            yield f"{counts[name]:,} {one if counts[name] == 1 else several}"


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
        f"m-invariance with m = {series.m}: no one can tell {names} of a person with a confidence above "
        f"1/{series.m}, even with all releases of the series, the exact quasi-identifiers of everyone, and the "
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
        sentences.append(
            f"It does not hold for people who were first published in release {', '.join(map(str, series.lost))}: the "
            "ledger lost what it knew of them."
        )
    return " ".join(sentences)
