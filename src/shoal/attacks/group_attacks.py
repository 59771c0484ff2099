"""Attacks on the groups of a release: homogeneity, background knowledge, skewness and similarity of sensitive values.

References
----------
.. [1] A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam: l-Diversity: privacy beyond k-anonymity. ACM TKDD
   1(1), 2007. https://doi.org/10.1145/1217299.1217302
.. [2] N. Li, T. Li, S. Venkatasubramanian: t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
   Section 3. https://doi.org/10.1109/ICDE.2007.367856
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, RationalIn, exact_fraction, validate
from shoal._messages import Subject, Suggestion
from shoal.attacks.attack_result import AttackResult, attack_each_column
from shoal.attacks.attacked_people import AttackedRecords, open_people
from shoal.attacks.compatible_rows import CompatibleValues
from shoal.attacks.published_table import PublishedTable, Reading, open_published, refuse_linked
from shoal.errors import DataError, ParameterError
from shoal.hierarchy import Hierarchy
from shoal.models.ground_distance import EqualDistance, GroundDistance, largest_distance
from shoal.models.rationals import STATED_DIGITS, round_up
from shoal.verification import MeasuredTable
from shoal.verification.scales import number_of


def _make_result(
    attack: str,
    table: PublishedTable,
    found: AttackedRecords,
    right: Callable[[CompatibleValues], NDArray[np.bool_]],
    figures: Mapping[str, Any],
    baseline: tuple[int, int] | None = None,
) -> AttackResult:
    """Make the result of an attack; the baseline guesses a range of values, by default the most common one."""
    first, last = baseline or 2 * (int(table.totals.argmax()),)
    truth = found.shown.truth
    outcome, control = found.rates(right)
    return AttackResult(
        attack=attack,
        outcome=outcome,
        baseline=found.rate((truth >= first) & (truth <= last)),
        control=control,
        columns=table.names,
        figures={**figures, **found.lost, **table.whose, "complete": len(found.owners[0]) >= table.rows},
    )


def homogeneity_attack(
    release: Any,
    *,
    targets: Any = None,
    controls: Any = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the records whose sensitive value is certain because their group has only one.

    The adversary knows a person's quasi-identifiers and that the person is in the release, and collects the rows that
    may be about the person. The attack succeeds if all of them have the same sensitive value, and it is the person's.

    Formula: successes = sum of |G| over the groups G whose rows have one value; with targets, the number of targets
    whose compatible rows have one value, which is their own. If `person` is named, a person with r of the g rows of a
    group succeeds if more than g - r of them have one value, because some row of the person has it in every matching;
    with linked rows, if all persons of the bundle have it. Baseline: the table's most common value is guessed for every
    record.

    It is assumed that the adversary knows who is in the release and all quasi-identifiers, and that cells are true.
    Without targets the group of each person is assumed to be known, which is more than the quasi-identifiers reveal if
    groups overlap.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    targets : frame or path, optional
        People who are in the release, with true quasi-identifiers and sensitive values. By default each row of the
        release
        is a record whose group is known.
    controls : frame or path, optional
        The same for people who are not in the release; only with targets.
    progress : callable
        Called with (step, done, total) from time to time.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `groups`, `homogeneous_groups`, `not_covered` and, if there are targets, `values_not_shown`. If
        there are several sensitive columns, the result is that of the worst, and `each` has all of them and their
        combination.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module, Section 2.1.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["2*", "2*", "3*", "3*"], "disease": ["flu", "ulcer", "cancer", "cancer"]})
    >>> homogeneity_attack(frame, quasi_identifiers=["age"], sensitive="disease").successes
    2
    """
    # Open the tables once, then attack each sensitive column.
    table = open_published(release, reading)
    people = open_people(table, targets, controls, attack="homogeneity")

    def attack(one: PublishedTable) -> AttackResult:
        found = people.collect_values(one, progress=progress)
        # Groups are bundles of linked rows, or groups of records.
        group = one.bundled.bundle_of[one.bundled.person_of] if one.pseudonyms else one.group_of
        if found.known:
            uniform = int((np.bincount(one.counts[0]) == 1).sum())
        else:
            uniform = len(np.unique(group[found.shown.most == found.shown.rows]))
        figures = {"groups": int(group.max()) + 1, "homogeneous_groups": uniform}
        return _make_result("homogeneity", one, found, lambda shown: shown.certain, figures)

    return attack_each_column(table, attack)


