"""TP and TP+: `three_phase`, which takes the steps `residue` and `cascade`."""

from shoal.algorithms.tp.three_phase import ThreePhase

__all__ = ["ThreePhase"]
