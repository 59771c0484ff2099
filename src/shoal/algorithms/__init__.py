"""Algorithms that partition a table: one published algorithm, one file, named after it; `parts` is what they share."""

from shoal.algorithms.base import Algorithm, Guarantee, Partition, Problem
from shoal.algorithms.bounds import LowerBound, lower_bound
from shoal.algorithms.catalogue import ALGORITHMS, PROVING, choose
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.exact import Exact
from shoal.algorithms.full_domain import FullDomain
from shoal.algorithms.hilbert import Hilbert
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.matching import Matching
from shoal.algorithms.milp import GeneralizationVectors
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.parts.compiled import compile_requirement, table_counts
from shoal.algorithms.pattern_guided import PatternGuided
from shoal.algorithms.patterns import PatternRule, Patterns
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.three_phase import ThreePhase
from shoal.algorithms.top_down_specialization import TopDownSpecialization

__all__ = [
    "ALGORITHMS",
    "PROVING",
    "Algorithm",
    "Cluster",
    "Exact",
    "FullDomain",
    "GeneralizationVectors",
    "Guarantee",
    "Hilbert",
    "LowerBound",
    "MApproximation",
    "Matching",
    "Mondrian",
    "Partition",
    "PatternGuided",
    "PatternRule",
    "Patterns",
    "Problem",
    "Sabre",
    "ThreePhase",
    "TopDownSpecialization",
    "choose",
    "compile_requirement",
    "lower_bound",
    "table_counts",
]
