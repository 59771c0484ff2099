"""Attacks with known people: `shoal attack linking` and `minimality`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from shoal.cli.command import option
from shoal.errors import ColumnError, InfeasibleError, near_matches
from shoal.request.texts import names_in

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from shoal.attacks import AttackResult
    from shoal.cli.attack_release import AskedRelease

__all__ = ["linking", "minimality"]

# Options of the attacks with known people.
Population = Annotated[
    str,
    option("--population", metavar="FILE", help="People with an identifier and their true quasi-identifiers."),
]
Identifier = Annotated[str, option("--id", metavar="NAME", help="The column that identifies each person.")]
Truth = Annotated[
    str | None,
    option(
        "--truth",
        metavar="FILE",
        help="The identifier of the person of each row of the release, in the same order, in a column named as in "
        "--id. Only the publisher has this file.",
    ),
]
Incomplete = Annotated[
    bool, option("--incomplete", help="The population may lack people of the release: their rows have no match.")
]
People = Annotated[
    str,
    option("--people", metavar="FILE", help="The true quasi-identifiers of exactly the people in the release."),
]
L = Annotated[int, option("-l", metavar="NUMBER", help="The belief in any value of a person should be at most 1 / l.")]
Protected = Annotated[
    list[str] | None,
    option("--protected", metavar="VALUES", help="The sensitive values that are protected. Default: all."),
]
Algorithm = Annotated[
    str | None,
    option(
        "--algorithm",
        metavar="NAME",
        help="The algorithm that made the release for l-diversity: it runs on all tables that the release could "
        "come from. Default: a formula for algorithms that coarsen no more than necessary.",
    ),
]
Recoding = Annotated[str, option("--recoding", metavar="HOW", help="With --algorithm: suppression or generalization.")]
Limit = Annotated[
    int, option("--limit", metavar="NUMBER", help="With --algorithm: the largest number of tables to try.")
]
Seed = Annotated[int, option("--seed", metavar="NUMBER", help="With --algorithm: its seed.")]


def linking(
    asked: AskedRelease,
    *,
    population: Population,
    identifier: Identifier,
    truth: Truth = None,
    incomplete: Incomplete = False,
) -> AttackResult:
    """Join a release with a table that identifies people, on all matching cells.

    Example: shoal attack linking release.csv --population voters.csv --id name --qi age,zip

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
    """
    from shoal.attacks import linking_attack

    # The truth is only used to count the successes.
    persons = asked.table(truth)
    if persons is not None and identifier not in persons.columns:
        near = near_matches(identifier, persons.columns)
        raise ColumnError(f"There is no column '{identifier}' in the truth. {near}")
    return linking_attack(
        asked.frame,
        asked.table(population),
        identifier=identifier,
        truth=None if persons is None else persons.get_column(identifier),
        incomplete=incomplete,
        progress=asked.progress,
        **asked.reading,
    )


def minimality(
    asked: AskedRelease,
    *,
    people: People,
    l: L,
    protected: Protected = None,
    algorithm: Algorithm = None,
    recoding: Recoding = "suppression",
    seed: Seed = 0,
    limit: Limit = 5_000,
) -> AttackResult:
    """Measure how much knowledge of the algorithm adds to what a release reveals.

    Example: shoal attack minimality release.csv --people people.csv --qi age,zip --sensitive disease -l 2

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
    """
    from shoal.attacks import minimality_attack

    return minimality_attack(
        asked.frame,
        asked.table(people),
        l=l,
        publish=None if algorithm is None else _publisher(asked, l, algorithm, recoding, seed),
        protected=names_in("--protected", protected),
        limit=limit,
        progress=asked.progress,
        **asked.reading,
    )


def _publisher(
    asked: AskedRelease, l: int, algorithm: str, recoding: str, seed: int
) -> Callable[[pl.DataFrame], pl.DataFrame | None]:
    """Return a function that makes an l-diverse release of a table with the algorithm, or None if it is infeasible."""
    from shoal.models import LDiversity
    from shoal.verbs.anonymize import anonymize

    how: Any = recoding

    def publish(original: pl.DataFrame) -> pl.DataFrame | None:
        try:
            # The adversary runs the same algorithm with the same seed on each candidate.
            made = anonymize(
                original,
                quasi_identifiers=asked.reading["quasi_identifiers"],
                sensitive=asked.reading["sensitive"],
                person=asked.reading.get("person"),
                privacy=LDiversity(l),
                algorithm=algorithm,
                recoding=how,
                star=asked.reading["star"],
                seed=seed,
            )
        except InfeasibleError:
            return None
        published: pl.DataFrame = made.data
        return published

    return publish
