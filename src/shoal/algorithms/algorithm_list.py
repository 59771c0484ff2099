"""The algorithms by name, and the choice that `auto` makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from shoal._core.facts import Fact
from shoal._core.validation import parameters_of
from shoal._messages import Allowed, Phrase
from shoal.algorithms.base import Algorithm
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.exact import Exact
from shoal.algorithms.full_domain import FullDomain
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.matching import Matching
from shoal.algorithms.milp import GeneralizationVectors
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.patterns import PatternGuided
from shoal.algorithms.preferences import NO_PREFERENCES, SUPPRESSION_LIMIT
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.tds import TopDownSpecialization
from shoal.algorithms.tp import ThreePhase
from shoal.errors import ParameterError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from shoal._messages import Part
    from shoal.algorithms.preferences import Preferences
    from shoal.models import Requirement

__all__ = ["ALGORITHMS", "CATALOGUE", "PROVING", "choose", "unsupported"]


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What the releases of an algorithm told, on small tables, to somebody who knows the algorithm.

    Measured by `python -m benchmarks minimality`, on all tables of six people that it draws with l = 2: the adversary
    knows everybody's quasi-identifiers, the request, the algorithm and its seed, and the published table. Other tables
    can give more away: `mondrian` makes a value certain in 5.5 % of the originals of eight people with four ages.
    """

    share: float
    """The share of the originals of which somebody's sensitive value is believed with more than 1/2."""
    belief: float
    """The largest belief in a value of anybody; 1/2 is what l = 2 allows."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the table of algorithms."""

    algorithm: Algorithm
    """The algorithm with its default parameters; its class declares what they may be."""
    help: str
    """What it does, in a sentence for people who choose."""
    proves: bool = False
    """Whether it proves an optimum, which takes long or is refused on large tables: it runs only where it is named."""
    minimality: Exposure | None = None
    """What knowing the algorithm adds to its releases (minimality attacks); None where that was not measured."""


CATALOGUE = (
    Entry(
        algorithm=ThreePhase(refine=None),
        minimality=Exposure(share=0.359, belief=1),
        help="TP: l-diversity or k-anonymity by few suppressed records, within a proven factor of the fewest.",
    ),
    Entry(
        algorithm=ThreePhase(),
        minimality=Exposure(share=0.565, belief=1),
        help="TP+: what TP suppresses is partitioned further; few stars, the same guarantee.",
    ),
    Entry(
        algorithm=Hilbert(),
        minimality=Exposure(share=0.521, belief=1),
        help="Groups along a space-filling curve; any monotone models.",
    ),
    Entry(
        algorithm=Mondrian(),
        minimality=Exposure(share=0.009, belief=0.667),
        help="Cuts at the median, one attribute at a time; any monotone models.",
    ),
    Entry(
        algorithm=Mondrian(relaxed=True),
        minimality=Exposure(share=0.138, belief=1),
        help="The same, and records of the same value may go to either side.",
    ),
    Entry(
        algorithm=MApproximation(),
        help="k-anonymity by few stars, within a factor of the fewest: the number of quasi-identifiers.",
    ),
    Entry(
        algorithm=PatternGuided(),
        help="k-anonymity in which every record keeps one of the given combinations of attributes.",
    ),
    Entry(
        algorithm=PatternGuided(optimal=True),
        help="The same with the fewest stars, or a proof of how close it is.",
        proves=True,
    ),
    Entry(
        algorithm=Matching(),
        minimality=Exposure(share=0.476, belief=1),
        help="The fewest stars for k = 2 or l = 2, proven.",
        proves=True,
    ),
    Entry(
        algorithm=Sabre(),
        help="Groups like the whole table, for t-closeness and its kin, improved by a local search.",
    ),
    Entry(
        algorithm=Cluster(),
        minimality=Exposure(share=0.541, belief=1),
        help="Groups of near records, improved by a local search: the smallest sub-domains; any monotone models.",
    ),
    Entry(
        algorithm=TopDownSpecialization(),
        minimality=Exposure(share=0.097, belief=0.667),
        help="One cut through each hierarchy for all records, specialized while the models hold.",
    ),
    Entry(
        algorithm=FullDomain(),
        minimality=Exposure(share=0.324, belief=1),
        help="One level of each hierarchy for all records, the best of all, with a share of records suppressed.",
    ),
    Entry(
        algorithm=Exact(),
        minimality=Exposure(share=0.518, belief=1),
        help="The fewest stars for some twenty distinct records, proven.",
        proves=True,
    ),
    Entry(algorithm=GeneralizationVectors(), help="The fewest stars by an integer program, proven.", proves=True),
)
"""Every algorithm, in the order of help pages: a new one is a line here, and its folder."""

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({entry.algorithm.name: entry.algorithm for entry in CATALOGUE})
"""Every algorithm by the name that users call it, with its default parameters."""

