"""Audit of a whole series: published files against the ledger, and against the conditions of m-invariance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import ReleaseUnsafeError, ShoalError
from shoal.io import private_folder
from shoal.republication.ledger.journal import get_recorded_digests
from shoal.republication.ledger.memory import Memory
from shoal.republication.ledger.records import RecordedRelease, RecordedSeries, to_canonical_json
from shoal.republication.linkage import to_canonical_text
from shoal.republication.m_invariance.verification import count_people_by_signature, verify_real_people, verify_release
from shoal.verification.published_folder import COUNTERFEITS, GROUP, file_digest, read_counterfeits, read_release

_CERTIFICATE = "certificate.json"
_MAX_FOLDERS_TO_SCAN = 10_000
"""Largest number of folders that are scanned next to a release."""


@dataclass(frozen=True, kw_only=True)
class CheckedRelease:
    """Findings about one release."""

    number: int
    """Number of the release, or 0 if the folder contains none of its releases."""
    folder: str | None
    """The checked folder, or None if no folder is known."""
    checked: bool
    """Whether its published cells were checked."""
    problems: tuple[str, ...]
    """What is wrong, as sentences; empty if nothing is wrong."""


@dataclass(frozen=True, kw_only=True)
class SeriesAudit:
    """Audit of a series: seals of the ledger, hashes of files, m-uniqueness and signatures of published cells."""

    series: str
    """Name of the series."""
    m: int
    """The m of m-invariance."""
    releases: tuple[CheckedRelease, ...]
    """Every checked folder, and every release without a folder."""
    ledger: tuple[str, ...] = ()
    """Problems of the ledger as a whole: it is older than its anchor."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems; empty if the series is intact."""
        return (*self.ledger, *(problem for one in self.releases for problem in one.problems))

    def to_dict(self) -> dict[str, Any]:
        """Convert the audit to the keys of its JSON form."""
        return {
            "series": self.series,
            "m": self.m,
            "releases": [asdict(one) for one in self.releases],
            "problems": [*self.problems],
        }


def audit_series(
    series: RecordedSeries,
    memory: Memory,
    folders: Sequence[Path] | None,
    *,
    forgot: Sequence[str] = (),
    nearby: Sequence[Path] = (),
) -> SeriesAudit:
    """Audit a series whose seals and memory were already verified.

    Parameters
    ----------
    series : RecordedSeries
        The series.
    memory : Memory
        The memory of the series.
    folders : sequence of Path, optional
        The current folders of the releases; by default the folders that were written.
    forgot : sequence of str
        Problems of the ledger, as sentences.
    nearby : sequence of Path
        Further folders that may contain releases unknown to the ledger.
    """
    if folders is None:
        # A folder may have been written twice: the latest release holds it.
        holders = {one.folder: one.number for one in _list_published(series) if one.folder}  # the latest ones
        checked = [
            _report_replaced(one, holders[one.folder])
            if one.folder and holders[one.folder] != one.number
            else _check_release(series, memory, one, Path(one.folder) if one.folder else None)
            for one in _list_published(series)
        ]
        looked_at = [Path(folder) for folder in holders]
    else:
        checked = [_check_release(series, memory, *_find_release(series, folder)) for folder in folders]
        seen = {one.number for one in checked}
        # Releases without a folder, and releases near these folders that the ledger does not know.
        checked += [_make_unchecked(one) for one in _list_published(series) if one.number not in seen]
        looked_at = list(folders)
    checked += [
        _check_release(series, memory, None, folder) for folder in find_unknown_releases(series, looked_at, nearby)
    ]
    releases = tuple(sorted(checked, key=lambda one: (one.number == 0, one.number)))
    return SeriesAudit(series=series.name, m=series.m, releases=releases, ledger=tuple(forgot))


def find_unknown_releases(series: RecordedSeries, folders: Iterable[Path], nearby: Iterable[Path] = ()) -> list[Path]:
    """Find the folders next to given ones that contain a release of the series which the ledger does not know.

    Releases of another series of the same name are included, unless the series was started for other people.

    Parameters
    ----------
    series : RecordedSeries
        The series.
    folders : iterable of Path
        Folders of its releases.
    nearby : iterable of Path
        Further folders to scan.
    """
    # Folders of the series itself.
    own = {folder.resolve() for folder in folders}
    own |= {Path(one.folder).resolve() for one in series.releases if one.folder}
    found = []
    for folder in find_release_folders(series.name, [*(folder.parent for folder in own), *nearby]):
        entry = _read_series_entry(folder)
        if folder in own or (series.anew and not _belongs_to(entry, series)):
            continue
        if not _belongs_to(entry, series) or not _is_known(series, entry["release"], folder):
            found.append(folder)
    return found


def find_release_folders(name: str, parents: Iterable[Path]) -> list[Path]:
    """Find the folders within given ones whose certificate names a series."""
    found = []
    for parent in sorted({parent.resolve() for parent in parents}):
        with suppress(OSError):
            # Skip folders that are being written, and private ones, because their public folder is found.
            shown = [one for one in sorted(parent.iterdir())[:_MAX_FOLDERS_TO_SCAN] if not one.name.startswith(".")]
            found += [one for one in shown if not _is_private(one) and _read_series_entry(one).get("name") == name]
    return found


