"""The algorithms by name, and the choice of an algorithm for a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shoal._core.facts import Fact
from shoal._core.validation import parameters_of
from shoal._messages import Allowed, Part, Phrase, Suggestion
from shoal.algorithms.base import Algorithm
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.column_sets import SetGeneralization, SetSuppression
from shoal.algorithms.exact import Exact
from shoal.algorithms.full_domain import FullDomain
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.matching import Matching
from shoal.algorithms.milp import GeneralizationVectors
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.patterns import PatternGuided
from shoal.algorithms.preferences import NO_PREFERENCES, SUPPRESSION_LIMIT, Preferences
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.safepub import SafePub
from shoal.algorithms.tds import TopDownSpecialization
from shoal.algorithms.tp import ThreePhase
from shoal.algorithms.transparent import Transparent
from shoal.errors import ParameterError, UnsupportedError, did_you_mean
from shoal.models.requirement import Requirement


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Measured success of minimality attacks: what an adversary who knows the algorithm learns from small releases.

    Measured once, on all of the tables of six people with few values, with l = 2. The adversary knows all
    quasi-identifiers, the request, the algorithm and its seed, and the published table. Other tables can reveal more:
    for example, `mondrian` makes a value certain in 5.5 % of the originals with eight people and four ages.
    """

    share: float
    """Share of the originals in which the belief in some sensitive value exceeds 1/2."""
    belief: float
    """Largest belief in a sensitive value; l = 2 allows 1/2."""


@dataclass(frozen=True, kw_only=True)
class Refinement:
    """Measured success of attacks on one public release of Adult, with k = 5 and the default ends of intervals.

    Measured once; other tables can reveal more, for example with exact dates.
    """

    recoding: str
    """The recoding of the release."""
    known: float | None
    """Share of the coarser cells that are known exactly; None if it was not measured."""
    by_chance: float | None
    """The same share in a table drawn from the published margins."""
    singled_out: float
    """Share of the people whom a predicate from the public table singles out."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of the list of algorithms."""

    algorithm: Algorithm
    """The algorithm with its default parameters."""
    help: str
    """Description in one sentence, for users who choose an algorithm."""
    proves: bool = False
    """If True, the algorithm proves an optimum, which takes long or is refused on large tables. It then runs only if it
    is requested by name."""
    minimality: Exposure | None = None
    """Success of minimality attacks; None if it was not measured."""
    refinement: Refinement | None = None
    """Success of refinement and of singling out; None if they were not measured."""


