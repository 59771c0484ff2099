"""`shoal version`."""

from __future__ import annotations

import platform
import sys

import typer  # noqa: TC002 - typer reads the annotations

from shoal._version import __version__
from shoal.cli import options  # noqa: TC001 - typer reads the annotations

__all__ = ["version"]


def version(context: typer.Context, *, json: options.Json = None) -> None:
    """Print the version of shoal."""
    if context.obj.json:
        context.obj.result({"shoal": __version__, "python": platform.python_version()})
    else:
        sys.stdout.write(f"shoal {__version__}\n")
