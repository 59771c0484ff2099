"""The background knowledge attack: whoever can exclude some sensitive values may be left with one.

References
----------
.. [1] A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam: l-Diversity: privacy beyond k-anonymity. ACM TKDD
   1(1), 2007, Sections 2.1 and 4. https://doi.org/10.1145/1217299.1217302
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, validate
from shoal.attacks.attack_result import AttackResult, share_right
from shoal.attacks.each_column import attack_each
from shoal.attacks.people import People, open_people
from shoal.attacks.published_table import PublishedTable, Reading, open_published

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import NDArray

    from shoal.attacks.compatible_rows import Shown

__all__ = ["background_knowledge_attack"]


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

    The adversary of the homogeneity attack knows also, from elsewhere, `j` values that a person does not have. In the
    worst case these are just the others that the person's rows show; then one is left where there are at most j + 1.

    Formula: successes = sum of |G| over the groups G with at most j + 1 values; with targets, the number of targets
    whose compatible rows have at most j + 1 values, their own among them. `by_chance` is the expected share for an
    adversary whose j values are drawn from those of the table that the person does not have: the mean over the people
    of C(m - d, j - d + 1) / C(m - 1, j), where their rows have d of the table's m values. Baseline: the table's most
    common value is guessed for every record.

    Assumes what the homogeneity attack does, and that the adversary is right about the excluded values.

    Parameters
    ----------
    release : frame, path, or Release
        The published table, whoever made it: a frame, a file, or the folder of a release.
    j : int
        Number of values that the adversary can exclude, at least 0.
    targets, controls, progress, **reading
        As for `homogeneity_attack`.

    Returns
    -------
    AttackResult
        With the figures `j`, `by_chance`, `by_number` (the successes for 0, 1, ..., j excluded values), `not_covered`
        and, with targets, `values_not_shown`; of several sensitive columns as for `homogeneity_attack`.

    Raises
    ------
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for: then nothing was measured.
    UsageError
        Where the call or a table is wrong.

    References
    ----------
    [1]_ of this module, Sections 2.1 and 4: an l-diverse group needs l - 1 pieces of such knowledge.
    """
    validate("background_knowledge_attack", {"j": j}, {"j": Integer(low=0)})
    table = open_published(release, reading)
    people = open_people(table, targets, controls, attack="background")
    return attack_each(table, lambda one: _attack(one, people, j, progress))


def _attack(table: PublishedTable, people: People, j: int, progress: Progress) -> AttackResult:
    found = people.attacked(table, progress=progress)
    outcome, control = found.rates(lambda shown: _left_with_one(shown, j))
    distinct = found.shown.distinct
    chances = np.array([_chance(len(table.values), d, j) for d in range(int(distinct.max()) + 1)])
    return AttackResult(
        attack="background",
        outcome=outcome,
        baseline=share_right(found.shown.truth == int(table.totals.argmax())),
        control=control,
        columns=table.names,
        figures={
            "j": j,
            "by_chance": float(np.where(_left_with_one(found.shown, j), chances[distinct], 0).mean()),
            "by_number": [int(_left_with_one(found.shown, number).sum()) for number in range(j + 1)],
            **found.lost,
        },
    )


def _left_with_one(people: Shown, excluded: int) -> NDArray[np.bool_]:
    """Return about whom somebody is right who can exclude so many values, chosen at worst."""
    return np.asarray((people.distinct <= excluded + 1) & (people.own > 0))


def _chance(m: int, d: int, j: int) -> float:
    """Return how likely the other d - 1 values of somebody's rows are among j of the table's m - 1 others."""
    if d < 1 or d - 1 > j:
        return 0.0
    if j >= m - 1:
        return 1.0
    return comb(m - d, j - d + 1) / comb(m - 1, j)
