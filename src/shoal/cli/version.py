"""The command `shoal version`."""

from __future__ import annotations

import platform
import sys

import click

from shoal._version import __version__
from shoal.cli import options

__all__ = ["version"]


def version(context: click.Context, *, json: options.Json = None) -> None:
    """Print the version of shoal."""
    if context.obj.json:
        context.obj.result({"shoal": __version__, "python": platform.python_version()})
    else:
        sys.stdout.write(f"shoal {__version__}\n")
