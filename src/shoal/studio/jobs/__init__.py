"""Jobs that the worker process runs: calls of public functions that return plain values."""

from shoal.studio.jobs.attacks import attack, intersect
from shoal.studio.jobs.ledgers import look_at_ledger, publish_next, start_series, take_back, verify_series
from shoal.studio.jobs.tables import compare, compare_ways, look, measure, preview, publish, rungs, sheets, warm_up
from shoal.studio.jobs.trees import shape

__all__ = [
    "attack",
    "compare",
    "compare_ways",
    "intersect",
    "look",
    "look_at_ledger",
    "measure",
    "preview",
    "publish",
    "publish_next",
    "rungs",
    "shape",
    "sheets",
    "start_series",
    "take_back",
    "verify_series",
    "warm_up",
]