def is_foreign(series: RecordedSeries, folder: Path) -> bool:
    """Check whether a folder contains a release of another series of the same name."""
    entry = _read_series_entry(folder)
    return entry.get("name") == series.name and not _belongs_to(entry, series)


def _is_private(folder: Path) -> bool:
    """Check whether a folder is the private folder of a public one next to it."""
    public = folder.with_suffix("")
    return public != folder and private_folder(public) == folder and public.exists()


def _is_known(series: RecordedSeries, number: int, folder: Path) -> bool:
    """Check whether the ledger knows a release and, for a public folder, the very certificate in it."""
    # A private folder is known if its number is.
    release = next((one for one in series.releases if one.number == number), None)
    if release is None or _CERTIFICATE not in release.files or folder == private_folder(folder.with_suffix("")):
        return release is not None
    return file_digest(folder / _CERTIFICATE) in get_recorded_digests(release.files[_CERTIFICATE])


def _read_series_entry(folder: Path) -> dict[str, Any]:
    """Read the entry of a folder's certificate about its series; empty if there is no valid entry."""
    try:
        entry = json.loads((folder / _CERTIFICATE).read_text(encoding="utf-8"))["series"]
        return entry if isinstance(entry, dict) and isinstance(entry.get("release"), int) else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _belongs_to(entry: Mapping[str, Any], series: RecordedSeries) -> bool:
    """Check whether a certificate's entry names this very series."""
    return bool(entry) and (entry.get("name"), entry.get("id")) == (series.name, series.public_id)


def _list_published(series: RecordedSeries) -> list[RecordedRelease]:
    """List the releases that are published and were not taken back."""
    return [one for one in series.releases if one.state == "published"]


def _make_unchecked(release: RecordedRelease) -> CheckedRelease:
    """Create the finding for a release without a folder."""
    return CheckedRelease(number=release.number, folder=None, checked=False, problems=())


def _report_replaced(release: RecordedRelease, by: int) -> CheckedRelease:
    """Create the finding for a release whose folder was written again by a later release."""
    problem = (
        f"The folder '{release.folder}' of release {release.number} holds release {by} now. If it was moved, name the "
        "folders to verify."
    )
    return CheckedRelease(number=release.number, folder=release.folder, checked=False, problems=(problem,))


def _find_release(series: RecordedSeries, folder: Path) -> tuple[RecordedRelease | None, Path]:
    """Find the release that a folder contains: by the hashes of its files, else by its certificate."""
    tables = sorted(folder.glob("release.*")) if folder.is_dir() else []
    # Files identify a release better than the text of its certificate.
    for path in (folder / _CERTIFICATE, *tables):
        digest = {file_digest(path)} if path.is_file() else set()
        for one in series.releases:
            if path.name in one.files and digest & get_recorded_digests(one.files[path.name]):
                return one, folder
    entry = _read_series_entry(folder)
    number = entry["release"] if _belongs_to(entry, series) else None
    return next((one for one in series.releases if one.number == number), None), folder


def _check_release(
    series: RecordedSeries, memory: Memory, release: RecordedRelease | None, folder: Path | None
) -> CheckedRelease:
    """Check the files and cells of a release in a folder."""
    # The folder holds no release of the series.
    if release is None:
        newer = "" if folder is None or not folder.is_dir() else _explain_unknown(series, folder)
        known = f"'{folder}' holds no release that the ledger knows of the series '{series.name}'."
        return CheckedRelease(number=0, folder=str(folder), checked=False, problems=(known + newer,))
    if folder is None:
        return _make_unchecked(release)
    # Files first, then the cells of a release that stands.
    problems = [*_find_file_problems(release, folder), *_find_private_problems(release, folder)]
    tables = [folder / name for name in release.files if name.startswith("release.") and (folder / name).is_file()]
    checked = bool(tables) and (folder / COUNTERFEITS).is_file()
    if release.state == "withdrawn":
        problems.append(f"Release {release.number} was taken back, but its folder '{folder}' is there. Remove it.")
    elif checked:
        problems += [problem for table in tables for problem in _find_cell_problems(series, memory, release, table)]
    return CheckedRelease(number=release.number, folder=str(folder), checked=checked, problems=tuple(problems))


def _explain_unknown(series: RecordedSeries, folder: Path) -> str:
    """Explain a folder whose certificate names this series, but a release that the ledger does not know."""
    entry = _read_series_entry(folder)
    if is_foreign(series, folder):
        return (
            " It is of another series of that name, of another ledger: perhaps one that was lost, and this one "
            "started in its place. Do not publish before this is clear."
        )
    if not _belongs_to(entry, series):
        return ""
    return (
        f" By its certificate it is release {entry['release']}: the ledger was restored from an older backup, or the "
        "folder is of another ledger. Do not publish before this is clear."
    )


