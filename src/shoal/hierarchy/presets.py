"""Coarsenings prescribed by regulations."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from shoal.errors import ColumnError, ParameterError
from shoal.hierarchy.coarsening import Coarsening
from shoal.hierarchy.dates import DatePart
from shoal.hierarchy.numeric import TopCode
from shoal.hierarchy.postal import SPARSE_ZIP3, ThreeDigitZip

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
    """Create the coarsenings of the HIPAA Safe Harbor rule, for the parameter `coarsen`.

    Dates become years, ZIP codes keep three digits (`000` if 20,000 people or fewer live there), ages over 89 become
    `90+`, and years of birth that imply such an age are merged. The rule also covers names, account numbers,
    photographs and more. Such columns do not belong in a release, and no program can certify that a release meets the
    rule.

    Parameters
    ----------
    dates : str or sequence of str
        Columns of dates, except dates of birth.
    births : str or sequence of str
        Columns of dates of birth.
    zips : str or sequence of str
        Columns of U.S. ZIP codes.
    ages : str or sequence of str
        Columns of ages in years.
    on : datetime.date, optional
        The day to which ages refer; required if there are `births`.
    sparse : sequence of str
        Three-digit areas of 20,000 people or fewer. The default is the list in the guidance of 2012, based on the 2000
        Census; pass a newer list if there is one.

    Returns
    -------
    dict of column to Coarsening

    References
    ----------
    45 CFR 164.514(b)(2).

    Examples
    --------
    >>> safe_harbor(dates="admitted", ages="age")
    {'admitted': DatePart(part='year', format=None, earliest=None), 'age': TopCode(at=90, label=None, bottom=None)}
    """
    coarsen: dict[str, Coarsening] = {}
    born: Coarsening | None = None
    if births:
        if not isinstance(on, dt.date):
            raise ParameterError.refusing("safe_harbor", "on", "a date where there are births")
        # Years of birth that imply an age of 90 or more are merged.
        born = DatePart("year", earliest=on.year - _AGE)
    roles = [(dates, DatePart("year")), (births, born), (zips, ThreeDigitZip(tuple(sparse))), (ages, TopCode(_AGE))]
    # A column may have one role only.
    for names, coarsening in roles:
        for name in (names,) if isinstance(names, str) else names:
            if name in coarsen:
                raise ColumnError(f"The column '{name}' is named twice.")
            if coarsening is not None:
                coarsen[name] = coarsening
    return coarsen