def background_knowledge_attack(
    release: Any,
    *,
    j: int = 1,
    targets: Any = None,
    controls: Any = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the records whose sensitive value is certain for an adversary who can exclude `j` values of each.

    In addition to the knowledge of the homogeneity attack, the adversary knows `j` values that a person does not have.
    In the worst case these are exactly the other values of the person's rows. Then one value is left if the rows have
    at most j + 1 values.

    Formula: successes = sum of |G| over the groups G with at most j + 1 values; with targets, the number of targets
    whose compatible rows have at most j + 1 values, including their own. `by_chance` is the expected share for an
    adversary whose j values are drawn at random from the values of the table that the person does not have: the mean
    over the people of C(m - d, j - d + 1) / C(m - 1, j), if their rows have d of the table's m values. Baseline: the
    table's most common value is guessed for every record.

    With `person` a success is a person: the adversary excludes the j values that no row of the person has and most of
    the g compatible rows have, e rows together. A value of more than g - e - r of the rows is then certain, if r of
    them are the person's. There is no `by_chance`.

    The assumptions are those of the homogeneity attack, and that the excluded values are correct.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    j : int
        Number of values that the adversary can exclude, at least 0.
    targets, controls, progress, **reading
        See `homogeneity_attack`.

    Returns
    -------
    AttackResult
        With the figures `j`, `by_chance`, `by_number` (the successes for 0, 1, ..., j excluded values), `not_covered`
        and,
        if there are targets, `values_not_shown`. For several sensitive columns see `homogeneity_attack`.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module, Sections 2.1 and 4: an l-diverse group needs l - 1 pieces of such knowledge.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["2*"] * 2 + ["3*"] * 3, "disease": ["flu", "ulcer", "flu", "ulcer", "cancer"]})
    >>> background_knowledge_attack(frame, j=1, quasi_identifiers=["age"], sensitive="disease").successes
    2
    """
    validate("background_knowledge_attack", {"j": j}, {"j": Integer(low=0)})
    table = open_published(release, reading)
    refuse_linked(table)
    people = open_people(table, targets, controls, attack="background")

    def attack(one: PublishedTable) -> AttackResult:
        found = people.collect_values(one, excluded=j if one.person else None, progress=progress)
        by_number = [found.rate(_is_determined(found.shown, number)).successes for number in range(j + 1)]
        by_chance = {} if one.person else {"by_chance": _expect_share(found.shown, len(one.values), j)}
        figures = {"j": j, **by_chance, "by_number": by_number}
        return _make_result("background", one, found, lambda shown: _is_determined(shown, j), figures)

    return attack_each_column(table, attack)


def _is_determined(people: CompatibleValues, excluded: int) -> NDArray[np.bool_]:
    """Check which values are certain if the given number of values is excluded in the worst case."""
    # Of the rows that are left, too few have another value for all rows of the person.
    if people.excludable is not None:
        return np.asarray(
            (people.own > 0) & (people.own + people.together + people.excludable[:, excluded] > people.rows)
        )
    return np.asarray((people.distinct <= excluded + 1) & (people.own > 0))


def _expect_share(people: CompatibleValues, m: int, j: int) -> float:
    """Compute the expected share of records whose value is certain if j of m values are excluded at random."""
    # The chance depends only on the number of distinct values of a person's rows.
    chances = np.array([_compute_chance(m, d, j) for d in range(int(people.distinct.max()) + 1)])
    return float(np.where(_is_determined(people, j), chances[people.distinct], 0).mean())


def _compute_chance(m: int, d: int, j: int) -> float:
    """Compute the probability that d - 1 other values of a person are among j of the m - 1 others of the table."""
    # No compatible row, or more values than can be excluded.
    if d < 1 or d - 1 > j:
        return 0.0
    if j >= m - 1:
        return 1.0
    return comb(m - d, j - d + 1) / comb(m - 1, j)


def skewness_attack(
    release: Any,
    *,
    t: float | Fraction = 0.2,
    distance: GroundDistance | None = None,
    targets: Any = None,
    controls: Any = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Measure how much better the values of a group predict those of its records than the values of the table do.

    The adversary guesses for each person the most common value among the compatible rows. This may be right much more
    often than guessing the table's most common value, and the adversary's belief in a rare value may grow by a large
    factor.

    Formula: successes = sum over the groups of their most common value's count; with targets, the number of targets
    whose guess is right. Baseline: the table's most common value is guessed for every record. If a value v has c of the
    |G| rows of a group and n_v of the n rows of the table, the belief in v grows by the factor (c / |G|) / (n_v / n).
    The distance of a group is the earth mover's distance of its distribution from the table's.

    The assumptions are those of the homogeneity attack, and that the adversary knows the table's distribution
    beforehand.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    t : number
        Rows of groups with a larger distance are counted; from 0 to 1.
    distance : GroundDistance, optional
        Distance of sensitive values; by default all are equally far apart.
    targets, controls, progress, **reading
        See `homogeneity_attack`.

    Returns
    -------
    AttackResult
        With the figures `t`, `distance` (its name), `largest_distance` (rounded up, as in an audit), `rows_above_t`,
        `largest_factor`, `belief_before` and `belief_after` (of the value and the group with the largest factor),
        `not_covered` and, if there are targets, `values_not_shown`. If there are several sensitive columns, it is the
        one whose rate exceeds that of the controls (or of the baseline) most; `each` has all of them and their
        combination.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [2]_ of this module, Section 3.

    Examples
    --------
    The paper's example: 1 % of 10,000 people are positive, and one group has equally many positive and negative people.

    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "zip": ["47*"] * 100 + ["48*"] * 9900,
    ...     "test": ["positive"] * 50 + ["negative"] * 50 + ["positive"] * 50 + ["negative"] * 9850,
    ... })
    >>> found = skewness_attack(frame, quasi_identifiers=["zip"], sensitive="test")
    >>> found["largest_factor"], found["belief_before"], found["belief_after"], found["rows_above_t"]
    (50.0, 0.01, 0.5, 100)
    """
    validate("skewness_attack", {"t": t}, {"t": RationalIn(low=Fraction(0), high=Fraction(1))})
    table = open_published(release, reading)
    people = open_people(table, targets, controls, attack="skewness")

    def attack(one: PublishedTable) -> AttackResult:
        found = people.collect_values(one, progress=progress)
        figures = _measure_distances(one, distance or EqualDistance(), exact_fraction(t)) | _find_largest_factor(one)
        # A guess counts as correct only if the value is shown in the group.
        return _make_result(
            "skewness", one, found, lambda shown: (shown.guess == shown.truth) & (shown.own > 0), figures
        )

    return attack_each_column(table, attack)