# Marks were measured once, when the algorithm was added.
CATALOGUE = (
    # Quick partitions of all records.
    Entry(
        algorithm=ThreePhase(refine=None),
        refinement=Refinement(recoding="suppression", known=0.0, by_chance=0.0, singled_out=0.0),
        minimality=Exposure(share=0.359, belief=1),
        help="TP: l-diversity or k-anonymity by few suppressed records, within a proven factor of the fewest.",
    ),
    Entry(
        algorithm=ThreePhase(),
        refinement=Refinement(recoding="suppression", known=0.0, by_chance=0.0, singled_out=0.00017),
        minimality=Exposure(share=0.565, belief=1),
        help="TP+: what TP suppresses is partitioned further; few stars, the same guarantee.",
    ),
    Entry(
        algorithm=Hilbert(),
        refinement=Refinement(recoding="generalization", known=0.40821, by_chance=0.26863, singled_out=0.00955),
        minimality=Exposure(share=0.521, belief=1),
        help="Groups along a space-filling curve; any monotone models.",
    ),
    Entry(
        algorithm=Mondrian(),
        refinement=Refinement(recoding="generalization", known=0.29989, by_chance=0.22803, singled_out=0.01303),
        minimality=Exposure(share=0.009, belief=0.667),
        help="Cuts at the median, one attribute at a time; any monotone models.",
    ),
    Entry(
        algorithm=Mondrian(relaxed=True),
        refinement=Refinement(recoding="generalization", known=0.31587, by_chance=0.23724, singled_out=0.00511),
        minimality=Exposure(share=0.138, belief=1),
        help="The same, and records of the same value may go to either side.",
    ),
    # k-anonymity only.
    Entry(
        algorithm=MApproximation(),
        refinement=Refinement(recoding="suppression", known=0.0, by_chance=0.0, singled_out=0.00017),
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
    # Local search.
    # Ends are shared, as by default: exact ends tell more.
    Entry(
        algorithm=Sabre(),
        refinement=Refinement(recoding="generalization", known=0.38689, by_chance=0.28135, singled_out=0.0128),
        help="Groups like the whole table, for t-closeness and its kin, improved by a local search.",
    ),
    Entry(
        algorithm=Cluster(),
        refinement=Refinement(recoding="generalization", known=0.41244, by_chance=0.28691, singled_out=0.02039),
        minimality=Exposure(share=0.541, belief=1),
        help="Groups of near records, improved by a local search: the smallest sub-domains; any monotone models.",
    ),
    # The same generalization for all records.
    Entry(
        algorithm=TopDownSpecialization(),
        refinement=Refinement(recoding="generalization", known=None, by_chance=None, singled_out=0.0),
        minimality=Exposure(share=0.097, belief=0.667),
        help="One cut through each hierarchy for all records, specialized while the models hold.",
    ),
    Entry(
        algorithm=FullDomain(),
        refinement=Refinement(recoding="generalization", known=None, by_chance=None, singled_out=0.00013),
        minimality=Exposure(share=0.324, belief=1),
        help="One level of each hierarchy for all records, the best of all, with a share of records suppressed.",
    ),
    # Adversaries who know the algorithm.
    Entry(
        algorithm=Transparent(),
        refinement=Refinement(recoding="generalization", known=0.43548, by_chance=0.29917, singled_out=0.00928),
        help="l-diversity by frequency that also holds for an adversary who knows the algorithm.",
    ),
    # Differential privacy.
    Entry(
        algorithm=SafePub(),
        help="Differential privacy: a random sample of the records, in classes that are large enough.",
    ),
    # Proven optima for small tables.
    Entry(
        algorithm=Exact(),
        minimality=Exposure(share=0.518, belief=1),
        help="The fewest stars for some twenty distinct records, proven.",
        proves=True,
    ),
    Entry(algorithm=GeneralizationVectors(), help="The fewest stars by an integer program, proven.", proves=True),
)
"""All algorithms, in the order of help pages. A new algorithm needs an entry here and its own package."""

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({entry.algorithm.name: entry.algorithm for entry in CATALOGUE})
"""All algorithms by name, with their default parameters."""

PROVING = tuple(entry.algorithm.name for entry in CATALOGUE if entry.proves)
"""Names of the algorithms that prove an optimum."""


def choose(
    algorithm: str | Algorithm,
    requirement: Requirement,
    recoding: str,
    preferences: Preferences = NO_PREFERENCES,
    resist: str | None = None,
) -> tuple[Algorithm, Fact]:
    """Choose the algorithm for a request.

    Parameters
    ----------
    algorithm : str or Algorithm
        A name of `ALGORITHMS`, "auto", or an algorithm object with its own parameters.
    requirement : Requirement
    recoding : str
        Recoding of the groups.
    preferences : Preferences, optional
        Further preferences of the publisher.
    resist : str, optional
        The attack that the choice must resist: "minimality".

    Returns
    -------
    algorithm : Algorithm
        The algorithm, with the preferences that are its own parameters.
    reason : Fact
        Reason for the choice, for the certificate.

    Raises
    ------
    ParameterError
        If there is no such algorithm.
    UnsupportedError
        If the algorithm cannot serve the requirement; the message names the algorithms that can.
    """
    if requirement.counting.sets:
        return _choose_for_sets(algorithm, recoding, preferences)
    if resist is not None and algorithm == "auto":
        algorithm = "transparent"
    reason: Fact | None = None
    # A name stands for the algorithm with default parameters.
    if algorithm == "auto":
        chosen, reason = _choose_automatically(requirement, recoding, preferences)
    elif isinstance(algorithm, str):
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
            "a name or an algorithm object such as shoal.algorithms.ThreePhase()",
            got=type(algorithm).__name__,
        )
    # The algorithm must support the requirement and the preferences.
    why_not = unsupported(chosen, requirement, preferences)
    if why_not is not None:
        raise UnsupportedError(
            f"The algorithm '{chosen.name}' cannot serve this request: ",
            why_not,
            f". {_list_alternatives(requirement, preferences)}",
        )
    if resist is not None and not chosen.capabilities.resists_minimality:
        raise UnsupportedError(
            f"The algorithm '{chosen.name}' does not resist {resist}. Leave ", Suggestion("algorithm"), " out."
        )
    return preferences.apply_to(chosen), reason or Fact(chosen.capabilities.reason)


