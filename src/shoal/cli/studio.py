"""`shoal studio`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import click

from shoal.cli.command import argument, option
from shoal.cli.console import Terminal, plain

__all__ = ["arguments_in", "flag_of_key", "studio"]

Table = Annotated[Path | None, argument(metavar="FILE", help="A table to begin with; any other may be opened there.")]
Allowed = Annotated[
    list[Path] | None,
    option(
        "--allow",
        metavar="FOLDER",
        help="A folder outside this one whose tables may be opened, too; repeat it for others.",
    ),
]
Browser = Annotated[bool, option("--browser/--no-browser", help="Open the address in a browser.")]
Port = Annotated[int, option("--port", metavar="NUMBER", min=0, max=65535, help="0 (unless given): a free one.")]
Upload = Annotated[
    int,
    option("--max-upload", metavar="MEGABYTES", min=1, help="How large a file that is dropped into it may be."),
]


def studio(
    context: click.Context,
    table: Table = None,
    *,
    allow: Allowed = None,
    browser: Browser = True,
    port: Port = 0,
    max_upload: Upload = 1000,
) -> None:
    r"""Do all of this in a browser, step by step: look, decide, try, publish. Nothing leaves this machine.

    Example: shoal studio patients.csv

    It runs until Ctrl-C, at an address of this machine that opens for one browser
    only. It reads tables of this folder and writes releases to it. Each screen shows
    the command, the spec file and the Python that do the same.

    Needs: pip install 'shoal-privacy[studio]'
    """
    from shoal._core.optional import require

    for library in ("starlette", "uvicorn"):
        require(library, extra="studio", purpose="The studio")
    from shoal.studio import Requests, serve

    terminal: Terminal = context.obj

    def opened(address: str) -> None:
        terminal.say(plain(f"The studio is at {address}\nThe address opens it once. Ctrl-C closes it."))

    serve(
        Requests(arguments=arguments_in, flag=flag_of_key),
        home=Path.cwd(),
        table=table,
        allowed=[*(allow or ()), *([table] if table is not None else ())],
        port=port,
        max_upload=max_upload * 1_000_000,
        browser=browser,
        opened=opened,
    )
    terminal.say(plain("The studio is closed."))


def arguments_in(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `shoal.anonymize` that the content of a spec file asks for, the table as `data`.

    Raises
    ------
    UsageError
        Something of it is missing or invalid.
    """
    from shoal.cli.asking import request_in, source_of
    from shoal.request.words import Words

    words = Words.of_content(content)
    request = request_in(words)
    given = {name: getattr(request, name) for name in words.fields() if name != "output"}
    return {"data": source_of(words), **given, "privacy": request.privacy, "algorithm": request.algorithm}


def flag_of_key(key: str) -> str:
    """Return the option that says a key of a spec file, or an option of another command that the studio shows."""
    from shoal.cli import attack, attack_people, attack_release, inspect, options, republish, risk, tradeoff
    from shoal.request.words import flag_of

    others = {
        "spec": options.Spec,
        "spec_out": inspect.SpecOut,
        "sampling_fraction": risk.SamplingFraction,
        "suda": risk.Suda,
        "levels.k": tradeoff.Ks,
        "levels.l": tradeoff.Ls,
        "attack.population": attack_people.Population,
        "attack.identifier": attack.Identifier,
        "attack.targets": attack_release.Targets,
        "attack.controls": attack_release.Controls,
        "ledger.series": republish.SeriesName,
        "ledger.identifier": republish.Identifier,
        "ledger.drop": republish.Drop,
        "ledger.m": republish.M,
    }
    return _flag_in(others[key]) if key in others else flag_of(key)


def _flag_in(declared: Any) -> str:
    """Return the first name of an option, a type with its declaration."""
    return str(get_args(declared)[1].flags[0])