def _measure_distances(table: PublishedTable, distance: GroundDistance, t: Fraction) -> dict[str, Any]:
    """Measure the distances of the groups from the table."""
    one = table.frame.get_column(table.secrets[0]) if len(table.secrets) == 1 else table.secret
    frame = pl.DataFrame([pl.Series("group", table.group_of), one.alias("secret")])
    (groups,) = MeasuredTable(frame, ["group"], ["secret"]).counts
    distance.check_values(groups.domain)
    costs, unit = distance.costs(groups)
    # Compare in integers: cost / (unit * rows * size) > t.
    limit = t * unit * table.rows
    # Sizes of the groups whose distance exceeds t.
    above = [
        size
        for cost, size in zip(costs.tolist(), groups.sizes.tolist(), strict=True)
        if cost * limit.denominator > limit.numerator * size
    ]
    return {
        "t": float(t),
        "distance": distance.name,
        "largest_distance": round_up(largest_distance(groups, distance), STATED_DIGITS),
        "rows_above_t": sum(above),
    }


def _find_largest_factor(table: PublishedTable) -> dict[str, Any]:
    """Find the group and the value for which the belief grows by the largest factor."""
    group, value, count = table.counts
    sizes = np.bincount(group, weights=count)
    # Floats find the maximum; the reported figures are exact fractions.
    factors = count * table.rows / (sizes[group] * table.totals[value])
    at = int(factors.argmax())
    before = Fraction(int(table.totals[value[at]]), table.rows)
    after = Fraction(int(count[at]), int(sizes[group[at]]))
    return {"largest_factor": float(after / before), "belief_before": float(before), "belief_after": float(after)}


