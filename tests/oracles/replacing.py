"""Replacement of values, cell by cell."""

from __future__ import annotations

__all__ = ["replaced_by_hand"]


def replaced_by_hand(
    columns: dict[str, list[str | None]], given: dict[str, dict[str, str | None]]
) -> dict[str, list[str | None]]:
    """Replace each cell by the words of its column, else by those of all columns."""
    made: dict[str, list[str | None]] = {}
    for name, cells in columns.items():
        made[name] = []
        for cell in cells:
            own, general = given.get(name, {}), given.get("*", {})
            if cell in own:
                made[name].append(own[cell])
            elif cell in general:
                made[name].append(general[cell])
            else:
                made[name].append(cell)
    return made
