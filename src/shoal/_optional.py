"""Libraries that not everybody needs: they are imported where they are used, and an error says how to get them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from shoal.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["require"]


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
            f"Install it with: pip install 'shoal[{extra}]'"
        ) from absent
