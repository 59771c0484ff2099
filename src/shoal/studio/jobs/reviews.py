"""Jobs of a reviewer: recount a published table, and attack it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.progress import Progress
from shoal._core.words import quote_columns
from shoal.studio.attack_choice import ATTACKS_OF_REVIEW, choose_attacks
from shoal.studio.jobs.attacks import name_people, run_attack

if TYPE_CHECKING:
    from shoal.verification.published_folder import ReadRelease

_UNCLEAR = (
    "The cells of {columns} are not understood. If they are nodes of a hierarchy, choose its file in the form above."
)
_DIGEST = "the SHA-256 of the file"
_NOT_PUBLISHED = ("person", "direct_identifier")
"""Proposed roles of columns that no release has."""
_MOSTLY = 0.5
"""Share of stars above which a column is called hardly of use."""


def recount(
    *,
    source: str,
    stamp: int,
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    identifiers: Sequence[str],
    progress: Progress,
) -> dict[str, Any]:
    """Audit a published table, and compare the figures with those of its certificate.

    Parameters
    ----------
    source : str
        The folder of a release, or a table.
    stamp : int
        The time of its last change, so that a changed table is counted again.
    quasi_identifiers, sensitive : sequence of str, optional
        Roles of the columns; by default those of the certificate. Without quasi-identifiers nothing is counted.
    identifiers : sequence of str
        Columns that identify persons, as the reviewer stated; others are found in a table without a certificate.
    progress : callable
        Called with (step, done, total).
    """
    from shoal.verbs.audit import audit
    from shoal.verbs.inspect import inspect
    from shoal.verification.published_folder import GROUP, digest_tables, read_published
    from shoal.wording.phrasing import say

    # Roles: those that the reviewer chose, else those of the certificate.
    progress("read", 0, 1)
    release = read_published(source)
    known = list(release.columns("quasi_identifiers") if quasi_identifiers is None else quasi_identifiers)
    secrets = list(release.columns("sensitive") if sensitive is None else sensitive)
    files = digest_tables(source)
    found: dict[str, Any] = {
        "columns": release.frame.columns,
        "quasi_identifiers": known,
        "sensitive": secrets,
        "certified": bool(release.certificate),
        "stated": list(release.columns("quasi_identifiers")),
        "audit": None,
        "different": [_DIGEST] if any(is_stated is False for _, is_stated in files.values()) else [],
        "proposed": {},
        "suspected": None,
        "files": {name: digest for name, (digest, _) in files.items()},
        "starred": [(name, share) for name, share in _measure_stars(release).items() if share > _MOSTLY],
    }
    # What a reviewer chose is not questioned; a table without a certificate is looked at in any case.
    questioned = quasi_identifiers is None or not release.certificate
    inspected = inspect(release.frame, progress=progress).columns if questioned else ()
    # A column of names or numbers of persons is in no release: this is the table that one is made from.
    found_out = [] if release.certificate else inspected
    named = {*identifiers, *(one.name for one in found_out if one.looks_like and one.role in _NOT_PUBLISHED)}
    found["raw"] = [name for name in found["columns"] if name in named]
    if not known:
        # Roles are proposed as for a table that is opened; what names a person may be known, too.
        proposed = {one.name: one.role for one in inspected}
        as_published = {"insensitive": "", "sensitive": "sensitive"}
        shown = {name: as_published.get(role, "known") for name, role in proposed.items()}
        return {**found, "proposed": shown | dict.fromkeys(named, "identifies")}
    progress("measure", 0, 1)
    # Roles that the reviewer chose need not be those of the certificate.
    chosen = None if quasi_identifiers is None else known
    judged = audit(source, quasi_identifiers=chosen, sensitive=secrets or None)
    facts = {**judged.to_dict(), "warnings": [one.to_dict() for one in judged.warnings]}
    stated = release.certificate.get("achieved") or {} if quasi_identifiers is None else {}
    achieved = facts["achieved"]
    if "m" in stated:  # the groups of a series have numbers, and some the same cells
        achieved = audit(source, quasi_identifiers=[*known, GROUP], sensitive=secrets).to_dict()["achieved"]
    different = [name for name, value in achieved.items() if name in stated and stated[name] != value]
    suspected = [one.name for one in inspected if one.role == "quasi_identifier" and one.name not in (*known, *secrets)]
    if suspected and quasi_identifiers is None:  # what the publisher calls harmless, and others may well know
        wider = audit(source, quasi_identifiers=[*known, *suspected], sensitive=secrets or None).to_dict()
        alone, k = wider["unique_rows"] / max(wider["rows"], 1), wider["achieved"]["k"]
        found["suspected"] = say("harmless_may_be_known", columns=quote_columns(suspected), k=k, alone=alone)
    return {**found, "audit": facts, "different": [*found["different"], *different]}


def _measure_stars(release: ReadRelease) -> dict[str, float]:
    """Measure the share of each column's cells that are stars."""
    import polars as pl

    # Only text can be a star; an empty table has no shares.
    texts = [name for name, kind in release.frame.schema.items() if kind == pl.String]
    rows = max(release.frame.height, 1)
    return {name: int((release.frame.get_column(name) == release.star).sum()) / rows for name in texts}


