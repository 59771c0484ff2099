"""The linking attack: a release is joined with a table that identifies people, on compatible cells.

References
----------
.. [1] L. Sweeney: k-Anonymity: a model for protecting privacy. International Journal of Uncertainty, Fuzziness and
   Knowledge-Based Systems 10(5), 2002. https://doi.org/10.1142/S0218488502001648
.. [2] K. El Emam, F. K. Dankar: Protecting privacy using k-anonymity. JAMIA 15(5), 2008.
   https://doi.org/10.1197/jamia.M2716
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.quoting import listed_names, quote_for_shell
from shoal._messages import Subject, Suggestion
from shoal.attacks.attack_result import AttackResult, Rate, compute_rate, list_column_sets, rate_of_persons
from shoal.attacks.compatible_rows import (
    CompatibilityJoin,
    join_compatible,
    summarize_compatible,
)
from shoal.attacks.persons import number_attacked
from shoal.attacks.published_table import (
    PublishedTable,
    Reading,
    encode_column,
    encode_true_values,
    open_published,
    refuse_linked,
)
from shoal.errors import DataError, ParameterError

_MAX_PERSONS_PER_PASS = 64
"""Persons of several rows whose candidates are found in one pass over the tree."""


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
    """Count the rows of a release that can be linked to a single person.

    The adversary has a table that identifies people with their quasi-identifiers, such as a voters' list. A row may be
    about every person with whom its cells are compatible: a star may be any value, an interval any value in it. If one
    person is left, the row is linked.

    Formula: F_r people are compatible with row r. Successes: the rows with F_r = 1 whose person is the right one.
    Expected matches, if one of the candidates is picked at random: the sum of 1 / F_r over the rows whose own person is
    a candidate. Baseline: one of all N people is picked for each row, n / N matches are expected. Control, with
    `truth`: the share of the people outside the release to whom a row is linked nevertheless. Values: people of the
    release all of whose compatible rows have one sensitive value, which is their own.

    If `person` is the identifier, the population and the truth may have several rows of a person: F_r counts distinct
    persons, and a person is linked if any of the person's rows is. Values are not attacked then (`values` is None).

    It is assumed that the population contains all people of the release (unless `incomplete`), that its
    quasi-identifiers are correct, and that cells are true. Without `truth` the right person of a row is unknown. Then
    each link counts, and `verified` is False.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    population : frame or path
        People with an identifier and the true quasi-identifiers. If it also has the sensitive attribute, the values
        that
        the attack claims for people outside the release are checked.
    identifier : str
        The column that identifies a person.
    truth : sequence, optional
        The identifier of the person of each row, or missing if the row is about no person of the population.
    incomplete : bool
        Whether the population may lack people of the release. Rows without a match then count as not linked.
    progress : callable
        Called with (step, done, total) from time to time.
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
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    DataError
        If the population lacks people of the release, or an identifier is missing or repeated.
    UsageError
        If the call or a table is invalid.

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
    refuse_linked(table)
    if table.person and table.person != (identifier,):
        raise ParameterError(
            "The linking attack links the persons whom the identifier names: it and ",
            Suggestion("person"),
            " must be the same column.",
        )
    # Check the population, and the truth if it is given.
    people = table.open_people(population, "the population", (identifier,))
    names = _read_identifiers(people, identifier, repeated=bool(table.person))
    owners = encode_column(names, names.unique(maintain_order=True))
    names = names.unique(maintain_order=True)
    if people.height < table.rows and not incomplete and not table.person:
        raise DataError(
            f"The population has {people.height:,} people, fewer than the {table.rows:,} rows of the release. It must "
            "hold everyone who may be meant; if it does not, say so with ",
            Suggestion("incomplete", True),
            ".",
        )
    person = None if truth is None else _locate_persons(truth, table, names, identifier)
    whose = np.arange(table.rows) if person is None else number_attacked(person)
    # Join, and check that the columns match.
    join = join_compatible(table.read_matching(people, "some" if incomplete else "population"), people)
    links = _find_links(join, owners, progress)
    if not incomplete:
        _check_complete(links, table)
    elif not links.candidates.any():
        raise DataError(
            f"No row of the release matches a person of the population on {', '.join(table.names)}: nothing was "
            "measured. Give a population that holds people of the release, with columns of the same form."
        )
    attempts = int(whose.max()) + 1
    # Without the truth every unique match counts.
    right = links.person >= 0 if person is None else (links.person >= 0) & (links.person == person)
    return AttackResult(
        attack="linking",
        outcome=rate_of_persons(right, whose),
        baseline=Rate(successes=min(attempts / len(names), attempts), attempts=attempts),
        control=None if person is None else _compute_control(links, person, len(names)),
        columns=table.names,
        figures={
            "people": len(names),
            "unique_matches": int((links.person >= 0).sum()),
            "expected_matches": _count_expected(join, links, person, owners, whose),
            "unmatched_rows": int((links.candidates == 0).sum()),
            "verified": person is not None,
            **_attack_values(table, join, people, person, progress),
            **({} if person is None else table.whose),
        },
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Links:
    """The people whom each row may be about."""

    candidates: NDArray[np.int64]
    """Number of candidates of each row."""
    person: NDArray[np.int64]
    """Number of the only candidate; -1 if there is none, or more than one."""


def _find_links(join: CompatibilityJoin, owners: NDArray[np.int64], progress: Progress) -> _Links:
    """Find the candidates of each row; `owners` has the person of each row of the population."""
    # Each person once at a point; persons of one point are added up.
    pairs = np.unique(np.column_stack((owners, join.point_of)), axis=0)
    several = np.bincount(pairs[:, 0])[pairs[:, 0]] > 1
    carried = np.zeros((len(join.points), 2), dtype=np.int64)
    np.add.at(carried, pairs[~several, 1], np.column_stack((np.ones(int((~several).sum()), int), pairs[~several, 0])))
    # If there is one candidate, the sum of the candidates' numbers is its number.
    found = join.sum_over_people(carried, progress).copy()
    # Persons of several points count once for a row that is compatible with any of them.
    numbers, place = np.unique(pairs[several, 0], return_inverse=True)
    points = pairs[several, 1]
    for start in range(0, len(numbers), _MAX_PERSONS_PER_PASS):
        some = numbers[start : start + _MAX_PERSONS_PER_PASS]
        here = (place >= start) & (place < start + len(some))
        carried = np.zeros((len(join.points), len(some)), dtype=np.int64)
        carried[points[here], place[here] - start] = 1
        fits = join.sum_over_people(carried, progress) > 0
        found += np.column_stack((fits.sum(axis=1), fits @ some))
    found = found[join.box_of]
    return _Links(candidates=found[:, 0], person=np.where(found[:, 0] == 1, found[:, 1], -1))


def _read_identifiers(people: pl.DataFrame, identifier: str, *, repeated: bool) -> pl.Series:
    """Read the identifiers of the population, which must be unique unless persons may have several rows."""
    names = people.get_column(identifier)
    if missing := names.null_count():
        raise DataError(
            f"The column '{identifier}' misses {missing:,} identifier(s) of the population. Fill them, or leave these "
            "rows out."
        )
    if not repeated and names.is_duplicated().any():
        raise DataError(
            f"The column '{identifier}' has {names.n_unique():,} identifiers in {len(names):,} rows of the population: "
            "some are there more than once. If these are rows of one person, say so with ",
            Suggestion("person", quote_for_shell(listed_names(identifier)), python=f"person={identifier!r}"),
            ".",
        )
    return names.cast(pl.String)


def _locate_persons(truth: Any, table: PublishedTable, names: pl.Series, identifier: str) -> NDArray[np.int64]:
    """Locate each row's person in the population; -2 if the row is about no person of it."""
    given = pl.Series("truth", truth, strict=False).cast(pl.String)
    if len(given) != table.rows:
        raise ParameterError(
            Subject("linking_attack", "truth"),
            f" must have one identifier for each of the {table.rows:,} rows of the release. Got {len(given):,}.",
        )
    found = encode_column(given, names)
    # Every identifier of the truth must be in the population, at most once.
    known = found[given.is_not_null().to_numpy()]
    if (known < 0).any():
        raise DataError(
            f"{int((known < 0).sum()):,} identifiers of the truth are not in the column '{identifier}' of the "
            f"population."
        )
    if len(np.unique(known)) < len(known) and not table.person:
        raise DataError("The truth names a person for more than one row of the release.")
    return np.where(found < 0, -2, found)


def _check_complete(links: _Links, table: PublishedTable) -> None:
    """Check that every row has a candidate."""
    lost = int((links.candidates == 0).sum())
    if lost:
        raise DataError(
            f"{lost:,} of {table.rows:,} rows of the release match no one in the population on "
            f"{', '.join(table.names)}: some of its people are not there, or columns do not match. Give a population "
            f"that holds everyone of the release; if there is none, say so with ",
            Suggestion("incomplete", True),
            ".",
        )


def _compute_control(links: _Links, person: NDArray[np.int64], people: int) -> Rate:
    """Compute the share of the people outside the release to whom a row is linked."""
    outside = np.ones(people, dtype=np.bool_)
    outside[person[person >= 0]] = False
    reached = np.zeros(people, dtype=np.bool_)
    reached[links.person[links.person >= 0]] = True
    return compute_rate(reached[outside])


def _count_expected(
    join: CompatibilityJoin,
    links: _Links,
    person: NDArray[np.int64] | None,
    owners: NDArray[np.int64],
    whose: NDArray[np.int64],
) -> float:
    """Compute the expected number of correct links if one of the candidates is picked at random.

    Each person who is attacked (`whose` of each row) counts with the row of which the link is most probable.
    """
    chances = np.zeros(len(links.candidates))
    mine = links.candidates > 0
    if person is not None:
        # Only rows whose own person is a candidate can be linked correctly: by any row of the person in the population.
        at = np.flatnonzero(mine & (person >= 0))
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], person[at], side="left")
        counts = np.searchsorted(owners[order], person[at], side="right") - starts
        rows = np.repeat(at, counts)
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        points = join.points[join.point_of[order[np.repeat(starts, counts) + offsets]]]
        boxes, ranks = join.boxes[join.box_of[rows]], join.covered.low[points]
        covered = np.all([join.covered.covers(boxes[:, a], ranks[:, a]) for a in range(boxes.shape[1])], axis=0)
        mine = np.zeros_like(mine)
        mine[rows[covered]] = True
    chances[mine] = 1 / links.candidates[mine]
    best = np.zeros(int(whose.max()) + 1)
    np.maximum.at(best, whose, chances)
    return math.fsum(best.tolist())


