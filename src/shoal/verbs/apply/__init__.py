"""Application of a plan: recode the rows of another table like a release, if the result verifies."""

from shoal.verbs.apply.apply_plan import apply

__all__ = ["apply"]
