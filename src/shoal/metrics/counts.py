"""Numbers of suppressed cells and rows. Lower is better."""

from __future__ import annotations

from shoal.recoding import Recoding


def stars(recoding: Recoding) -> int:
    """Count the suppressed cells, the objective of star minimization.

    From 0 (no suppression) to the number of rows times the number of quasi-identifiers; lower is better.

    References
    ----------
    A. Meyerson and R. Williams, "On the complexity of optimal k-anonymity", PODS 2004. doi:10.1145/1055558.1055591
    """
    return recoding.stars


def stars_fraction(recoding: Recoding) -> float:
    """Compute the share of quasi-identifier cells that are stars, in [0, 1]; 0 if there are no cells."""
    cells = recoding.rows * len(recoding.columns)
    return recoding.stars / cells if cells else 0.0


def stars_by_attribute(recoding: Recoding) -> dict[str, int]:
    """Count the stars of each quasi-identifier, by name."""
    # A group publishes the same cells for all its rows, so group sizes are the weights.
    return {column.name: int(recoding.sizes[column.stars].sum()) for column in recoding.columns}


def recoded_cells_by_attribute(recoding: Recoding) -> dict[str, int]:
    """Count the cells of each quasi-identifier that differ from the original: stars, intervals and sets."""
    return {column.name: int(recoding.sizes[~column.kept].sum()) for column in recoding.columns}


def suppressed_tuples(recoding: Recoding) -> int:
    """Count the rows with at least one star, the objective of tuple minimization.

    From 0 to the number of rows; lower is better.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 3.
    """
    return recoding.suppressed_tuples


def suppressed_tuples_fraction(recoding: Recoding) -> float:
    """Compute the share of rows with at least one star, in [0, 1]; 0 if there are no rows."""
    return recoding.suppressed_tuples / recoding.rows if recoding.rows else 0.0
