"""Jobs of a reviewer: recount a published table, and attack it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.studio.attack_choice import ATTACKS_OF_REVIEW, choose_attacks
from shoal.studio.jobs.attacks import name_people, run_attack

if TYPE_CHECKING:
    from shoal._core.progress import Progress

__all__ = ["attack_published", "recount"]


def recount(
    *,
    source: str,
    stamp: int,
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str] | None,
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
    progress : callable
        Called with (step, done, total).
    """
    from shoal._messages import set_audience
    from shoal.studio.audience import SCREENS
    from shoal.verbs.audit import audit
    from shoal.verbs.inspect import inspect
    from shoal.verification.published_folder import read_published

    # Roles: those that the reviewer chose, else those of the certificate.
    progress("read", 0, 1)
    release = read_published(source)
    known = list(release.columns("quasi_identifiers") if quasi_identifiers is None else quasi_identifiers)
    linked = list(release.columns("sensitive") if sensitive is None else sensitive)
    found: dict[str, Any] = {
        "columns": release.frame.columns,
        "quasi_identifiers": known,
        "sensitive": linked,
        "certified": bool(release.certificate),
        "audit": None,
        "different": [],
        "proposed": {},
    }
    if not known:
        # Roles are proposed as for a table that is opened; what names a person may be known, too.
        proposed = {one.name: one.role for one in inspect(release.frame, progress=progress).columns}
        as_published = {"insensitive": "", "sensitive": "sensitive"}
        return {**found, "proposed": {name: as_published.get(role, "known") for name, role in proposed.items()}}
    progress("measure", 0, 1)
    # Roles that the reviewer chose need not be those of the certificate.
    chosen = None if quasi_identifiers is None else known
    judged = audit(source, quasi_identifiers=chosen, sensitive=linked or None)
    facts = judged.to_dict()
    with set_audience(SCREENS):
        warnings = [one.to_dict() for one in judged.warnings]
    stated = release.certificate.get("achieved") or {} if quasi_identifiers is None else {}
    different = [name for name, value in facts["achieved"].items() if name in stated and stated[name] != value]
    return {**found, "audit": {**facts, "warnings": warnings}, "different": different}


def attack_published(
    *,
    source: str,
    stamp: int,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    rows: int,
    linked: bool,
    original: str,
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
    linked : bool
        Whether the records of a person are linked.
    original : str
        The table that it was made from; empty if the reviewer does not have it.
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

    known: Any = {"quasi_identifiers": list(quasi_identifiers), "progress": progress}
    people = read(original) if original else None
    # Records of the original that were left out are not targets: they would count as published.
    aimed = people is not None and not linked and people.height == rows
    on_values: Any = {**known, "sensitive": list(sensitive), "targets": people if aimed else None}
    named, identifier = (people, "") if people is None else name_people(people, "")
    attacks: Mapping[str, Callable[[], Any]] = {
        "refinement": lambda: refinement_attack(source, **known),
        "linking": lambda: linking_attack(source, named, identifier=identifier, **known),
        "singling-out": lambda: singling_out_attack(source, people, **known),
        "homogeneity": lambda: homogeneity_attack(source, **on_values),
        "background": lambda: background_knowledge_attack(source, **on_values),
    }
    chosen = choose_attacks(ATTACKS_OF_REVIEW, linked=linked, sensitive=bool(sensitive), original=people is not None)
    return {"aimed": aimed, "attacks": [run_attack(name, attacks[name]) for name in chosen]}
