"""`explore`: releases of one table for several requests, their risks and losses side by side."""

from shoal.verbs.explore.evaluation import coarsening_losses
from shoal.verbs.explore.exploration import Exploration
from shoal.verbs.explore.ladders import Ladder, ladder_of
from shoal.verbs.explore.measuring import explore

__all__ = ["Exploration", "Ladder", "coarsening_losses", "explore", "ladder_of"]
