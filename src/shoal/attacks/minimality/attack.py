"""The minimality attack on one release.

References
----------
.. [1] R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei: Minimality attack in privacy preserving data publishing. VLDB 2007,
   Sections 2 and 3. https://dl.acm.org/doi/10.5555/1325851.1325914
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, validate
from shoal._messages import Subject, Suggestion
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.compatible_rows import Meeting, meet, shown_to, why_not_matched
from shoal.attacks.each_column import attack_each, subjects
from shoal.attacks.minimality.enumeration import arrangements, beliefs, count_arrangements, possible_originals
from shoal.attacks.minimality.formula import Merged, Part, beliefs_of_merged, work_of
from shoal.attacks.published_table import PublishedTable, Reading, check_columns, frame_of, open_published, secret_of
from shoal.attacks.rates import Rate
from shoal.errors import DataError, ParameterError, UnsupportedError
from shoal.verification.published_columns import not_understood

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["minimality_attack"]

_WORK = 2_000_000
"""Sums that the beliefs about one group may take."""


def minimality_attack(
    release: Any,
    people: Any,
    *,
    l: int,
    publish: Callable[[pl.DataFrame], pl.DataFrame | None] | None = None,
    protected: Sequence[str] | None = None,
    limit: int = 5_000,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the people of whom a value is believed with more than 1 / l by those who know how the release was made.

    The adversary knows the quasi-identifiers of everybody in the release, the requirement, and that the algorithm does
    not coarsen more than it must: what was merged had to be. Some of the tables that the release could come from are
    impossible then. Without `publish` that principle alone is used, by the paper's formula; with it the algorithm is
    run on every table that the release could come from, and those are possible that give the same release.

    Formula: the belief in a value of a person is its share among the possible tables, all equally likely before.
    Successes: people with a belief above 1 / l in some value. Baseline: the same for the release alone: the largest
    share of a value among the rows that are compatible with the person.

    Assumes that the adversary knows exactly who is in the release. The formula covers a person where the rows that may
    be the person's are some published as they are and those of one merged group, and says nothing elsewhere
    (`people_covered`). The order of rows is not used. Each of several sensitive columns is attacked as if the release
    was made for it alone, and then their combination.

    Parameters
    ----------
    release : frame, path, or Release
        The published table, whoever made it; nobody was removed and no sensitive value changed.
    people : frame or path
        The true quasi-identifiers of everybody in the release.
    l : int
        Nobody should be linked to a value with a belief above 1 / l.
    publish : callable, optional
        Makes a published table of a table with the quasi-identifiers of `people` and the sensitive attribute; returns
        None where that is impossible. It must be what made the release.
    protected : sequence of str, optional
        The sensitive values that are protected; all unless given.
    limit : int
        With `publish`: the largest number of tables to try.
    progress : callable
        Called with (step, done, total) now and then.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `method` ("formula" or "enumeration"), `l`, `largest_belief`, `largest_belief_before`,
        `people_covered`, and `originals` (how many tables give this release) and `tried` of an enumeration.

    Raises
    ------
    UnsupportedError
        Where there are too many tables to try.
    DataError
        Where the people are not those of the release, or no table gives it.
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for: then nothing was measured.
    UsageError
        Where the call or a table is wrong.

    References
    ----------
    [1]_ of this module: the examples and the principle in Section 2, credibility in Section 3.
    """
    validate("minimality_attack", {"l": l, "limit": limit}, {"l": Integer(low=2), "limit": Integer(low=1)})
    table = open_published(release, reading)
    known = frame_of(people)
    if publish is not None and len(table.secrets) != 1:
        raise UnsupportedError(
            "Originals are enumerated for one sensitive column. Name one with ", Suggestion("sensitive"), "."
        )
    check_columns(known, table.names, "the people")
    if known.height != table.rows:
        raise DataError(
            f"There are {known.height:,} people for {table.rows:,} rows: the attack needs exactly those who are in the "
            "release."
        )
    known = table.matched(known)
    understood = table.read(known)
    problems = why_not_matched(understood, known, "everybody")
    if problems:
        raise not_understood(problems)
    meeting = meet(understood, known)
    _check_protected(table, protected)

    def attack(one: PublishedTable) -> AttackResult:
        guarded = _guarded(one, protected)
        before = _before(meeting, one, guarded)
        if publish is None:
            after, figures = _by_formula(one, meeting, l, guarded)
        else:
            after, figures = _by_enumeration(one, known[list(one.names)], guarded, (publish, limit, progress))
        believed = [first if other is None else other for first, other in zip(before, after, strict=True)]
        return AttackResult(
            attack="minimality",
            outcome=Rate(successes=sum(belief * l > 1 for belief in believed), attempts=known.height),
            baseline=Rate(successes=sum(belief * l > 1 for belief in before), attempts=known.height),
            columns=one.names,
            figures={
                **figures,
                "l": l,
                "largest_belief": float(max(believed)),
                "largest_belief_before": float(max(before)),
                "people_covered": sum(other is not None for other in after),
            },
        )

    return attack_each(table, attack)


