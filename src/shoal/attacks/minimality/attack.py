"""The minimality attack on one release.

References
----------
.. [1] R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei: Minimality attack in privacy preserving data publishing. VLDB 2007,
   Sections 2 and 3. https://dl.acm.org/doi/10.5555/1325851.1325914
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import comb
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, validate
from shoal._messages import Subject, Suggestion
from shoal.attacks.attack_result import AttackResult, Rate, attack_each_column, list_column_sets
from shoal.attacks.compatible_rows import (
    CompatibilityJoin,
    join_compatible,
    summarize_compatible,
)
from shoal.attacks.minimality.enumeration import compute_beliefs, count_arrangements, group_originals, list_arrangements
from shoal.attacks.minimality.formula import Merged, Part, compute_merged_beliefs, estimate_work
from shoal.attacks.persons import number_owners, same_candidates
from shoal.attacks.published_table import (
    PublishedTable,
    Reading,
    combine_sensitive,
    open_published,
    refuse_linked,
)
from shoal.errors import DataError, ParameterError, UnsupportedError

_MAX_WORK = 2_000_000
"""Largest number of sums for the beliefs about one group."""


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
    """Count the people for whom an adversary who knows the algorithm believes a value with more than 1 / l.

    The adversary knows the quasi-identifiers of all people in the release, the requirement, and that the algorithm does
    not coarsen more than necessary: merged rows had to be merged. Some of the tables that the release could come from
    are then impossible. Without `publish` only this principle is used, by the paper's formula. With it the algorithm is
    run on every table that the release could come from, and the tables that give the same release are possible.

    Formula: the belief in a value of a person is its share among the possible tables, all equally likely beforehand.
    Successes: people with a belief above 1 / l in some value. Baseline: the same for the release alone, which is the
    largest share of a value among the rows that are compatible with the person.

    It is assumed that the adversary knows exactly who is in the release. The formula covers a person if the compatible
    rows are rows published without change and the rows of one merged group (`people_covered`); for others the release
    alone counts. With `person` (and `publish`) a success is a person, who has a value if any of the person's rows has
    it. The order of rows is not used. Each of several sensitive columns is attacked as if the release was made for it
    alone, and then their combination.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool; no person was removed and no sensitive value changed.
    people : frame or path
        The true quasi-identifiers of all people in the release, and the person of each row if `person` names it.
    l : int
        No value of a person should be believed with more than 1 / l.
    publish : callable, optional
        The algorithm that made the release: it takes a table with the quasi-identifiers (and persons) of `people` and
        the sensitive attribute, and returns the published table, or None if publishing is impossible.
    protected : sequence of str, optional
        The protected sensitive values; by default all.
    limit : int
        With `publish`: the largest number of tables to try.
    progress : callable
        Called with (step, done, total) from time to time.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `method` ("formula" or "enumeration"), `l`, `largest_belief`, `largest_belief_before`,
        `people_covered`, and for an enumeration `originals` (number of tables that give this release) and `tried`.

    Raises
    ------
    UnsupportedError
        If there are too many tables to try.
    DataError
        If the people are not those of the release, or no table gives it.
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module: the examples and the principle in Section 2, credibility in Section 3.

    Examples
    --------
    Only two people of the age of 20 who both have flu violate 2-diversity: this is why the groups were merged.

    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [20] * 2 + [30] * 4})
    >>> release = pl.DataFrame({"age": ["[20, 30]"] * 6, "disease": ["flu", "flu", "gout", "cough", "acne", "ulcer"]})
    >>> found = minimality_attack(
    ...     release, people, l=2, protected=["flu"], quasi_identifiers=["age"], sensitive="disease"
    ... )
    >>> found.successes, found["largest_belief"], round(found["largest_belief_before"], 3)
    (2, 1.0, 0.333)
    """
    validate("minimality_attack", {"l": l, "limit": limit}, {"l": Integer(low=2), "limit": Integer(low=1)})
    # Check the people, and join them with the release.
    table = open_published(release, reading)
    refuse_linked(table)
    if table.person and publish is None:
        raise UnsupportedError(
            "The formula of the minimality attack is one for persons with one record each. Count persons with several "
            "by running the algorithm (",
            Suggestion("publish"),
            "), or leave out ",
            Suggestion("person"),
            ".",
        )
    if publish is not None and len(table.secrets) != 1:
        raise UnsupportedError(
            "Originals are enumerated for one sensitive column. Name one with ", Suggestion("sensitive"), "."
        )
    known = table.open_people(people, "the table of people")
    if known.height != table.rows:
        raise DataError(
            f"There are {known.height:,} people for {table.rows:,} rows: the attack needs exactly those who are in the "
            "release."
        )
    join = join_compatible(table.read_matching(known, "population"), known)
    owners = number_owners(known, table.person, "the people")
    _check_protected(table, protected)

    def attack(one: PublishedTable) -> AttackResult:
        guarded = _select_protected(one, protected)
        before = _compute_prior(join, one, guarded, owners)
        # With an algorithm the originals are enumerated, otherwise the formula applies.
        if publish is None:
            after, figures = _attack_by_formula(one, join, l, guarded)
        else:
            columns = known[list(dict.fromkeys([*one.names, *one.person]))]
            after, figures = _attack_by_enumeration(one, columns, owners, guarded, (publish, limit, progress))
        # The release alone counts for people whom the method does not cover.
        believed = [first if other is None else other for first, other in zip(before, after, strict=True)]
        return AttackResult(
            attack="minimality",
            outcome=Rate(successes=sum(belief * l > 1 for belief in believed), attempts=len(before)),
            baseline=Rate(successes=sum(belief * l > 1 for belief in before), attempts=len(before)),
            columns=one.names,
            figures={
                **figures,
                "l": l,
                "largest_belief": float(max(believed)),
                "largest_belief_before": float(max(before)),
                "people_covered": sum(other is not None for other in after),
                **one.whose,
            },
        )

    return attack_each_column(table, attack)


def _check_protected(table: PublishedTable, protected: Sequence[str] | None) -> None:
    """Check that every protected value occurs in a sensitive column."""
    if protected is None:
        return
    # Values of each sensitive column, and combinations of all of them.
    known = {
        value for names in list_column_sets(table.secrets) for value in table.select_sensitive(names).values.to_list()
    }
    unknown = sum(value not in known for value in protected)
    if unknown or not protected:
        raise ParameterError(
            Subject("minimality_attack", "protected"),
            f" must be sensitive values of the release. {unknown} of {len(protected)} are none.",
        )


def _select_protected(table: PublishedTable, protected: Sequence[str] | None) -> NDArray[np.bool_]:
    """Select the protected sensitive values."""
    known = table.values.to_list()
    if protected is None:
        return np.ones(len(known), dtype=np.bool_)
    if not any(value in known for value in protected):
        raise ParameterError(
            Subject("minimality_attack", "protected"), " has no value of this column: none of its values is protected."
        )
    return np.array([value in protected for value in known])


def _compute_prior(
    join: CompatibilityJoin, table: PublishedTable, guarded: NDArray[np.bool_], owners: NDArray[np.int64]
) -> list[Fraction]:
    """Compute the largest belief in a protected value of each person from the release alone.

    It is the largest share among the compatible rows. A person with several rows has the value in any of them, and the
    rows that are compatible with the same ones are equally likely to be any of these.
    """
    shown = summarize_compatible(join, table.secret_codes, np.full(table.rows, -1, dtype=np.int64))
    lost = int((shown.rows == 0).sum())
    if lost:
        raise DataError(f"{lost:,} people match no row of the release: the attack needs exactly those who are in it.")
    if table.person:
        counts = join.count_values(table.secret_codes, 0, len(table.values))[join.point_of][:, guarded].tolist()
        without = [[Fraction(1)] * int(guarded.sum()) for _ in range(int(owners.max()) + 1)]
        # One row stands for all rows of a person with the same candidates.
        places = np.column_stack((owners, same_candidates(join)))
        _, rows, own = np.unique(places, axis=0, return_index=True, return_counts=True)
        for row, r in zip(rows.tolist(), own.tolist(), strict=True):
            g, person = int(shown.rows[row]), int(owners[row])
            without[person] = [
                left * Fraction(comb(g - count, r), comb(g, r))
                for left, count in zip(without[person], counts[row], strict=True)
            ]
        return [1 - min(of_person) for of_person in without]
    # If some values are not protected, only the others are counted.
    most = shown.most
    if not guarded.all():
        carried = np.zeros((len(join.boxes), int(guarded.sum())), dtype=np.int64)
        here = guarded[table.secret_codes]
        np.add.at(carried, (join.box_of[here], (np.cumsum(guarded) - 1)[table.secret_codes[here]]), 1)
        most = join.sum_over_rows(carried).max(axis=1)[join.point_of]
    return [Fraction(*pair) for pair in zip(most.tolist(), shown.rows.tolist(), strict=True)]


def _attack_by_enumeration(
    table: PublishedTable,
    known: pl.DataFrame,
    owners: NDArray[np.int64],
    guarded: NDArray[np.bool_],
    asked: tuple[Callable[[pl.DataFrame], pl.DataFrame | None], int, Progress],
) -> tuple[list[Fraction | None], dict[str, Any]]:
    """Compute the largest belief about each person from every original that gives the release."""
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
    # Publish every original, and keep those that give the same multiset of rows.
    done = 0

    def seen(original: tuple[str, ...]) -> Iterator[Any]:
        nonlocal done
        progress("originals", done, tables)
        done += 1
        made = publish(known.with_columns(pl.Series(table.secrets[0], original)))
        if made is not None:
            yield _to_multiset(made, table)

    (possible,) = group_originals(list_arrangements(values), seen) or [{}]
    originals = possible.get(_to_multiset(table.frame, table), [])
    if not originals:
        raise DataError(
            "No table of these people gives this release: it was made of other people, by another algorithm, or with "
            "other parameters or another seed."
        )
    # The largest belief of each person in a protected value, in any row of the person.
    names = [value for value, one in zip(table.values.to_list(), guarded.tolist(), strict=True) if one]
    found: list[Fraction | None] = [
        max(of_person.get(value, Fraction(0)) for value in names) for of_person in compute_beliefs(originals, owners)
    ]
    return found, {"method": "enumeration", "originals": len(originals), "tried": tables}


def _to_multiset(frame: pl.DataFrame, table: PublishedTable) -> frozenset[tuple[tuple[str | None, ...], int]]:
    """Convert the rows of a published table to a multiset, which is independent of their order."""
    columns = [combine_sensitive(frame, [name]).to_list() for name in (*table.names, *table.secrets)]
    return frozenset(Counter(zip(*columns, strict=True)).items())


def _attack_by_formula(
    table: PublishedTable, join: CompatibilityJoin, l: int, guarded: NDArray[np.bool_]
) -> tuple[list[Fraction | None], dict[str, Any]]:
    """Compute the largest belief about each person whom the formula covers."""
    count = int(guarded.sum())
    # Merge the values that are not protected, because the principle does not constrain them.
    codes = np.where(guarded, np.cumsum(guarded) - 1, count)[table.secret_codes]
    size = count + (not guarded.all())
    kept, merged_with, groups = _split_into_parts(join, codes, size)
    people = np.bincount(join.point_of, minlength=len(join.points))
    # Points whose rows were all published without change: beliefs are shares of the kept rows.
    whole = (merged_with == _UNMERGED) & (kept.sum(axis=1) == people)
    found: list[Fraction | None] = [
        Fraction(int(most), int(rows)) if alone else None
        for most, rows, alone in zip(kept[:, :count].max(axis=1), people, whole, strict=True)
    ]
    # Count of each value in each published row pattern.
    held = np.zeros((len(join.boxes), size), dtype=np.int64)
    np.add.at(held, (join.box_of, codes), 1)
    known: dict[tuple[Merged, tuple[bool, ...]], list[Fraction] | None] = {}
    # Each merged group that the formula covers.
    for box, points in groups.items():
        merged = people[points] - kept[points].sum(axis=1)
        if (merged < 0).any() or merged.sum() != held[box].sum():
            continue
        # Compute once for groups that differ only in the names of values and the order of parts.
        columns = np.vstack([kept[points], held[box]])
        used = np.flatnonzero(columns.any(axis=0))
        used = used[np.lexsort((*columns[:, used], used >= count))]
        # People, merged rows and kept values of each part.
        parts = {
            q: Part(people=int(people[q]), merged=int(left), kept=tuple(kept[q, used].tolist()))
            for q, left in zip(points, merged, strict=True)
        }
        order = sorted(points, key=lambda q: (parts[q].people, parts[q].merged, parts[q].kept))
        group = Merged(parts=tuple(parts[q] for q in order), values=tuple(held[box, used].tolist()))
        protected = tuple((used < count).tolist())
        if (group, protected) not in known:
            known[group, protected] = _find_largest(group, l, protected)
        for q, belief in zip(order, known[group, protected] or (), strict=False):
            found[q] = belief
    return [found[q] for q in join.point_of.tolist()], {"method": "formula"}


def _find_largest(group: Merged, l: int, protected: tuple[bool, ...]) -> list[Fraction] | None:
    """Find the largest belief in a protected value for each part, or return None if the formula does not apply."""
    found = compute_merged_beliefs(group, l, protected) if estimate_work(group) <= _MAX_WORK else None
    if found is None:
        return None
    return [
        max((belief for belief, one in zip(of_part, protected, strict=True) if one), default=Fraction(0))
        for of_part in found
    ]


_UNMERGED, _SEVERAL = -1, -2


def _split_into_parts(
    join: CompatibilityJoin, codes: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, list[int]]]:
    """Split people with the same quasi-identifiers (points) into the parts of merged groups.

    Returns
    -------
    kept : int64 array, shape (points, size)
        Count of each value in rows that are compatible with no other point.
    merged_with : int64 array
        The only group that covers the point and others; `_UNMERGED` if there is none, `_SEVERAL` if there are more.
    groups : dict
        The parts of each group whose parts are in no other group.
    """
    points, boxes = np.arange(len(join.points)), np.arange(len(join.boxes))
    covers, number = join.sum_over_people(np.column_stack([np.ones_like(points), points])).T
    kept = np.zeros((len(points), size), dtype=np.int64)
    # Rows that one point explains alone.
    own = covers[join.box_of] == 1
    np.add.at(kept, (number[join.box_of[own]], codes[own]), 1)
    # Groups that cover several points.
    merging = (covers > 1).astype(np.int64)
    groups_of, group = join.sum_over_rows(np.column_stack([merging, merging * boxes])).T
    merged_with = np.where(groups_of == 1, group, np.where(groups_of == 0, _UNMERGED, _SEVERAL))
    groups: dict[int, list[int]] = {}
    for q in np.flatnonzero(groups_of == 1).tolist():
        groups.setdefault(int(group[q]), []).append(q)
    return kept, merged_with, {box: parts for box, parts in groups.items() if len(parts) == covers[box]}
