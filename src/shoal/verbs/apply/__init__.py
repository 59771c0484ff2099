"""Applying a plan: rows of another table get the published forms of a release, where the result verifies."""

from shoal.verbs.apply.apply_plan import apply

__all__ = ["apply"]
