"""m-invariance (Xiao and Tao 2007): the groups of one release of a series, and their verification."""

from shoal.republication.m_invariance.generalization import BALANCINGS, generalize
from shoal.republication.m_invariance.signatures import Signatures

__all__ = ["BALANCINGS", "Signatures", "generalize"]
