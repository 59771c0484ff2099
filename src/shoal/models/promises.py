"""What holds together: each promise of a release with each feature of a request.

A feature changes what an algorithm sees, or what is published after it. Options are checked one by one, but a promise
holds or fails with pairs of them. `PROMISES` states each pair: "proven" if the promise holds by its theorem or by the
verification of the published cells, "measured" if nothing is claimed, "refused" otherwise. A pair that is not stated is
refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from shoal._messages import Suggestion
from shoal.errors import UnsupportedError

FEATURES: Mapping[str, str] = {
    # Who is a person, and what is known.
    "person": "persons with several records",
    "units": "units such as households",
    "rows_per_person": "a number of records for each person",
    "kept_rows": "first or last records of persons",
    "link": "linked records",
    "lists": "lists of values",
    "qi_sets": "sets of quasi-identifiers",
    "knows": "every set of so many quasi-identifiers",
    # Sensitive values.
    "harmless": "harmless values",
    "missing_sensitive": "missing sensitive values that are values or left out",
    "coarse_attributes": "coarse sensitive or insensitive columns",
    # Quasi-identifiers.
    "coarsen": "coarse quasi-identifiers",
    "since_first": "days since a first date",
    "hierarchies": "hierarchies",
    "exact_ends": "exact ends of intervals",
    "weights": "weights of columns",
    "limits": "limits of levels",
    "suppression_limit": "a limit of suppressed records",
    # What is published.
    "equal_forms": "groups that are joined because they publish the same",
    "keep_order": "the order of the input",
    "seed": "a seed",
    "stream": "a table in pieces",
    # Other promises.
    "resist": "resistance to minimality attacks",
    "epsilon": "differential privacy",
    "second_epsilon": "a second model of differential privacy",
    "of_release": "a model of the release as a whole",
}
"""The features of requests, named as their parameters if they have one."""

_OWNERS = {"epsilon": "DifferentialPrivacy"}
_WITHOUT_PARAMETER = {"person", "coarse_attributes", "equal_forms", "second_epsilon", "of_release", "stream"}
_ALL = " ".join(FEATURES)


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A promise, and what becomes of it with each feature."""

    title: str
    """The promise as the subject of a sentence."""
    proof: str
    """Why it holds with the features that are `proven`."""
    proven: str
    """The features with which it holds, separated by blanks."""
    measured: str = ""
    """The features with which nothing is claimed."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The reasons of some refusals, by features (separated by blanks) that have the same reason."""
    advice: str = ""
    """What to do instead, as a sentence; by default one of the two is left out."""

    def judge(self, feature: str) -> tuple[Literal["proven", "measured", "refused"], str]:
        """Look up a feature: the state of the promise with it, and the reason of a refusal."""
        if feature in self.proven.split():
            return "proven", ""
        if feature in self.measured.split():
            return "measured", ""
        reasons = (why for features, why in self.refused.items() if feature in features.split())
        return "refused", next(reasons, "nothing proves that the promise still holds")


def _except(features: str, *others: str) -> str:
    left_out = " ".join(others).split()
    return " ".join(name for name in features.split() if name not in left_out)


