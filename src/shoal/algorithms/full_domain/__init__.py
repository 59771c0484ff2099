"""Full-domain generalization: `lattice` (the nodes), `lattice_costs` (the metrics), `lattice_search` (the search)."""

from shoal.algorithms.full_domain.full_domain import FullDomain

__all__ = ["FullDomain"]