def similarity_attack(
    release: Any,
    *,
    hierarchy: Hierarchy | None = None,
    level: int = 1,
    within: float | Fraction | None = None,
    targets: Any = None,
    controls: Any = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the records for which a release discloses the approximate sensitive value.

    If all rows that may be about a person have values below one node of a hierarchy (such as stomach diseases), or
    close numbers (such as low salaries), the adversary learns that much about the person, even if there are many
    distinct values.

    Formula: successes = sum of |G| over the groups G whose values lie below one node of the level, or whose largest
    number is at most `within` above the smallest; with targets, the number of targets whose compatible rows satisfy
    this, including their own value. Baseline: for every record, the table's most common node is guessed, or the range
    of width `within` that contains most of its rows.

    The assumptions are those of the homogeneity attack, and that the hierarchy or the difference defines which values
    are nearly the same.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool, with one sensitive attribute.
    hierarchy : Hierarchy, optional
        Of the sensitive values; this or `within`.
    level : int
        The level of the hierarchy whose nodes contain similar values, from 1 to its height - 1.
    within : number, optional
        Largest difference of similar numbers, at least 0.
    targets, controls, progress, **reading
        See `homogeneity_attack`.

    Returns
    -------
    AttackResult
        With the figures `similar` ("level 1" or "within 2000"), `identical` (records whose exact value is certain),
        `not_covered` and, if there are targets, `values_not_shown`.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [2]_ of this module, Section 3.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"zip": ["476**"] * 3 + ["4790*"] * 3, "salary": [3000, 4000, 5000, 6000, 11000, 8000]})
    >>> similarity_attack(frame, within=2000, quasi_identifiers=["zip"], sensitive="salary").successes
    3
    """
    table = open_published(release, reading)
    if len(table.secrets) != 1 or (hierarchy is None) == (within is None):
        raise ParameterError(
            "The similarity attack takes one sensitive column (",
            Suggestion("sensitive"),
            "), and either a hierarchy of its values, ",
            Suggestion("hierarchy"),
            ", or how far apart numbers may be, ",
            Suggestion("within"),
            ".",
        )
    # Codes are nodes or ranks of numbers; codes up to `reach` are similar.
    if hierarchy is not None:
        code_of, similar = _encode_nodes(table, hierarchy, level), f"level {level}"
        reach = np.arange(int(code_of.max()) + 1)
    else:
        assert within is not None
        code_of, reach = _encode_numbers(table, within)
        similar = f"within {float(within):g}"
    people = open_people(table, targets, controls, attack="similarity")
    found = people.collect_values(table, code_of=code_of, progress=progress)
    # Baseline: the most frequent set of similar values.
    totals = np.concatenate(([0], np.cumsum(np.bincount(code_of, weights=table.totals, minlength=len(reach)))))
    start = int((totals[reach + 1] - totals[:-1]).argmax())
    figures: dict[str, Any] = {"similar": similar}
    if hierarchy is None:
        figures["identical"] = found.rate(found.shown.certain).successes

    def is_similar(shown: CompatibleValues) -> NDArray[np.bool_]:
        # The largest code is within reach of the smallest, and the person's own value occurs.
        return shown.certain | ((shown.own > 0) & (shown.greatest <= reach[shown.least]))

    made = _make_result("similarity", table, found, is_similar, figures, baseline=(start, int(reach[start])))
    return replace(made, sensitive=table.secrets)


def _encode_nodes(table: PublishedTable, hierarchy: Hierarchy, level: int) -> NDArray[np.int64]:
    """Encode each sensitive value by its node on a level."""
    if hierarchy.height < 2:
        raise ParameterError(
            Subject("similarity_attack", "hierarchy"),
            " has no level between its values and its root, so nothing says what means nearly the same.",
        )
    validate("similarity_attack", {"level": level}, {"level": Integer(low=1, high=hierarchy.height - 1)})
    # Replace each value by its ancestor on the requested level.
    place = {value: at for at, value in enumerate(hierarchy.values)}
    found = [place.get(value, -1) for value in table.values.to_list()]
    missing = found.count(-1)
    if missing:
        raise DataError(
            f"{missing} of the {len(found)} values of '{table.secrets[0]}' are not in the hierarchy. Add a line for "
            f"each."
        )
    return np.asarray(hierarchy.levels[level][found], dtype=np.int64)


def _encode_numbers(table: PublishedTable, within: float | Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Encode each sensitive number by its rank, and find for each rank the greatest similar one."""
    validate("similarity_attack", {"within": within}, {"within": RationalIn(low=Fraction(0))})
    numbers = [number_of(value) for value in table.values.to_list()]
    missing = sum(number is None for number in numbers)
    if missing:
        raise DataError(
            f"{missing} of the {len(numbers)} values of '{table.secrets[0]}' are no numbers. Give a hierarchy: ",
            Suggestion("hierarchy"),
            ".",
        )
    ordered = sorted({number for number in numbers if number is not None})
    rank = {number: at for at, number in enumerate(ordered)}
    # Two pointers over the sorted numbers.
    width, reach, last = exact_fraction(within), [], 0
    for number in ordered:
        while last + 1 < len(ordered) and ordered[last + 1] <= number + width:
            last += 1
        reach.append(last)
    codes = np.array([rank[number] for number in numbers if number is not None], dtype=np.int64)
    return codes, np.array(reach, dtype=np.int64)
