"""The cheapest cover of rows by pairs and triples, with a proof: optimal 2-anonymity and 2-diversity reduce to it.

Rows are given by *types*: rows of one type are interchangeable. A cover therefore is a multiplicity for each pair and
triple of types, found by the set-partitioning program over all of them,

    minimize sum c(e) x(e)  subject to  sum over e of mult(e, t) x(e) = rows of type t,  x integral.

The columns are generated lazily. A compiled scan finds the groups with a negative reduced cost under the dual values
`y` of the types. It skips most groups, because a triple costs at least 3/2 of each of its pairs (a form of the simplex
condition). Parity cuts raise the bound of the program: if a set of types has an odd number of rows, at least one group
has an odd number of rows in it (for pairs, these are Edmonds' blossom inequalities). Finally, the groups whose reduced
cost is below the gap enter an integer program.

The bound of the linear program does not depend on floating point. The duals of the solver are rounded to integers, the
scan of *all* pairs and triples determines by how much they are infeasible, the duals are reduced by this amount, and
the bound is computed in integers.

References
----------
.. [1] E. Anshelevich, A. Karagiozova: Terminal backup, 3D matching, and covering cubic graphs. SIAM Journal on
   Computing 40(3), 2011, pages 678-708. https://doi.org/10.1137/090752699
.. [2] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.matching.cover_problem import Cover, CoverProblem
from shoal.algorithms.matching.cover_search import CoverSearch


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
        A cover to start from, in the form of `Cover.groups`; the result never costs more.
    time_limit : float, optional
        Seconds after which the best cover so far is returned, with the bound that was proven by then.
    progress : callable
        Receives progress reports; a KeyboardInterrupt that it raises ends the search like the time limit.

    Returns
    -------
    Cover
        The cheapest cover found. It has no groups if none was found; if the search is complete then, no cover exists.

    Raises
    ------
    MissingExtraError
        If highspy is not installed.
    """
    return CoverSearch(problem, start=start, time_limit=time_limit, progress=progress).run()
