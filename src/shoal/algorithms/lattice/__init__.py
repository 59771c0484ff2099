"""Cells of the lattice of hierarchies: published cells of groups, rows that fit each, and bounds on their losses."""

from shoal.algorithms.lattice.cell_drawing import draw_groups_of_rows, usual_moves
from shoal.algorithms.lattice.lattice_cells import LatticeCells, PricedCells, anneal_cells, price, round_bound_down

__all__ = [
    "LatticeCells",
    "PricedCells",
    "draw_groups_of_rows",
    "round_bound_down",
    "price",
    "anneal_cells",
    "usual_moves",
]
