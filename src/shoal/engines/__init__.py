"""Engines: tables that need not fit into memory become cells with counts, which algorithms partition, perhaps in parts.

An engine counts the cells of a table (rows with the same quasi-identifiers and sensitive values are interchangeable),
the algorithms of shoal partition them, and an engine counts the written files again before they appear.
"""

from shoal.engines.attaching import with_values
from shoal.engines.choice import ENGINES, Engine, chosen_engine
from shoal.engines.histogram import cells_in_memory, count_and_place_cells, count_cells
from shoal.engines.memory import MemoryBudget, bytes_of
from shoal.engines.planning import partition_cells
from shoal.engines.sources import OnSpark, Source, Streamed

__all__ = [
    "ENGINES",
    "MemoryBudget",
    "Engine",
    "OnSpark",
    "Source",
    "Streamed",
    "bytes_of",
    "cells_in_memory",
    "chosen_engine",
    "count_and_place_cells",
    "count_cells",
    "partition_cells",
    "with_values",
]
