"""Shortcuts for common models: the parameters `k`, `l` and `t` of the public functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.models.anonymity import KAnonymity
from shoal.models.base import PrivacyModel
from shoal.models.closeness import TCloseness
from shoal.models.diversity import LDiversity


def collect_models(
    privacy: PrivacyModel | Sequence[PrivacyModel] | None,
    *,
    k: Any = None,
    l: Any = None,
    t: Any = None,
    harmless: Any = None,
) -> PrivacyModel | Sequence[PrivacyModel]:
    """Combine models given as objects and by the shortcuts k, l and t.

    Parameters
    ----------
    privacy : PrivacyModel or sequence of PrivacyModel, optional
        Models given as objects.
    k, l, t : numbers, optional
        Parameters of k-anonymity, l-diversity and t-closeness.
    harmless : str or sequence of str, optional
        The values that need no protection; needs `l`.

    Raises
    ------
    ParameterError
        If no model is requested, if a number is invalid for its model, or if there are harmless values without `l`.

    Examples
    --------
    >>> collect_models(None, k=5, l=2)
    [KAnonymity(5), LDiversity(2)]
    """
    # Harmless values are those of l-diversity.
    if harmless is not None and l is None:
        raise ParameterError("Harmless values need ", Suggestion("l", 4), ".")
    letters = ((KAnonymity, k), (LDiversity, l), (TCloseness, t))
    short: list[Any] = [model(number) for model, number in letters if number is not None]
    if harmless is not None:
        short = [replace(one, harmless=harmless) if isinstance(one, LDiversity) else one for one in short]
    if privacy is None and not short:
        raise ParameterError(
            "Say what a release must satisfy: ",
            Suggestion("k", 10),
            ", ",
            Suggestion("l", 4),
            ", ",
            Suggestion("t", 0.2),
            ", or models, ",
            Suggestion("privacy", "shoal.KAnonymity(10)", python="privacy=shoal.KAnonymity(10)"),
            ".",
        )
    if not short:
        assert privacy is not None
        return privacy
    # Models given as objects come first, in their order.
    given: list[Any] = [] if privacy is None else list(privacy) if isinstance(privacy, Sequence) else [privacy]
    return [*given, *short]
