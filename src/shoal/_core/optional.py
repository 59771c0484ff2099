"""Optional dependencies: imported on use, with an error that has the command to install them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from shoal.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

DISTRIBUTION = "shoal-privacy"
"""The name in the Python package index, where `shoal` is another project."""


def how_to_install(extra: str | None = None, *, newer: bool = False) -> str:
    """Compose the command that installs shoal, with an extra or in a newer version.

    Examples
    --------
    >>> how_to_install("exact")
    "pip install 'shoal-privacy[exact]'"
    >>> how_to_install(newer=True)
    'pip install --upgrade shoal-privacy'
    """
    # Quotes, because shells expand brackets.
    named = DISTRIBUTION if extra is None else f"'{DISTRIBUTION}[{extra}]'"
    return f"pip install --upgrade {named}" if newer else f"pip install {named}"


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        The module to import, such as `highspy`.
    extra : str
        The extra of shoal that installs it.
    purpose : str
        The feature that needs it, as the beginning of a sentence: "The algorithm 'milp'".

    Raises
    ------
    MissingExtraError
        If it is not installed. The message has the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as absent:
        raise MissingExtraError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which is not installed. "
            f"Install it with: {how_to_install(extra)}"
        ) from absent
