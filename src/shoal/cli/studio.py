"""The command `shoal studio`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from shoal.cli.command import argument, option
from shoal.cli.console import Terminal, plain

Table = Annotated[
    Path | None,
    argument(
        metavar="[FILE]",
        help="The first table, or a project (NAME.shoal.toml) to go on with; others can be opened in the studio.",
    ),
]
Allowed = Annotated[
    list[Path] | None,
    option(
        "--allow",
        metavar="FOLDER",
        help="A further folder whose tables may be opened; repeat it for others.",
    ),
]
Browser = Annotated[bool, option("--browser/--no-browser", help="Open the address in a browser.")]
Port = Annotated[int, option("--port", metavar="NUMBER", min=0, max=65535, help="The port; 0 chooses a free one.")]
Upload = Annotated[
    int,
    option("--max-upload", metavar="MEGABYTES", min=1, help="The maximum size of a file dropped into the page."),
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

    # Fail early if the optional dependencies are missing.
    for library in ("starlette", "uvicorn"):
        require(library, extra="studio", purpose="The studio")
    from shoal.studio import serve

    terminal: Terminal = context.obj

    def opened(address: str) -> None:
        terminal.say(plain(f"The studio is at {address}\nThe address opens it once. Ctrl-C closes it."))

    serve(
        home=Path.cwd(),
        table=table,
        allowed=[*(allow or ()), *([table] if table is not None else ())],
        port=port,
        max_upload=max_upload * 1_000_000,
        browser=browser,
        opened=opened,
    )
    terminal.say(plain("The studio is closed."))
