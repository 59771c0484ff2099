"""Attacks on published tables, whoever made them: what a release, or several together, give away."""

from shoal.attacks.intersection import IntersectionAttack, intersection_attack

__all__ = ["IntersectionAttack", "intersection_attack"]
