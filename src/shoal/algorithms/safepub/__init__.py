"""SafePub: the classes of equal records as they are, for differential privacy by sampling."""

from shoal.algorithms.safepub.safepub import SafePub

__all__ = ["SafePub"]
