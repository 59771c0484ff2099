"""Find the row with the names of columns, if a title or a remark stands above it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["find_header_row"]

_NUMBER = re.compile(r"[-+]?[0-9][0-9., -]*")


def find_header_row(rows: Sequence[Sequence[str | None]]) -> int | None:
    """Find the first row that looks like names: one in each column, all different, and none of them a number.

    Examples
    --------
    >>> find_header_row([["Ward 7", None], [None, None], ["age", "zip"], ["30", "10115"]])
    2
    """
    # A title has fewer cells, and rows of data mostly have a number.
    for place, row in enumerate(rows):
        names = [one.strip() for one in row if one is not None and one.strip()]
        complete = len(names) == len(row) > 1 and len(set(names)) == len(names)
        if complete and not any(_NUMBER.fullmatch(one) for one in names):
            return place
    return None
