"""SafePub: the classes of equal records, and a choice of levels, for differential privacy by sampling."""

from shoal.algorithms.safepub.level_choice import LeveledColumn, draw_levels, score_levels, sensitivity_of
from shoal.algorithms.safepub.safepub import SafePub

__all__ = ["LeveledColumn", "SafePub", "draw_levels", "score_levels", "sensitivity_of"]
