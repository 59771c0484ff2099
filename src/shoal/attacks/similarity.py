"""The similarity attack: the sensitive values of a group are distinct but nearly the same.

References
----------
.. [1] N. Li, T. Li, S. Venkatasubramanian: t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
   Section 3. https://doi.org/10.1109/ICDE.2007.367856
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, RationalIn, exact_fraction, validate
from shoal._messages import Subject, Suggestion
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.attacked_people import open_people
from shoal.attacks.published_table import PublishedTable, Reading, open_published
from shoal.errors import DataError, ParameterError
from shoal.hierarchy import Hierarchy
from shoal.verification.scales import number_of


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
    [1]_ of this module, Section 3.

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
    # Similar: the largest code is within reach of the smallest, and the person's own value occurs.
    outcome, control = found.rates(
        lambda shown: shown.certain | ((shown.own > 0) & (shown.greatest <= reach[shown.least]))
    )
    # Baseline: the most frequent set of similar values.
    totals = np.concatenate(([0], np.cumsum(np.bincount(code_of, weights=table.totals, minlength=len(reach)))))
    start = int((totals[reach + 1] - totals[:-1]).argmax())
    truth = found.shown.truth
    identical = found.rate(found.shown.certain).successes
    return AttackResult(
        attack="similarity",
        outcome=outcome,
        baseline=found.rate((truth >= start) & (truth <= reach[start])),
        control=control,
        columns=table.names,
        sensitive=table.secrets,
        figures={
            "similar": similar,
            **({"identical": identical} if hierarchy is None else {}),
            **found.lost,
        },
    )


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
