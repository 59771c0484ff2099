"""`shoal anonymize`."""

from __future__ import annotations

import os
from json import loads
from typing import TYPE_CHECKING, Any

from shoal.cli import options
from shoal.cli.signature import takes

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.cli.console import Terminal
    from shoal.cli.spec import ReleaseSpec
    from shoal.release.release import Release

__all__ = ["anonymize", "arguments_of", "publish", "save"]


@takes(
    options.INPUT, options.ROLES, options.CELLS, options.PRIVACY, options.METHOD, options.ENGINE, options.RECODING,
    options.PREFERENCES,
    options.PARAMETERS, options.OUTPUT, options.REPORT, options.FORMS, options.READING, options.REQUEST,
)  # fmt: skip
def anonymize(terminal: Terminal, request: ReleaseSpec) -> None:
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
    source, arguments = request.source(), arguments_of(request)  # who named no columns is told of them first
    publish(terminal, source, request.folder(), request, arguments)


def arguments_of(request: ReleaseSpec) -> dict[str, Any]:
    """Return what a request asks of `shoal.anonymize`, as its arguments but for the table.

    Raises
    ------
    UsageError
        Where something of it is missing or wrong.
    """
    from shoal.verbs.anonymize import anonymize as make_release

    arguments = request.arguments(make_release) | {"privacy": request.requested_models()}
    (arguments["algorithm"],) = request.chosen()
    return arguments


def publish(terminal: Terminal, data: Any, folder: Path, request: ReleaseSpec, arguments: dict[str, Any]) -> None:
    """Anonymize a table, save the release and say what it is.

    Parameters
    ----------
    terminal : Terminal
        Where to say it.
    data : str or frame
        The table, as `shoal.anonymize` takes it.
    folder : Path
        Where the release goes.
    request : ReleaseSpec
        How to save it.
    arguments : dict
        The other arguments of `shoal.anonymize`.

    Raises
    ------
    OutputError
        Where a folder exists and must not be replaced: said before the work rather than after it.
    """
    from shoal.io import check_free
    from shoal.verbs.anonymize import anonymize as make_release

    check_free(folder, force=bool(request.force))
    with request.on_engine(), terminal.progress() as progress:
        facts = save(terminal, make_release(data, progress=progress, **arguments), folder, request)
    if terminal.json:
        terminal.result(facts)
    else:
        from shoal.cli.summary import summary_of

        terminal.say(*summary_of(facts, folder))


def save(terminal: Terminal, release: Release, folder: Path, request: ReleaseSpec) -> dict[str, Any]:
    """Save a release, and return its certificate.

    A signal that comes when the folder has its name already cannot undo that: the call succeeds, and says so.
    """
    from shoal.io import private_folder

    before = _identity(folder)
    try:
        facts = release.save(folder, **request.saving()).to_dict()
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
