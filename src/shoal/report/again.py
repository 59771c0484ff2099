"""Making the reports of a release again, from the facts beside them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OutputError
from shoal.io import private_folder
from shoal.report.facts import PublicFacts, ReportFacts, facts_in
from shoal.report.page import render, render_public, write_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from shoal.report.about import About

__all__ = ["attack_result", "make_again"]

_PAGE, _FACTS, _RESULT = "report.html", "report.json", "result.json"


def make_again(
    folder: str | PathLike[str], *, about: About | None = None, attacks: Sequence[Mapping[str, Any]] = ()
) -> list[Path]:
    """Write the report of a release again, for readers and for the publisher: whichever is there.

    Parameters
    ----------
    folder : path
        The folder of the release, or its private one.
    about : About, optional
        What to say on the first sheet, and in which language; what it leaves empty stays as it was.
    attacks : sequence of mapping
        What attacks on the release found (see `attack_result`), for the publisher's page. One takes the place of the
        same attack with the same knowledge, where the page has it already.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    DataError
        There are no facts of a report, or none of the publisher's to which the attacks can be added.
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
    made = [(path, _with_attacks(_said(facts_in((path / _FACTS).read_bytes()), about), attacks)) for path in places]
    if attacks and not any(facts.private for _, facts in made):
        raise DataError(f"Attacks are shown in the publisher's report alone, and there is none beside '{given}'.")
    return [_written(path, facts) for path, facts in made]


def attack_result(path: str | PathLike[str]) -> Mapping[str, Any]:
    """Return what an attack on one release found, from where `shoal attack NAME RELEASE -o FOLDER` wrote it.

    Parameters
    ----------
    path : path
        The folder, or a file with what `--json` printed.

    Raises
    ------
    DataError
        There is no such result.
    """
    from shoal.attacks import ATTACKS

    file = Path(path) / _RESULT if Path(path).is_dir() else Path(path)
    try:
        found = json.loads(file.read_bytes())
        # What the page shows of it is there.
        shown = [found["quasi_identifiers"], found["attempts"], found["low"], found["high"], found["control"]]
        if found["attack"] in ATTACKS and found["baseline"]["rate"] is not ... and shown:
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise DataError(
        f"There is no result of an attack on one release in '{path}': give a folder that 'shoal attack NAME RELEASE "
        "-o FOLDER' wrote, or a file with the same as JSON."
    )


def _with_attacks(facts: ReportFacts | PublicFacts, attacks: Sequence[Mapping[str, Any]]) -> ReportFacts | PublicFacts:
    if not isinstance(facts, ReportFacts) or not attacks:
        return facts
    each = {_subject(one): one for one in (*facts.attacks, *attacks)}
    return replace(facts, attacks=tuple(each.values()))


def _subject(found: Mapping[str, Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return which attack it is, what the adversary knows, and which sensitive columns were attacked."""
    attacked = [one["sensitive"] for one in (*found.get("each", ()), *found.get("not_measured", ()))]
    names = {name for columns in attacked or [found.get("sensitive", ())] for name in columns}
    return found["attack"], tuple(found["quasi_identifiers"]), tuple(sorted(names))


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
