"""TP and TP+: `three_phase`, refined by the `cascade`."""

from shoal.algorithms.tp.three_phase import ThreePhase

__all__ = ["ThreePhase"]
