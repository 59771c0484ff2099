"""`shoal anonymize`."""

from __future__ import annotations

import os
from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING, Any

from shoal.cli.asking import engine_ready, folder_of, request_in, saving_of, source_of
from shoal.cli.command import takes

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.cli.console import Terminal
    from shoal.release.release import Release
    from shoal.request.request import Request
    from shoal.request.words import Words

__all__ = ["anonymize", "publish", "save"]


@takes(
    "input",
    "columns",
    "model",
    "method",
    "engine",
    "recoding",
    "preferences",
    "algorithms",
    "output",
    "report",
    "forms",
    "reading",
    "spec",
    "json",
)
def anonymize(terminal: Terminal, words: Words) -> None:
    """Make a release of a table that meets a privacy requirement, with a certificate and a report.

    Example: shoal anonymize patients.csv --qi age,gender,zip --sensitive disease --id name -l 4 -k 10 -o out

    All of out may be published: the table, and a certificate and a report that tell
    no more than it does. out.private has the full ones, for you alone.

    Every column needs a role: --qi, --sensitive, --id (dropped) or --insensitive (published as it is).

    The same request as a file, for --spec release.toml:

    \b
    input = "patients.csv"
    output = "out"
    columns.quasi_identifiers = ["age", "gender", "zip"]
    columns.sensitive = ["disease"]
    columns.direct_identifiers = ["name"]
    privacy.l = 4
    privacy.k = 10
    coarsen.zip = "prefix:3"
    seed = 7

    Exit codes: 0 done; 1 the request cannot be met; 2 wrong usage or bad input; 3 the verification failed; 70 a bug.
    """  # noqa: D301 - the character keeps the lines of the example apart
    source, request = source_of(words), request_in(words)  # who named no columns is told of them first
    publish(terminal, source, folder_of(words), words, request)


def publish(terminal: Terminal, data: Any, folder: Path, words: Words, request: Request) -> None:
    """Anonymize a table, save the release and summarize it.

    Parameters
    ----------
    terminal : Terminal
        Where the summary goes.
    data : str or frame
        The table, as `shoal.anonymize` takes it.
    folder : Path
        Where the release goes.
    words : Words
        How to save it.
    request : Request
        What is requested.

    Raises
    ------
    OutputError
        Where a folder exists and must not be replaced: said before the work rather than after it.
    """
    from shoal.io import check_free
    from shoal.verbs.anonymize import anonymize as make_release

    check_free(folder, force=bool(words.get("force")))
    with engine_ready(words), terminal.progress() as progress:
        facts = save(terminal, make_release(data, replace(request, output=None), progress=progress), folder, words)
    if terminal.json:
        terminal.result(facts)
    else:
        from shoal.cli.summary import summary_of

        terminal.say(*summary_of(facts, folder))


def save(terminal: Terminal, release: Release, folder: Path, words: Words) -> dict[str, Any]:
    """Save a release, and return its certificate.

    A signal that comes when the folder has its name already cannot undo that: the call succeeds, and says so.
    """
    from shoal.io import private_folder

    before = _identity(folder)
    try:
        facts = release.save(folder, **saving_of(words)).to_dict()
    except (KeyboardInterrupt, SystemExit):
        terminal.published = _identity(folder) not in (None, before)
        if terminal.published and terminal.json:
            terminal.result(loads((private_folder(folder) / "certificate.json").read_bytes()))
        raise
    terminal.published = True
    return facts


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from another one of the same name; None where there is none."""
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
