"""The bundles of linked rows that fail privacy models: their numbers and sizes in persons, never their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.models import GroupModel, PrivacyModel
from shoal.verification.failures import Failure
from shoal.verification.linked_rows import UnitShare, number_rows


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class BundledUnits:
    """The bundle of each unit of a table of linked rows; bundles are numbered in the order of their first rows."""

    unit_of: NDArray[np.int64]
    """Unit of each row, from 0 in the order of first rows."""
    bundle_of: NDArray[np.int64]
    """Bundle of each unit, from 0."""
    sizes: NDArray[np.int64]
    """Units of each bundle."""
    first_rows: NDArray[np.int64]
    """First row of each bundle, from 0."""

    def shares(self, values: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Count the units of each bundle that have a value in any of their rows.

        Parameters
        ----------
        values : polars.Series
            A cell for each row.

        Returns
        -------
        counts : int64 array, shape (bundles, values)
        everywhere : int64 array, shape (values,)
            Units of the table that have each value.
        codes : int64 array
            The value of each row.
        """
        codes = values.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
        _, codes = np.unique(codes, return_inverse=True)
        pairs = np.unique(np.column_stack((self.unit_of, codes)), axis=0)
        counts = np.zeros((len(self.sizes), int(codes.max()) + 1), dtype=np.int64)
        np.add.at(counts, (self.bundle_of[pairs[:, 0]], pairs[:, 1]), 1)
        return counts, counts.sum(axis=0), codes

    def __repr__(self) -> str:
        return f"BundledUnits(units={len(self.bundle_of)}, bundles={len(self.sizes)})"


def bundle_units(frame: pl.DataFrame, pseudonym: str, quasi_identifiers: Sequence[str]) -> BundledUnits:
    """Find the bundles of a table: units whose rows have the same multiset of quasi-identifiers.

    Examples
    --------
    >>> frame = pl.DataFrame({"id": [1, 2, 1, 2, 3], "age": [30, 30, 31, 31, 30]})
    >>> bundle_units(frame, "id", ["age"]).bundle_of.tolist()
    [0, 0, 1]
    """
    names = (pseudonym, *quasi_identifiers)
    numbered = pl.DataFrame([frame.get_column(name).alias(str(at)) for at, name in enumerate(names)])
    cells = number_rows(numbered, numbered.columns[1:])
    rows = pl.DataFrame({"unit": numbered["0"], "cell": cells}).with_row_index("row")
    units = rows.group_by("unit", maintain_order=True).agg(
        pl.col("cell").sort().cast(pl.String).str.join(",").alias("key"), pl.col("row").min()
    )
    bundles = units.group_by("key", maintain_order=True).agg(pl.len().alias("size"), pl.col("row").min())
    bundles = bundles.sort("row").with_row_index("bundle")
    place = units.with_row_index("number")
    numbers = rows.join(place.select("unit", "number"), on="unit", nulls_equal=True, maintain_order="left")["number"]
    return BundledUnits(
        unit_of=numbers.to_numpy().astype(np.int64),
        bundle_of=units.join(bundles, on="key", maintain_order="left")["bundle"].to_numpy().astype(np.int64),
        sizes=bundles["size"].to_numpy().astype(np.int64),
        first_rows=bundles["row"].to_numpy().astype(np.int64),
    )


def find_failing_bundles(
    frame: pl.DataFrame,
    found: BundledUnits,
    *,
    sensitive: Sequence[str],
    models: Sequence[PrivacyModel],
) -> tuple[Failure, ...]:
    """Find the models that a table of linked rows fails, and the failing bundles.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    found : BundledUnits
        Its bundles.
    sensitive : sequence of str
        The sensitive attributes.
    models : sequence of PrivacyModel

    Raises
    ------
    ParameterError
        A model does not support linked rows.
    """
    failures = []
    total = len(found.bundle_of)
    for model in models:
        if not isinstance(model, GroupModel):
            raise _unsupported(model)
        few = found.sizes < (model.frequency_form() or (1, 1))[0]
        for name in sensitive if model.needs_sensitive else (None,):
            failing = few.copy()
            if name is not None:
                counts, everywhere, _ = found.shares(frame.get_column(name))
                for value, every in enumerate(everywhere.tolist()):
                    limits = model.unit_limits(UnitShare(0, 1, every, total).overall)
                    if limits is None:
                        raise _unsupported(model)
                    # Each different pair of a count and a size is decided once, in fractions.
                    pairs, place = np.unique(
                        np.column_stack((counts[:, value], found.sizes)), axis=0, return_inverse=True
                    )
                    beyond = [
                        not limits[0] <= UnitShare(count, size, every, total).within <= limits[1]
                        for count, size in pairs.tolist()
                    ]
                    failing |= np.array(beyond)[place.ravel()]
            if failing.any():
                failures.append(
                    Failure(
                        model=model,
                        attribute=name,
                        groups=len(found.sizes),
                        numbers=np.flatnonzero(failing) + 1,
                        sizes=found.sizes[failing],
                        first_rows=found.first_rows[failing] + 1,
                        of="persons",
                    )
                )
    return tuple(failures)


def _unsupported(model: PrivacyModel) -> ParameterError:
    return ParameterError(
        model,
        " cannot be asked of linked rows. Leave it out, or count rows with ",
        Suggestion("link", value=False),
        ".",
    )