def _choose_for_sets(algorithm: str | Algorithm, recoding: str, preferences: Preferences) -> tuple[Algorithm, Fact]:
    """Choose the algorithm for sets of quasi-identifiers, of which there is one for each recoding.

    Raises
    ------
    UnsupportedError
        If another algorithm or a limit of suppressed rows is requested.
    """
    if algorithm != "auto" and not isinstance(algorithm, SetSuppression | SetGeneralization):
        raise UnsupportedError(
            "Algorithms by name protect all quasi-identifiers together. Sets of them need ",
            Suggestion("algorithm", "auto"),
            ".",
        )
    chosen = SetSuppression() if recoding == "suppression" else SetGeneralization()
    return chosen, Fact("sets_of_columns")


def unsupported(
    algorithm: Algorithm, requirement: Requirement, preferences: Preferences = NO_PREFERENCES
) -> Part | None:
    """Explain why an algorithm cannot serve a request, as a part of a message that follows "because".

    Reasons are preferences that it does not support, models of the whole release if it decides group by group, and
    those of `Algorithm.unsupported`. None if it can serve the request.
    """
    unserved = _unserved_preference(preferences, algorithm)
    if unserved is not None:
        return unserved
    if requirement.sampling is not None and not algorithm.capabilities.keeps_classes:
        return "differential privacy needs groups that do not depend on the records"
    # Models of the whole release need an algorithm that judges releases.
    if requirement.table_models and not algorithm.capabilities.judges_releases:
        return Phrase(
            "it decides group by group, and ", requirement.table_models[0], " is asked of the release as a whole"
        )
    return algorithm.unsupported(requirement)


def _unserved_preference(preferences: Preferences, algorithm: Algorithm) -> str | None:
    """Explain why an algorithm cannot serve preferences, in words that follow "because"; None if it can."""
    # Weights first, then limits of levels and of suppressed rows.
    refused = algorithm.refused_weights() if preferences.weights else None
    if refused is not None:
        return refused
    if preferences.weights and not algorithm.capabilities.weights and preferences.copies is None:
        return "its weights must be small multiples of one another, such as 1, 2 and 3"
    if preferences.limits and not algorithm.capabilities.serves_limits:
        return "its groups cannot be kept within limits of levels"
    if preferences.suppression_limit is not None and SUPPRESSION_LIMIT not in parameters_of(algorithm):
        return "it has no limit of suppressed rows"
    return None


def _choose_automatically(requirement: Requirement, recoding: str, preferences: Preferences) -> tuple[Algorithm, Fact]:
    """Choose the algorithm that lost least for such a request on measured tables."""
    if not requirement.monotone:
        raise UnsupportedError(f"No algorithm can serve this request. {_list_alternatives(requirement, preferences)}")
    if requirement.sampling is not None:
        return ALGORITHMS["safepub"], Fact("differentially_private")
    # A local search loses least, but full-domain alone builds hierarchies, and judges releases as a whole.
    local = unsupported(ALGORITHMS["cluster"], requirement, preferences) is None and preferences.of_given_levels
    if preferences and local:
        return ALGORITHMS["cluster"], Fact("searches_with_preferences", preferences=preferences.as_fact)
    if preferences:
        return ALGORITHMS["full-domain"], Fact("serves_preferences", preferences=preferences.as_fact)
    if requirement.table_models:
        return ALGORITHMS["full-domain"], Fact("judges_releases")
    # Groups that must be like the table need a local search.
    if requirement.compares_with_table:
        return ALGORITHMS["cluster"], Fact(f"like_table_by_{recoding}")
    # For suppression, algorithms with a guarantee come first.
    form = requirement.frequency_form() if recoding == "suppression" else None
    if form is not None and form.l == 1:
        return ALGORITHMS["m-approximation"], Fact("k_anonymity_by_suppression")
    if form is not None:
        return ALGORITHMS["tp+"], Fact("frequencies_by_suppression")
    return ALGORITHMS["cluster"], Fact(f"monotone_by_{recoding}")


def _list_alternatives(requirement: Requirement, preferences: Preferences) -> str:
    """Describe the algorithms that can serve a request, or the way out if there is none."""
    able = [name for name, algorithm in ALGORITHMS.items() if unsupported(algorithm, requirement, preferences) is None]
    if able:
        return f"These can: {', '.join(able)}."
    return (
        "None can: the union of two acceptable groups need not be acceptable under this model, and rows that "
        "publish the same cells merge. Use audit to check a table against it."
    )
