"""`shoal republish`: publish a table that changes again and again, with a ledger of who was published how."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal.cli import options
from shoal.cli.command import Group, argument, option
from shoal.cli.console import PathLine, Terminal, folder_lines, lines_of, path_line, plain
from shoal.errors import LedgerError, OutputError, ReleaseUnsafeError
from shoal.request.texts import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shoal.republication import Ledger, Publication, RecordedRelease, Series

__all__ = ["republish"]


def _keep_quiet(**_: object) -> None:
    logging.getLogger("shoal.republication").addHandler(logging.NullHandler())  # it is said here


republish = Group(
    "republish",
    help="Publish a table that changes again and again (m-invariance), with a ledger of who was published how.",
    no_args_is_help=True,
    callback=_keep_quiet,
)
keys = Group("key", help="Change the key of a ledger.", no_args_is_help=True)
republish.add_command(keys)


LedgerAddress = Annotated[
    str, argument(metavar="LEDGER", help="The ledger: a file, or postgresql+psycopg://user@host/database.")
]
SeriesName = Annotated[
    str | None,
    option("--series", metavar="NAME", help="The series; may be left out where the ledger has only one."),
]
Key = Annotated[
    Path | None,
    option(
        "--key", metavar="FILE", help="The file with the ledger's key; SHOAL_LEDGER_KEY or LEDGER.key unless given."
    ),
]
Anchor = Annotated[
    Path | None,
    option(
        "--anchor", metavar="FILE", help="The file that says how far the series have come; beside the key unless given."
    ),
]
Wait = Annotated[
    float, option("--wait", metavar="SECONDS", help="How long to wait for another process that publishes.", min=0)
]
Identifier = Annotated[
    str,
    option("--id", metavar="NAME", help="The column that names each person, not a visit or a sample; never published."),
]
Drop = Annotated[list[str] | None, option("--drop", metavar="NAMES", help="Further columns that are never published.")]
M = Annotated[int, option("-m", metavar="NUMBER", help="Nobody learns a value with a confidence above 1/m.", min=2)]
Balancing = Annotated[
    str,
    option(
        "--counterfeits",
        metavar="independent|fewest|paper",
        help="Counterfeits alone take the place of what is missing, so that nobody can conclude anything from them; "
        "or as few as possible, or as in the paper.",
    ),
]
MissingSensitive = Annotated[
    str,
    option("--missing-sensitive", metavar="error|drop", help="Rows without a sensitive value: an error, or left out."),
]
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
        help="Sets of values for new people: any, or of values near each other, which answers queries for ranges of "
        "values far better, and tells about how large a person's number is.",
    ),
]
MinReal = Annotated[
    int,
    option(
        "--min-real",
        metavar="NUMBER",
        help="At least so many real people stand behind the quasi-identifiers that a group shows; with 1, somebody "
        "alone among counterfeits is shown with exact ones.",
        min=1,
    ),
]
Strict = Annotated[
    bool,
    option(
        "--strict",
        help="Publish nothing if new people may be known ones under other ids, because they have the data of somebody "
        "who left, or if ids differ only in how they are written.",
    ),
]
Anew = Annotated[
    bool,
    option("--anew", help="Your word that releases of another series of this name are of other people."),
]
Risk = Annotated[
    bool,
    option("--risk", help="Your word that you know what it means for people whom the ledger forgot."),
]
Last = Annotated[
    int | None,
    option("--last", metavar="NUMBER", help="The last release that was published, where the anchor is lost.", min=1),
]
Unpublished = Annotated[bool, option("--unpublished", help="Your word that nobody outside has seen the release.")]
Folders = Annotated[
    list[Path] | None,
    argument(metavar="[OUT]...", help="Where the releases are now; where they were written unless given."),
]
NewKey = Annotated[
    Path | None,
    option("--new-key", metavar="FILE", help="Where the new key is to be; in the place of the old one unless given."),
]
CertificateFile = Annotated[
    Path | None,
    option("--certificate", metavar="FILE", help="Write a certificate of the series, which may be published."),
]
Input = Annotated[str, argument(metavar="INPUT", help="The table of today: any input that anonymize reads.")]
Output = Annotated[
    Path,
    option(
        "--output",
        "-o",
        metavar="OUT",
        help=options.OUT_HELP,
    ),
]


@republish.add
def init(
    context: click.Context,
    *,
    address: LedgerAddress,
    series: Annotated[str, option("--series", metavar="NAME", help="The name of the new series.")],
    identifier: Identifier,
    quasi_identifiers: options.QuasiIdentifiers = None,
    sensitive: options.Sensitive = None,
    m: M,
    drop: Drop = None,
    counterfeits: Balancing = "independent",
    anew: Anew = False,
    key: Key = None,
    anchor: Anchor = None,
    wait: Wait = 30.0,
    json: options.Json = None,
) -> None:
    """Start a series of releases, and make the ledger, its key and its anchor where there is none.

    Example: shoal republish init releases.db --series admissions --id patient_id --qi age,zip --sensitive disease -m 4
    """
    from shoal.republication import Ledger

    terminal: Terminal = context.obj
    with Ledger(address, key=key, anchor=anchor, create=True, wait=wait) as ledger:
        made = ledger.start(
            series,
            m=m,
            identifier=identifier,
            quasi_identifiers=names_in("--qi", quasi_identifiers) or (),
            sensitive=names_in("--sensitive", sensitive) or (),
            direct_identifiers=names_in("--drop", drop) or (),
            counterfeits=counterfeits,  # type: ignore[arg-type]
            anew=anew,
        )
        facts: dict[str, Any] = {"ledger": ledger.address, "key": ledger.key_file, "anchor": ledger.anchor_file}
        facts |= {"series": made.name, "m": made.m, "warnings": [*ledger.warnings, *made.notes]}
    for warning in facts["warnings"]:
        terminal.note(warning)
    terminal.result(facts) if terminal.json else terminal.say(
        "",
        plain(f"The series '{made.name}' is started."),
        path_line("ledger", facts["ledger"]),
        *([path_line("key", facts["key"])] if facts["key"] else []),
        path_line("anchor", facts["anchor"]),
        "  Back the ledger up after every release, and the key once, in another place. Leave the anchor out of it:",
        "  it tells whether a ledger is the newest. Without the ledger or its key the series ends.",
        "",
    )


@republish.add
def publish(
    context: click.Context,
    *,
    address: LedgerAddress,
    source: Input,
    output: Output,
    series: SeriesName = None,
    missing_sensitive: MissingSensitive = "error",
    overlap: Overlap = "error",
    signatures: SignaturesOfNew = "any",
    min_real: MinReal = 1,
    strict: Strict = False,
    seed: options.Seed = None,
    key: Key = None,
    anchor: Anchor = None,
    wait: Wait = 30.0,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    format: options.Format = None,  # noqa: A002 - as the flag
    spreadsheet_safe: options.SpreadsheetSafe = None,
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Make the next release of a series: everybody in INPUT, each with the signature of the releases before.

    INPUT has one row for each person. If too many new people share a sensitive value, nothing is written: let none of
    them wait for a later release, because that betrays them; the message names what is safe.

    Example: shoal republish publish releases.db --series admissions q3.csv -o q3

    Exit codes: 0 done; 1 the new rows allow no such release, or a warning with --strict; 2 wrong usage, input or
    ledger; 3 the verification failed.
    """
    from shoal.io import check_free

    terminal: Terminal = context.obj
    check_free(output, force=bool(force), remove=False)
    with _opened(terminal, address, key, anchor, wait) as ledger, terminal.progress() as progress:
        made = _chosen(ledger, series).publish(
            source,
            output,
            missing_sensitive=missing_sensitive,  # type: ignore[arg-type]
            overlap=overlap,  # type: ignore[arg-type]
            signatures=signatures,  # type: ignore[arg-type]
            min_real=min_real,
            strict=strict,
            seed=seed,
            force=bool(force),
            format=format,
            spreadsheet_safe=bool(spreadsheet_safe),
            delimiter=delimiter,
            encoding=encoding,
            progress=progress,
        )
    for note in made.notes:
        terminal.note(note)
    if terminal.json:
        terminal.result({**made.certificate.to_dict(), "counts": dict(made.counts), "notes": list(made.notes)})
    else:
        terminal.say("", lines_of(list(_summary(made))), *folder_lines(output), "")


