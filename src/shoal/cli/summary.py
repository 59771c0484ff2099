"""The summary of a release in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.cli.console import folder_lines, lines_of, plain
from shoal.report.cost_sentences import counted, gap_sentence
from shoal.report.person_risk import risk_figures
from shoal.report.sentences import (
    achieved_for,
    found,
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
    # Shares refer to all cells of quasi-identifiers.
    cells = source["rows"] * len(source["quasi_identifiers"])
    word, changed, touched, _ = counted(cost)
    share = (changed or 0) / cells if cells else 0
    lost = f", {percent(cost['gcp'])} of the information (normalized certainty penalty)" if word != "stars" else ""
    figures_of_risk, whose = risk_figures(certificate)
    reached = dict.fromkeys(achieved_for(request, achieved) for request in requested)
    facts = [
        ("asked", "; ".join(model_title(request) for request in requested)),
        (
            "achieved",
            f"{'; '.join(reached)} in {_extent(achieved)}, checked again from the published cells",
        ),
        *(("persons", _of_units(figures)) for figures in certificate.get("persons", ())),
        ("means", " ".join(promise(request, source["sensitive"]) for request in requested)),
        (
            "cost",
            f"{number(changed)} {word}, {percent(share)} of the cells, in {number(touched)} records{lost}",
        ),
        ("constant", _constant(source)),
        ("left out", _left_out(source)),
        ("risk", found(figures_of_risk, "a record" if whose == "records" else "a person")),
        ("bound", gap_sentence(cost, source)),
        (
            "method",
            ": ".join(filter(None, [certificate["algorithm"], (certificate.get("guarantee") or {}).get("text")])),
        ),
        ("time", f"{certificate['seconds']['total']:.2f} s"),
    ]
    # The input, the facts, the folders, and the warnings.
    about = f"{number(source['rows'])} records, quasi-identifiers {listed(source['quasi_identifiers'])}"
    if source["sensitive"]:
        about += f"; sensitive {listed(source['sensitive'])}"
    warned = [
        plain(f"Warning: {one['text']}") for one in certificate["warnings"] if one["code"] not in _SAID_WHEN_FOUND
    ]
    lines = lines_of([(name, text) for name, text in facts if text])
    return ["", plain(about), lines, *folder_lines(folder), "", *warned, *([""] if warned else [])]


def _constant(source: Mapping[str, Any]) -> str:
    """Name the quasi-identifiers that are the same in all records of each person whose records are linked."""
    constant = (source.get("linked") or {}).get("constant")
    return f"{listed(constant)}, in all records of each person" if constant else ""


def _left_out(source: Mapping[str, Any]) -> str:
    """Summarize the records that linking left out, and the persons of two tables without records."""
    linked, parts = source.get("linked"), []
    if linked is not None and linked["rows_left_out"]:
        parts.append(
            f"{number(linked['rows_left_out'])} records, so that enough persons publish equally many (at least "
            f"{number(linked['fewest_rows_left_out'])} by any choice)"
        )
    if source.get("persons_without_rows"):
        parts.append(f"{number(source['persons_without_rows'])} persons without records")
    return "; ".join(parts)


def _extent(achieved: Mapping[str, Any]) -> str:
    """Return the number of groups, or of sets of quasi-identifiers if there are several."""
    sets = achieved.get("sets")
    if sets is None:
        return f"{number(achieved['groups'])} groups"
    count = sets["sets"]
    return f"each of {number(count)} sets of quasi-identifiers" if count > 1 else "the set of quasi-identifiers"


def _of_units(figures: Mapping[str, Any]) -> str:
    """Summarize the figures of one kind of unit, such as persons."""
    most, share = number(figures["most_records"]), percent(figures["largest_share"])
    return (
        f"{number(figures['units'])} ({plain(figures['unit'])}) with {number(figures['records'])} records, at most "
        f"{most} of one; in a group at least {number(figures['least_in_group'])}, on average "
        f"{number(figures['average_in_group'])}, and one has at most {share} of its records"
    )
