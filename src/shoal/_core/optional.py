"""Libraries that not everybody needs: they are imported where they are used, and an error says how to get them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from shoal.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["DISTRIBUTION", "how_to_install", "require"]

DISTRIBUTION = "shoal-privacy"
"""The name in the Python package index: `shoal` is another project there."""


def how_to_install(extra: str | None = None, *, newer: bool = False) -> str:
    """Return the command that installs shoal, with an extra or in a newer version.

    Examples
    --------
    >>> how_to_install("exact")
    "pip install 'shoal-privacy[exact]'"
    >>> how_to_install(newer=True)
    'pip install --upgrade shoal-privacy'
    """
    named = DISTRIBUTION if extra is None else f"'{DISTRIBUTION}[{extra}]'"
    return f"pip install --upgrade {named}" if newer else f"pip install {named}"


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        The module to import, `highspy` for example.
    extra : str
        The extra of shoal that installs it.
    purpose : str
        What it is for, as the beginning of a sentence: "The algorithm 'milp'".

    Raises
    ------
    MissingExtraError
        Where it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as absent:
        raise MissingExtraError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which is not installed. "
            f"Install it with: {how_to_install(extra)}"
        ) from absent