def _find_file_problems(release: RecordedRelease, folder: Path) -> Iterable[str]:
    """Compare the files of a public folder with the hashes in the ledger."""
    if not folder.is_dir():
        yield (
            f"The folder '{folder}' of release {release.number} is not there. If it was moved, name the "
            "folders to verify."
        )
        return
    # A release may have been saved in another format: one table is enough.
    tables = [name for name in release.files if name.startswith("release.")]
    for name, held in release.files.items():
        path = folder / name
        if not path.is_file():
            if name not in tables or not any((folder / other).is_file() for other in tables):
                yield f"The file '{path}' of release {release.number} is not there."
        elif file_digest(path) not in get_recorded_digests(held):
            yield f"The file '{path}' of release {release.number} was changed after it was published."
    # Readers may mistake a foreign file for a part of the release.
    for path in sorted(folder.iterdir()):
        if path.name not in release.files:
            yield (
                f"'{path}' does not belong to release {release.number}: something else put it there. Readers who take "
                "it for a part of the release are misled. Remove it."
            )


def _find_private_problems(release: RecordedRelease, folder: Path) -> Iterable[str]:
    """Compare the private folder, if there is one next to the public one, with the hashes in the ledger."""
    private = private_folder(folder)
    for name, held in release.private_files.items() if private.is_dir() else ():
        path = private / name
        if not path.is_file():
            yield f"The private file '{path}' of release {release.number} is not there."
        elif file_digest(path) not in get_recorded_digests(held):
            yield f"The private file '{path}' of release {release.number} was changed after it was written."


def _find_cell_problems(series: RecordedSeries, memory: Memory, release: RecordedRelease, path: Path) -> Iterable[str]:
    """Check the published cells of a release: m-uniqueness, counts of people, real people, signatures."""
    columns = series.columns
    try:
        sign = release.files.get(path.name, {}).get("delimiter", ",")
        published, counterfeits = read_release(path, sign), read_counterfeits(path.with_name(COUNTERFEITS))
        # A file for spreadsheets may have an apostrophe before a name or a cell; its hash shows whether it is genuine.
        if published.columns != [GROUP, *columns.quasi_identifiers, *columns.sensitive]:
            published.columns = [name.removeprefix("'") for name in published.columns]
        verify_release(published, counterfeits, **columns.published, m=series.m)
        if release.parameters.get("min_real", 1) > 1:
            verify_real_people(published, counterfeits, **columns.published, min_real=release.parameters["min_real"])
    except ReleaseUnsafeError as error:
        yield f"Release {release.number} in '{path}': {str(error).removesuffix(' Nothing was published.')}"
        return
    except (ShoalError, ValueError, OSError) as error:
        yield f"The files of release {release.number} next to '{path}' cannot be read ({type(error).__name__})."
        return
    # Counts must be those of the record.
    fakes = int(counterfeits["count"].sum())
    if (published.height - fakes, fakes) != (release.rows, release.counterfeits):
        yield f"Release {release.number} in '{path}' has other numbers of people or counterfeits than the ledger says."
    if any(cell.startswith("'") for name in columns.sensitive for cell in _read_texts(published, name)):
        return  # written for a spreadsheet: its cells are not the values
    held = count_people_by_signature(
        published, counterfeits, [_read_texts(published, name) for name in columns.sensitive]
    )
    yield from _find_signature_problems(series, memory, release, held)


def _read_texts(published: pl.DataFrame, name: str) -> list[str]:
    """Read a column as canonical text."""
    return [str(cell) for cell in to_canonical_text(published.get_column(name)).to_list()]


def _find_signature_problems(
    series: RecordedSeries,
    memory: Memory,
    release: RecordedRelease,
    held: Mapping[frozenset[tuple[str, ...]], int],
) -> Iterable[str]:
    """Check that the ledger knows the signature of every group, and the number of its people in the latest release."""
    codes = {value: code for code, value in enumerate(memory.values)}
    numbers = memory.signatures.numbers()
    people = dict[int, int]()
    # A signature must have been known when the release was made.
    for signature, count in held.items():
        coded = sorted(codes.get(to_canonical_json(list(value)), -1) for value in signature)
        number = numbers.get(np.array(coded, dtype=np.int32).tobytes())
        if number is None or memory.signature_releases[number] > release.number:
            yield f"Release {release.number} has a group with a signature that the ledger does not know."
            return
        people[number] = people.get(number, 0) + count
    # The memory knows only who is in the latest release.
    if series.latest is not None and release.number == series.latest.number:
        records = memory.persons.records
        present, counts = np.unique(records["signature"][records["gone"] == 0], return_counts=True)
        remembered = dict(zip(present.tolist(), counts.tolist(), strict=True))
        # The memory no longer knows the signatures of people who were erased after the release.
        missing = {number: people.get(number, 0) - remembered.get(number, 0) for number in people | remembered}
        erased = int((memory.erased["release"] == release.number).sum())
        if min(missing.values(), default=0) < 0 or sum(missing.values()) > erased:
            yield f"Release {release.number} has groups that do not fit the signatures of the people in it."
