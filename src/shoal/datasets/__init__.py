"""Tables to try things on: a census-like generator, bundled real tables of other packages, a user's own extract."""

from shoal.datasets._census import QUASI_IDENTIFIERS, census

__all__ = ["QUASI_IDENTIFIERS", "census"]