_CHOICE = {
    "link": "it does not link rows",
    "lists": "it does not split lists",
    "since_first": "it does not count days since first dates",
    "epsilon second_epsilon": "it looks at the records again and again, but differential privacy covers one release",
}
"""Why the verb that makes several releases refuses features."""
_SETS = Promise(
    title="A promise for each set of quasi-identifiers",
    proof="The cells of each set are verified by themselves.",
    proven="qi_sets knows person units rows_per_person kept_rows missing_sensitive coarse_attributes coarsen "
    "since_first hierarchies exact_ends weights limits equal_forms keep_order seed",
    refused={
        "harmless": "harmless values are served for one set of all quasi-identifiers",
        "link lists": "sets need records that are neither linked nor lists",
        "of_release": "a model of the release as a whole is not asked of sets",
        "suppression_limit": "sets are protected by stars in single cells",
        "stream": "a cell may be in many sets",
        "resist": "cells of one set are chosen by looking at the sensitive values of another",
        "epsilon second_epsilon": "the proof is about classes of all published columns",
    },
)
_BUNDLES = "harmless qi_sets knows weights limits suppression_limit of_release stream resist epsilon second_epsilon"
_BUNDLE_REASONS = {
    "harmless": "harmless values need records that are neither linked nor lists",
    "weights limits suppression_limit": "groups of linked records and of lists have neither weights nor limits",
    "qi_sets knows": "sets need records that are neither linked nor lists",
    "of_release": "models of the release as a whole count records",
    "stream": "it needs all records of the table in memory",
    "resist": "groups are joined by looking at sensitive values",
    "epsilon second_epsilon": "the proof is about one record of each person",
}
PROMISES: Mapping[str, Promise] = {
    "groups": Promise(
        title="A model of groups (k, l, t and their kin)",
        proof="Groups are counted in the published cells, by code that shares nothing with the algorithms.",
        proven=_ALL,
    ),
    "of_release": Promise(
        title="A model of the release as a whole",
        proof="It is measured on the published cells.",
        proven=_except(_ALL, "link lists qi_sets knows epsilon second_epsilon resist"),
        refused={
            "link lists": _BUNDLE_REASONS["of_release"],
            "qi_sets knows": _SETS.refused["of_release"],
            "epsilon second_epsilon": "classes that are large enough are published no matter what the others are",
            "resist": "the algorithm decides group by group",
        },
    ),
    "resist": Promise(
        title="Resistance to minimality attacks",
        proof="Groups depend on the quasi-identifiers, which are known, and on values in a way that exchanges within "
        "groups leave unchanged; what is published is a function of the groups and of their values.",
        proven="resist rows_per_person missing_sensitive coarse_attributes coarsen hierarchies exact_ends equal_forms "
        "seed stream",
        refused={
            "harmless": "each harmless value becomes a value of its own, and which is which depends on the order of "
            "the records",
            "qi_sets knows": _SETS.refused["resist"],
            "link lists": _BUNDLE_REASONS["resist"],
            "person units": "the proof is about one record of each person",
            "keep_order": "anyone who knows the order of the input finds every record",
            "weights limits suppression_limit": "no algorithm with a proof serves them",
            "of_release": "the algorithm decides group by group",
            "epsilon second_epsilon": "differential privacy has a proof of its own, against the same adversary",
        },
    ),
    "epsilon": Promise(
        title="Differential privacy",
        proof="Each record stays by a draw of the operating system, and small classes of columns that were made coarse "
        "by rules that are fixed, or drawn for a part of epsilon, are left out.",
        proven="epsilon rows_per_person kept_rows missing_sensitive coarsen hierarchies exact_ends equal_forms stream",
        refused={
            "seed": "draws must come from the operating system, and cannot be repeated",
            "keep_order": "the order of the input reveals records",
            "since_first": "days are counted from dates of records",
            "person": "one record of each person is drawn (rows_per_person=1 chooses it)",
            "units": "the proof is about one record of each person, and a unit may have several",
            "second_epsilon": "each promises a draw of its own, and only one is made, so name one model",
            "qi_sets knows": _SETS.refused["epsilon second_epsilon"],
            "link lists": _BUNDLE_REASONS["epsilon second_epsilon"],
            "weights limits suppression_limit": "groups must not depend on what a search prefers",
            "resist": "it has a proof of its own, against the same adversary",
            "of_release": "classes that are large enough are published no matter what the others are",
        },
    ),
    "qi_sets": _SETS,
    "knows": _SETS,
    "link": Promise(
        title="A promise for linked records",
        proof="Bundles of published records are verified, with the persons in them.",
        proven=_except(_ALL, _BUNDLES, "units rows_per_person kept_rows"),
        refused={
            **_BUNDLE_REASONS,
            "units": "the records of one kind of unit are made alike together",
            "rows_per_person kept_rows": "linked records choose how many each person has",
        },
    ),
    "lists": Promise(
        title="A promise for each value of a list",
        proof="The records that have a value, alone or among others, are counted in the published cells.",
        proven=_except(_ALL, _BUNDLES, "person units"),
        refused={
            **_BUNDLE_REASONS,
            "units": "a record is counted for itself, and a unit may have several",
            "person": "a person needs one record (rows_per_person=1 chooses it), or linked ones (link=True)",
        },
    ),
    "optimum": Promise(
        title="The claim of an optimum",
        proof="It is about what the algorithm searched, and the certificate says what that is.",
        proven="person units rows_per_person kept_rows harmless missing_sensitive coarse_attributes coarsen "
        "since_first hierarchies exact_ends weights limits suppression_limit equal_forms keep_order seed of_release",
        measured="link lists qi_sets knows stream resist epsilon second_epsilon",
    ),
    "bound": Promise(
        title="A bound of any release",
        proof="It follows from the table and the models alone, no matter what the algorithm does.",
        proven="person units rows_per_person kept_rows link lists qi_sets knows harmless missing_sensitive hierarchies "
        "exact_ends weights limits suppression_limit equal_forms keep_order seed stream resist of_release",
        measured="coarsen since_first coarse_attributes epsilon second_epsilon",
    ),
    "attack": Promise(
        title="An attack that takes records one by one",
        proof="It is an attempt, and promises nothing.",
        proven="",
        measured=_except(_ALL, "link"),
        refused={"link": "the records of a person were made alike together"},
        advice="Take the homogeneity attack, which counts persons of bundles.",
    ),
    "apply": Promise(
        title="Applying a plan",
        proof="The groups of the new table are verified, and those that fail are suppressed or refused.",
        proven=_except(_ALL, "link lists since_first coarse_attributes qi_sets knows epsilon second_epsilon resist"),
        measured="resist",
        refused={
            "link lists since_first coarse_attributes": "a plan of linked rows, of lists of values, of days since a "
            "first date or of coarser columns that are not quasi-identifiers has no forms for other records",
            "qi_sets knows": "its forms are those of groups, but sets of columns are protected cell by cell",
            "epsilon second_epsilon": "the proof is about the draw of one table",
        },
        advice="Publish the table with anonymize.",
    ),
    "explore": Promise(
        title="explore",
        proof="Each release is verified like any other.",
        proven=_except(_ALL, *_CHOICE, "resist"),
        measured="resist",
        refused=_CHOICE,
        advice="Leave it out, or use anonymize.",
    ),
}
"""The promises by name. Those with the name of a feature are made if the feature is asked for, "groups", "optimum" and
"bound" by every release, and the others by the verbs of their names."""


