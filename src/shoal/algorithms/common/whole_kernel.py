# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Numbers that are no literals to numba: a callee that is given one is compiled once, not once for each literal."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MINUS_ONE", "NO", "ONE", "TWO", "YES", "ZERO"]

# Any, for where a number stands for a Python int: type checkers tell the two apart, numba does not.
MINUS_ONE: Any = np.int64(-1)
ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)
TWO: Any = np.int64(2)
NO: Any = np.bool_(False)
YES: Any = np.bool_(True)
