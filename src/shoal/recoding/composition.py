"""A recoding of a coarsened table, said in the values of the original one.

A coarsening makes one value of several, and a release that was made of the coarser table publishes these, sets of them
or stars. A published cell then stands for every original value that became one of the coarse values that it stands for.
Said like that, coarsening and anonymization are one recoding of the original microdata, and every metric measures what
both of them lost together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InternalError
from shoal.recoding.penalty import interval_penalty, set_penalty
from shoal.recoding.recoded import RecodedColumn, Recoding, SubDomains, sub_domains_of
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table import Column, Table

__all__ = ["compose", "sub_domain_penalty"]

_FLAGS = 1 << 24
"""Pairs of a coarse and an original value up to which they are looked up in a table of flags; more are sorted."""


def compose(original: Table, coarse: Table, recoding: Recoding) -> Recoding:
    """Return what every group publishes, in terms of the original table.

    Parameters
    ----------
    original : Table
        The microdata before they were coarsened.
    coarse : Table
        The coarsened table: the same rows in the same order. Columns that were not coarsened are the same objects.
    recoding : Recoding
        What every group of the coarse table publishes.

    Returns
    -------
    Recoding
        The same labels and stars. A cell is kept where it stands for one original value. Its penalty is 1 for a star;
        an interval's where the original column is ordered and the cell stands for all of its values between two; else
        the share of the domain that it stands for, and, where sets of coarse values are charged for what they show, no
        less than that. Nodes of a hierarchy count the original values below them, without the missing one. A coarsened
        column has no levels: any step from its values is a whole one for the precision.
    """
    if original.rows != coarse.rows:
        raise InternalError("a table and its coarse form have different rows")
    pairs = zip(original.quasi_identifiers, coarse.quasi_identifiers, recoding.columns, strict=True)
    return replace(recoding, columns=tuple(_composed(*columns, recoding.largest_set) for columns in pairs))


def _composed(original: Column, coarse: Column, recoded: RecodedColumn, largest: int) -> RecodedColumn:
    if original is coarse:
        return recoded
    domains = _original_values(recoded.sub_domains, _became(original, coarse), original.size)
    penalty = sub_domain_penalty(original, domains, tree=recoded.levels is not None)
    if recoded.levels is None and not coarse.ordered and coarse.size > largest + 1:
        penalty = np.maximum(penalty, np.minimum(set_penalty(recoded.sub_domains.sizes, coarse.size, largest), 1.0))
    penalty = np.where(_stars_of_labels(recoded), 1.0, penalty)
    return replace(
        recoded,
        kept=(domains.sizes == 1)[recoded.group_codes] & ~recoded.stars,
        penalty=penalty[recoded.group_codes],
        sub_domains=domains,
        levels=None,
        height=1,
    )


def _became(original: Column, coarse: Column) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the original codes that became each coarse code, as compressed rows; ascending within each."""
    keys = coarse.codes.astype(np.int64) * original.size + original.codes
    if coarse.size * original.size <= _FLAGS:
        seen = np.zeros(coarse.size * original.size, dtype=np.bool_)
        seen[keys] = True
        keys = np.flatnonzero(seen)
    else:
        keys = np.unique(keys)
    starts = np.searchsorted(keys // original.size, np.arange(coarse.size + 1))
    return starts.astype(np.int64), (keys % original.size).astype(np.int32)


def _original_values(labels: SubDomains, became: tuple[NDArray[np.int64], NDArray[np.int32]], size: int) -> SubDomains:
    """Return for each label the original values that became one of its coarse values."""
    starts, members = became
    runs_of_label = np.diff(labels.starts)
    begins, ends = starts[labels.first], starts[labels.last.astype(np.int64) + 1]
    label = np.repeat(np.repeat(np.arange(len(runs_of_label)), runs_of_label), ends - begins)
    codes = members[entries_of_rows(begins, ends)]
    # A value of one column may have become several coarse ones, where columns were coarsened together.
    keys = np.unique(label * size + codes)
    return sub_domains_of(
        np.searchsorted(keys // size, np.arange(len(runs_of_label) + 1)).astype(np.int64),
        (keys % size).astype(np.int32),
    )


def _stars_of_labels(recoded: RecodedColumn) -> NDArray[np.bool_]:
    stars = np.zeros(len(recoded.labels), dtype=np.bool_)
    stars[recoded.group_codes[recoded.stars]] = True
    return stars


def sub_domain_penalty(
    original: Column, domains: SubDomains, *, tree: bool = False, largest_set: int | None = None
) -> NDArray[np.float64]:
    """Return the penalty of each label that is no star, by the values that it stands for.

    Parameters
    ----------
    original : Column
        The values.
    domains : SubDomains
        What each label stands for.
    tree : bool
        Whether the labels are nodes of a hierarchy: these do not count a missing value.
    largest_set : int, optional
        Sets are charged for what they show, where this is the size of the largest.
    """
    sizes = domains.sizes
    size = original.size - tree * original.has_missing
    penalty = np.minimum(np.asarray(set_penalty(sizes, size, largest_set), dtype=np.float64), 1.0)
    if tree or not original.ordered:
        return penalty
    last = domains.last[domains.starts[1:] - 1]
    # A run of several values; the missing one, which has the last code, lies at no end of an interval.
    run = (np.diff(domains.starts) == 1) & (sizes > 1) & (last < original.size - original.has_missing)
    if run.any():
        penalty[run] = interval_penalty(original, domains.first[domains.starts[:-1][run]], last[run])
    return penalty
