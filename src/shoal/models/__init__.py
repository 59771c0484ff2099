"""Privacy models: what makes a group of rows acceptable. One file per family; each model declares its own algebra."""

from shoal.models.anonymity import AlphaKAnonymity, KAnonymity, KEAnonymity, MUniqueness
from shoal.models.base import GroupCounts, PrivacyModel, Rule, RuleKind
from shoal.models.disclosure import BetaLikeness, DeltaDisclosure
from shoal.models.diversity import LDiversity
from shoal.models.requirement import FrequencyForm, Requirement

__all__ = [
    "AlphaKAnonymity",
    "BetaLikeness",
    "DeltaDisclosure",
    "FrequencyForm",
    "GroupCounts",
    "KAnonymity",
    "KEAnonymity",
    "LDiversity",
    "MUniqueness",
    "PrivacyModel",
    "Requirement",
    "Rule",
    "RuleKind",
]
