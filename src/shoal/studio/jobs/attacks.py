"""Work of an adversary: attacks on a release, each next to its baseline, and on several releases together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.studio.jobs.tables import opened_as_meant
from shoal.studio.requests import arguments_in

if TYPE_CHECKING:
    import polars as pl

    from shoal._core.progress import Progress

__all__ = ["attack", "intersect"]

_HELD = 0.2
"""The share of the records that is left out of what a classifier learns from, where nobody else is known."""
_LEARNED = 50_000
"""Records that a classifier is tried on, at most."""
_SEED = 0
"""The classifier draws the same for the same table: the screen says the same when it is loaded again."""


def attack(
    *,
    content: Mapping[str, Any],
    folder: str | None,
    identifier: str,
    others: str,
    learn: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Attack a release as somebody would who knows everything that others may know.

    Parameters
    ----------
    content
        What is published, and how a request is read.
    folder : str, optional
        The release; without one it is made here as it would be published, and not written.
    identifier : str
        The column that names each person; empty: the records are numbered.
    others : str
        A table of people who are not in the release, empty without one.
    learn : bool
        Whether a classifier is tried: that takes longest.
    progress : callable
        Called with (step, done, total) now and then.
    """
    from shoal.attacks import homogeneity_attack, inference_attack, linking_attack
    from shoal.verbs.anonymize import anonymize

    asked = arguments_in(content)
    people = _people(asked, progress)
    named, identifier = _named(people, identifier)
    trees: Any = {"hierarchies": _trees(asked)} if _trees(asked) else {}
    release: Any = folder if folder is not None else anonymize(progress=progress, **asked)
    done: list[dict[str, Any]] = [
        _told("linking", lambda: linking_attack(release, named, identifier=identifier, progress=progress, **trees)),
    ]
    if not asked.get("sensitive"):
        return {"attacks": done, "rows": people.height, "held": 0, "tried": 0}
    done.append(_told("homogeneity", lambda: homogeneity_attack(release, targets=people, progress=progress, **trees)))
    held = tried = 0
    if learn:
        tried = min(people.height, _LEARNED)
        some = people if people.height <= _LEARNED else people.sample(_LEARNED, seed=_SEED, shuffle=True)
        if others:
            outside = _people({**asked, "data": others}, progress)
            done.append(
                _told(
                    "inference",
                    lambda: inference_attack(
                        release, targets=some, controls=outside, seed=_SEED, progress=progress, **trees
                    ),
                )
            )
        else:
            mixed = some.sample(fraction=1.0, seed=_SEED, shuffle=True)
            held = int(mixed.height * _HELD)
            outside, inside = mixed.head(held), mixed.tail(mixed.height - held)

            def learned() -> Any:
                most = anonymize(progress=progress, **{**asked, "data": inside, "dates": None, "decimal": None})
                return inference_attack(most, targets=inside, controls=outside, seed=_SEED, progress=progress, **trees)

            done.append(_told("inference", learned))
    return {"attacks": done, "rows": people.height, "held": held, "tried": tried}


def intersect(
    *,
    content: Mapping[str, Any],
    releases: Sequence[str],
    tables: Sequence[str],
    identifier: str,
    progress: Progress,
) -> dict[str, Any]:
    """Attack several releases together, as somebody would who knows who is in which.

    Parameters
    ----------
    content
        What the columns are, and how a request is read.
    releases : sequence of str
        The folders, in their order.
    tables : sequence of str
        The table that each of them was made from.
    identifier : str
        The column that names each person, the same in all tables.
    progress : callable
        Called with (step, done, total) now and then.
    """
    from shoal.attacks import intersection_attack

    asked = arguments_in(content)
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
    return {"facts": facts, "sentences": _sentences(facts)}


def _sentences(facts: Mapping[str, Any]) -> list[str]:
    from shoal.attacks import ATTACKS

    return ATTACKS["intersection"].sentences(facts)


def _people(asked: Mapping[str, Any], progress: Progress) -> pl.DataFrame:
    """Return the people of a table with dates and numbers in place of text, as far as the release has them."""
    frame: pl.DataFrame = opened_as_meant(asked, progress)[0]
    sensitive = asked.get("sensitive")
    if asked.get("missing_sensitive") == "drop" and sensitive:
        frame = frame.drop_nulls(sensitive)
    return frame


def _trees(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hierarchies of columns that are coarsened to a level of one: published cells are its nodes."""
    from shoal.hierarchy import Level

    coarsen = asked.get("coarsen") or {}
    return {name: one.hierarchy for name, one in coarsen.items() if isinstance(one, Level) and isinstance(name, str)}


def _named(people: pl.DataFrame, identifier: str) -> tuple[pl.DataFrame, str]:
    """Return people with a column that names each of them."""
    if identifier:
        return people, identifier
    name = "record"
    while name in people.columns:
        name += "_"
    return people.with_row_index(name), name


def _told(name: str, attacked: Callable[[], Any]) -> dict[str, Any]:
    """Return what an attack found, in figures and sentences, or why it could not be made."""
    from shoal.studio.voice import SCREENS

    try:
        found = attacked()
    except ShoalError as error:
        return {"name": name, "error": error.render(SCREENS), "facts": None, "sentences": []}
    return {"name": name, "error": None, "facts": found.to_dict(), "sentences": found.sentences()}
