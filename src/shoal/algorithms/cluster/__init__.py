"""Clustering: groups of similar rows, improved by local search."""

from shoal.algorithms.cluster.cluster import Cluster

__all__ = ["Cluster"]
