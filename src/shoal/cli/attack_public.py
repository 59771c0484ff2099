"""Attacks that start from the public table alone: `shoal attack refinement` and `singling-out`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.attack_release import Controls
from shoal.cli.command import option
from shoal.request.texts import as_number

if TYPE_CHECKING:
    from shoal.attacks import AttackResult
    from shoal.cli.attack_release import AskedRelease

__all__ = ["refinement", "singling_out"]

Method = Annotated[
    str,
    option("--method", metavar="NAME", help="The algorithm that is known: mondrian, full-domain, local, tp or none."),
]
Smallest = Annotated[
    bool,
    option("--smallest", help="Each cell is the smallest that covers its group. Default: as the certificate states."),
]
K = Annotated[
    int | None,
    option("-k", metavar="NUMBER", help="With --method: the k of k-anonymity. Default: that of the certificate."),
]
Original = Annotated[
    str, option("--targets", metavar="FILE", help="The original: all people in the release, with true values.")
]
Weight = Annotated[
    str | None,
    option(
        "--weight",
        metavar="NUMBER",
        help="The largest probability with which a random person may satisfy a predicate. Default: 1 / (100 n).",
    ),
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


def singling_out(
    asked: AskedRelease, *, targets: Original, controls: Controls = None, weight: Weight = None
) -> AttackResult:
    """Single people out with predicates that are made of the public table alone.

    Example: shoal attack singling-out out/ --targets original.csv

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
    """
    from shoal.attacks import singling_out_attack

    return singling_out_attack(
        asked.frame,
        asked.table(targets),
        controls=asked.table(controls),
        weight=None if weight is None else float(as_number("--weight", weight)),
        progress=asked.progress,
        **asked.reading,
    )
