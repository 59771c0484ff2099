"""Signatures: sets of sensitive values. A person keeps one signature in all releases of a series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Signatures:
    """A numbered list of signatures (sets of sensitive values), as compressed rows.

    Examples
    --------
    >>> signatures = Signatures.of([{2, 0}, {1, 3, 2}])
    >>> signatures[1].tolist()
    [1, 2, 3]
    """

    starts: NDArray[np.int64]
    """Start of the values of each signature, with the end of the last one."""
    values: NDArray[np.int32]
    """The codes of the sensitive values, ascending within a signature."""

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> Signatures:
        """Build the list from sets of codes."""
        rows = [np.array(sorted(set(one)), dtype=np.int32) for one in sets]
        return cls(starts=np.zeros(1, dtype=np.int64), values=np.empty(0, dtype=np.int32)).extend(rows)

    def extend(self, sets: Sequence[NDArray[np.int32]]) -> Signatures:
        """Append signatures, given as arrays of ascending codes."""
        sizes = np.array([len(one) for one in sets], dtype=np.int64)
        return Signatures(
            starts=np.concatenate((self.starts, self.starts[-1] + np.cumsum(sizes))),
            values=np.concatenate((self.values, *sets)).astype(np.int32),
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of values of each signature."""
        return np.diff(self.starts)

    def numbers(self) -> dict[bytes, int]:
        """Map the bytes of each signature's codes to its number."""
        return {self[number].tobytes(): number for number in range(len(self))}

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> NDArray[np.int32]:
        return self.values[self.starts[number] : self.starts[number + 1]]

    def __repr__(self) -> str:
        return f"Signatures({len(self)})"
