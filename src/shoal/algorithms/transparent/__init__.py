"""Transparent: l-diversity whose promise also holds for an adversary who knows the algorithm."""

from shoal.algorithms.transparent.transparent import Transparent

__all__ = ["Transparent"]
