"""The minimality attack: what knowing the algorithm adds to what a release tells."""

from shoal.attacks.minimality.attack import minimality_attack
from shoal.attacks.minimality.enumeration import arrangements, largest_belief, possible_originals
from shoal.attacks.minimality.formula import Merged, beliefs_of_merged

__all__ = [
    "Merged",
    "arrangements",
    "beliefs_of_merged",
    "largest_belief",
    "minimality_attack",
    "possible_originals",
]
