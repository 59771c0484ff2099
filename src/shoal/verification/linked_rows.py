"""Check a release of linked rows from its published cells alone: bundles of pseudonyms, and the values of their units.

If cells are lists of values and rows are not linked, each row is a unit, and bundles are groups of rows.

Shares nothing with the algorithm that made the bundles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import ReleaseUnsafeError
from shoal.models import GroupModel
from shoal.models.rationals import STATED_DIGITS, round_down, round_up


@dataclass(frozen=True)
class UnitShare:
    """How many units of a bundle, and of the release, have a sensitive value in any of their rows."""

    count: int
    """Units of the bundle that have the value."""
    size: int
    """Units of the bundle."""
    everywhere: int
    """Units of the release that have the value."""
    units: int
    """Units of the release."""

    @property
    def within(self) -> Fraction:
        """Share of the units of the bundle."""
        return Fraction(self.count, self.size)

    @property
    def overall(self) -> Fraction:
        """Share of all units."""
        return Fraction(self.everywhere, self.units)


@dataclass(frozen=True, kw_only=True, repr=False)
class Bundles:
    """The bundles of a release of linked rows: pseudonyms whose published quasi-identifiers are the same multiset."""

    units: int
    """Number of pseudonyms."""
    bundles: int
    """Number of bundles."""
    k: int
    """Units of the smallest bundle."""
    shares: Mapping[str, tuple[UnitShare, ...]]
    """For each sensitive attribute the different shares that values have in bundles; 0 is among them if a bundle lacks
    a value."""
    linked: bool = True
    """Whether units are persons with pseudonyms, not rows."""

    def largest_share(self, name: str) -> Fraction:
        """Compute the largest share of the units of a bundle that have one value of an attribute."""
        return max(share.within for share in self.shares[name])

    def largest_difference(self, name: str) -> Fraction:
        """Compute the largest difference between a share within a bundle and the share of all units."""
        return max(abs(share.within - share.overall) for share in self.shares[name])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a certificate states them, rounded against the publisher."""
        return {
            "units": self.units,
            "bundles": self.bundles,
            "k": self.k,
            "l": {name: round_down(1 / self.largest_share(name), STATED_DIGITS) for name in self.shares},
            "t": {name: round_up(self.largest_difference(name), STATED_DIGITS) for name in self.shares},
        }

    def __repr__(self) -> str:
        return f"Bundles(units={self.units}, bundles={self.bundles}, k={self.k})"


def find_bundles(
    frame: pl.DataFrame,
    *,
    pseudonym: str | None,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    lists: Mapping[str, str] | None = None,
) -> Bundles:
    """Measure the bundles of a published table.

    Parameters
    ----------
    frame : polars.DataFrame
        The published rows.
    pseudonym : str or None
        The column of pseudonyms; None if each row is a unit.
    quasi_identifiers, sensitive : sequence of str
        Roles of the other columns. A missing value is a value of its own.
    lists : mapping of str to str, optional
        The separator of each sensitive column whose cells are lists of values. A list without any has a missing value.
    """
    units_named = () if pseudonym is None else (pseudonym,)
    places = {name: frame.columns.index(name) for name in (*units_named, *quasi_identifiers, *sensitive)}
    # Columns by number, because Polars takes some names for patterns.
    rows = frame.select(pl.nth(place).alias(str(place)) for place in places.values())
    unit = "unit" if pseudonym is None else str(places[pseudonym])
    if pseudonym is None:
        rows = rows.with_row_index(unit)
    known = [str(places[name]) for name in quasi_identifiers]
    if rows[unit].null_count():
        raise ReleaseUnsafeError("A row of linked rows has no pseudonym. Nothing was published.")
    # Number the different published rows, then describe each unit by the sorted numbers of its rows.
    numbered = rows.with_columns(number_rows(rows, known).alias("cell"))
    units = numbered.group_by(unit).agg(pl.col("cell").sort().cast(pl.String).str.join(",").alias("rows"))
    units = units.with_columns(pl.len().over("rows").alias("size"))
    total = units.height
    sizes = units.group_by("rows").agg(pl.len().alias("size"))["size"]
    shares: dict[str, tuple[UnitShare, ...]] = {}
    for name in sensitive:
        own = str(places[name])
        pairs = rows.select(unit, own)
        if lists and name in lists:
            cells = pl.col(own).cast(pl.String).str.split(lists[name]).list.eval(pl.element().str.strip_chars())
            pairs = pairs.with_columns(cells.list.eval(pl.element().filter(pl.element() != "")))
            pairs = pairs.with_columns(pl.when(pl.col(own).list.len() > 0).then(pl.col(own))).explode(own)
        pairs = pairs.unique().join(units, on=unit)
        counts = pairs.group_by("rows", "size", own).agg(pl.len().alias("count"))
        whole = pairs.group_by(own).agg(pl.len().alias("all"))
        counts = counts.join(whole, on=own, nulls_equal=True)
        found = {
            UnitShare(count, size, every, total)
            for count, size, every in counts.select("count", "size", "all").unique().iter_rows()
        }
        # A value that no unit of some bundle has.
        present = counts.group_by(own).agg(pl.len().alias("bundles"), pl.col("all").first())
        absent = present.filter(pl.col("bundles") < len(sizes))["all"].unique()
        found |= {UnitShare(0, 1, int(every), total) for every in absent}
        shares[name] = tuple(found)
    smallest = int(sizes.min())  # type: ignore[arg-type]
    return Bundles(units=total, bundles=len(sizes), k=smallest, shares=shares, linked=pseudonym is not None)


def number_rows(rows: pl.DataFrame, known: Sequence[str]) -> pl.Series:
    """Assign a number to each different combination of columns."""
    if not known:
        return pl.Series(np.zeros(rows.height, dtype=np.int64))
    distinct = rows.select(known).unique(maintain_order=True).with_row_index("cell")
    return rows.select(known).join(distinct, on=list(known), how="left", nulls_equal=True, maintain_order="left")[
        "cell"
    ]


def verify_linked(
    frame: pl.DataFrame,
    *,
    pseudonym: str | None,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[GroupModel],
    lists: Mapping[str, str] | None = None,
) -> Bundles:
    """Check that the bundles of a release of linked rows satisfy the models; return what they achieve.

    Parameters
    ----------
    frame, pseudonym, quasi_identifiers, sensitive
        As for `find_bundles`.
    models : sequence of GroupModel
        Each of them can be asked of linked units (`GroupModel.unit_limits`).
    lists : mapping of str to str, optional
        As for `find_bundles`.

    Raises
    ------
    ReleaseUnsafeError
        A bundle fails. The message names the model, never a value.
    """
    found = find_bundles(
        frame, pseudonym=pseudonym, quasi_identifiers=quasi_identifiers, sensitive=sensitive, lists=lists
    )
    for model in models:
        failed = found.k < (model.frequency_form() or (1, 1))[0]
        for name in sensitive if model.needs_sensitive else ():
            for share in found.shares[name]:
                limits = model.unit_limits(share.overall)
                failed |= limits is None or not limits[0] <= share.within <= limits[1]
        if failed or model.unit_limits(Fraction(0)) is None:
            raise ReleaseUnsafeError("The bundles of the release fail ", model, ". Nothing was published.")
    return found
