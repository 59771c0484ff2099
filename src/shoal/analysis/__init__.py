"""What analysts do with a release: compute with its cells, look at pictures of it, and see what a prediction loses."""

from shoal.analysis.bounds import Categories, Computable, bounds_of, midpoints_of

__all__ = ["Categories", "Computable", "bounds_of", "midpoints_of"]
