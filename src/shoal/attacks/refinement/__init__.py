"""The refinement attack: what coarser cells must have been, given how the smallest cells of a group are made."""

from shoal.attacks.refinement.attack import refinement_attack

__all__ = ["refinement_attack"]
