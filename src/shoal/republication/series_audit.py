"""A whole series checked again: the published files against the ledger, and against what m-invariance demands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import ReleaseUnsafeError, ShoalError
from shoal.io import private_folder
from shoal.republication.ledger.journal import recorded_digests
from shoal.republication.ledger.records import canonical
from shoal.republication.linkage import canonical_text
from shoal.republication.m_invariance.verification import people_by_signature, verify_real_people, verify_release
from shoal.verification.published_folder import COUNTERFEITS, file_digest, read_counterfeits, read_release

if TYPE_CHECKING:
    import polars as pl

    from shoal.republication.ledger.memory import Memory
    from shoal.republication.ledger.records import RecordedRelease, RecordedSeries

__all__ = ["SeriesAudit", "audit_series", "is_foreign", "releases_of", "unknown_beside"]

_CERTIFICATE = "certificate.json"
_MOST_BESIDE = 10_000
"""So many folders beside a release are looked at."""


@dataclass(frozen=True, kw_only=True)
class CheckedRelease:
    """What was found of one release."""

    number: int
    """Its number in the series; 0 where a folder holds none of its releases."""
    folder: str | None
    """The folder that was looked at; None where none is known."""
    checked: bool
    """Whether its published cells were checked."""
    problems: tuple[str, ...]
    """What is wrong, in sentences; empty where nothing is."""


@dataclass(frozen=True, kw_only=True)
class SeriesAudit:
    """A series checked again: seals of the ledger, hashes of files, m-uniqueness and signatures of published cells."""

    series: str
    """Name of the series."""
    m: int
    releases: tuple[CheckedRelease, ...]
    """Every folder that was looked at, and every release without one."""
    ledger: tuple[str, ...] = ()
    """What is wrong with the ledger as a whole: it is not as far as its anchor says."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong; empty where the series is as it should be."""
        return (*self.ledger, *(problem for one in self.releases for problem in one.problems))

    def to_dict(self) -> dict[str, Any]:
        """Return the audit for programs."""
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
    """Check a series, whose seals and memory were checked already.

    Parameters
    ----------
    series : RecordedSeries
        The series.
    memory : Memory
        What it remembers.
    folders : sequence of Path, optional
        Where its releases are now; by default where they were written.
    forgot : sequence of str
        What is wrong with the ledger, in sentences.
    nearby : sequence of Path
        Further folders in which there may be releases that the ledger does not know.
    """
    if folders is None:
        holders = {one.folder: one.number for one in _standing(series) if one.folder}  # the latest ones
        checked = [
            _replaced(one, holders[one.folder])
            if one.folder and holders[one.folder] != one.number
            else _checked(series, memory, one, Path(one.folder) if one.folder else None)
            for one in _standing(series)
        ]
        looked_at = [Path(folder) for folder in holders]
    else:
        checked = [_checked(series, memory, *_release_in(series, folder)) for folder in folders]
        seen = {one.number for one in checked}
        checked += [_unchecked(one) for one in _standing(series) if one.number not in seen]
        looked_at = list(folders)
    checked += [_checked(series, memory, None, folder) for folder in unknown_beside(series, looked_at, nearby)]
    releases = tuple(sorted(checked, key=lambda one: (one.number == 0, one.number)))
    return SeriesAudit(series=series.name, m=series.m, releases=releases, ledger=tuple(forgot))


def unknown_beside(series: RecordedSeries, folders: Iterable[Path], nearby: Iterable[Path] = ()) -> list[Path]:
    """Return the folders beside some others that hold a release of a series which the ledger does not know.

    Those of another series of the same name are among them, unless the series was started anew.

    Parameters
    ----------
    series : RecordedSeries
        The series.
    folders : iterable of Path
        Folders of its releases.
    nearby : iterable of Path
        Further folders, to look into.
    """
    own = {folder.resolve() for folder in folders}
    own |= {Path(one.folder).resolve() for one in series.releases if one.folder}
    found = []
    for folder in releases_of(series.name, [*(folder.parent for folder in own), *nearby]):
        said = _said(folder)
        if folder in own or (series.anew and not _is_of(said, series)):
            continue
        if not _is_of(said, series) or not _is_known(series, said["release"], folder):
            found.append(folder)
    return found