def check_together(asked: Collection[str]) -> None:
    """Check that the promises of a request hold with each of its features.

    Parameters
    ----------
    asked : collection of str
        Names of `PROMISES` and `FEATURES`.

    Raises
    ------
    UnsupportedError
        If a pair is refused. The message says why, and what to leave out.

    Examples
    --------
    >>> check_together(["link", "hierarchies"])
    >>> check_together(["epsilon", "seed"])
    Traceback (most recent call last):
    ...
    shoal.errors.UnsupportedError: Differential privacy does not go together with a seed: draws must come from the
    operating system, and cannot be repeated. Leave out the 'seed' parameter or DifferentialPrivacy.
    """
    refused = find_refusal(asked)
    if refused is None:
        return
    name, feature, said = refused
    ways = [one for one in (feature, name) if one in FEATURES and one not in _WITHOUT_PARAMETER]
    named = [
        Suggestion(one, True if one == "link" else ..., owner=_OWNERS.get(one, ""), python=_OWNERS.get(one, ""))
        for one in ways
    ]
    advice = [" Leave out ", named[0], *(part for one in named[1:] for part in (" or ", one)), "."] if ways else []
    own = PROMISES[name].advice
    raise UnsupportedError(said, *([f" {own}"] if own else advice))


def find_refusal(asked: Collection[str]) -> tuple[str, str, str] | None:
    """Return a promise and a feature among those that are asked for that do not go together, and a sentence of why.

    Parameters
    ----------
    asked : collection of str
        Names of `PROMISES` and `FEATURES`.
    """
    # Looking up all pairs would take a tenth of the time of a small release.
    features = [feature for feature in FEATURES if feature in asked]
    for name in [name for name in PROMISES if name in asked]:
        for feature in features:
            judged, why = PROMISES[name].judge(feature)
            if judged == "refused":
                return name, feature, f"{PROMISES[name].title} does not go together with {FEATURES[feature]}: {why}."
    return None
