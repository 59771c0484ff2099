"""Attacks on the groups of a release, such as `shoal attack homogeneity` and `skewness`."""

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

# Options of the attacks on groups.
J = Annotated[int, option("-j", metavar="NUMBER", help="Number of sensitive values that the adversary can exclude.")]
T = Annotated[
    str | None,
    option("-t", metavar="NUMBER", help="Count the records in groups with a larger distance. Default: 0.2."),
]
Distance = Annotated[
    str | None,
    option(
        "--t-distance",
        metavar="HOW",
        help="The distance between sensitive values: equal (default), ordered, file:METRIC.csv or hierarchy:TREE.csv.",
    ),
]
Tree = Annotated[
    Path | None,
    option(
        "--sensitive-hierarchy",
        metavar="FILE",
        help="The hierarchy of the sensitive values: one line per value, from the value to the root.",
    ),
]
Height = Annotated[
    int,
    option("--level", metavar="NUMBER", help="The level of that hierarchy whose nodes have one meaning each."),
]
Within = Annotated[
    str | None,
    option("--within", metavar="NUMBER", help="Numbers have nearly the same meaning up to this distance."),
]
People = Annotated[
    str,
    option("--targets", metavar="FILE", help="People who are in the release, with true quasi-identifiers and values."),
]
Others = Annotated[
    str, option("--controls", metavar="FILE", help="People who are not in the release, with the same columns.")
]
Seed = Annotated[
    int | None,
    option("--seed", metavar="NUMBER", help="Seed of the classifier. Default: from the operating system."),
]


def homogeneity(asked: AskedRelease, *, targets: Targets = None, controls: Controls = None) -> AttackResult:
    """Count the records whose sensitive value is certain: all rows that match the person have the same value.

    Example: shoal attack homogeneity release.csv --qi age,zip --sensitive disease

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
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
    """Count the records whose sensitive value is certain if the adversary can exclude some other values.

    Example: shoal attack background release.csv --qi age,zip --sensitive disease -j 2

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
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

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
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
    """Count the records whose sensitive value is certain up to similar values.

    Example: shoal attack similarity release.csv --qi zip --sensitive salary --within 2000

    Exit code 0 for any result; 2 if cells are ambiguous, with advice how to declare
    their meaning.
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
    """Learn to predict the sensitive value from a release, and test it on people inside and outside.

    Example: shoal attack inference release.csv --targets members.csv --controls others.csv

    Needs: pip install 'shoal-privacy[learn]'. Exit code 0 for any result; 2 if cells
    are ambiguous, with advice how to declare their meaning.
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
