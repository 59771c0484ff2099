"""Methods of frames: `import shoal.accessors` adds `frame.shoal` to frames of Polars and, if installed, of pandas."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Unpack

import polars as pl

import shoal
from shoal.release.release import Release
from shoal.request.options import Options
from shoal.request.request import Request


class Accessor:
    """The verbs of shoal for one frame.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal.accessors
    >>> people = pl.DataFrame({"age": [20, 20, 31, 31], "ill": ["flu", "cold", "flu", "cold"]})
    >>> release = people.shoal.anonymize(quasi_identifiers=["age"], sensitive="ill", k=2)
    >>> release.data.shoal.audit(quasi_identifiers=["age"], sensitive="ill").achieved.k
    2
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def anonymize(self, request: Request | None = None, **options: Unpack[Options]) -> Release:
        """Make a release of the frame; see `shoal.anonymize`."""
        return shoal.anonymize(self._frame, request, **options)

    def audit(self, **options: Any) -> shoal.results.Audit:
        """Measure the privacy of the frame; see `shoal.audit`."""
        return shoal.audit(self._frame, **options)

    def risk(self, **options: Any) -> shoal.results.Risk:
        """Measure the risk of the frame; see `shoal.risk`."""
        return shoal.risk(self._frame, **options)

    def inspect(self, **options: Any) -> shoal.results.Inspection:
        """Propose the roles of the columns; see `shoal.inspect`."""
        return shoal.inspect(self._frame, **options)

    def __repr__(self) -> str:
        return f"Accessor({type(self._frame).__name__})"


def _register() -> None:
    """Add the accessor to the classes of frames."""
    # A second registration would warn.
    if not hasattr(pl.DataFrame, "shoal"):
        pl.api.register_dataframe_namespace("shoal")(Accessor)
        pl.api.register_lazyframe_namespace("shoal")(Accessor)
    if find_spec("pandas") is not None:
        import pandas as pd

        if not hasattr(pd.DataFrame, "shoal"):
            pd.api.extensions.register_dataframe_accessor("shoal")(Accessor)


_register()
