"""Attacks on published tables, whoever made them: what a release, or several together, give away.

Every attack reports how often it succeeded, next to a baseline (guessing from what the table as a whole publishes) and,
where they are given, to people who are not in the release: what an attack learns of those is statistics, not
disclosure.
"""

from shoal.attacks.attack_list import ATTACKS, Attack
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.background_knowledge import background_knowledge_attack
from shoal.attacks.homogeneity import homogeneity_attack
from shoal.attacks.inference import inference_attack
from shoal.attacks.intersection import IntersectionAttack, intersection_attack
from shoal.attacks.linking import linking_attack
from shoal.attacks.minimality import minimality_attack
from shoal.attacks.published_table import Reading
from shoal.attacks.rates import Rate, residual
from shoal.attacks.similarity import similarity_attack
from shoal.attacks.skewness import skewness_attack

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackResult",
    "IntersectionAttack",
    "Rate",
    "Reading",
    "background_knowledge_attack",
    "homogeneity_attack",
    "inference_attack",
    "intersection_attack",
    "linking_attack",
    "minimality_attack",
    "residual",
    "similarity_attack",
    "skewness_attack",
]
