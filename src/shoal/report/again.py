"""Render the reports of a release again, from the facts stored with them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.errors import DataError
from shoal.io import private_folder
from shoal.report.about import About
from shoal.report.facts import PublicFacts, ReportFacts, facts_in
from shoal.report.page import render, render_public, write_report

_PAGE, _FACTS, _RESULT = "report.html", "report.json", "result.json"


def render_again(
    folder: str | PathLike[str], *, about: About | None = None, attacks: Sequence[Mapping[str, Any]] = ()
) -> list[Path]:
    """Render the existing reports of a release again, for readers and for the publisher.

    Parameters
    ----------
    folder : path
        The folder of the release, or its private one.
    about : About, optional
        The words of the first sheet; empty fields keep their former values.
    attacks : sequence of mapping
        Results of attacks on the release (see `attack_result`), for the publisher's page. A result replaces an earlier
        one of the same attack with the same knowledge.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    DataError
        If there are no facts of a report, or no private facts to which the attacks can be added.
    OutputError
        If a page cannot be written.
    """
    # The folder may be the public or the private one of a release.
    given = Path(folder)
    private = private_folder(given.resolve())
    other = private if given.is_absolute() else Path(os.path.relpath(private))
    places = [path for path in (given, other) if (path / _FACTS).exists()]
    if not places:
        # The ledger has the hashes of the reports of a series, so these are never rewritten.
        if _is_of_series(given):
            raise DataError(
                f"'{given}' is a release of a series: the ledger has the hashes of its reports, so they are not "
                "rewritten."
            )
        raise DataError(
            f"There is no {_FACTS} in '{given}': it is not the folder of a release that this version of shoal wrote."
        )
    made = [
        (path, _with_attacks(_with_words(facts_in((path / _FACTS).read_bytes()), about), attacks)) for path in places
    ]
    # Results of attacks concern the publisher alone.
    if attacks and not any(facts.private for _, facts in made):
        raise DataError(f"Attacks are shown in the publisher's report only, and there is none next to '{given}'.")
    return [_write_page(path, facts) for path, facts in made]


def _is_of_series(folder: Path) -> bool:
    try:
        return "series" in json.loads((folder / "certificate.json").read_bytes())
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def attack_result(path: str | PathLike[str]) -> Mapping[str, Any]:
    """Read the result of an attack on one release, as `shoal attack RELEASE --method NAME -o FOLDER` wrote it.

    Parameters
    ----------
    path : path
        The folder, or a file with the output of `--json`.

    Raises
    ------
    DataError
        If there is no such result.
    """
    from shoal.attacks import ATTACKS

    file = Path(path) / _RESULT if Path(path).is_dir() else Path(path)
    try:
        # Only results of known attacks, because the page explains them.
        found = json.loads(file.read_bytes())
        # The keys that the page shows must exist.
        shown = [found["quasi_identifiers"], found["attempts"], found["low"], found["high"], found["control"]]
        if found["attack"] in ATTACKS and found["baseline"]["rate"] is not ... and shown:
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise DataError(
        f"There is no result of an attack on one release in '{path}': give a folder that "
        "'shoal attack' wrote, or a file with the same as JSON."
    )


def _with_attacks(facts: ReportFacts | PublicFacts, attacks: Sequence[Mapping[str, Any]]) -> ReportFacts | PublicFacts:
    if not isinstance(facts, ReportFacts) or not attacks:
        return facts
    # Later results replace earlier ones with the same subject.
    each = {_subject(one): one for one in (*facts.attacks, *attacks)}
    return replace(facts, attacks=tuple(each.values()))


def _subject(found: Mapping[str, Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Identify an attack by its name, the adversary's knowledge and the attacked columns."""
    attacked = [one["sensitive"] for one in (*found.get("each", ()), *found.get("not_measured", ()))]
    names = {name for columns in attacked or [found.get("sensitive", ())] for name in columns}
    return found["attack"], tuple(found["quasi_identifiers"]), tuple(sorted(names))


def _with_words(facts: ReportFacts | PublicFacts, about: About | None) -> ReportFacts | PublicFacts:
    if about is None:
        return facts
    said = replace(facts.about, **{name: value for name, value in asdict(about).items() if value})
    return replace(facts, about=said if facts.private else said.for_readers())


def _write_page(folder: Path, facts: ReportFacts | PublicFacts) -> Path:
    """Write the page and the facts of one folder; each file appears completely or not at all."""
    page = render(facts) if isinstance(facts, ReportFacts) else render_public(facts)
    for name, text in ((_PAGE, page), (_FACTS, facts.to_json())):
        write_report(text + "\n", folder / name, private=facts.private)
    return folder / _PAGE
