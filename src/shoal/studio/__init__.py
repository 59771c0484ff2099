"""The studio: a local web application that calls what Python offers, and shows how to repeat each step without it."""

from shoal.studio.server import serve

__all__ = ["serve"]
