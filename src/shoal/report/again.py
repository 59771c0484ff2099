"""Making the reports of a release again, from the facts beside them."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OutputError
from shoal.io import private_folder
from shoal.report.facts import PublicFacts, ReportFacts, facts_in
from shoal.report.page import render, render_public, write_report

if TYPE_CHECKING:
    from os import PathLike

    from shoal.report.about import About

__all__ = ["make_again"]

_PAGE, _FACTS = "report.html", "report.json"


def make_again(folder: str | PathLike[str], *, about: About | None = None) -> list[Path]:
    """Write the report of a release again, for readers and for the publisher: whichever is there.

    Parameters
    ----------
    folder : path
        The folder of the release, or its private one.
    about : About, optional
        What to say on the first sheet; what it leaves empty stays as it was.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    DataError
        There are no facts of a report.
    OutputError
        A page cannot be written.
    """
    given = Path(folder)
    private = private_folder(given.resolve())
    beside = private if given.is_absolute() else Path(os.path.relpath(private))
    places = [path for path in (given, beside) if (path / _FACTS).exists()]
    if not places:
        raise DataError(
            f"There is no {_FACTS} in '{given}': it is not the folder of a release that this version of shoal wrote."
        )
    made = [(path, _said(facts_in((path / _FACTS).read_bytes()), about)) for path in places]
    return [_written(path, facts) for path, facts in made]


def _said(facts: ReportFacts | PublicFacts, about: About | None) -> ReportFacts | PublicFacts:
    if about is None:
        return facts
    said = replace(facts.about, **{name: value for name, value in asdict(about).items() if value})
    return replace(facts, about=said if facts.private else said.for_readers())


def _written(folder: Path, facts: ReportFacts | PublicFacts) -> Path:
    """Write the page and the facts of one folder, each of which appears whole."""
    page = render(facts) if isinstance(facts, ReportFacts) else render_public(facts)
    for name, text in ((_PAGE, page), (_FACTS, facts.to_json())):
        hidden = folder / f".{name}.shoal-new"
        write_report(text + "\n", hidden, private=facts.private)
        try:
            os.replace(hidden, folder / name)
        except OSError as error:
            raise OutputError(f"The report cannot be written to '{folder / name}': {error.strerror}.") from error
    return folder / _PAGE
