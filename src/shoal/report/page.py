"""The page itself: one HTML file that needs neither a network nor scripts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError
from shoal.report import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from jinja2 import Template

    from shoal.report.facts import ReportFacts

__all__ = ["render", "render_publication", "write_report"]

_MEASURES = {
    "discernability": (
        "Discernability",
        "sum of the squared group sizes; smaller is better (Bayardo and Agrawal 2005)",
    ),
    "average_class_size": ("Average group size", "records per group"),
    "normalized_average_class_size": (
        "Normalized average group size",
        "records per group over the least that the request allows; 1 is best",
    ),
    "ncp": (
        "Normalized certainty penalty",
        "sum over all quasi-identifier cells of the share of the domain that the cell may be",
    ),
    "gcp": ("Global certainty penalty", "the same per cell: 0 nothing is lost, 1 everything is"),
    "kl_divergence": (
        "Kullback-Leibler divergence",
        "between the table and what a reader estimates from the release, in nats; 0 is best (Kifer and Gehrke 2006)",
    ),
}
"""Measures that the page explains; those of the cost section are not repeated, others appear under their own name."""
_SAID_ELSEWHERE = frozenset({"stars", "suppressed_tuples", "suppressed_tuples_share", "rows", "groups"})


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=sentences.number, percent=sentences.percent, factor=sentences.factor, listed=sentences.listed
    )
    return environment.get_template(name)


def render(facts: ReportFacts) -> str:
    """Return the report of a release as one HTML page.

    Parameters
    ----------
    facts : ReportFacts
        What is known of the release. None of it is a cell of the input, so the page shows none.

    Returns
    -------
    str
        A complete HTML document, in English, for screens of any width, light and dark, and for paper.
    """
    certificate = facts.certificate
    asked = certificate["requested"]
    source = certificate["input"]
    return _template("release.html.j2").render(
        facts=facts,
        certificate=certificate,
        source=source,
        cost=certificate["cost"],
        bound=certificate["cost"].get("lower_bound") or {},
        achieved=certificate["achieved"],
        guarantee=certificate.get("guarantee") or {},
        cells=source["rows"] * len(source["quasi_identifiers"]),
        rows_out=_published_rows(certificate),
        promises=[
            (
                sentences.model_title(request),
                sentences.promise(request, source["sensitive"]),
                sentences.achieved_for(request, certificate["achieved"]),
            )
            for request in asked
        ],
        reservations=sentences.reservations(asked, source["quasi_identifiers"], facts.insensitive),
        shown=sentences.counted(certificate["cost"]),
        gap=sentences.gap_sentence(certificate["cost"]),
        largest_bin=max((bin_.groups for bin_ in facts.class_sizes), default=1),
        measures=_measures(facts.metrics),
    )


def render_publication(certificate: Mapping[str, Any]) -> str:
    """Return the report of one release of a series as one HTML page.

    Parameters
    ----------
    certificate : mapping
        The certificate as a dictionary. It holds no cell of the input, so the page shows none.
    """
    source, series = certificate["input"], certificate["series"]
    people = source["rows"] - source["rows_left_out"]
    return _template("publication.html.j2").render(
        title=f"{series['name']}: release {series['release']}",
        certificate=certificate,
        series=series,
        source=source,
        m=certificate["parameters"]["m"],
        cost=certificate["cost"],
        achieved=certificate["achieved"],
        people=people,
        rows=people + certificate["cost"]["counterfeits"],
    )


def write_report(facts: ReportFacts, path: str | PathLike[str]) -> None:
    """Write the report of a release to a file, which is replaced if it exists.

    Raises
    ------
    OutputError
        Where the file cannot be written.
    """
    text = render(facts)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"The report cannot be written to '{path}': {error.strerror}.") from error


def _published_rows(certificate: Mapping[str, Any]) -> int:
    for file in certificate.get("output", {}).get("files", {}).values():
        if "rows" in file:
            return int(file["rows"])
    return int(certificate["input"]["rows"])


def _measures(metrics: Mapping[str, float | int | None]) -> list[tuple[str, str, str]]:
    """Return the measures beyond the cost section: their names, meanings and values."""
    told = []
    for name, value in metrics.items():
        if value is None or name in _SAID_ELSEWHERE:
            continue
        label, meaning = _MEASURES.get(name, (name.replace("_", " ").capitalize(), ""))
        told.append((label, meaning, sentences.number(value)))
    return told
