# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Numbers that numba does not treat as literals: a callee with such an argument is compiled once, not per literal."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MINUS_ONE", "NO", "ONE", "TWO", "YES", "ZERO"]

# Any, because a number stands for a Python int: type checkers distinguish the two, numba does not.
# A truth value is a literal, too.
MINUS_ONE: Any = np.int64(-1)
ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)
TWO: Any = np.int64(2)
NO: Any = np.bool_(False)
YES: Any = np.bool_(True)
