"""Algorithms that partition a table, one package for each.

`base` defines the interface of an algorithm, `algorithm_list` lists the algorithms by name, `bounds` computes lower
bounds on the cost of any release, and `common` has code that several algorithms share.
"""

from shoal.algorithms.algorithm_list import ALGORITHMS, CATALOGUE, PROVING, choose, unsupported
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.bounds import (
    LeastLosses,
    LossBound,
    LowerBound,
    least_losses,
    loss_bound,
    lower_bound,
    lower_bound_of_sets,
)
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.common.compiled import compile_requirement, populations_of
from shoal.algorithms.exact import Exact
from shoal.algorithms.full_domain import FullDomain
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.matching import Matching
from shoal.algorithms.milp import GeneralizationVectors
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.patterns import PatternGuided, PatternRule, Patterns
from shoal.algorithms.preferences import PREFERENCES, Preferences
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.safepub import SafePub
from shoal.algorithms.tds import TopDownSpecialization
from shoal.algorithms.tp import ThreePhase
from shoal.algorithms.transparent import Transparent

__all__ = [
    "ALGORITHMS",
    "CATALOGUE",
    "PREFERENCES",
    "PROVING",
    "Algorithm",
    "Capabilities",
    "Cluster",
    "Exact",
    "FullDomain",
    "GeneralizationVectors",
    "Guarantee",
    "Hilbert",
    "LeastLosses",
    "LossBound",
    "LowerBound",
    "MApproximation",
    "Matching",
    "Mondrian",
    "Partition",
    "PatternGuided",
    "PatternRule",
    "Patterns",
    "Preferences",
    "Problem",
    "Sabre",
    "SafePub",
    "ThreePhase",
    "TopDownSpecialization",
    "Transparent",
    "choose",
    "compile_requirement",
    "least_losses",
    "loss_bound",
    "lower_bound",
    "lower_bound_of_sets",
    "populations_of",
    "unsupported",
]
