"""Privacy models: the conditions that a group of rows, or a whole release, must satisfy.

Each family of models has one file, and each model declares its own algebra: if it is monotone, which statistics it
needs, and which compiled rules imply it.
"""

from shoal.models.anonymity import AlphaKAnonymity, KAnonymity, KEAnonymity, MUniqueness
from shoal.models.average_risk import AverageRisk
from shoal.models.base import GroupModel, PrivacyModel, TableModel
from shoal.models.closeness import TCloseness
from shoal.models.differential_privacy import DifferentialPrivacy
from shoal.models.disclosure import BetaLikeness, DeltaDisclosure
from shoal.models.diversity import LDiversity
from shoal.models.ground_distance import EqualDistance, OrderedDistance
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.uniqueness import PopulationUniqueness, SampleUniqueness

__all__ = [
    "EqualDistance",
    "HierarchicalDistance",
    "MetricDistance",
    "OrderedDistance",
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DifferentialPrivacy",
    "GroupModel",
    "KAnonymity",
    "KEAnonymity",
    "KMap",
    "LDiversity",
    "MUniqueness",
    "PopulationUniqueness",
    "PrivacyModel",
    "SampleUniqueness",
    "TCloseness",
    "TableModel",
]
