"""Attack jobs: attacks on one release, each compared with its baseline, and on several releases together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal._core.progress import Progress
from shoal.errors import NotUnderstoodError, ShoalError, UnsupportedError, UsageError
from shoal.studio.attack_choice import ATTACKS_OF_PLAN, choose_attacks
from shoal.studio.jobs.parsing import read_parsed
from shoal.studio.requests import arguments_in

if TYPE_CHECKING:
    import polars as pl

_HELD = 0.2
"""Share of the records held out of a classifier's training data, if no table of other people was given."""
_LEARNED = 50_000
"""Maximum number of records that a classifier is evaluated on."""
_LARGER_NODES = (
    "It needs cells that are the smallest of their groups. Nodes of a hierarchy may be larger, and nothing "
    "states otherwise."
)
_SEED = 0
"""Random seed of the classifier: fixed, so that reloading the screen gives the same figures."""


def attack(
    *,
    content: Mapping[str, Any],
    folder: str | None,
    identifier: str,
    others: str,
    learn: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Attack a release with full knowledge of the quasi-identifiers.

    Parameters
    ----------
    content
        The request, as the content of a spec file.
    folder : str, optional
        The folder of the release. If missing, the release is made here and not written.
    identifier : str
        The column that names each person. If empty, the records are numbered.
    others : str
        A table of people who are not in the release; empty if there is none.
    learn : bool
        Whether to train a classifier, which takes longest.
    progress : callable
        Called with (step, done, total).
    """
    from shoal.attacks import (
        homogeneity_attack,
        inference_attack,
        linking_attack,
        refinement_attack,
        singling_out_attack,
    )
    from shoal.verbs.anonymize import anonymize

    # The adversary's knowledge: the table itself, parsed as the release was.
    asked = arguments_in(content)
    people = _people(asked, progress)
    trees: Any = {"hierarchies": _trees(asked)} if _trees(asked) else {}
    whose: Any = {"person": asked["person"]} if asked.get("person") else {}
    # A population names persons by the column that identifies them, or else each record.
    named, identifier = name_people(people, next(iter(whose.get("person", [identifier]))))
    release: Any = folder if folder is not None else anonymize(progress=progress, **asked)
    # If one record of each person is published, it is not known which: the records of the release are attacked.
    all_published = not asked.get("link") and asked.get("rows_per_person") is None
    aimed: Any = {"targets": people, **whose} if all_published else {}
    known: Any = {"progress": progress, **trees}
    attacks: Mapping[str, Callable[[], Any]] = {
        "linking": lambda: linking_attack(release, named, identifier=identifier, **known, **whose),
        "refinement": lambda: refinement_attack(release, **known),
        "singling-out": lambda: singling_out_attack(release, people, **known, **whose),
        "homogeneity": lambda: homogeneity_attack(release, **aimed, **known),
    }
    chosen = choose_attacks(ATTACKS_OF_PLAN, link=bool(asked.get("link")), sensitive=bool(asked.get("sensitive")))
    done: list[dict[str, Any]] = [run_attack(name, attacks[name]) for name in chosen if name in attacks]
    held = tried = 0
    if learn and "inference" in chosen:
        tried = min(people.height, _LEARNED)
        some = people if people.height <= _LEARNED else people.sample(_LEARNED, seed=_SEED, shuffle=True)
        # With a table of other people, the whole release is attacked and they are the controls; without one, some
        # records are held out as controls and a release is made of the others.
        if others:
            outside, inside = _people({**asked, "data": others, "rows": None}, progress), some
        else:
            outside, inside = _hold_out(some, asked.get("person") or ())
            held = outside.height
        already_done = dict.fromkeys(("dates", "decimal", "replace_values", "derive", "rows", "key"))

        def learned() -> Any:
            made = {**asked, "data": inside, **already_done}
            attacked = release if others else anonymize(progress=progress, **made)
            return inference_attack(attacked, targets=inside, controls=outside, seed=_SEED, **known, **whose)

        done.append(run_attack("inference", learned))
    return {"attacks": done, "rows": people.height, "held": held, "tried": tried}


def intersect(
    *,
    content: Mapping[str, Any],
    releases: Sequence[str],
    tables: Sequence[str],
    identifier: str,
    progress: Progress,
) -> dict[str, Any]:
    """Attack several releases together, given who is in each of them.

    Parameters
    ----------
    content
        The request, as the content of a spec file.
    releases : sequence of str
        The folders, in the order of publication.
    tables : sequence of str
        The table that each release was made from, in the same order.
    identifier : str
        The column that names each person; it has the same name in all tables.
    progress : callable
        Called with (step, done, total).
    """
    from shoal.attacks import ATTACKS, intersection_attack

    asked = arguments_in(content)
    # Each release is attacked with the people of its own table.
    populations = [_people({**asked, "data": one}, progress) for one in tables]
    found = intersection_attack(
        list(releases),
        populations,
        identifier=identifier,
        quasi_identifiers=asked["quasi_identifiers"],
        sensitive=asked["sensitive"],
        hierarchies=_trees(asked) or None,
        progress=progress,
    )
    facts = found.to_dict()
    return {
        "name": "intersection",
        "error": None,
        "facts": facts,
        "sentences": ATTACKS["intersection"].sentences(facts),
    }


def _hold_out(people: pl.DataFrame, person: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split a table at random into held-out records and the others; no person has records in both."""
    if not person:
        mixed = people.sample(fraction=1.0, seed=_SEED, shuffle=True)
        held = int(people.height * _HELD)
        return mixed.head(held), mixed.tail(people.height - held)
    owners = people.select(person).unique(maintain_order=True)
    chosen = owners.sample(int(owners.height * _HELD), seed=_SEED, shuffle=True)
    outside = people.join(chosen, on=person, how="semi", nulls_equal=True)
    return outside, people.join(chosen, on=person, how="anti", nulls_equal=True)


def _people(asked: Mapping[str, Any], progress: Progress) -> pl.DataFrame:
    """Read a table with parsed dates and numbers, without the records that the release drops."""
    frame: pl.DataFrame = read_parsed(asked, progress)[0]
    sensitive = asked.get("sensitive")
    if asked.get("missing_sensitive") == "drop" and sensitive:
        frame = frame.drop_nulls(sensitive)
    return frame


def _trees(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the hierarchies of columns coarsened to a level: their published cells are nodes of the hierarchy."""
    from shoal.hierarchy import Level

    coarsen = asked.get("coarsen") or {}
    return {name: one.hierarchy for name, one in coarsen.items() if isinstance(one, Level) and isinstance(name, str)}


def name_people(people: pl.DataFrame, identifier: str) -> tuple[pl.DataFrame, str]:
    """Return a table of people and its identifier; number the rows if there is none."""
    if identifier:
        return people, identifier
    name = "record"
    # The name must not collide with a column of the table.
    while name in people.columns:
        name += "_"
    return people.with_row_index(name), name


def run_attack(name: str, attacked: Callable[[], Any]) -> dict[str, Any]:
    """Run an attack; return its figures and sentences, or the error message if it failed."""
    from shoal.studio.words import SCREENS

    try:
        found = attacked()
    except ShoalError as error:
        # The option of the command line is not a way out here: the cells of a level are not the smallest.
        if name == "refinement" and isinstance(error, UnsupportedError):
            error = UsageError(_LARGER_NODES)
        unclear = list(error.columns) if isinstance(error, NotUnderstoodError) else []
        return {"name": name, "error": error.render(SCREENS), "facts": None, "sentences": [], "unclear": unclear}
    return {"name": name, "error": None, "facts": found.to_dict(), "sentences": found.sentences()}
