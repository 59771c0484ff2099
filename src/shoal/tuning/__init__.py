"""Tuning: which coarsening loses the least once the table is anonymized."""

from shoal.tuning.evaluation import coarsening_losses
from shoal.tuning.ladders import Ladder, Rung, ladder_of
from shoal.tuning.result import Setting, Tuning
from shoal.tuning.search import lattice_search
from shoal.tuning.tuner import tune

__all__ = ["Ladder", "Rung", "Setting", "Tuning", "coarsening_losses", "ladder_of", "lattice_search", "tune"]