def releases_of(name: str, parents: Iterable[Path]) -> list[Path]:
    """Return the folders in some others whose certificate says that they hold a release of a series of that name."""
    found = []
    for parent in sorted({parent.resolve() for parent in parents}):
        with suppress(OSError):
            # Not one that is being written, nor a private one: its public one tells.
            shown = [one for one in sorted(parent.iterdir())[:_MOST_BESIDE] if not one.name.startswith(".")]
            found += [one for one in shown if not _is_private_one(one) and _said(one).get("name") == name]
    return found


def is_foreign(series: RecordedSeries, folder: Path) -> bool:
    """Return whether a folder holds a release of another series of the same name."""
    said = _said(folder)
    return said.get("name") == series.name and not _is_of(said, series)


def _is_private_one(folder: Path) -> bool:
    """Return whether a folder is the private one of a folder beside it."""
    public = folder.with_suffix("")
    return public != folder and private_folder(public) == folder and public.exists()


def _is_known(series: RecordedSeries, number: int, folder: Path) -> bool:
    """Return whether the ledger knows a release, and its public certificate as it lies in a folder."""
    release = next((one for one in series.releases if one.number == number), None)
    if release is None or _CERTIFICATE not in release.files or folder == private_folder(folder.with_suffix("")):
        return release is not None
    return file_digest(folder / _CERTIFICATE) in recorded_digests(release.files[_CERTIFICATE])


def _said(folder: Path) -> dict[str, Any]:
    """Return what the certificate in a folder says of the series that it belongs to; nothing where there is none."""
    try:
        said = json.loads((folder / _CERTIFICATE).read_text(encoding="utf-8"))["series"]
        return said if isinstance(said, dict) and isinstance(said.get("release"), int) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _is_of(said: Mapping[str, Any], series: RecordedSeries) -> bool:
    return bool(said) and (said.get("name"), said.get("id")) == (series.name, series.public_id)


def _standing(series: RecordedSeries) -> list[RecordedRelease]:
    return [one for one in series.releases if one.state == "published"]


def _unchecked(release: RecordedRelease) -> CheckedRelease:
    return CheckedRelease(number=release.number, folder=None, checked=False, problems=())


def _replaced(release: RecordedRelease, by: int) -> CheckedRelease:
    problem = (
        f"The folder '{release.folder}' of release {release.number} holds release {by} now. If it was moved, name the "
        "folders to verify."
    )
    return CheckedRelease(number=release.number, folder=release.folder, checked=False, problems=(problem,))


def _release_in(series: RecordedSeries, folder: Path) -> tuple[RecordedRelease | None, Path]:
    """Return the release that a folder holds: by the hashes of its files, else by its certificate."""
    tables = sorted(folder.glob("release.*")) if folder.is_dir() else []
    for path in (folder / _CERTIFICATE, *tables):
        digest = {file_digest(path)} if path.is_file() else set()
        for one in series.releases:
            if path.name in one.files and digest & recorded_digests(one.files[path.name]):
                return one, folder
    said = _said(folder)
    number = said["release"] if _is_of(said, series) else None
    return next((one for one in series.releases if one.number == number), None), folder


def _checked(
    series: RecordedSeries, memory: Memory, release: RecordedRelease | None, folder: Path | None
) -> CheckedRelease:
    if release is None:
        newer = "" if folder is None or not folder.is_dir() else _newer(series, folder)
        problem = f"'{folder}' holds no release that the ledger knows of the series '{series.name}'.{newer}"
        return CheckedRelease(number=0, folder=str(folder), checked=False, problems=(problem,))
    if folder is None:
        return _unchecked(release)
    problems = [*_file_problems(release, folder), *_private_problems(release, folder)]
    tables = [folder / name for name in release.files if name.startswith("release.") and (folder / name).is_file()]
    checked = bool(tables) and (folder / COUNTERFEITS).is_file()
    if release.state == "withdrawn":
        problems.append(f"Release {release.number} was taken back, but its folder '{folder}' is there. Remove it.")
    elif checked:
        problems += [problem for table in tables for problem in _cell_problems(series, memory, release, table)]
    return CheckedRelease(number=release.number, folder=str(folder), checked=checked, problems=tuple(problems))


def _newer(series: RecordedSeries, folder: Path) -> str:
    """Return what it means that a folder is of this series, but of a release that the ledger does not know."""
    said = _said(folder)
    if is_foreign(series, folder):
        return (
            " It is of another series of that name, of another ledger: perhaps one that was lost, and this one started "
            "in its place. Do not publish before this is clear."
        )
    if not _is_of(said, series):
        return ""
    return (
        f" Its certificate says that it is release {said['release']}: the ledger was restored from an older backup, or "
        "the folder is of another ledger. Do not publish before this is clear."
    )


