"""`shoal attack homogeneity`, `background`, `skewness`, `similarity`, `inference`: what the groups of a release say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoal.cli.attack_release import Controls, Targets
from shoal.cli.command import option
from shoal.request.texts import as_number

if TYPE_CHECKING:
    from shoal.attacks import AttackResult
    from shoal.cli.attack_release import AskedRelease

__all__ = ["background", "homogeneity", "inference", "similarity", "skewness"]

J = Annotated[int, option("-j", metavar="NUMBER", help="How many sensitive values the adversary can exclude.")]
T = Annotated[
    str | None,
    option("-t", metavar="NUMBER", help="Count the records in groups with a larger distance; 0.2 unless given."),
]
Distance = Annotated[
    str | None,
    option(
        "--t-distance",
        metavar="HOW",
        help="How far apart sensitive values are: equal (unless given), ordered, file:METRIC.csv or "
        "hierarchy:TREE.csv.",
    ),
]
Tree = Annotated[
    Path | None,
    option(
        "--sensitive-hierarchy",
        metavar="FILE",
        help="The hierarchy of the sensitive values: a line per value, from the value to the root.",
    ),
]
Height = Annotated[
    int,
    option("--level", metavar="NUMBER", help="The level of that hierarchy whose nodes mean nearly the same."),
]
Within = Annotated[
    str | None,
    option("--within", metavar="NUMBER", help="How far apart numbers may be that mean nearly the same."),
]
People = Annotated[
    str,
    option("--targets", metavar="FILE", help="People who are in the release, with true quasi-identifiers and values."),
]
Others = Annotated[str, option("--controls", metavar="FILE", help="The same of people who are not in it.")]
Seed = Annotated[
    int | None,
    option("--seed", metavar="NUMBER", help="Of the classifier; from the operating system unless given."),
]


def homogeneity(asked: AskedRelease, *, targets: Targets = None, controls: Controls = None) -> AttackResult:
    """Count the records whose sensitive value is certain: all rows that may be the person's have the same.

    Example: shoal attack homogeneity release.csv --qi age,zip --sensitive disease

    Exit code 0, whatever is found; 2 where cells are not understood, with how to
    say what they are.
    """
    from shoal.attacks import homogeneity_attack

    return homogeneity_attack(
        asked.frame,
        targets=asked.table(targets),
        controls=asked.table(controls),
        progress=asked.progress,
        **asked.reading,
    )


def background(asked: AskedRelease, *, j: J = 1, targets: Targets = None, controls: Controls = None) -> AttackResult:
    """Count the records whose sensitive value is certain to somebody who can exclude some other values.

    Example: shoal attack background release.csv --qi age,zip --sensitive disease -j 2

    Exit code 0, whatever is found; 2 where cells are not understood, with how to
    say what they are.
    """
    from shoal.attacks import background_knowledge_attack

    return background_knowledge_attack(
        asked.frame,
        j=j,
        targets=asked.table(targets),
        controls=asked.table(controls),
        progress=asked.progress,
        **asked.reading,
    )


def skewness(
    asked: AskedRelease,
    *,
    t: T = None,
    distance: Distance = None,
    targets: Targets = None,
    controls: Controls = None,
) -> AttackResult:
    """Compare the sensitive values of groups with those of the table.

    Example: shoal attack skewness release.csv --qi age,zip --sensitive disease -t 0.3

    Exit code 0, whatever is found; 2 where cells are not understood, with how to
    say what they are.
    """
    from shoal.attacks import skewness_attack
    from shoal.request.model_words import ground_distance

    return skewness_attack(
        asked.frame,
        **({} if t is None else {"t": as_number("-t", t)}),
        distance=None if distance is None else ground_distance(distance, None),
        targets=asked.table(targets),
        controls=asked.table(controls),
        progress=asked.progress,
        **asked.reading,
    )


def similarity(
    asked: AskedRelease,
    *,
    hierarchy: Tree = None,
    level: Height = 1,
    within: Within = None,
    targets: Targets = None,
    controls: Controls = None,
) -> AttackResult:
    """Count the records for which it is certain what the sensitive value means, whichever it is.

    Example: shoal attack similarity release.csv --qi zip --sensitive salary --within 2000

    Exit code 0, whatever is found; 2 where cells are not understood, with how to
    say what they are.
    """
    from shoal.attacks import similarity_attack
    from shoal.hierarchy import Hierarchy

    return similarity_attack(
        asked.frame,
        hierarchy=None if hierarchy is None else Hierarchy.from_csv(hierarchy),
        level=level,
        within=None if within is None else as_number("--within", within),
        targets=asked.table(targets),
        controls=asked.table(controls),
        progress=asked.progress,
        **asked.reading,
    )


def inference(asked: AskedRelease, *, targets: People, controls: Others, seed: Seed = None) -> AttackResult:
    """Learn the sensitive value from a release, and predict it of people in it and of others.

    Example: shoal attack inference release.csv --targets members.csv --controls others.csv

    It needs scikit-learn, which the extra 'learn' of shoal-privacy installs. Exit code 0, whatever is
    found; 2 where cells are not understood, with how to say what they are.
    """
    from shoal.attacks import inference_attack

    return inference_attack(
        asked.frame,
        targets=asked.table(targets),
        controls=asked.table(controls),
        seed=seed,
        progress=asked.progress,
        **asked.reading,
    )
