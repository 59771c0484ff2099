"""Engines: a table, which need not fit into memory, is reduced to cells with counts.

Rows with the same quasi-identifiers and sensitive values are interchangeable and form a cell. An engine counts the
cells, an algorithm partitions them, and the engine counts the written files again before they appear.
"""

from shoal.engines.choice import Engine, chosen_engine
from shoal.engines.histogram import count_and_place_cells, count_cells
from shoal.engines.memory import InMemory
from shoal.engines.persons import persons_in_pieces
from shoal.engines.sources import Streamed
from shoal.pipeline.memory_budget import MemoryBudget, parse_bytes

__all__ = [
    "Engine",
    "InMemory",
    "MemoryBudget",
    "Streamed",
    "chosen_engine",
    "count_and_place_cells",
    "count_cells",
    "parse_bytes",
    "persons_in_pieces",
]
