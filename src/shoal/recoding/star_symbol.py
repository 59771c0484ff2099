"""Validation of the star symbol against the values of a column."""

from __future__ import annotations

import polars as pl

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.table import Column


def check_star(column: Column, text: pl.Series, star: str) -> None:
    """Check that the star symbol is not a value of a column.

    Raises
    ------
    ParameterError
        If readers could mistake a value for a star.
    """
    if (text == star).any():
        raise ParameterError(
            f"The star symbol is a value of the column '{column.name}', so readers could not tell the "
            "two apart. Choose another symbol with ",
            Suggestion("star"),
            ".",
        )
