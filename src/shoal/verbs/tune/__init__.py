"""Tuning: search for the coarsening with the lowest loss after anonymization."""

from shoal.verbs.tune.evaluation import coarsening_losses
from shoal.verbs.tune.ladders import Ladder, ladder_of
from shoal.verbs.tune.search import lattice_search
from shoal.verbs.tune.tuner import tune
from shoal.verbs.tune.tuning import Tuning

__all__ = ["Ladder", "Tuning", "coarsening_losses", "ladder_of", "lattice_search", "tune"]
