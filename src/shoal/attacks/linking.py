"""The linking attack: a release is joined with a table that names people, on the cells that may be theirs.

References
----------
.. [1] L. Sweeney: k-Anonymity: a model for protecting privacy. International Journal of Uncertainty, Fuzziness and
   Knowledge-Based Systems 10(5), 2002. https://doi.org/10.1142/S0218488502001648
.. [2] K. El Emam, F. K. Dankar: Protecting privacy using k-anonymity. JAMIA 15(5), 2008.
   https://doi.org/10.1197/jamia.M2716
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._messages import Subject, Suggestion
from shoal.attacks.attack_result import AttackResult, share_right
from shoal.attacks.compatible_rows import Meeting, meet, shown_to, why_not_matched
from shoal.attacks.each_column import subjects
from shoal.attacks.published_table import (
    PublishedTable,
    Reading,
    check_columns,
    codes_of,
    frame_of,
    open_published,
    place_of,
)
from shoal.attacks.rates import Rate
from shoal.errors import DataError, NoRowsError, ParameterError
from shoal.verification.published_columns import not_understood

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["linking_attack"]


def linking_attack(
    release: Any,
    population: Any,
    *,
    identifier: str,
    truth: Sequence[Any] | pl.Series | NDArray[Any] | None = None,
    incomplete: bool = False,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the rows of a release that can be linked to the one person that they are about.

    The adversary has a table that names people, with their quasi-identifiers: a voters' list. A row may be about every
    person with whom its cells are compatible: a star may be any value, an interval any value in it. Where one person is
    left, the row is linked.

    Formula: F_r people are compatible with row r. Successes: the rows with F_r = 1 whose one person is the right one.
    Expected matches, if one of the candidates is picked at random: the sum of 1 / F_r over the rows whose own person is
    a candidate. Baseline: one of all N people is picked for each row, n / N matches are expected. Control, with
    `truth`: the share of the people who are not in the release to whom a row is linked all the same. Values: people
    of the release all of whose compatible rows have one sensitive value, which is their own.

    Assumes that the population holds everybody of the release (unless `incomplete`), that its quasi-identifiers are
    right, and that cells are true. Without `truth` nobody can say which person a row is about: then each link counts,
    and `verified` is False.

    Parameters
    ----------
    release : frame, path, or Release
        The published table, whoever made it: a frame, a file, or the folder of a release.
    population : frame or path
        People with an identifier and the true quasi-identifiers; where it has the sensitive attribute, too, the values
        that the attack claims of people outside the release are checked.
    identifier : str
        The column that names each person.
    truth : sequence, optional
        For each row of the release the identifier of its person; missing where it is nobody's.
    incomplete : bool
        Whether the population may lack people of the release; rows that match nobody are not linked then.
    progress : callable
        Called with (step, done, total) now and then.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `people`, `unique_matches`, `expected_matches`, `unmatched_rows`, `verified`, `values`
        (sensitive, attempts, successes, rate, low, high, baseline, control; None without a sensitive column) and
        `values_of_each`: the same for each of several sensitive columns and for their combination, the worst of which
        is `values`.

    Raises
    ------
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for: then nothing was measured.
    DataError
        Where the population lacks people of the release, or an identifier is missing or repeated.
    UsageError
        Where the call or a table is wrong.

    References
    ----------
    [1]_ and [2]_ of this module.

    Examples
    --------
    >>> import polars as pl
    >>> voters = pl.DataFrame({"name": ["Ann", "Bob", "Cem"], "age": [21, 28, 35]})
    >>> frame = pl.DataFrame({"age": ["[20, 29]", "[30, 39]"], "disease": ["flu", "ulcer"]})
    >>> found = linking_attack(
    ...     frame, voters, identifier="name", truth=["Bob", "Cem"], quasi_identifiers=["age"], sensitive="disease"
    ... )
    >>> found.successes, found["expected_matches"]
    (1, 1.5)
    """
    table = open_published(release, reading, sensitive=False)
    people = frame_of(population)
    check_columns(people, (identifier, *table.names), "the population")
    if not people.height:
        raise NoRowsError("There is nobody in the population.")
    names = _identifiers(people, identifier)
    if people.height < table.rows and not incomplete:
        raise DataError(
            f"The population has {people.height:,} people, fewer than the {table.rows:,} rows of the release. It must "
            "hold everybody who may be meant; if it does not, say so with ",
            Suggestion("incomplete", True),
            ".",
        )
    person = None if truth is None else _persons(truth, table, names, identifier)
    people = table.matched(people)
    understood = table.read(people)
    problems = why_not_matched(understood, people, "some" if incomplete else "everybody")
    if problems:
        raise not_understood(problems)
    meeting = meet(understood, people)
    links = _links(meeting, progress)
    if not incomplete:
        _check_everybody(links, table)
    elif not links.candidates.any():
        raise DataError(
            f"No row of the release matches a person of the population on {', '.join(table.names)}: nothing was "
            "measured. Give a population that holds people of the release, with columns of the same form."
        )
    right = links.person >= 0 if person is None else (links.person >= 0) & (links.person == person)
    return AttackResult(
        attack="linking",
        outcome=share_right(right),
        baseline=Rate(successes=min(table.rows / people.height, table.rows), attempts=table.rows),
        control=None if person is None else _linked_outside(links, person, people.height),
        columns=table.names,
        figures={
            "people": people.height,
            "unique_matches": int((links.person >= 0).sum()),
            "expected_matches": _expected(meeting, links, person),
            "unmatched_rows": int((links.candidates == 0).sum()),
            "verified": person is not None,
            **_values_of_each(table, meeting, people, person, progress),
        },
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Links:
    """What each row may be about."""

    candidates: NDArray[np.int64]
    """How many people."""
    person: NDArray[np.int64]
    """The number of the one person; -1 where there is none, or more."""


def _links(meeting: Meeting, progress: Progress) -> _Links:
    here = np.bincount(meeting.point_of, minlength=len(meeting.points))
    numbers = np.zeros(len(here), dtype=np.int64)
    np.add.at(numbers, meeting.point_of, np.arange(len(meeting.point_of)))
    # Of one person the sum of the numbers is the person's.
    found = meeting.people_of_boxes(np.column_stack([here, numbers]), progress)[meeting.box_of]
    return _Links(candidates=found[:, 0], person=np.where(found[:, 0] == 1, found[:, 1], -1))


def _identifiers(people: pl.DataFrame, identifier: str) -> pl.Series:
    import polars as pl

    names = people.get_column(identifier)
    if names.null_count() or names.is_duplicated().any():
        raise DataError(
            f"The column '{identifier}' of the population misses an identifier, or has one more than once: it must "
            f"name each person once. Name another column, or remove the repetitions."
        )
    return names.cast(pl.String)


def _persons(truth: Any, table: PublishedTable, names: pl.Series, identifier: str) -> NDArray[np.int64]:
    """Return the number of each row's person in the population; -2 where it is nobody's."""
    import polars as pl

    told = pl.Series("truth", truth, strict=False).cast(pl.String)
    if len(told) != table.rows:
        raise ParameterError(
            Subject("linking_attack", "truth"),
            f" must have one identifier for each of the {table.rows:,} rows of the release. Got {len(told):,}.",
        )
    found = codes_of(told, names)
    known = found[told.is_not_null().to_numpy()]
    if (known < 0).any():
        raise DataError(
            f"{int((known < 0).sum()):,} identifiers of the truth are not in the column '{identifier}' of the "
            f"population."
        )
    if len(np.unique(known)) < len(known):
        raise DataError("The truth names a person for more than one row of the release.")
    return np.where(found < 0, -2, found)


def _check_everybody(links: _Links, table: PublishedTable) -> None:
    lost = int((links.candidates == 0).sum())
    if lost:
        raise DataError(
            f"{lost:,} of {table.rows:,} rows of the release match nobody in the population on "
            f"{', '.join(table.names)}: some of its people are not there, or columns do not match. Give a population "
            f"that holds everybody of the release; if there is none, say so with ",
            Suggestion("incomplete", True),
            ".",
        )


def _linked_outside(links: _Links, person: NDArray[np.int64], people: int) -> Rate:
    """Return how many of the people who are not in the release a row is linked to."""
    outside = np.ones(people, dtype=np.bool_)
    outside[person[person >= 0]] = False
    linked = np.zeros(people, dtype=np.bool_)
    linked[links.person[links.person >= 0]] = True
    return share_right(linked[outside])


def _expected(meeting: Meeting, links: _Links, person: NDArray[np.int64] | None) -> float:
    """Return how many rows are expected to be linked rightly if one of the candidates is picked at random."""
    mine = links.candidates > 0
    if person is not None:
        at = np.flatnonzero(mine & (person >= 0))
        mine = np.zeros_like(mine)
        points = meeting.points[meeting.point_of[person[at]]]
        boxes, ranks = meeting.boxes[meeting.box_of[at]], meeting.covered.low[points]
        mine[at] = np.all([meeting.covered.covers(boxes[:, a], ranks[:, a]) for a in range(boxes.shape[1])], axis=0)
    return math.fsum((1 / links.candidates[mine]).tolist())


def _values_of_each(
    table: PublishedTable,
    meeting: Meeting,
    people: pl.DataFrame,
    person: NDArray[np.int64] | None,
    progress: Progress,
) -> dict[str, Any]:
    """Return the values that are certain, of each sensitive column alone and of the combination, the worst apart."""
    if not table.secrets:
        return {"values": None, "values_of_each": []}
    found = [_values(table.about(names), meeting, people, person, progress) for names in subjects(table.secrets)]
    worst = max(found, key=lambda one: one["rate"] or 0.0)
    return {"values": worst, "values_of_each": found if len(found) > 1 else []}


def _values(
    table: PublishedTable,
    meeting: Meeting,
    people: pl.DataFrame,
    person: NDArray[np.int64] | None,
    progress: Progress,
) -> dict[str, Any]:
    """Return for how many people the sensitive value is certain."""
    guess = int(table.totals.argmax())
    unknown = np.full(people.height, -1, dtype=np.int64)
    if person is None:
        shown = shown_to(meeting, table.secret_codes, unknown, progress=progress)
        certain = share_right((shown.distinct == 1)[shown.rows > 0])
        baseline, control = Rate(successes=int(table.totals[guess]), attempts=table.rows), None
    else:
        known = all(name in people.columns for name in table.secrets)
        truth = place_of(people, table).copy() if known else unknown
        rows = np.flatnonzero(person >= 0)
        members = np.zeros(people.height, dtype=np.bool_)
        members[person[rows]] = True
        truth[person[rows]] = table.secret_codes[rows]
        shown = shown_to(meeting, table.secret_codes, truth, progress=progress)
        told = (shown.distinct == 1) & (shown.own > 0)
        certain, baseline = share_right(told[members]), share_right(truth[members] == guess)
        control = share_right(told[~members]) if known and not members.all() else None
    return {
        "sensitive": list(table.secrets),
        "attempts": certain.attempts,
        "successes": certain.successes,
        **certain.to_dict(),
        "baseline": baseline.to_dict(),
        "control": None if control is None else control.to_dict(),
    }
