"""Decide whether the names of a hierarchy's nodes state by themselves which values are below them.

`[20, 30)` over the ages from 20 to 29 does, `10-20` over incomes from 10,000 to 19,999 does not, and no name such as
`lung` does: then readers need the hierarchy.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verification.cell_syntax import read_cell
from shoal.verification.covered_ranks import CoveredRanks, RankSet
from shoal.verification.meaning import Meaning, Tree
from shoal.verification.placing import ranks_of
from shoal.verification.published_columns import UNNAMED, ReadColumn
from shoal.verification.scales import Scale
from shoal.verification.sub_domains import Listed, Masked
from shoal.verification.values import Values, scale_of

_MAX_VALUES = 100_000
"""Largest number of values of a hierarchy whose names are checked: larger ones were not written by hand."""


def scale_of_names(tree: Tree) -> Scale | None:
    """Determine the scale on which every node's name covers the values below the node; None if a name does not.

    Intervals and periods are on the scale of numbers or dates, sets on that of text, and masks (`476**`) on any. The
    root is taken for a star. Numbered nodes of proposed hierarchies are skipped: readers refuse those
    that occur.

    Examples
    --------
    >>> from shoal.hierarchy import Hierarchy
    >>> scale_of_names(Hierarchy.from_rows([("23", "20-29", "*"), ("31", "30-39", "*")]))
    'number'
    >>> scale_of_names(Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*")]))
    """
    if len(tree.labels[0]) > _MAX_VALUES:
        return None
    # The scale of the values decides how the names are interpreted.
    leaves = pl.Series("leaf", list(tree.labels[0]), dtype=pl.String)
    scale = scale_of(leaves)
    if scale == "time":
        return None
    values = Values(leaves, scale)
    codes = np.arange(len(leaves))
    # Leaves are values, and the root is a star: only the levels between have names to check.
    for names, nodes in zip(tree.labels[1:-1], tree.levels[1:-1], strict=True):
        column = ReadColumn("", names, codes[:0], meaning=Meaning(climbed=True), scale=scale)
        column.years = scale == "date"
        sets = [_covered_ranks(name, column, values) for name in names]
        if any(one is None for one in sets):
            return None
        # Each value must be covered by the name of its node on this level.
        covered = CoveredRanks.of([one for one in sets if one is not None])
        if not covered.covers(np.asarray(nodes), values.ranks(codes)).all():
            return None
    return scale


def _covered_ranks(name: str, column: ReadColumn, values: Values) -> RankSet | None:
    """Compute the ranks that a name covers; None if the name is neither a value nor a known form."""
    if UNNAMED.fullmatch(name):
        return RankSet(low=0, stop=values.size)
    cell = read_cell(name)
    # Masks cover text on any scale; sets need the values themselves.
    if cell.kind == "mask":
        return ranks_of(Masked(text=name, star="*"), values)
    if column.scale == "text":
        members = cell.atoms if cell.kind == "set" else (name,)
        return ranks_of(Listed(texts=members), values) if cell.kind == "set" or name in values.known else None
    found = column.span_of(column.sub_domain(name))
    return None if found is None else ranks_of(found, values)