def _check_protected(table: PublishedTable, protected: Sequence[str] | None) -> None:
    """Raise if a protected value is in no sensitive column."""
    if protected is None:
        return
    known = {value for names in subjects(table.secrets) for value in table.about(names).values.to_list()}
    unknown = sum(value not in known for value in protected)
    if unknown or not protected:
        raise ParameterError(
            Subject("minimality_attack", "protected"),
            f" must be sensitive values of the release. {unknown} of {len(protected)} are none.",
        )


def _guarded(table: PublishedTable, protected: Sequence[str] | None) -> NDArray[np.bool_]:
    """Return which sensitive values are protected."""
    known = table.values.to_list()
    if protected is None:
        return np.ones(len(known), dtype=np.bool_)
    if not any(value in known for value in protected):
        raise ParameterError(
            Subject("minimality_attack", "protected"), " has no value of this column: none of its values is protected."
        )
    return np.array([value in protected for value in known])


def _before(meeting: Meeting, table: PublishedTable, guarded: NDArray[np.bool_]) -> list[Fraction]:
    """Return the largest share that a protected value has among the rows that may be a person's."""
    shown = shown_to(meeting, table.secret_codes, np.full(table.rows, -1, dtype=np.int64))
    lost = int((shown.rows == 0).sum())
    if lost:
        raise DataError(f"{lost:,} people match no row of the release: the attack needs exactly those who are in it.")
    most = shown.most
    if not guarded.all():
        carried = np.zeros((len(meeting.boxes), int(guarded.sum())), dtype=np.int64)
        here = guarded[table.secret_codes]
        np.add.at(carried, (meeting.box_of[here], (np.cumsum(guarded) - 1)[table.secret_codes[here]]), 1)
        most = meeting.rows_of_points(carried).max(axis=1)[meeting.point_of]
    return [Fraction(*pair) for pair in zip(most.tolist(), shown.rows.tolist(), strict=True)]


def _by_enumeration(
    table: PublishedTable,
    known: pl.DataFrame,
    guarded: NDArray[np.bool_],
    asked: tuple[Callable[[pl.DataFrame], pl.DataFrame | None], int, Progress],
) -> tuple[list[Fraction | None], dict[str, Any]]:
    """Return the largest belief about each person, from every original that gives the release."""
    import polars as pl

    publish, limit, progress = asked
    values = table.secret.to_list()
    tables = count_arrangements(values)
    if tables > limit:
        raise UnsupportedError(
            f"The release could come from {tables:.3g} tables, more than {limit:,}, and each would have to be "
            "published. Attack a smaller table, raise ",
            Suggestion("limit"),
            ", or leave the algorithm away: then the formula is used.",
        )
    done = 0

    def seen(original: tuple[str, ...]) -> Iterator[Any]:
        nonlocal done
        progress("originals", done, tables)
        done += 1
        made = publish(known.with_columns(pl.Series(table.secrets[0], original)))
        if made is not None:
            yield _as_a_set(made, table)

    (possible,) = possible_originals(arrangements(values), seen) or [{}]
    originals = possible.get(_as_a_set(table.frame, table), [])
    if not originals:
        raise DataError(
            "No table of these people gives this release: it was made of other people, by another algorithm, or with "
            "other parameters or another seed."
        )
    names = [value for value, one in zip(table.values.to_list(), guarded.tolist(), strict=True) if one]
    found: list[Fraction | None] = [
        max(of_person.get(value, Fraction(0)) for value in names) for of_person in beliefs(originals)
    ]
    return found, {"method": "enumeration", "originals": len(originals), "tried": tables}


