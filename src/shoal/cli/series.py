"""The command group `shoal series`: releases of a changing table, with a ledger of all published persons."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal._core.outcome import reason_of
from shoal._core.private_files import open_beside, write_private_text
from shoal.cli.asking import Cells, Nodes, cells_of, trees_of_cells
from shoal.cli.command import Group, argument, option, takes
from shoal.cli.console import PathLine, Terminal, folder_lines, lines_of, path_line, plain
from shoal.errors import ColumnError, LedgerError, OutputError, PeopleError, ReleaseUnsafeError, UsageError
from shoal.request.texts import columns_and_words, names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shoal.republication import Ledger, Publication, RecordedRelease, Series
    from shoal.request.words import Words

Release = Annotated[
    str, argument(metavar="RELEASE", help="A folder written by shoal, or a file with a published table.")
]
Question = Annotated[
    str,
    argument(
        metavar="QUESTION", help='Conditions joined by "and": age in [30, 50) and disease in {flu, "cough, dry"}.'
    ),
]
Domains = Annotated[
    list[str] | None,
    option(
        "--domain",
        metavar="NAME=CELL",
        help='The values that a star may represent: age="[17, 95]", gender="{f, m}". Default: any.',
    ),
]


def _keep_quiet(**_: object) -> None:
    logging.getLogger("shoal.republication").addHandler(logging.NullHandler())  # the commands print them


commands = Group(
    "series",
    help="Publish a changing table repeatedly (m-invariance), with a ledger of all published persons.",
    no_args_is_help=True,
    callback=_keep_quiet,
)


_OUT_HELP = "Folder for the release: all of it may be published. Private files go to OUT.private in the same place."
# Options of all commands about ledgers.
LedgerAddress = Annotated[
    str, argument(metavar="LEDGER", help="The ledger: a file, or postgresql+psycopg://user@host/database.")
]
SeriesName = Annotated[
    str | None,
    option("--series", metavar="NAME", help="The series. Default: the only one of the ledger."),
]
_ACCESS = (
    option("--key", metavar="FILE", help="The file with the ledger's key. Default: SHOAL_LEDGER_KEY or LEDGER.key."),
    option(
        "--anchor", metavar="FILE", help="The file that records the progress of the series. Default: next to the key."
    ),
    option("--wait", metavar="SECONDS", kind=float, help="How long to wait for another publisher. Default: 30.", min=0),
)
"""The options of opening a ledger, which are parameters of `shoal.Ledger`."""
# Options of a new series.
Identifier = Annotated[
    str,
    option("--id", metavar="NAME", help="The column that identifies each person (not each visit), never published."),
]
Drop = Annotated[list[str] | None, option("--drop", metavar="NAMES", help="Further columns that are never published.")]
M = Annotated[int, option("-m", metavar="NUMBER", help="The confidence in a person's value is at most 1/m.", min=2)]
Balancing = Annotated[
    str,
    option(
        "--counterfeits",
        metavar="independent|fewest|paper",
        help="Counterfeits replace missing values independently of the data, so that they allow no conclusions; or "
        "as few as possible; or as in the paper.",
    ),
]
MissingSensitive = Annotated[
    str,
    option("--missing-sensitive", metavar="error|drop", help="Rows without a sensitive value: an error, or left out."),
]
# Options of a release.
Overlap = Annotated[
    str,
    option(
        "--overlap", metavar="error|allow", help="People who are in another series of the ledger: an error, or allowed."
    ),
]
SignaturesOfNew = Annotated[
    str,
    option(
        "--signatures",
        metavar="any|near",
        help="Sets of values for new people: any values, or values near each other, which answer range queries on "
        "values much better, but reveal the approximate size of a person's value.",
    ),
]
MinReal = Annotated[
    int,
    option(
        "--min-real",
        metavar="NUMBER",
        help="The minimum number of real people behind published quasi-identifiers. Default: 2. With 1, a person alone "
        "among counterfeits is shown with exact values.",
        min=1,
    ),
]
Refused = Annotated[
    Path | None,
    option(
        "--refused", metavar="FILE", help="Write the ids of people who prevent the release to this new, private file."
    ),
]
Strict = Annotated[
    bool,
    option(
        "--strict",
        help="Publish nothing if new people may be known under other ids (with the data of a person who left), or if "
        "ids differ only in spelling.",
    ),
]
# Confirmations of actions that depend on facts outside the ledger.
Anew = Annotated[
    bool,
    option("--anew", help="Confirm that the releases of an earlier series of this name are about other people."),
]
Risk = Annotated[
    bool,
    option("--risk", help="Confirm that you accept the risk for people who are missing from the ledger."),
]
Last = Annotated[
    int | None,
    option("--last", metavar="NUMBER", help="The last published release, if the anchor is lost.", min=1),
]
Unpublished = Annotated[bool, option("--unpublished", help="Confirm that no one outside has seen the release.")]
Interrupted = Annotated[
    bool, option("--interrupted", help="Only complete or undo what a crash interrupted; every publish does this first.")
]
Backup = Annotated[
    bool,
    option(
        "--backup",
        help="Continue with a ledger from a backup although releases were published since, or without its anchor. "
        "Without --risk it only explains the consequences.",
    ),
]
Erased = Annotated[
    list[str],
    option(
        "--id",
        metavar="VALUE",
        help="The id of a person. Repeat the option, or give '-' to read ids from standard input, one per line.",
    ),
]
Folders = Annotated[
    list[Path] | None,
    argument(metavar="[OUT]...", help="The current folders of the releases. Default: where they were written."),
]
NewKey = Annotated[
    Path | None,
    option("--new-key", metavar="FILE", help="The file for the new key. Default: it replaces the old one."),
]
CertificateFile = Annotated[
    Path | None,
    option("--certificate", metavar="FILE", help="Write a certificate of the series, which may be published."),
]
Input = Annotated[str, argument(metavar="INPUT", help="The current table: any input of anonymize.")]
Output = Annotated[Path, option("--output", "-o", metavar="OUT", help=_OUT_HELP)]


@commands.add
@takes("quasi_identifiers", "sensitive", "json", options=_ACCESS)
def start(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    series: Annotated[str, option("--series", metavar="NAME", help="The name of the new series.")],
    identifier: Identifier,
    m: M,
    drop: Drop = None,
    counterfeits: Balancing = "independent",
    anew: Anew = False,
    **access: Any,
) -> None:
    """Start a series of releases; create the ledger, its key and its anchor if they do not exist.

    Example: shoal series start releases.db --series admissions --id patient_id --qi age,zip --sensitive disease -m 4
    """
    # Creating a series also creates the ledger, its key and its anchor.
    with _opened(terminal, address, access, create=True) as ledger:
        made = ledger.start(
            series,
            m=m,
            identifier=identifier,
            quasi_identifiers=words.get("quasi_identifiers") or (),
            sensitive=words.get("sensitive") or (),
            direct_identifiers=names_in("--drop", drop) or (),
            counterfeits=counterfeits,  # type: ignore[arg-type]
            anew=anew,
        )
        facts: dict[str, Any] = {"ledger": ledger.address, "key": ledger.key_file, "anchor": ledger.anchor_file}
        facts |= {"series": made.name, "m": made.m, "warnings": [*ledger.warnings, *made.notes]}
    for warning in made.notes:
        terminal.note(warning)
    terminal.result(facts) if terminal.json else terminal.say(
        "",
        plain(f"The series '{made.name}' is started."),
        path_line("ledger", facts["ledger"]),
        *([path_line("key", facts["key"])] if facts["key"] else []),
        path_line("anchor", facts["anchor"]),
        "Back up the ledger after every release, and the key once, in another place. Leave the anchor out of it:  it "
        "shows if a ledger is the newest. Without the ledger or its key the series ends.",
        "",
    )


@commands.add
@takes(*("seed", "delimiter", "encoding", "header_row", "format", "spreadsheet_safe", "force", "json"), options=_ACCESS)
def publish(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    source: Input,
    output: Output,
    series: SeriesName = None,
    missing_sensitive: MissingSensitive = "error",
    overlap: Overlap = "error",
    signatures: SignaturesOfNew = "any",
    min_real: MinReal = 2,
    strict: Strict = False,
    refused: Refused = None,
    **access: Any,
) -> None:
    """Make the next release of a series: all people in INPUT, each with the signature of earlier releases.

    A signature is the set of sensitive values of a group: a person keeps it for as long as the value is the same.

    INPUT has one row for each person. If too many new people share a sensitive value, nothing is written. Do not
    postpone some of them to a later release, because that reveals them; the message names what is safe.

    Example: shoal series publish releases.db --series admissions q3.csv -o q3

    Exit codes: 0 done; 1 the new rows allow no such release, or a warning with --strict; 2 wrong usage, input or
    ledger; 3 the verification failed.
    """
    from shoal.io import check_free

    # The old folder is kept until the new release is in place.
    check_free(output, force=bool(words.get("force")), remove=False)
    with (
        _opened(terminal, address, access) as ledger,
        _writing_ids(terminal, refused),
        terminal.progress() as progress,
    ):
        made = _chosen(ledger, series).publish(
            source,
            output,
            missing_sensitive=missing_sensitive,  # type: ignore[arg-type]
            overlap=overlap,  # type: ignore[arg-type]
            signatures=signatures,  # type: ignore[arg-type]
            min_real=min_real,
            strict=strict,
            progress=progress,
            **{name: value for name, value in words.said.items() if name != "json"},
        )
    for note in made.notes:
        terminal.note(note)
    if terminal.json:
        terminal.result({**made.certificate.to_dict(), "counts": dict(made.counts), "notes": list(made.notes)})
    else:
        terminal.say("", lines_of(list(_summary(made))), *folder_lines(output), "")


@commands.add
@takes("json", options=_ACCESS)
def history(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    series: SeriesName = None,
    **access: Any,
) -> None:
    """List the releases of a series, or of all series of a ledger."""
    with _opened(terminal, address, access) as ledger:
        # Read everything before the ledger is closed.
        names = [series] if series is not None else list(ledger.names)
        found = {name: ledger.series(name) for name in names}
        releases = {name: one.history() for name, one in found.items()}
    if terminal.json:
        terminal.result(
            {
                "series": [
                    {"name": name, "m": one.m, "releases": [release.to_dict() for release in releases[name]]}
                    for name, one in found.items()
                ]
            }
        )
        return
    # One block per series, one line per release.
    for name, one in found.items():
        # A later release may have the folder of a withdrawn one.
        used = {one.folder for each in releases.values() for one in each if one.state != "withdrawn"} | {None}
        terminal.say("", plain(f"{name} (m = {one.m})"), lines_of([_line(release, used) for release in releases[name]]))
        if not releases[name]:
            terminal.say("  no release yet")
    terminal.say("")


@commands.add
@takes("json", options=_ACCESS)
def verify(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    folders: Folders = None,
    series: SeriesName = None,
    certificate: CertificateFile = None,
    backup: Backup = False,
    risk: Risk = False,
    last: Last = None,
    **access: Any,
) -> None:
    """Verify a whole series: the ledger's seals, the files' hashes, and the published cells.

    Folders next to the known ones that belong to the series but are missing from the ledger are found, too. A
    certificate is written only if there are no problems.

    Exit codes: 0 the series is valid; 3 it is not (the problems are listed); 2 the ledger cannot be used.
    """
    if (risk or last is not None) and not backup:
        raise UsageError("--risk and --last are for ledgers from a backup: add --backup, or leave them out.")
    with _opened(terminal, address, access) as ledger:
        if backup:
            results = ledger.accept(risk=risk, last=None if last is None else {_chosen(ledger, series).name: last})
            _show(terminal, "accepted", results, "No problems.")
            return
        # Verify first; a certificate of the series is written only without problems.
        chosen = _chosen(ledger, series)
        audit = chosen.verify(folders or None)
        if certificate is not None and not audit.problems:
            _write(certificate, chosen.certificate())
    if terminal.json:
        terminal.result(audit.to_dict())
    else:
        terminal.say("")
        for one in audit.releases:
            state = "wrong" if one.problems else "as published" if one.checked else "not checked: no folder is known"
            terminal.say(PathLine(plain(f"  release {one.number:<4} {state}{f': {one.folder}' if one.folder else ''}")))
        terminal.say(
            ""
            if audit.problems
            else f"\nThe series '{audit.series}' is {audit.m}-invariant as far as it was checked.\n"
        )
    for problem in audit.problems:
        terminal.note(problem)
    if audit.problems:
        raise click.exceptions.Exit(ReleaseUnsafeError.exit_code)


@commands.add
@takes("json", options=_ACCESS)
def undo(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    series: SeriesName = None,
    unpublished: Unpublished = False,
    interrupted: Interrupted = False,
    **access: Any,
) -> None:
    """Take back the last release of a series, which must be unpublished; or what a crash interrupted."""
    with _opened(terminal, address, access) as ledger:
        if interrupted:
            results = ledger.recover()
            _show(terminal, "recovered", results, "Nothing was interrupted.")
            return
        # The published folders are not removed, because they may be elsewhere.
        taken = _chosen(ledger, series).rollback(unpublished=unpublished)
    if terminal.json:
        terminal.result(taken.to_dict())
        return
    terminal.say(f"Release {taken.number} was taken back. The series is as it was before.")
    if taken.folder:
        from shoal.io import private_folder

        terminal.say("Its folders are still there; remove them:")
        terminal.say(*(path_line("folder", one) for one in (taken.folder, private_folder(taken.folder))))


@commands.add
@takes("json", options=_ACCESS)
def erase(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    series: SeriesName = None,
    ids: Erased,
    **access: Any,
) -> None:
    """Erase people from the ledger; they cannot be published in the series again.

    Their signatures and values go. A keyed hash of each id stays, so that a later release refuses them.

    Example: shoal series erase releases.db --series admissions --id -
    """
    # Ids from standard input are not in the history of the shell.
    named = [one for one in ids if one != "-"]
    if "-" in ids:
        named += [line for line in sys.stdin.read().splitlines() if line.strip()]
    with _opened(terminal, address, access) as ledger:
        chosen = _chosen(ledger, series)
        erased = chosen.erase(named)
    if terminal.json:
        terminal.result({"series": chosen.name, "erased": erased})
        return
    terminal.say(
        plain(f"Erased. People erased from the series '{chosen.name}' in all: {erased}."),
        "Published folders, private folders and backups of the ledger still have what they had. Make a new backup.",
    )


@commands.add
@takes("json", options=_ACCESS)
def rotate(
    terminal: Terminal,
    words: Words,
    *,
    address: LedgerAddress,
    new_key: NewKey = None,
    **access: Any,
) -> None:
    """Give a ledger a new key, and encrypt all of it again; the anchor stays next to the key.

    Anyone with the old key and an old copy of the ledger can still read that copy, but nothing newer.
    """
    with _opened(terminal, address, access) as ledger:
        ledger.rotate_key(new_key)
        # Paths as they are after the rotation.
        facts = {"ledger": ledger.address, "key": ledger.key_file, "anchor": ledger.anchor_file}
    if terminal.json:
        terminal.result(facts)
        return
    terminal.say(
        "The ledger has a new key. Back it up, and destroy the copies of the old one.",
        path_line("key", facts["key"]),
        path_line("anchor", facts["anchor"]),
    )


@commands.add
@takes("quasi_identifiers", "star", "delimiter", "encoding", "json")
def query(
    terminal: Terminal,
    words: Words,
    *,
    source: Release,
    question: Question,
    domains: Domains = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
) -> None:
    """Count the people of a published table who satisfy conditions, corrected for counterfeits.

    Example: shoal series query q3/ "age in [30, 50) and disease = flu"

    The estimate assumes that the people of a group are evenly distributed over its
    intervals and sets. The bounds hold for all possible values of the cells. Ambiguous
    cells are an error, with advice how to declare their meaning.
    """
    from shoal.republication.queries import PublishedGroups
    from shoal.verification.published_folder import read_published

    release = read_published(source, delimiter=words.get("delimiter"), encoding=words.get("encoding"))
    # Options take precedence over the certificate.
    names = words.get("quasi_identifiers") or release.columns("quasi_identifiers")
    if not names:
        raise ColumnError("No certificate names the quasi-identifiers. Name them with --qi.")
    # Meanings of cells, domains of stars and counterfeits determine the bounds.
    groups = PublishedGroups(
        release.frame,
        quasi_identifiers=names,
        counterfeits=release.counterfeits,
        star=words.get("star") or release.star,
        domains=columns_and_words("--domain", domains) or {},
        meanings=release.meanings(names, trees=trees_of_cells(hierarchies, names), cells=cells_of(cells, names)),
        empty_is_missing=release.empty_is_missing,
    )
    answer = groups.count(question)
    # A misspelled value would silently count no one, so it is reported.
    for name in groups.find_unknown_values(question):
        who = "only stars may hide it" if answer.at_most else "no one has it"
        terminal.note(
            f"The question names a value of '{name}' that is not in the release or its domain: {who}. Check "
            "that it is spelled as in the release."
        )
    if terminal.json:
        terminal.result({"question": question, **answer.to_dict()})
        return
    terminal.say(
        "",
        plain(f"About {answer.estimate:,.1f} people: at least {answer.at_least:,}, at most {answer.at_most:,}."),
        "",
    )


def _show(terminal: Terminal, key: str, sentences: Sequence[str], otherwise: str) -> None:
    """Print what was done to a ledger, or that there was nothing to do."""
    if terminal.json:
        terminal.result({key: sentences})
    else:
        terminal.say(*([plain(sentence) for sentence in sentences] or [otherwise]))


def _opened(terminal: Terminal, address: str, access: Mapping[str, Any], *, create: bool = False) -> Ledger:
    from shoal.republication import Ledger

    ledger = Ledger(address, create=create, **access)
    for warning in ledger.warnings:
        terminal.note(warning)
    return ledger


@contextmanager
def _writing_ids(terminal: Terminal, path: Path | None) -> Iterator[None]:
    try:
        yield
    except PeopleError as error:
        from shoal.republication.ledger.advice import LIST_IDS

        if path is not None:
            try:
                write_private_text(path, "".join(f"{one}\n" for one in error.ids), new=True)
            except OSError as problem:
                raise OutputError(f"The ids cannot be written to '{path}': {problem.strerror}.") from error
            terminal.note(f"The file '{path}' has the ids ({len(error.ids)}). Remove it when you are done.")
            # The ids are written, so the advice on how to get them is left out.
            error.args = tuple(part for part in error.args if part is not LIST_IDS)
        raise


def _chosen(ledger: Ledger, name: str | None) -> Series:
    """Return the series of that name, or the only one."""
    if name is not None:
        return ledger.series(name)
    # Without a name, the ledger must have exactly one series.
    names = ledger.names
    if len(names) != 1:
        listed = ", ".join(f"'{one}'" for one in names[:20])
        raise LedgerError(
            f"The ledger has {len(names)} series. Name one with --series{f': {listed}' if names else ''}."
        )
    return ledger.series(names[0])


def _summary(made: Publication) -> Iterator[tuple[str, str]]:
    from shoal._core.words import number, percent

    # Counterfeits are rows without a person.
    counts, cost = made.counts, made.certificate.cost
    people = made.frame.height - cost["counterfeits"]
    yield "release", plain(f"{made.number} of '{made.certificate.series}'")
    yield (
        "people",
        ", ".join(
            f"{number(count)} {what}"
            for count, what in (
                (people, "in all"),
                (counts["kept"], "stayed"),
                (counts["new"], "are new"),
                (counts["returned"], "returned"),
                (counts["left"], "left"),
            )
        ),
    )
    yield (
        "rows",
        f"{number(made.frame.height)} in {number(counts['groups'])} groups, {number(cost['counterfeits'])} counterfeit",
    )
    yield "loss", f"{percent(cost['gcp'])} of the quasi-identifiers' domains per cell"
    yield "means", plain(made.certificate.to_dict()["guarantee"]["text"])
    yield "time", f"{made.certificate.seconds['total']:.2f} s"


def _line(release: RecordedRelease, used: set[str | None]) -> tuple[str, str]:
    from shoal._core.words import number

    if release.state == "lost":
        return str(release.number), "lost: it was published, but its persons are missing from the ledger"
    where = f", {release.folder}" if release.folder else ""
    if release.state == "withdrawn":
        exists = release.folder not in used and os.path.lexists(release.folder or "")
        stays = f"; its folder still exists: {release.folder}" if exists else ""
        return str(release.number), plain(f"withdrawn: its number is not given again{stays}")
    return (
        str(release.number),
        plain(
            f"{release.time[:16].replace('T', ' ')}, {release.state}, {number(release.rows)} people, "
            f"{number(release.counterfeits)} counterfeits{where}"
        ),
    )


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    try:
        with open_beside(path, private=False) as file:
            file.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise OutputError(f"The certificate cannot be written to '{path}': {reason_of(error)}.") from error
