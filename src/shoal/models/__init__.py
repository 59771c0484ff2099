"""Privacy models: the conditions that a group of rows, or a whole release, must satisfy.

Each family of models has one file, and each model declares its own algebra: if it is monotone, which statistics it
needs, and which compiled rules imply it.
"""

from shoal.models.anonymity import AlphaKAnonymity, KAnonymity, KEAnonymity, MUniqueness
from shoal.models.average_risk import AverageRisk
from shoal.models.base import (
    GroupCounts,
    GroupModel,
    PrivacyModel,
    ReleaseRule,
    RuleKind,
    TableModel,
)
from shoal.models.closeness import TCloseness
from shoal.models.differential_privacy import DifferentialPrivacy
from shoal.models.disclosure import BetaLikeness, DeltaDisclosure
from shoal.models.diversity import LDiversity
from shoal.models.domain import Domain
from shoal.models.ground_distance import EqualDistance, GroundDistance, OrderedDistance, distances
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.linear import LinearForm
from shoal.models.metric_distance import MetricDistance
from shoal.models.model_list import MODELS
from shoal.models.population import Population
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.release_counts import PeopleCounts, ReleaseCounts
from shoal.models.requirement import FrequencyForm, Requirement
from shoal.models.shortcuts import collect_models
from shoal.models.uniqueness import PopulationUniqueness, SampleUniqueness

__all__ = [
    "MODELS",
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DifferentialPrivacy",
    "Domain",
    "EqualDistance",
    "FrequencyForm",
    "GroundDistance",
    "GroupCounts",
    "GroupModel",
    "HierarchicalDistance",
    "KAnonymity",
    "KEAnonymity",
    "KMap",
    "LDiversity",
    "LinearForm",
    "MUniqueness",
    "MetricDistance",
    "OrderedDistance",
    "PeopleCounts",
    "Population",
    "PopulationUniqueness",
    "PrivacyModel",
    "ReleaseCounts",
    "ReleaseRule",
    "Requirement",
    "RuleKind",
    "SampleUniqueness",
    "TCloseness",
    "TableModel",
    "distances",
    "collect_models",
]
