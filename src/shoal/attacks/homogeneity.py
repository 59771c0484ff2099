"""The homogeneity attack: groups with one sensitive value, which is then known for all of their records.

References
----------
.. [1] A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam: l-Diversity: privacy beyond k-anonymity. ACM TKDD
   1(1), 2007, Section 2.1. https://doi.org/10.1145/1217299.1217302
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.attacks.attack_result import AttackResult, share_right
from shoal.attacks.each_column import attack_each
from shoal.attacks.people import People, open_people
from shoal.attacks.published_table import PublishedTable, Reading, open_published

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["homogeneity_attack"]


def homogeneity_attack(
    release: Any,
    *,
    targets: Any = None,
    controls: Any = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the records whose sensitive value a release gives away for certain, because their group has only one.

    The adversary knows somebody's quasi-identifiers and that the person is in the release, collects the rows that the
    person may be, and succeeds where all of them have the same sensitive value, and it is the person's.

    Formula: successes = sum of |G| over the groups G whose rows have one value; with targets, the number of targets
    whose compatible rows have one value, which is their own. Baseline: the table's most common value is guessed for
    every record.

    Assumes that the adversary knows who is in the release and all quasi-identifiers, and that cells are true. Without
    targets the adversary is taken to know the group of each person, which is more than the quasi-identifiers tell where
    groups overlap.

    Parameters
    ----------
    release : frame, path, or Release
        The published table, whoever made it: a frame, a file, or the folder of a release.
    targets : frame or path, optional
        People who are in the release, with true quasi-identifiers and sensitive values; by default each row of the
        release is somebody whose group is known.
    controls : frame or path, optional
        The same of people who are not in the release; only with targets.
    progress : callable
        Called with (step, done, total) now and then.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `groups`, `homogeneous_groups`, `not_covered` and, with targets, `values_not_shown`. Of
        several sensitive columns it is the worst; `each` has all of them and their combination.

    Raises
    ------
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for: then nothing was measured.
    UsageError
        Where the call or a table is wrong.

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
    table = open_published(release, reading)
    people = open_people(table, targets, controls, attack="homogeneity")
    return attack_each(table, lambda one: _attack(one, people, progress))


def _attack(table: PublishedTable, people: People, progress: Progress) -> AttackResult:
    found = people.attacked(table, progress=progress)
    outcome, control = found.rates(lambda shown: (shown.distinct == 1) & (shown.own > 0))
    group = table.counts[0]
    return AttackResult(
        attack="homogeneity",
        outcome=outcome,
        baseline=share_right(found.shown.truth == int(table.totals.argmax())),
        control=control,
        columns=table.names,
        figures={
            "groups": int(group[-1]) + 1,
            "homogeneous_groups": int((np.bincount(group) == 1).sum()),
            **found.lost,
        },
    )