def _attack_values(
    table: PublishedTable,
    join: CompatibilityJoin,
    people: pl.DataFrame,
    person: NDArray[np.int64] | None,
    progress: Progress,
) -> dict[str, Any]:
    """Attack the values of each sensitive column alone, then of their combination; the worst is separate."""
    if not table.secrets or table.person:
        return {"values": None, "values_of_each": []}
    found = [
        _attack_one_value(table.select_sensitive(names), join, people, person, progress)
        for names in list_column_sets(table.secrets)
    ]
    worst = max(found, key=lambda one: one["rate"] or 0.0)
    return {"values": worst, "values_of_each": found if len(found) > 1 else []}


def _attack_one_value(
    table: PublishedTable,
    join: CompatibilityJoin,
    people: pl.DataFrame,
    person: NDArray[np.int64] | None,
    progress: Progress,
) -> dict[str, Any]:
    """Count the people whose sensitive value is certain, for one column or combination."""
    guess = int(table.totals.argmax())
    unknown = np.full(people.height, -1, dtype=np.int64)
    # Without the truth the sensitive values of people are unknown, and every certain value counts.
    if person is None:
        shown = summarize_compatible(join, table.secret_codes, unknown, progress=progress)
        certain = compute_rate((shown.distinct == 1)[shown.rows > 0])
        baseline, control = Rate(successes=int(table.totals[guess]), attempts=table.rows), None
    else:
        # The true values of members are those of their rows, and the population may have those of others.
        known = all(name in people.columns for name in table.secrets)
        truth = encode_true_values(people, table).copy() if known else unknown
        rows = np.flatnonzero(person >= 0)
        members = np.zeros(people.height, dtype=np.bool_)
        members[person[rows]] = True
        truth[person[rows]] = table.secret_codes[rows]
        shown = summarize_compatible(join, table.secret_codes, truth, progress=progress)
        right = (shown.distinct == 1) & (shown.own > 0)
        certain, baseline = compute_rate(right[members]), compute_rate(truth[members] == guess)
        control = compute_rate(right[~members]) if known and not members.all() else None
    return {
        "sensitive": list(table.secrets),
        "attempts": certain.attempts,
        "successes": certain.successes,
        **certain.to_dict(),
        "baseline": baseline.to_dict(),
        "control": None if control is None else control.to_dict(),
    }
