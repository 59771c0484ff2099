"""Tables to try things on: a census-like generator, real tables that other packages carry, a user's own extract."""

from shoal.datasets._bundled import DemoTable, attendance, demo, fair, names
from shoal.datasets._census import QUASI_IDENTIFIERS, census
from shoal.datasets._ipums import ipums

__all__ = ["QUASI_IDENTIFIERS", "DemoTable", "attendance", "census", "demo", "fair", "ipums", "names"]
