"""Hilbert: sweeps along a space-filling curve that close a group as soon as it is acceptable."""

from shoal.algorithms.hilbert.hilbert import Hilbert

__all__ = ["Hilbert"]
