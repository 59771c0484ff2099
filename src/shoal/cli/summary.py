"""The summary of a release in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal._core.words import listed, number, percent
from shoal.cli.console import folder_lines, lines_of, plain
from shoal.report.figures import read_figures
from shoal.report.remarks import counted, describe_left_out, describe_persons, gap_sentence
from shoal.report.sentences import achieved_for, describe_counted, found, model_title, promise
from shoal.wording import join_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import RenderableType

_SAID_WHEN_FOUND = ("unread_dates",)
"""Codes of warnings that are printed when the file is read."""


def summary_of(certificate: Mapping[str, Any], folder: Path) -> list[RenderableType]:
    """Return the summary of a saved release: request, achieved privacy, cost, best possible cost, and location.

    Parameters
    ----------
    certificate : mapping
        The full certificate as a dictionary.
    folder : Path
        The folder of the release.
    """
    source, cost, achieved, requested = (certificate[key] for key in ("input", "cost", "achieved", "requested"))
    # Shares refer to the cells of quasi-identifiers of the published records.
    cells = (source["rows"] - source["rows_left_out"]) * len(source["quasi_identifiers"])
    word, changed, touched, _ = counted(cost)
    share = (changed or 0) / cells if cells else 0
    lost = f", {percent(cost['gcp'])} of the information (normalized certainty penalty)" if word != "stars" else ""
    reached = dict.fromkeys(achieved_for(request, achieved) for request in requested)
    facts = [
        ("asked", "; ".join(model_title(request) for request in requested)),
        (
            "achieved",
            f"{'; '.join(reached)} in {_extent(achieved)}, checked again from the published cells",
        ),
        ("counts", describe_counted(requested, alone=certificate["parameters"].get("missing_person") == "own")),
        *(("persons", plain(text)) for text in describe_persons(certificate)),
        ("means", " ".join(promise(request, source["sensitive"]) for request in requested)),
        ("left out", describe_left_out(source)),
        (
            "cost",
            f"{number(changed)} {word}, {percent(share)} of the cells, in {number(touched)} records{lost}",
        ),
        ("risk", found(read_figures(certificate))),
        ("bound", gap_sentence(cost)),
        (
            "method",
            ": ".join(filter(None, [certificate["algorithm"], (certificate.get("guarantee") or {}).get("algorithm")])),
        ),
        ("time", f"{certificate['seconds']['total']:.2f} s"),
    ]
    # The input, the facts, the folders, and the warnings.
    about = f"{number(source['rows'])} records, quasi-identifiers {listed(source['quasi_identifiers'])}"
    if source["sensitive"]:
        about += f"; sensitive {listed(source['sensitive'])}"
    if source["direct_identifiers"]:
        about += f"; not published {listed(source['direct_identifiers'])}"
    warned = [
        plain(f"Warning: {text}")
        for code, text in join_warnings(certificate["warnings"])
        if code not in _SAID_WHEN_FOUND
    ]
    lines = lines_of([(name, text) for name, text in facts if text])
    # What a publisher must not miss comes first.
    return [
        "",
        plain(about),
        *(["", *warned, ""] if warned else []),
        lines,
        *folder_lines(folder, warned=bool(warned)),
        "",
    ]


def _extent(achieved: Mapping[str, Any]) -> str:
    """Return the number of groups, or of sets of quasi-identifiers if there are several."""
    sets = achieved.get("sets")
    if sets is None:
        return f"{number(achieved['groups'])} groups"
    count = sets["sets"]
    return f"each of {number(count)} sets of quasi-identifiers" if count > 1 else "the set of quasi-identifiers"
