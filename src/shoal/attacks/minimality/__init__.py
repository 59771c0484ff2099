"""The minimality attack: what knowledge of the algorithm adds to the information of a release."""

from shoal.attacks.minimality.attack import minimality_attack
from shoal.attacks.minimality.enumeration import find_largest_belief, list_arrangements
from shoal.attacks.minimality.formula import Merged, compute_merged_beliefs

__all__ = [
    "Merged",
    "list_arrangements",
    "compute_merged_beliefs",
    "find_largest_belief",
    "minimality_attack",
]
