"""Clustering: groups of near rows, improved by a local search."""

from shoal.algorithms.cluster.cluster import Cluster

__all__ = ["Cluster"]
