"""The values behind the codes of a sensitive attribute, for the few models that depend on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _unknown() -> None:
    return None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Domain:
    """The values of a sensitive attribute by code, read on demand.

    Each property is computed at first access, because the exact numbers of hundreds of thousands of floats take seconds
    and few models need them.
    """

    read_labels: Callable[[], tuple[Any, ...] | None] = _unknown
    """Called once, for `labels`."""
    read_numbers: Callable[[], tuple[Fraction | None, ...] | None] = _unknown
    """Called once, for `numbers`."""
    read_ranks: Callable[[], NDArray[np.int64] | None] = _unknown
    """Called once, for `ranks`."""

    @classmethod
    def of(
        cls,
        *,
        labels: Sequence[Any] | None = None,
        numbers: Sequence[Fraction | None] | None = None,
        ranks: NDArray[np.int64] | None = None,
    ) -> Domain:
        """Create a domain from facts that are already known."""
        return cls(
            read_labels=lambda: None if labels is None else tuple(labels),
            read_numbers=lambda: None if numbers is None else tuple(numbers),
            read_ranks=lambda: ranks,
        )

    @cached_property
    def labels(self) -> tuple[Any, ...] | None:
        """The values by code (text, numbers, dates; None if missing), or None if they are unknown."""
        return self.read_labels()

    @cached_property
    def numbers(self) -> tuple[Fraction | None, ...] | None:
        """The values by code as exact numbers (None if missing), or None if the values are not numbers."""
        return self.read_numbers()

    @cached_property
    def ranks(self) -> NDArray[np.int64] | None:
        """Rank of each code in the natural order of the values, from 0 without gaps, -1 for a missing value.

        Numbers are ordered by size, dates by time, and declared categories as declared. None if the values have no
        order.
        """
        return self.read_ranks()

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker process has no access to the table, so all facts are read before pickling.
        return _restore, (self.labels, self.numbers, self.ranks)

    def __repr__(self) -> str:
        return "Domain()"


def _restore(labels: Any, numbers: Any, ranks: Any) -> Domain:
    return Domain.of(labels=labels, numbers=numbers, ranks=ranks)
