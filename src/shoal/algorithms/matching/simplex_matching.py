"""The cheapest cover of rows by pairs and triples, with proof: what optimal 2-anonymity and 2-diversity come down to.

Rows are given by *types*: rows of one type are interchangeable, so a cover is a number of times that each pair and
triple of types is used. It is found by the set-partitioning program over all of them,

    minimize sum c(e) x(e)  subject to  sum over e of mult(e, t) x(e) = rows of type t,  x whole,

whose columns are priced lazily: a compiled scan finds those that the dual values `y` of the types undercut, and passes
over the rest wholesale, since a triple costs at least 3/2 of each of its pairs (a form of the simplex condition).
Parity cuts raise the program's bound: of the groups with an odd number of rows in a set of types with an odd number of
rows there is at least one (for pairs alone, these are Edmonds' blossom inequalities). The groups whose reduced cost
could still pay then go into a whole-number program.

The bound of the linear program is no float's word. The solver's duals are rounded to integers, the scan of *all* pairs
and triples says by how much they are exceeded, they are lowered by that, and the bound is added up in integers.

References
----------
.. [1] E. Anshelevich, A. Karagiozova: Terminal backup, 3D matching, and covering cubic graphs. SIAM Journal on
   Computing 40(3), 2011, pages 678-708. https://doi.org/10.1137/090752699
.. [2] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal._core.progress import Progress, silent
from shoal.algorithms.matching.cover_search import CoverSearch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.algorithms.matching.cover_problem import Cover, CoverProblem

__all__ = ["cheapest_cover"]


def cheapest_cover(
    problem: CoverProblem,
    *,
    start: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
) -> Cover:
    """Find the cheapest cover of rows by pairs and triples.

    Parameters
    ----------
    problem : CoverProblem
    start : int64 array of shape (groups, 3), optional
        A cover to start from, written like `Cover.groups`: the result never costs more.
    time_limit : float, optional
        Seconds after which the best cover so far is returned, with the bound that was proven.
    progress : callable
        A KeyboardInterrupt that it raises ends the search like the time limit does.

    Returns
    -------
    Cover
        Without groups where none was found; if the search is complete then, there is none.

    Raises
    ------
    MissingExtraError
        Where highspy is not installed.
    """
    return CoverSearch(problem, start=start, time_limit=time_limit, progress=progress).run()