def attack_published(
    *,
    source: str,
    stamp: int,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    rows: int,
    link: bool,
    original: str,
    reading: Mapping[str, Any],
    person: str,
    hierarchies: Mapping[str, str],
    progress: Progress,
) -> dict[str, Any]:
    """Attack a published table: each sensitive column alone, and their combination.

    Parameters
    ----------
    source : str
        The folder of a release, or a table.
    stamp : int
        The time of its last change.
    quasi_identifiers, sensitive : sequence of str
        Roles of the columns.
    rows : int
        Number of published records.
    link : bool
        Whether the records of a person are linked.
    original : str
        The table that it was made from; empty if the reviewer does not have it.
    reading : mapping
        Options with which it is read.
    person : str
        The column of that table that identifies persons with several records; empty if each record is a person.
    hierarchies : mapping of str to str
        The files of the hierarchies of columns.
    progress : callable
        Called with (step, done, total).
    """
    from shoal.attacks import (
        background_knowledge_attack,
        homogeneity_attack,
        linking_attack,
        refinement_attack,
        singling_out_attack,
    )
    from shoal.io import read
    from shoal.verification.published_folder import read_published

    of_nodes = _read_meanings(source, hierarchies, quasi_identifiers)
    known: Any = {"quasi_identifiers": list(quasi_identifiers), "progress": progress, **of_nodes}
    people = read(original, **reading) if original else None
    # Records of the original that were left out are not targets: they would count as published.
    aimed = people is not None and not link and people.height == rows
    whose: Any = {"person": [person]} if person else {}
    on_values: Any = {**known, "sensitive": list(sensitive), **({"targets": people, **whose} if aimed else {})}
    named, identifier = (people, "") if people is None else name_people(people, person)
    attacks: Mapping[str, Callable[[], Any]] = {
        "refinement": lambda: refinement_attack(source, **known),
        "linking": lambda: linking_attack(source, named, identifier=identifier, **known, **whose),
        "singling-out": lambda: singling_out_attack(source, people, **known, **whose),
        "homogeneity": lambda: homogeneity_attack(source, **on_values),
        "background": lambda: background_knowledge_attack(source, **on_values),
    }
    # Columns of the original that are not published are named in the document.
    published = read_published(source).frame.columns if people is not None else []
    removed = [name for name in ([] if people is None else people.columns) if name not in published]
    chosen = choose_attacks(ATTACKS_OF_REVIEW, link=link, sensitive=bool(sensitive), original=people is not None)
    done = [run_attack(name, attacks[name]) for name in chosen]
    # Attacks that fail for cells without a hierarchy share one reason, which the form asks for.
    unclear = list(dict.fromkeys(column for one in done for column in one.get("unclear", ())))
    for one in done:
        if one.get("unclear"):
            one["error"] = _UNCLEAR.format(columns=quote_columns(one["unclear"]))
    return {"aimed": aimed, "removed": removed, "unclear": unclear, "attacks": done}


def _read_meanings(source: str, files: Mapping[str, str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read how nodes of columns are interpreted: from chosen files, and from the release's private folder, if any."""
    from shoal.errors import DataError
    from shoal.hierarchy import Hierarchy
    from shoal.release.plan import PLAN, ReleasePlan

    # Files that the reviewer chose come first.
    trees = {name: Hierarchy.from_csv(path) for name, path in files.items() if name in names}
    cells: dict[str, Any] = {}
    kept = Path(f"{source.rstrip('/')}.private") / PLAN
    if kept.is_file():
        try:
            cells = {name: one for name, one in ReleasePlan.load(kept).meanings.items() if one.tree or one.classes}
        except DataError:  # a plan of another version, or another file of that name
            cells = {}
    cells = {name: one for name, one in cells.items() if name in names and name not in trees}
    return {name: given for name, given in (("hierarchies", trees), ("cells", cells)) if given}
