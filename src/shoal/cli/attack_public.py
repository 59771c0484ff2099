"""Attacks with the public table alone: `shoal attack refinement`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.command import option

if TYPE_CHECKING:
    from shoal.attacks import AttackResult
    from shoal.cli.attack_release import AskedRelease

__all__ = ["refinement"]

Method = Annotated[
    str,
    option("--method", metavar="NAME", help="The algorithm that is known: mondrian, full-domain or none."),
]
Smallest = Annotated[
    bool,
    option("--smallest", help="Each cell is the smallest that covers its group. Default: as the certificate states."),
]
K = Annotated[
    int | None,
    option("-k", metavar="NUMBER", help="With --method: the k of k-anonymity. Default: that of the certificate."),
]


def refinement(
    asked: AskedRelease, *, method: Method = "none", smallest: Smallest = False, k: K = None
) -> AttackResult:
    """Find what hidden cells must have been, from the public files alone.

    Example: shoal attack refinement out/ --method mondrian

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning. Its other name is downcoding.
    """
    from shoal.attacks import refinement_attack

    known: Any = method
    return refinement_attack(
        asked.frame,
        method=known,
        smallest=smallest or None,
        k=k,
        progress=asked.progress,
        **asked.reading,
    )
