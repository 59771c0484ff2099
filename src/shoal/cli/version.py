"""`shoal version`."""

from __future__ import annotations

import platform
import sys

import typer  # noqa: TC002 - typer reads the annotations

from shoal.cli import options  # noqa: TC001 - typer reads the annotations

__all__ = ["installed_version", "version"]


def installed_version() -> str:
    """Return the version of the installed package."""
    from importlib import metadata

    return metadata.version("shoal")


def version(context: typer.Context, *, json: options.Json = None) -> None:
    """Print the version of shoal."""
    if context.obj.json:
        context.obj.result({"shoal": installed_version(), "python": platform.python_version()})
    else:
        sys.stdout.write(f"shoal {installed_version()}\n")
