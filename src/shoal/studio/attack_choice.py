"""The attacks that can run on a release, and the reason why the others cannot."""

from __future__ import annotations

from collections.abc import Sequence

ATTACKS_OF_PLAN = ("linking", "refinement", "singling-out", "homogeneity", "inference")
"""The attacks of the screen Attack, in their order."""
ATTACKS_OF_REVIEW = ("refinement", "linking", "singling-out", "homogeneity", "background")
"""The attacks of a reviewer, in their order."""
_NOT_SENSITIVE = "There is no sensitive column whose value they could find."
_NO_ORIGINAL = "They need the table that the release was made from."
_OF_LINKED = frozenset({"homogeneity"})
_OF_SENSITIVE = frozenset({"homogeneity", "background", "inference"})
_OF_ORIGINAL = frozenset({"linking", "singling-out"})


def choose_attacks(names: Sequence[str], *, link: bool, sensitive: bool, original: bool = True) -> list[str]:
    """Choose the attacks that can run.

    Parameters
    ----------
    names : sequence of str
        The attacks of a screen.
    link : bool
        Whether the records of a person are linked.
    sensitive : bool
        Whether there is a sensitive column.
    original : bool
        Whether the table of the release is at hand.

    Examples
    --------
    >>> choose_attacks(ATTACKS_OF_REVIEW, link=True, sensitive=True)
    ['homogeneity']
    """
    options = {"link": link, "sensitive": sensitive, "original": original}
    return [name for name in names if _find_reason(name, **options) is None]


def explain_left_out(
    names: Sequence[str], *, link: bool, sensitive: bool, original: bool = True
) -> dict[str, list[str]]:
    """Group the attacks that cannot run by reason; the parameters are those of `choose_attacks`."""
    found: dict[str, list[str]] = {}
    for name in names:
        reason = _find_reason(name, link=link, sensitive=sensitive, original=original)
        if reason is not None:
            found.setdefault(reason, []).append(name)
    return found


def _find_reason(name: str, *, link: bool, sensitive: bool, original: bool) -> str | None:
    """Find the reason why an attack cannot run; None if it can."""
    from shoal.models.promises import find_refusal

    refused = find_refusal(["attack"] * (name not in _OF_LINKED) + ["link"] * link)
    if refused is not None:
        return refused[2]
    if not sensitive and name in _OF_SENSITIVE:
        return _NOT_SENSITIVE
    return _NO_ORIGINAL if not original and name in _OF_ORIGINAL else None
