"""Publishing a table that changes again and again: m-invariance."""

from shoal.republication.generalization import Generalization, generalize
from shoal.republication.signatures import Signatures

__all__ = ["Generalization", "Signatures", "generalize"]
