"""Cells of the lattice of hierarchies: published cells of groups, rows that fit each, and bounds on their losses."""

from shoal.algorithms.lattice.cell_annealing import anneal_cells
from shoal.algorithms.lattice.cell_drawing import draw_groups_of_rows, usual_moves
from shoal.algorithms.lattice.cell_prices import PricedCells, price, round_bound_down
from shoal.algorithms.lattice.lattice_cells import LatticeCells

__all__ = [
    "LatticeCells",
    "PricedCells",
    "draw_groups_of_rows",
    "round_bound_down",
    "price",
    "anneal_cells",
    "usual_moves",
]