PROVING = tuple(entry.algorithm.name for entry in CATALOGUE if entry.proves)
"""Those that prove an optimum."""


def choose(
    algorithm: str | Algorithm, requirement: Requirement, recoding: str, preferences: Preferences = NO_PREFERENCES
) -> tuple[Algorithm, Fact]:
    """Return the algorithm to run and why it was chosen.

    Parameters
    ----------
    algorithm : str or Algorithm
        A name of `ALGORITHMS`, "auto", or an algorithm with its own parameters.
    requirement : Requirement
    recoding : str
        How the partition will be recoded.
    preferences : Preferences, optional
        What else is asked of it.

    Returns
    -------
    algorithm : Algorithm
        With the limit of suppressed rows, if one is preferred.
    reason : Fact
        Why, for the certificate.

    Raises
    ------
    ParameterError
        There is no such algorithm.
    UnsupportedError
        It cannot serve the requirement; the message lists those that can.
    """
    if algorithm == "auto":
        chosen, reason = _automatic(requirement, recoding, preferences)
        return preferences.served_by(chosen), reason
    if isinstance(algorithm, str):
        if algorithm not in ALGORITHMS:
            known = ["auto", *ALGORITHMS]
            names = ", ".join(known)
            allowed = Allowed(f"one of {names}, or an algorithm object", f"one of {names}")
            hint = did_you_mean(algorithm, known)
            raise ParameterError.refusing("anonymize", "algorithm", allowed, got=repr(algorithm), hint=hint)
        chosen = ALGORITHMS[algorithm]
    elif isinstance(algorithm, Algorithm):
        chosen = algorithm
    else:
        raise ParameterError.refusing(
            "anonymize",
            "algorithm",
            "a name or an algorithm object such as shoal.ThreePhase()",
            got=type(algorithm).__name__,
        )
    why_not = unsupported(chosen, requirement, preferences)
    if why_not is not None:
        raise UnsupportedError(
            f"The algorithm '{chosen.name}' cannot serve this request: ",
            why_not,
            f". {_alternatives(requirement, preferences)}",
        )
    return preferences.served_by(chosen), Fact(chosen.capabilities.reason)


def unsupported(
    algorithm: Algorithm, requirement: Requirement, preferences: Preferences = NO_PREFERENCES
) -> Part | None:
    """Return why an algorithm cannot serve a request, as a part of a message that follows "because"; None: it can.

    What `Algorithm.unsupported` says, that only an algorithm which judges releases serves models of a release, and
    which preferences it does not serve.
    """
    unserved = _unserved(preferences, algorithm)
    if unserved is not None:
        return unserved
    if requirement.table_models and not algorithm.capabilities.judges_releases:
        return Phrase(
            "it decides group by group, and ", requirement.table_models[0], " is asked of the release as a whole"
        )
    return algorithm.unsupported(requirement)


def _unserved(preferences: Preferences, algorithm: Algorithm) -> str | None:
    """Explain why an algorithm cannot serve preferences, in words that follow "because"; None if it can."""
    refused = algorithm.refused_weights() if preferences.weights else None
    if refused is not None:
        return refused
    if preferences.limits and not algorithm.capabilities.limits:
        return "it chooses no levels, of which there could be limits"
    if preferences.suppression_limit is not None and SUPPRESSION_LIMIT not in parameters_of(algorithm):
        return "it has no limit of suppressed rows"
    return None


def _automatic(requirement: Requirement, recoding: str, preferences: Preferences) -> tuple[Algorithm, Fact]:
    """Choose what lost least for such a request on the tables of the benchmarks."""
    if not requirement.monotone:
        raise UnsupportedError(f"No algorithm can serve this request. {_alternatives(requirement, preferences)}")
    if preferences:
        return ALGORITHMS["full-domain"], Fact("serves_preferences", preferences=preferences.as_fact)
    if requirement.table_models:
        return ALGORITHMS["full-domain"], Fact("judges_releases")
    if requirement.compares_with_table:
        return ALGORITHMS["cluster"], Fact(f"like_table_by_{recoding}")
    form = requirement.frequency_form() if recoding == "suppression" else None
    if form is not None and form.l == 1:
        return ALGORITHMS["m-approximation"], Fact("k_anonymity_by_suppression")
    if form is not None:
        return ALGORITHMS["tp+"], Fact("frequencies_by_suppression")
    return ALGORITHMS["cluster"], Fact(f"monotone_by_{recoding}")


def _alternatives(requirement: Requirement, preferences: Preferences) -> str:
    able = [name for name, algorithm in ALGORITHMS.items() if unsupported(algorithm, requirement, preferences) is None]
    if able:
        return f"These can: {', '.join(able)}."
    return (
        "None can: the union of two acceptable groups need not be acceptable under this model, and rows that publish "
        "the same cells merge. Use audit to check a table against it."
    )
