"""How long each part of a full run takes: what its last full run noted, or an estimate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MINUTES", "minutes_of"]

MINUTES: dict[str, float] = {
    "speed": 3,
    "rows": 5,
    "stars": 10,
    "effort": 6,
    "paper": 2,
    "divergence": 3,
    "adult": 1,
    "comparison": 3,
    "automatic": 12,
    "demanding": 4,
    "compiling": 4,
    "starting": 2,
    "waiting": 2,
    "emd": 0.5,
    "ends": 2,
    "linked": 2,
    "sets": 4,
    "closeness": 3,
    "local": 4,
    "exact": 3,
    "matching": 4,
    "regions": 7,
    "figure7": 0.5,
    "points": 2,
    "ordered": 0.5,
    "patterns": 7,
    "republish": 20,
    "ledger": 3,
    "tune": 3,
    "full-domain": 1,
    "minimality": 6,
    "risk": 1,
    "estimators": 4,
    "attacks": 2.5,
    "refinement": 6,
    "safepub": 7,
    "large": 8,
    "billion": 6,
    "rivals": 7,
}
"""Minutes of each part on two cores of an AMD EPYC where nothing else runs."""


def minutes_of(name: str, folder: Path) -> float:
    """Return the minutes that a part will take: those of its last full run, if it noted them."""
    path = folder / f"{name}.json"
    seconds = json.loads(path.read_text(encoding="utf-8")).get("seconds") if path.exists() else None
    return MINUTES[name] if seconds is None else seconds / 60
