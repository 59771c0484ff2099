"""Attacks on published tables of any tool: what one release, or several together, disclose.

Every attack reports its success rate next to a baseline (guessing from the marginal distribution that the table
publishes). If people outside the release are given as controls, the same attack on them shows what is statistics rather
than disclosure.
"""

from shoal.attacks.attack_list import ATTACKS, Attack
from shoal.attacks.attack_result import AttackResult, Rate, residual
from shoal.attacks.group_attacks import (
    background_knowledge_attack,
    homogeneity_attack,
    similarity_attack,
    skewness_attack,
)
from shoal.attacks.inference import inference_attack
from shoal.attacks.intersection import IntersectionAttack, intersection_attack
from shoal.attacks.linking import linking_attack
from shoal.attacks.minimality import minimality_attack
from shoal.attacks.published_table import Reading
from shoal.attacks.refinement import refinement_attack
from shoal.attacks.singling_out import singling_out_attack

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
    "refinement_attack",
    "residual",
    "similarity_attack",
    "singling_out_attack",
    "skewness_attack",
]
