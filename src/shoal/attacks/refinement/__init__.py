"""The refinement attack: what hidden cells must have been, given how the smallest cells of a group are made."""

from shoal.attacks.refinement.attack import refinement_attack
from shoal.attacks.refinement.counting import (
    Segments,
    count_tables,
    count_that_split,
    count_uncut,
    find_bounds,
    find_uncut_bounds,
)
from shoal.attacks.refinement.hidden_cells import HiddenCell, read_hidden_column

__all__ = [
    "HiddenCell",
    "Segments",
    "count_tables",
    "count_that_split",
    "count_uncut",
    "find_bounds",
    "find_uncut_bounds",
    "read_hidden_column",
    "refinement_attack",
]
