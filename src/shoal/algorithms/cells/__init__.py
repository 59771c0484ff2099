"""Cells of the lattice of hierarchies: what groups may publish, which rows fit where, and what these must lose."""

from shoal.algorithms.cells.drawing import drawn_groups, usual_moves
from shoal.algorithms.cells.lattice_cells import LatticeCells
from shoal.algorithms.cells.prices import PricedCells, lowered, price
from shoal.algorithms.cells.settling import settled

__all__ = ["LatticeCells", "PricedCells", "drawn_groups", "lowered", "price", "settled", "usual_moves"]
