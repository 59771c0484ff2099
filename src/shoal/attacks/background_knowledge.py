"""The background knowledge attack: an adversary who can exclude some sensitive values may be left with one.

References
----------
.. [1] A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam: l-Diversity: privacy beyond k-anonymity. ACM TKDD
   1(1), 2007, Sections 2.1 and 4. https://doi.org/10.1145/1217299.1217302
"""

from __future__ import annotations

from math import comb
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, validate
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.attacked_people import People, open_people
from shoal.attacks.column_sets import attack_each_column
from shoal.attacks.compatible_rows import CompatibleValues
from shoal.attacks.published_table import PublishedTable, Reading, open_published, refuse_linked


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
    # Open the tables once, then attack each sensitive column.
    table = open_published(release, reading)
    refuse_linked(table, "background")
    people = open_people(table, targets, controls, attack="background")
    return attack_each_column(table, lambda one: _attack(one, people, j, progress))


def _attack(table: PublishedTable, people: People, j: int, progress: Progress) -> AttackResult:
    """Attack one sensitive column, or one combination."""
    found = people.collect_values(table, excluded=j if table.person else None, progress=progress)
    outcome, control = found.rates(lambda shown: _is_determined(shown, j))
    by_chance = {} if table.person else {"by_chance": _expect_share(found.shown, len(table.values), j)}
    return AttackResult(
        attack="background",
        outcome=outcome,
        baseline=found.rate(found.shown.truth == int(table.totals.argmax())),
        control=control,
        columns=table.names,
        figures={
            "j": j,
            **by_chance,
            "by_number": [found.rate(_is_determined(found.shown, number)).successes for number in range(j + 1)],
            **found.lost,
        },
    )


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