def _file_problems(release: RecordedRelease, folder: Path) -> Iterable[str]:
    if not folder.is_dir():
        yield (
            f"The folder '{folder}' of release {release.number} is not there. If it was moved, name the folders to "
            "verify."
        )
        return
    tables = [name for name in release.files if name.startswith("release.")]
    for name, held in release.files.items():
        path = folder / name
        if not path.is_file():
            if name not in tables or not any((folder / other).is_file() for other in tables):
                yield f"The file '{path}' of release {release.number} is not there."
        elif file_digest(path) not in recorded_digests(held):
            yield f"The file '{path}' of release {release.number} was changed after it was published."
    for path in sorted(folder.iterdir()):
        if path.name not in release.files:
            yield (
                f"'{path}' does not belong to release {release.number}: something else put it there. Whoever takes it "
                "for a part of the release is misled; remove it."
            )


def _private_problems(release: RecordedRelease, folder: Path) -> Iterable[str]:
    """Check the private folder, where there is one beside the public one."""
    private = private_folder(folder)
    for name, held in release.private_files.items() if private.is_dir() else ():
        path = private / name
        if not path.is_file():
            yield f"The private file '{path}' of release {release.number} is not there."
        elif file_digest(path) not in recorded_digests(held):
            yield f"The private file '{path}' of release {release.number} was changed after it was written."


def _cell_problems(series: RecordedSeries, memory: Memory, release: RecordedRelease, path: Path) -> Iterable[str]:
    """Check the published cells of a release: m-uniqueness, people and counterfeits, real people, and signatures."""
    columns = series.columns
    try:
        published, counterfeits = read_release(path), read_counterfeits(path.with_name(COUNTERFEITS))
        # A file for spreadsheets may have an apostrophe before a name or a cell; its hash tells whether it is ours.
        if published.columns != ["group_id", *columns.quasi_identifiers, *columns.sensitive]:
            published.columns = [name.removeprefix("'") for name in published.columns]
        verify_release(
            published,
            counterfeits,
            quasi_identifiers=columns.quasi_identifiers,
            sensitive=columns.sensitive,
            m=series.m,
        )
        if release.parameters.get("min_real", 1) > 1:
            verify_real_people(
                published,
                counterfeits,
                quasi_identifiers=columns.quasi_identifiers,
                sensitive=columns.sensitive,
                min_real=release.parameters["min_real"],
            )
    except ReleaseUnsafeError as error:
        yield f"Release {release.number} in '{path}': {str(error).removesuffix(' Nothing was published.')}"
        return
    except (ShoalError, ValueError, OSError) as error:
        yield f"The files of release {release.number} beside '{path}' cannot be read ({type(error).__name__})."
        return
    fakes = int(counterfeits["count"].sum())
    if (published.height - fakes, fakes) != (release.rows, release.counterfeits):
        yield f"Release {release.number} in '{path}' has other numbers of people or counterfeits than the ledger says."
    if any(cell.startswith("'") for name in columns.sensitive for cell in _texts(published, name)):
        return  # written for a spreadsheet: its cells are not the values
    held = people_by_signature(published, counterfeits, [_texts(published, name) for name in columns.sensitive])
    yield from _signature_problems(series, memory, release, held)


def _texts(published: pl.DataFrame, name: str) -> list[str]:
    return [str(cell) for cell in canonical_text(published.get_column(name)).to_list()]


def _signature_problems(
    series: RecordedSeries,
    memory: Memory,
    release: RecordedRelease,
    held: Mapping[frozenset[tuple[str, ...]], int],
) -> Iterable[str]:
    """Check the groups' signatures: the ledger knows each, and for the latest release how many people have it."""
    codes = {value: code for code, value in enumerate(memory.values)}
    numbers = memory.signatures.numbers()
    people = dict[int, int]()
    for signature, count in held.items():
        coded = sorted(codes.get(canonical(list(value)), -1) for value in signature)
        number = numbers.get(np.array(coded, dtype=np.int32).tobytes())
        if number is None or memory.signature_releases[number] > release.number:
            yield f"Release {release.number} has a group with a signature that the ledger does not know."
            return
        people[number] = people.get(number, 0) + count
    if series.latest is not None and release.number == series.latest.number:
        records = memory.persons.records
        present, counts = np.unique(records["signature"][records["gone"] == 0], return_counts=True)
        if people != dict(zip(present.tolist(), counts.tolist(), strict=True)):
            yield f"Release {release.number} has groups that do not fit the signatures of the people in it."
