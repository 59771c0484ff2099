"""Jobs that the worker process runs: calls of public functions that return plain values."""

from shoal.studio.jobs.attacks import attack, intersect
from shoal.studio.jobs.ledgers import erase_people, list_series, publish_next, start_series, take_back, verify_series
from shoal.studio.jobs.reviews import attack_published, recount
from shoal.studio.jobs.tables import (
    MOST_ROWS,
    compare,
    compare_algorithms,
    count_alone,
    describe_sheets,
    inspect_table,
    list_coarsenings,
    measure_risk,
    publish,
    sheets,
    try_goal,
    warm_up,
)
from shoal.studio.jobs.trees import shape

__all__ = [
    "MOST_ROWS",
    "attack",
    "attack_published",
    "compare",
    "compare_algorithms",
    "count_alone",
    "describe_sheets",
    "erase_people",
    "intersect",
    "inspect_table",
    "list_series",
    "measure_risk",
    "publish",
    "publish_next",
    "list_coarsenings",
    "recount",
    "shape",
    "sheets",
    "start_series",
    "take_back",
    "try_goal",
    "verify_series",
    "warm_up",
]
