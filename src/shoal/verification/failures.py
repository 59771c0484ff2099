"""The groups of a table that fail a privacy model: their numbers and sizes, never their cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.words import quote_columns
from shoal._messages import PYTHON, Audience
from shoal.models import PrivacyModel

_MAX_GROUPS_LISTED = 1000
"""Largest number of failing groups that a dictionary holds."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Failure:
    """A privacy model that a table fails, for one sensitive attribute if the model needs one."""

    model: PrivacyModel
    """The model that fails."""
    attribute: str | None = None
    """The sensitive attribute; None if the model does not need one."""
    groups: int
    """Number of groups of the table."""
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The failing groups, numbered from 1 in the order of their first rows."""
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Number of rows of each failing group."""
    first_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The first row, from 1, of each failing group."""
    found: str | None = None
    """The measured value in words, if the model is one of the whole release: then no single group fails it."""
    achieved: Any = None
    """The measured value as a figure, or several figures by name."""
    of: str = "records"
    """What sizes count: "records", or the "persons" of bundles of linked rows."""
    columns: tuple[str, ...] = ()
    """The set of quasi-identifiers whose groups fail; empty if all quasi-identifiers together make the groups."""

    @property
    def sentence(self) -> str:
        """The failure in one sentence: the model, the number of groups and the number of records."""
        return self.render(PYTHON)

    def render(self, audience: Audience) -> str:
        """Phrase the failure for an audience."""
        if self.found is not None:
            return f"The table fails {self.model.render(audience)}: {self.found}."
        about = "" if self.attribute is None else f" of '{self.attribute}'"
        about += f" for {quote_columns(self.columns)}" if self.columns else ""
        return (
            f"The table fails {self.model.render(audience)}{about} in {len(self.numbers):,} of {self.groups:,} groups, "
            f"with {int(self.sizes.sum()):,} {self.of}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert the failure to a dictionary, which holds the first thousand failing groups."""
        if self.found is not None:
            found = {"attribute": None, "groups": self.groups, "found": self.achieved}
            return {"model": self.model.to_dict(), **found}
        columns = zip(self.numbers.tolist(), self.sizes.tolist(), self.first_rows.tolist(), strict=True)
        listed = [
            {"group": number, "size": size, "first_row": row}
            for number, size, row in list(columns)[:_MAX_GROUPS_LISTED]
        ]
        return {
            "model": self.model.to_dict(),
            "attribute": self.attribute,
            **({"columns": list(self.columns)} if self.columns else {}),
            "groups": self.groups,
            "failing_groups": len(self.numbers),
            f"failing_{'rows' if self.of == 'records' else self.of}": int(self.sizes.sum()),
            "failing": listed,
        }

    def __repr__(self) -> str:
        return f"Failure({self.model!r}, failing={len(self.numbers)} of {self.groups} groups)"
