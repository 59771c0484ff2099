"""Applying a plan: rows of another table get the published forms of a release, where the result verifies."""

from shoal.application.applying import MISFITS, apply

__all__ = ["MISFITS", "apply"]