def _as_a_set(frame: pl.DataFrame, table: PublishedTable) -> frozenset[tuple[tuple[str | None, ...], int]]:
    """Return the rows of a published table whatever their order."""
    columns = [secret_of(frame, [name]).to_list() for name in (*table.names, *table.secrets)]
    return frozenset(Counter(zip(*columns, strict=True)).items())


def _by_formula(
    table: PublishedTable, meeting: Meeting, l: int, guarded: NDArray[np.bool_]
) -> tuple[list[Fraction | None], dict[str, Any]]:
    """Return the largest belief about each person whom the formula covers."""
    count = int(guarded.sum())
    # Values that are not protected are one: the principle says nothing of them.
    codes = np.where(guarded, np.cumsum(guarded) - 1, count)[table.secret_codes]
    size = count + (not guarded.all())
    kept, merged_with, groups = _parts_of(meeting, codes, size)
    people = np.bincount(meeting.point_of, minlength=len(meeting.points))
    whole = (merged_with == _ALONE) & (kept.sum(axis=1) == people)
    found: list[Fraction | None] = [
        Fraction(int(most), int(rows)) if alone else None
        for most, rows, alone in zip(kept[:, :count].max(axis=1), people, whole, strict=True)
    ]
    held = np.zeros((len(meeting.boxes), size), dtype=np.int64)
    np.add.at(held, (meeting.box_of, codes), 1)
    told: dict[tuple[Merged, tuple[bool, ...]], list[Fraction] | None] = {}
    for box, points in groups.items():
        merged = people[points] - kept[points].sum(axis=1)
        if (merged < 0).any() or merged.sum() != held[box].sum():
            continue
        # Groups that differ in nothing but the names of values and the order of parts are one.
        columns = np.vstack([kept[points], held[box]])
        used = np.flatnonzero(columns.any(axis=0))
        used = used[np.lexsort((*columns[:, used], used >= count))]
        parts = {
            q: Part(people=int(people[q]), merged=int(left), kept=tuple(kept[q, used].tolist()))
            for q, left in zip(points, merged, strict=True)
        }
        order = sorted(points, key=lambda q: (parts[q].people, parts[q].merged, parts[q].kept))
        group = Merged(parts=tuple(parts[q] for q in order), values=tuple(held[box, used].tolist()))
        protected = tuple((used < count).tolist())
        if (group, protected) not in told:
            told[group, protected] = _largest(group, l, protected)
        for q, belief in zip(order, told[group, protected] or (), strict=False):
            found[q] = belief
    return [found[q] for q in meeting.point_of.tolist()], {"method": "formula"}


def _largest(group: Merged, l: int, protected: tuple[bool, ...]) -> list[Fraction] | None:
    """Return for each part the largest belief in a protected value; None where the formula says nothing."""
    told = beliefs_of_merged(group, l, protected) if work_of(group) <= _WORK else None
    if told is None:
        return None
    return [
        max((belief for belief, one in zip(of_part, protected, strict=True) if one), default=Fraction(0))
        for of_part in told
    ]


_ALONE, _SEVERAL = -1, -2


def _parts_of(
    meeting: Meeting, codes: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, list[int]]]:
    """Return what the formula needs of people with the same quasi-identifiers.

    Returns
    -------
    kept : int64 array, shape (points, size)
        How often each value occurs in rows that may be nobody else's.
    merged_with : int64 array
        The one group that covers them and others; `_ALONE` where none does, `_SEVERAL` where more do.
    groups : dict
        The parts of each group whose parts are in no other.
    """
    points, boxes = np.arange(len(meeting.points)), np.arange(len(meeting.boxes))
    covers, number = meeting.people_of_boxes(np.column_stack([np.ones_like(points), points])).T
    kept = np.zeros((len(points), size), dtype=np.int64)
    own = covers[meeting.box_of] == 1
    np.add.at(kept, (number[meeting.box_of[own]], codes[own]), 1)
    merging = (covers > 1).astype(np.int64)
    groups_of, group = meeting.rows_of_points(np.column_stack([merging, merging * boxes])).T
    merged_with = np.where(groups_of == 1, group, np.where(groups_of == 0, _ALONE, _SEVERAL))
    groups: dict[int, list[int]] = {}
    for q in np.flatnonzero(groups_of == 1).tolist():
        groups.setdefault(int(group[q]), []).append(q)
    return kept, merged_with, {box: parts for box, parts in groups.items() if len(parts) == covers[box]}