@republish.add
def history(
    context: click.Context,
    *,
    address: LedgerAddress,
    series: SeriesName = None,
    key: Key = None,
    anchor: Anchor = None,
    json: options.Json = None,
) -> None:
    """List the releases of a series, or of all series of a ledger."""
    terminal: Terminal = context.obj
    with _opened(terminal, address, key, anchor, 30.0) as ledger:
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
    for name, one in found.items():
        terminal.say("", plain(f"{name} (m = {one.m})"), lines_of([_line(release) for release in releases[name]]))
        if not releases[name]:
            terminal.say("  no release yet")
    terminal.say("")


@republish.add
def verify(
    context: click.Context,
    *,
    address: LedgerAddress,
    folders: Folders = None,
    series: SeriesName = None,
    key: Key = None,
    anchor: Anchor = None,
    certificate: CertificateFile = None,
    json: options.Json = None,
) -> None:
    """Check a whole series again: the ledger's seals, the files' hashes, and the published cells.

    Folders of the series that lie beside the known ones, and that the ledger does not know, are found. A certificate is
    written only where nothing is wrong.

    Exit codes: 0 the series is as it should be; 3 it is not, and what is wrong is named; 2 the ledger cannot be used.
    """
    terminal: Terminal = context.obj
    with _opened(terminal, address, key, anchor, 30.0) as ledger:
        chosen = _chosen(ledger, series)
        audit = chosen.verify(folders or None)
        if certificate is not None and not audit.problems:
            _write(certificate, chosen.certificate())
    if terminal.json:
        terminal.result(audit.to_dict())
    else:
        terminal.say("")
        for one in audit.releases:
            state = "wrong" if one.problems else "as published" if one.checked else "not looked at: no folder is known"
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


