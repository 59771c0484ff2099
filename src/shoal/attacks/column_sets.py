"""Attacks on each sensitive column alone, and on the combination of all of them.

Two columns whose combination is certain for no record may each be certain for many. The combination alone is therefore
not a measure of disclosure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shoal._messages import current_audience
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.published_table import PublishedTable
from shoal.errors import NotUnderstoodError, UsageError

_GUESSES = frozenset(("skewness", "inference"))
"""Attacks that guess for every record; the rate of a column with a common value is high even without any disclosure."""


def list_column_sets(secrets: Sequence[str]) -> list[tuple[str, ...]]:
    """List the sets of sensitive columns to attack: each column alone and, if there are several, all together.

    Examples
    --------
    >>> list_column_sets(["disease", "salary"])
    [('disease',), ('salary',), ('disease', 'salary')]
    """
    alone: list[tuple[str, ...]] = [(name,) for name in secrets]
    return [*alone, tuple(secrets)] if len(alone) > 1 else alone


def attack_each_column(table: PublishedTable, attack: Callable[[PublishedTable], AttackResult]) -> AttackResult:
    """Attack each sensitive column of a table alone, then their combination.

    Parameters
    ----------
    table : PublishedTable
        A table with at least one sensitive column.
    attack : callable
        Attacks the sensitive columns of a table as one: the combination of their values.

    Returns
    -------
    AttackResult
        The worst result: the one with the highest rate or, if the attack guesses for every record, with the largest
        difference between its rate and that of the control (without controls, the baseline). It has all results as
        `each`,
        and the columns that could not be attacked as `not_measured`.

    Raises
    ------
    UsageError
        If no column can be attacked: the error of the first one.
    """
    results: list[AttackResult] = []
    errors: dict[tuple[str, ...], UsageError] = {}
    for names in list_column_sets(table.secrets):
        try:
            # One column that cannot be attacked must not prevent the attack on the others.
            results.append(replace(attack(table.select_sensitive(names)), sensitive=names))
        except NotUnderstoodError:
            raise  # of the quasi-identifiers: no column can be attacked
        except UsageError as error:
            errors[names] = error
    if not results:
        raise next(iter(errors.values()))
    worst = max(results, key=_severity)
    certificate = table.reading.get("certificate") or {}
    several = {
        # No attack puts the records of a person together, nor takes lists of values apart.
        "several_records": any(
            model.get("of") in ("persons", "records", "linked_persons") for model in certificate.get("requested") or ()
        ),
        "lists": bool((certificate.get("parameters") or {}).get("lists")),
    }
    worst = replace(worst, figures={**worst.figures, **{name: True for name, is_so in several.items() if is_so}})
    if len(table.secrets) == 1:
        return worst
    not_measured = {names: error.render(current_audience()) for names, error in errors.items()}
    return replace(worst, each=tuple(results), not_measured=not_measured)


def _severity(result: AttackResult) -> tuple[float, ...]:
    """Compute the key by which results are compared."""
    rate = result.rate or 0.0
    compared = (result.control or result.baseline).rate or 0.0
    return (rate - compared, rate) if result.attack in _GUESSES else (rate,)
