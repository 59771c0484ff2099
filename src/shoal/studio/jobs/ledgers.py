"""Ledger jobs: list the series and their releases; start a series, publish, verify, and take back a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal._core.progress import Progress
from shoal._messages import set_audience, text_of
from shoal.errors import UsageError
from shoal.studio.words import REPORTS, SCREENS

MOST_IDS = 1_000
"""Most ids of people who prevent a release that a screen shows."""


def list_series(*, ledger: str, key: str | None, stamp: Sequence[object], progress: Progress) -> dict[str, Any]:
    """List the series of a ledger with their releases.

    `stamp` is unused here: it makes the key of the job differ if the file has changed.
    """
    from shoal.republication import Ledger

    progress("ledger", 0, 1)
    with Ledger(ledger, key=key, wait=0) as opened:
        found = []
        for name in opened.names:
            series = opened.series(name)
            columns = series.columns
            found.append({
                "name": name,
                "m": series.m,
                "identifier": columns.identifier,
                "quasi_identifiers": list(columns.quasi_identifiers),
                "sensitive": list(columns.sensitive),
                "releases": [one.to_dict() for one in series.history()],
            })  # fmt: skip
        return {
            "series": found,
            "warnings": list(opened.warnings),
            "ledger": opened.address,
            "key": opened.key_file,
            "anchor": opened.anchor_file,
        }


def start_series(
    *,
    ledger: str,
    key: str | None,
    name: str,
    m: int,
    identifier: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    direct_identifiers: Sequence[str],
    progress: Progress,
) -> dict[str, Any]:
    """Start a series; create the ledger if it does not exist."""
    from shoal.republication import Ledger

    progress("ledger", 0, 1)
    with Ledger(ledger, key=key, create=True) as opened:
        series = opened.start(
            name,
            m=m,
            identifier=identifier,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            direct_identifiers=direct_identifiers,
        )
        return {"said": [f"The series '{name}' is started.", *series.notes], "problems": []}


def publish_next(
    *,
    ledger: str,
    key: str | None,
    series: str,
    source: str,
    folder: str,
    reading: Mapping[str, Any],
    missing_sensitive: str,
    strict: bool,
    leave_out: Mapping[str, Sequence[str]],
    progress: Progress,
) -> dict[str, Any]:
    """Make, verify and write the next release of a series; list the ids of the people who prevent it.

    `leave_out` has the ids of people to leave out, by the reason.
    """
    from shoal.errors import PeopleError, WarnedError
    from shoal.republication import Ledger

    how: Any = missing_sensitive
    if {"replace_values", "derive"} & reading.keys():
        raise UsageError("A series reads all values as they came. Save the table so, and open it.")
    # A series takes no other options of reading.
    given = {name: value for name, value in reading.items() if name in ("delimiter", "encoding", "header_row")}
    with Ledger(ledger, key=key) as opened, set_audience(REPORTS):
        given |= {"strict": strict, "progress": progress}
        ids = [one for some in leave_out.values() for one in some]
        try:
            # A group of one real person would show that person's exact quasi-identifiers.
            made = opened.series(series).publish(
                source, folder, missing_sensitive=how, leave_out=ids or None, min_real=2, **given
            )
        except WarnedError as error:
            # The publisher decides whether the warnings are accepted.
            asked = [text_of((one,), SCREENS) for one in error.warnings]
            return {"said": [], "problems": [], "asked": asked, "left_out": _count_left_out(leave_out)}
        except PeopleError as error:
            found = {"ids": sorted(error.ids), "reason": error.reason, "left_out": _count_left_out(leave_out)}
            return {"said": [], "problems": [error.render(SCREENS)], **found}
        certificate = made.certificate.to_dict()
    m, others = made.certificate.m, [one for one in made.notes if one not in made.warnings]
    return {
        "said": [
            f"Release {made.number} of '{series}' is written.",
            *_count_left_out(leave_out),
            (
                f"m-invariance with m = {m}: no one can tell {', '.join(made.certificate.input['sensitive'])} of a "
                f"person with a confidence above 1/{m}, even with all releases of the series. The report has what "
                "this takes for granted."
            ),
            *others,
        ],
        "problems": list(made.warnings),
        "counts": dict(made.counts),
        "people": made.frame.height - certificate["cost"]["counterfeits"],
        "counterfeits": certificate["cost"]["counterfeits"],
        "loss": certificate["cost"]["gcp"],
        "number": made.number,
    }


def _count_left_out(people: Mapping[str, Sequence[str]]) -> list[str]:
    """Count the people who are left out, by the reason; empty if there is none."""
    total = sum(map(len, people.values()))
    reasons = ", ".join(f"{len(ids):,} {reason}" for reason, ids in people.items())
    return [f"{total:,} {'person is' if total == 1 else 'people are'} left out: {reasons}."] if total else []


def verify_series(*, ledger: str, key: str | None, series: str, progress: Progress) -> dict[str, Any]:
    """Verify a whole series: seals, hashes of files, and the guarantee of the published cells."""
    from shoal.republication import Ledger

    progress("verify", 0, 1)
    with Ledger(ledger, key=key, wait=0) as opened:
        found = opened.series(series).verify()
    # Releases whose files were moved away cannot be checked, so the number of checked ones is reported.
    checked = sum(one.checked for one in found.releases)
    problems = list(found.problems)
    done = f"Nothing is wrong: {checked} of {len(found.releases)} releases were looked at again."
    return {"said": [] if problems else [done], "problems": problems}


def erase_people(
    *, ledger: str, key: str | None, series: str, ids: Sequence[str], progress: Progress
) -> dict[str, Any]:
    """Erase people from a series; the answer lists only ids that the series does not know."""
    from shoal.errors import PeopleError
    from shoal.republication import Ledger

    progress("ledger", 0, 1)
    with Ledger(ledger, key=key) as opened:
        try:
            erased = opened.series(series).erase(ids)
        except PeopleError as error:
            return {"said": [], "problems": [error.render(SCREENS)], "ids": sorted(error.ids)}
    counted = f"Erased. People erased from '{series}' in all: {erased}; a table with one of them is refused."
    return {"said": [counted, "Folders and backups keep what they had. Make a new backup."], "problems": []}


def take_back(*, ledger: str, key: str | None, series: str, progress: Progress) -> dict[str, Any]:
    """Remove the last release of a series, which must not have left the institution."""
    from shoal.io.folder import private_folder
    from shoal.republication import Ledger

    progress("ledger", 0, 1)
    with Ledger(ledger, key=key) as opened:
        taken = opened.series(series).rollback(unpublished=True)
    messages = [f"Release {taken.number} of '{series}' was taken back."]
    if taken.folder:
        messages.append(f"Its folders are still there; remove them: {taken.folder} and {private_folder(taken.folder)}")
    return {"said": messages, "problems": []}
