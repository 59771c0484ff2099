"""Cluster and SABRE: one state of groups, two ways to start.

`groups` holds the groups while a search changes them, `loss_table` what recoding loses, `neighbourhood` which rows are
near to each other.
"""

from shoal.algorithms.local_search.cluster import Cluster
from shoal.algorithms.local_search.sabre import Sabre

__all__ = ["Cluster", "Sabre"]
