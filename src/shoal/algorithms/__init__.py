"""Algorithms that partition a table, one package for each.

`base` defines the interface of an algorithm, `algorithm_list` names the algorithms by name, `bounds` computes lower
bounds on the cost of any release, and `common` has code that several algorithms share.
"""

from shoal.algorithms.cluster import Cluster
from shoal.algorithms.exact import Exact
from shoal.algorithms.full_domain import FullDomain
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.matching import Matching
from shoal.algorithms.milp import GeneralizationVectors
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.patterns import PatternGuided, PatternRule, Patterns
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.safepub import SafePub
from shoal.algorithms.tds import TopDownSpecialization
from shoal.algorithms.tp import ThreePhase
from shoal.algorithms.transparent import Transparent

__all__ = [
    "Cluster",
    "Exact",
    "FullDomain",
    "GeneralizationVectors",
    "Hilbert",
    "MApproximation",
    "Matching",
    "Mondrian",
    "PatternGuided",
    "PatternRule",
    "Patterns",
    "Sabre",
    "SafePub",
    "ThreePhase",
    "TopDownSpecialization",
    "Transparent",
]
