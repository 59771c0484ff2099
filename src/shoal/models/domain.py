"""What the codes of a sensitive attribute stand for, for the few models that look at the values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Domain"]


def _unknown() -> None:
    return None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Domain:
    """The values of a sensitive attribute by code; each fact is read when it is first asked for.

    The exact numbers of hundreds of thousands of floats take seconds, and few models ask for them.
    """

    read_labels: Callable[[], tuple[Any, ...] | None] = _unknown
    """Called once for `labels`."""
    read_numbers: Callable[[], tuple[Fraction | None, ...] | None] = _unknown
    """Called once for `numbers`."""
    read_ranks: Callable[[], NDArray[np.int64] | None] = _unknown
    """Called once for `ranks`."""

    @classmethod
    def of(
        cls,
        *,
        labels: Sequence[Any] | None = None,
        numbers: Sequence[Fraction | None] | None = None,
        ranks: NDArray[np.int64] | None = None,
    ) -> Domain:
        """Make a domain of facts that are known already."""
        return cls(
            read_labels=lambda: None if labels is None else tuple(labels),
            read_numbers=lambda: None if numbers is None else tuple(numbers),
            read_ranks=lambda: ranks,
        )

    @cached_property
    def labels(self) -> tuple[Any, ...] | None:
        """The values themselves, by code: text, numbers, dates; None where missing. None where nobody said."""
        return self.read_labels()

    @cached_property
    def numbers(self) -> tuple[Fraction | None, ...] | None:
        """The values as exact numbers, by code (None where missing); None where they are no numbers."""
        return self.read_numbers()

    @cached_property
    def ranks(self) -> NDArray[np.int64] | None:
        """The place of each code in the natural order of the values, from 0 without gaps, -1 for a missing one.

        Numbers go by size, dates by time, declared categories as declared. None where the values have no order.
        """
        return self.read_ranks()

    def __reduce__(self) -> tuple[Any, ...]:
        # For workers: what is read from a table on demand is read now.
        return _known, (self.labels, self.numbers, self.ranks)

    def __repr__(self) -> str:
        return "Domain()"


def _known(labels: Any, numbers: Any, ranks: Any) -> Domain:
    return Domain.of(labels=labels, numbers=numbers, ranks=ranks)
