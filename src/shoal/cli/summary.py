"""A release in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.cli.console import folder_lines, lines_of, plain
from shoal.report.sentences import (
    achieved_for,
    counted,
    found,
    gap_sentence,
    listed,
    model_title,
    number,
    percent,
    promise,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["summary_of"]

_SAID_WHEN_FOUND = ("unread_dates",)
"""Codes of warnings that were said when the file was read."""


def summary_of(certificate: Mapping[str, Any], folder: Path) -> list[RenderableType]:
    """Return what a saved release is worth: asked, achieved, its cost, the best that can exist, and where it is.

    Parameters
    ----------
    certificate : mapping
        The full certificate as a dictionary.
    folder : Path
        Where the release was saved.
    """
    source, cost, achieved, asked = (certificate[key] for key in ("input", "cost", "achieved", "requested"))
    cells = source["rows"] * len(source["quasi_identifiers"])
    word, changed, touched, _ = counted(cost)
    share = (changed or 0) / cells if cells else 0
    lost = f", {percent(cost['gcp'])} of the information (normalized certainty penalty)" if word != "stars" else ""
    reached = dict.fromkeys(achieved_for(request, achieved) for request in asked)
    facts = [
        ("asked", "; ".join(model_title(request) for request in asked)),
        (
            "achieved",
            f"{'; '.join(reached)} in {number(achieved['groups'])} groups, checked again from the published cells",
        ),
        *(("persons", _of_units(figures)) for figures in certificate.get("persons", ())),
        ("means", " ".join(promise(request, source["sensitive"]) for request in asked)),
        (
            "cost",
            f"{number(changed)} {word}, {percent(share)} of the cells, in {number(touched)} records{lost}",
        ),
        ("risk", found(certificate["risk"])),
        ("bound", gap_sentence(cost)),
        (
            "method",
            ": ".join(filter(None, [certificate["algorithm"], (certificate.get("guarantee") or {}).get("text")])),
        ),
        ("time", f"{certificate['seconds']['total']:.2f} s"),
    ]
    about = f"{number(source['rows'])} records, quasi-identifiers {listed(source['quasi_identifiers'])}"
    if source["sensitive"]:
        about += f"; sensitive {listed(source['sensitive'])}"
    warned = [
        plain(f"Warning: {one['text']}") for one in certificate["warnings"] if one["code"] not in _SAID_WHEN_FOUND
    ]
    told = lines_of([(name, said) for name, said in facts if said])
    return ["", plain(about), told, *folder_lines(folder), "", *warned, *([""] if warned else [])]


def _of_units(figures: Mapping[str, Any]) -> str:
    """Summarize what was measured of one kind of unit, such as persons."""
    most, share = number(figures["most_records"]), percent(figures["largest_share"])
    return (
        f"{number(figures['units'])} ({plain(figures['unit'])}) with {number(figures['records'])} records, at most "
        f"{most} of one; in a group at least {number(figures['least_in_group'])}, on average "
        f"{number(figures['average_in_group'])}, and one has at most {share} of its records"
    )
