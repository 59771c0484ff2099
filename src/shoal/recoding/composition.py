"""Composition of a coarsening with a recoding, expressed in values of the original table.

A coarsening maps several original values to one coarse value, and a release of the coarse table publishes coarse
values, sets of them, or stars. Hence a published cell represents every original value that was mapped to one of its
coarse values. In these terms, coarsening and anonymization form a single recoding of the original microdata, and every
metric measures their joint loss.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.recoding.penalty import interval_penalty, set_penalty
from shoal.recoding.recoded import RecodedColumn, Recoding, SubDomains, build_sub_domains
from shoal.table import Column, Table
from shoal.table.compressed import entries_of_rows

_FLAGS = 1 << 24
"""Largest number of pairs of a coarse and an original value for a table of flags; beyond it, pairs are sorted."""


def compose(original: Table, coarse: Table, recoding: Recoding) -> Recoding:
    """Express the recoding of a coarsened table in values of the original table.

    Parameters
    ----------
    original : Table
        The microdata before coarsening.
    coarse : Table
        The coarsened table, with the same rows in the same order. Columns that were not coarsened are identical
        objects.
    recoding : Recoding
        Published cells of every group of the coarse table.

    Returns
    -------
    Recoding
        A recoding with the same labels and stars.

    Notes
    -----
    A cell is kept if it represents a single original value. The penalty of a star is 1. If the original column is
    ordered and the cell represents a contiguous range, the penalty is that of an interval. Otherwise it is the share of
    the domain that the cell represents; if sets of coarse values are charged for the number of values they show, the
    penalty is at least that charge. Nodes of a hierarchy count the original values below them, without the missing
    value. A coarsened column has no levels: for the precision, any change of a value is a full step.
    """
    if original.rows != coarse.rows:
        raise InternalError("a table and its coarse form have different rows")
    pairs = zip(original.quasi_identifiers, coarse.quasi_identifiers, recoding.columns, strict=True)
    return replace(recoding, columns=tuple(_compose_column(*columns, recoding.largest_set) for columns in pairs))


def _compose_column(original: Column, coarse: Column, recoded: RecodedColumn, largest: int) -> RecodedColumn:
    # The column was not coarsened.
    if original is coarse:
        return recoded
    # Replace the coarse values of each label by original values.
    domains = _original_values(recoded.sub_domains, _list_original_codes(original, coarse), original.size)
    penalty = sub_domain_penalty(original, domains, tree=recoded.levels is not None)
    if recoded.levels is None and not coarse.ordered and coarse.size > largest + 1:
        # A set of coarse values costs at least as much as it does in the coarse table.
        penalty = np.maximum(penalty, np.minimum(set_penalty(recoded.sub_domains.sizes, coarse.size, largest), 1.0))
    penalty[recoded.group_codes[recoded.stars]] = 1.0
    return replace(
        recoded,
        kept=(domains.sizes == 1)[recoded.group_codes] & ~recoded.stars,
        penalty=penalty[recoded.group_codes],
        sub_domains=domains,
        levels=None,
        height=1,
    )


def _list_original_codes(original: Column, coarse: Column) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the original codes of each coarse code as compressed rows, in ascending order."""
    keys = coarse.codes.astype(np.int64) * original.size + original.codes
    if coarse.size * original.size <= _FLAGS:
        # A table of flags sorts and deduplicates the pairs in linear time.
        seen = np.zeros(coarse.size * original.size, dtype=np.bool_)
        seen[keys] = True
        keys = np.flatnonzero(seen)
    else:
        keys = np.unique(keys)
    starts = np.searchsorted(keys // original.size, np.arange(coarse.size + 1))
    return starts.astype(np.int64), (keys % original.size).astype(np.int32)


def _original_values(labels: SubDomains, became: tuple[NDArray[np.int64], NDArray[np.int32]], size: int) -> SubDomains:
    """Return the original values of each label: those that were mapped to one of its coarse values."""
    starts, members = became
    runs_of_label = np.diff(labels.starts)
    begins, ends = starts[labels.first], starts[labels.last.astype(np.int64) + 1]
    label = np.repeat(np.repeat(np.arange(len(runs_of_label)), runs_of_label), ends - begins)
    codes = members[entries_of_rows(begins, ends)]
    # If columns were coarsened together, a value of one column may belong to several coarse values.
    keys = np.unique(label * size + codes)
    return build_sub_domains(
        np.searchsorted(keys // size, np.arange(len(runs_of_label) + 1)).astype(np.int64),
        (keys % size).astype(np.int32),
    )


def sub_domain_penalty(
    original: Column, domains: SubDomains, *, tree: bool = False, largest_set: int | None = None
) -> NDArray[np.float64]:
    """Compute the penalty of each label, except stars, from the values that it represents.

    Parameters
    ----------
    original : Column
        The column with the values.
    domains : SubDomains
        Values that each label represents.
    tree : bool
        Whether the labels are nodes of a hierarchy, which do not count a missing value.
    largest_set : int, optional
        Size of the largest set. If it is given, sets are charged for the number of values that they show.
    """
    sizes = domains.sizes
    size = original.size - tree * original.has_missing
    penalty = np.minimum(np.asarray(set_penalty(sizes, size, largest_set), dtype=np.float64), 1.0)
    if tree or not original.ordered:
        return penalty
    last = domains.last[domains.starts[1:] - 1]
    # A contiguous range of several values is an interval. The missing value has the last code and is never part of one.
    run = (np.diff(domains.starts) == 1) & (sizes > 1) & (last < original.size - original.has_missing)
    if run.any():
        penalty[run] = interval_penalty(original, domains.first[domains.starts[:-1][run]], last[run])
    return penalty
