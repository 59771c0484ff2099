"""The homogeneity attack: if a group has one sensitive value, the value is certain for all of its records.

References
----------
.. [1] A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam: l-Diversity: privacy beyond k-anonymity. ACM TKDD
   1(1), 2007, Section 2.1. https://doi.org/10.1145/1217299.1217302
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.attacked_people import People, open_people
from shoal.attacks.column_sets import attack_each_column
from shoal.attacks.published_table import PublishedTable, Reading, open_published


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
    return attack_each_column(table, lambda one: _attack(one, people, progress))


def _attack(table: PublishedTable, people: People, progress: Progress) -> AttackResult:
    """Attack one sensitive column, or one combination."""
    found = people.collect_values(table, progress=progress)
    outcome, control = found.rates(lambda shown: shown.certain)
    # Groups are bundles of linked rows, or groups of records.
    group = table.bundled.bundle_of[table.bundled.unit_of] if table.linked else table.group_of
    uniform = np.unique(group[found.shown.most == found.shown.rows]) if not found.known else None
    return AttackResult(
        attack="homogeneity",
        outcome=outcome,
        baseline=found.rate(found.shown.truth == int(table.totals.argmax())),
        control=control,
        columns=table.names,
        figures={
            "groups": int(group.max()) + 1,
            "homogeneous_groups": _count_homogeneous(table) if uniform is None else len(uniform),
            **found.lost,
        },
    )


def _count_homogeneous(table: PublishedTable) -> int:
    """Count the groups whose rows have one value."""
    return int((np.bincount(table.counts[0]) == 1).sum())
