"""SABRE: groups that hold every bucket of sensitive values in proportion."""

from shoal.algorithms.sabre.sabre import Sabre

__all__ = ["Sabre"]