@republish.add
def rollback(
    context: click.Context,
    *,
    address: LedgerAddress,
    series: SeriesName = None,
    unpublished: Unpublished = False,
    key: Key = None,
    anchor: Anchor = None,
    wait: Wait = 30.0,
    json: options.Json = None,
) -> None:
    """Take back the last release of a series, which nobody outside may have seen."""
    terminal: Terminal = context.obj
    with _opened(terminal, address, key, anchor, wait) as ledger:
        taken = _chosen(ledger, series).rollback(unpublished=unpublished)
    if terminal.json:
        terminal.result(taken.to_dict())
        return
    terminal.say(f"Release {taken.number} was taken back. The series is as it was before.")
    if taken.folder:
        from shoal.io import private_folder

        terminal.say("Its folders are still there; remove them:")
        terminal.say(*(path_line("folder", one) for one in (taken.folder, private_folder(taken.folder))))


@republish.add
def recover(
    context: click.Context,
    *,
    address: LedgerAddress,
    key: Key = None,
    anchor: Anchor = None,
    wait: Wait = 30.0,
    json: options.Json = None,
) -> None:
    """Finish or take back what a crash interrupted, and say what became of it. Every publish does this first."""
    terminal: Terminal = context.obj
    with _opened(terminal, address, key, anchor, wait) as ledger:
        told = ledger.recover()
    if terminal.json:
        terminal.result({"recovered": told})
    else:
        terminal.say(*([plain(sentence) for sentence in told] or ["Nothing was interrupted."]))


@republish.add
def accept(
    context: click.Context,
    *,
    address: LedgerAddress,
    series: SeriesName = None,
    risk: Risk = False,
    last: Last = None,
    key: Key = None,
    anchor: Anchor = None,
    wait: Wait = 30.0,
    json: options.Json = None,
) -> None:
    """Go on with a ledger from a backup though releases were published since, or with a lost anchor.

    Without --risk it says what that means, and does nothing.
    """
    terminal: Terminal = context.obj
    with _opened(terminal, address, key, anchor, wait) as ledger:
        told = ledger.accept(risk=risk, last=None if last is None else {_chosen(ledger, series).name: last})
    if terminal.json:
        terminal.result({"accepted": told})
    else:
        terminal.say(*([plain(sentence) for sentence in told] or ["Nothing was amiss."]))


@keys.add
def rotate(
    context: click.Context,
    *,
    address: LedgerAddress,
    new_key: NewKey = None,
    key: Key = None,
    anchor: Anchor = None,
    wait: Wait = 30.0,
    json: options.Json = None,
) -> None:
    """Give a ledger another key, and encrypt everything in it anew; the anchor stays beside the key.

    Who has the old key and an old copy of the ledger can read that copy for good, and nothing newer.
    """
    terminal: Terminal = context.obj
    with _opened(terminal, address, key, anchor, wait) as ledger:
        ledger.rotate_key(new_key)
        facts = {"ledger": ledger.address, "key": ledger.key_file, "anchor": ledger.anchor_file}
    if terminal.json:
        terminal.result(facts)
        return
    terminal.say(
        "The ledger has another key. Back it up, and destroy the copies of the old one.",
        path_line("key", facts["key"]),
        path_line("anchor", facts["anchor"]),
    )


def _opened(terminal: Terminal, address: str, key: Path | None, anchor: Path | None, wait: float) -> Ledger:
    from shoal.republication import Ledger

    ledger = Ledger(address, key=key, anchor=anchor, wait=wait)
    for warning in ledger.warnings:
        terminal.note(warning)
    return ledger


def _chosen(ledger: Ledger, name: str | None) -> Series:
    """Return the series of that name, or the only one."""
    if name is not None:
        return ledger.series(name)
    names = ledger.names
    if len(names) != 1:
        listed = ", ".join(f"'{one}'" for one in names[:20])
        raise LedgerError(
            f"The ledger has {len(names)} series. Name one with --series{f': {listed}' if names else ''}."
        )
    return ledger.series(names[0])


def _summary(made: Publication) -> Iterator[tuple[str, str]]:
    from shoal.report.sentences import number, percent

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


def _line(release: RecordedRelease) -> tuple[str, str]:
    from shoal.report.sentences import number

    if release.state == "lost":
        return str(release.number), "lost: it was published, and the ledger does not know whom it showed"
    where = f", {release.folder}" if release.folder else ""
    if release.state == "withdrawn":
        stays = f"; its folder is not removed: {release.folder}" if release.folder else ""
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
        path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"The certificate cannot be written to '{path}': {error.strerror}.") from error
