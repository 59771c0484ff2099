"""Coarsenings that a rule asks for."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from shoal.errors import ColumnError, ParameterError
from shoal.hierarchy.dates import DatePart
from shoal.hierarchy.numeric import TopCode
from shoal.hierarchy.postal import SPARSE_ZIP3, ThreeDigitZip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.hierarchy.coarsening import Coarsening

__all__ = ["safe_harbor"]

_AGE = 90


def safe_harbor(
    *,
    dates: str | Sequence[str] = (),
    births: str | Sequence[str] = (),
    zips: str | Sequence[str] = (),
    ages: str | Sequence[str] = (),
    on: dt.date | None = None,
    sparse: Sequence[str] = SPARSE_ZIP3,
) -> dict[str, Coarsening]:
    """Return the coarsenings of the Safe Harbor rule of HIPAA, for `coarsen=`.

    Dates become years, ZIP codes three digits (`000` where 20,000 people or fewer live), ages over 89 become `90+`,
    and years of birth that tell of such an age become one. The rule asks for more (names, numbers of accounts, faces,
    ...): those columns have no place in a release at all, and no program can tell that a release meets the rule.

    Parameters
    ----------
    dates : str or sequence of str
        Columns of dates, but for dates of birth.
    births : str or sequence of str
        Columns of dates of birth.
    zips : str or sequence of str
        Columns of U.S. ZIP codes.
    ages : str or sequence of str
        Columns of ages in years.
    on : datetime.date, optional
        The day on which the ages of those born are counted: needed with `births`.
    sparse : sequence of str
        The three-digit areas of 20,000 people or fewer; by default those of the 2000 Census that the guidance of 2012
        lists. Name a newer list where there is one.

    Returns
    -------
    dict of column to Coarsening

    References
    ----------
    45 CFR 164.514(b)(2).

    Examples
    --------
    >>> safe_harbor(dates="admitted", ages="age")
    {'admitted': DatePart(part='year', format=None, earliest=None), 'age': TopCode(at=90, label=None)}
    """
    coarsen: dict[str, Coarsening] = {}
    born: Coarsening | None = None
    if births:
        if not isinstance(on, dt.date):
            raise ParameterError.refusing("safe_harbor", "on", "a date where there are births")
        born = DatePart("year", earliest=on.year - _AGE)
    asked = [(dates, DatePart("year")), (births, born), (zips, ThreeDigitZip(tuple(sparse))), (ages, TopCode(_AGE))]
    for names, coarsening in asked:
        for name in (names,) if isinstance(names, str) else names:
            if name in coarsen:
                raise ColumnError(f"The column '{name}' is named twice.")
            if coarsening is not None:
                coarsen[name] = coarsening
    return coarsen
