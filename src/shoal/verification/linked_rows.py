"""The bundles of linked rows: persons whose published rows are the same, and the values that they have.

If cells are lists of values and rows are not linked, each row is a person, and bundles are groups of rows.

Shares nothing with the algorithm that made the bundles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.models import GroupModel
from shoal.models.rationals import STATED_DIGITS, round_down, round_up
from shoal.verification.failures import Failure


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Shares:
    """How many persons of each bundle have a sensitive value in any of their rows."""

    bundle: NDArray[np.int64]
    """The bundle of each pair of a bundle and a value that a person of it has."""
    value: NDArray[np.int64]
    """The value of each pair."""
    different: tuple[tuple[int, int, int], ...]
    """The different (persons of the bundle that have the value, persons of the bundle, persons of the release that have
    the value) of the pairs."""
    kind: NDArray[np.int64]
    """Index in `different` of each pair."""
    everywhere: NDArray[np.int64]
    """Persons of the release that have each value."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Bundles:
    """The bundles of a table; they are numbered in the order of their first rows."""

    person_of: NDArray[np.int64] = field(compare=False)
    """Person of each row, from 0 in the order of first rows."""
    bundle_of: NDArray[np.int64] = field(compare=False)
    """Bundle of each person, from 0."""
    sizes: NDArray[np.int64] = field(compare=False)
    """Persons of each bundle."""
    of: Literal["persons", "records"] = "persons"
    """Whether these are persons with pseudonyms, or records with lists of values."""
    shares: Mapping[str, Shares] = field(default_factory=dict, compare=False)
    """The shares of the values of each sensitive attribute."""

    @property
    def persons(self) -> int:
        """Number of persons."""
        return len(self.bundle_of)

    @property
    def bundles(self) -> int:
        """Number of bundles."""
        return len(self.sizes)

    @property
    def k(self) -> int:
        """Persons of the smallest bundle."""
        return int(self.sizes.min())

    def largest_share(self, name: str) -> Fraction:
        """Compute the largest share of the persons of a bundle that have one value of an attribute."""
        return max(Fraction(count, size) for count, size, _ in self.shares[name].different)

    def largest_difference(self, name: str) -> Fraction:
        """Compute the largest difference between a share within a bundle and the share of all persons."""
        shares = self.shares[name]
        absent = shares.everywhere[np.bincount(shares.value) < self.bundles].tolist()
        pairs = (*shares.different, *((0, 1, everywhere) for everywhere in set(absent)))
        return max(abs(Fraction(count, size) - Fraction(everywhere, self.persons)) for count, size, everywhere in pairs)

    def failures(self, models: Sequence[GroupModel]) -> tuple[Failure, ...]:
        """Find the models that bundles fail: all bundles if a model cannot be asked of bundles."""
        found = []
        first_rows = np.unique(self.bundle_of[self.person_of], return_index=True)[1] + 1
        for model in models:
            for name in self.shares if model.needs_sensitive else (None,):
                failing = np.flatnonzero(self._fail(model, name))
                if len(failing):
                    found.append(
                        Failure(
                            model=model,
                            attribute=name,
                            groups=self.bundles,
                            numbers=failing + 1,
                            sizes=self.sizes[failing],
                            first_rows=first_rows[failing],
                            of=self.of,
                        )
                    )
        return tuple(found)

    def _fail(self, model: GroupModel, name: str | None) -> NDArray[np.bool_]:
        """Flag the bundles that fail a model; each different share is decided once, in fractions."""
        if model.share_limits(Fraction(0)) is None:
            return np.ones(self.bundles, dtype=np.bool_)
        failing: NDArray[np.bool_] = self.sizes < (model.frequency_form() or (1, 1))[0]
        if name is None:
            return failing

        def beyond(count: int, size: int, everywhere: int) -> bool:
            limits = model.share_limits(Fraction(everywhere, self.persons))
            return limits is None or not limits[0] <= Fraction(count, size) <= limits[1]

        shares = self.shares[name]
        failing[shares.bundle[np.array([beyond(*one) for one in shares.different])[shares.kind]]] = True
        # Values that no person of some bundle has.
        numbers, places = np.unique(shares.everywhere, return_inverse=True)
        needed = np.array([beyond(0, 1, everywhere) for everywhere in numbers.tolist()])[places]
        present = np.bincount(shares.bundle[needed[shares.value]], minlength=self.bundles)
        return failing | (present < np.count_nonzero(needed))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a certificate states them, rounded against the publisher."""
        return {
            "units": self.persons,
            "bundles": self.bundles,
            "k": self.k,
            "l": {name: round_down(1 / self.largest_share(name), STATED_DIGITS) for name in self.shares},
            "t": {name: round_up(self.largest_difference(name), STATED_DIGITS) for name in self.shares},
        }

    def __repr__(self) -> str:
        return f"Bundles(persons={self.persons}, bundles={self.bundles}, k={self.k})"


def find_bundles(
    frame: pl.DataFrame,
    *,
    pseudonym: str | None,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str] = (),
    separators: Mapping[str, str] | None = None,
) -> Bundles:
    """Find the bundles of a table: persons whose rows have the same multiset of quasi-identifiers.

    Parameters
    ----------
    frame : polars.DataFrame
        The published rows.
    pseudonym : str or None
        The column of pseudonyms; None if each row is a person.
    quasi_identifiers, sensitive : sequence of str
        Roles of the other columns. A missing value is a value of its own.
    separators : mapping of str to str, optional
        The separator of each sensitive column whose cells are lists of values. A list without any has a missing value.

    Examples
    --------
    >>> frame = pl.DataFrame({"id": [1, 2, 1, 2, 3], "age": [30, 30, 31, 31, 30]})
    >>> find_bundles(frame, pseudonym="id", quasi_identifiers=["age"]).bundle_of.tolist()
    [0, 0, 1]
    """
    cells = _number([frame.get_column(name) for name in quasi_identifiers], frame.height)
    persons, bundle_of = np.arange(frame.height), cells
    if pseudonym is not None:
        persons = _number([frame.get_column(pseudonym)], frame.height)
        # Each person is described by the sorted numbers of its different rows.
        rows = pl.DataFrame({"unit": persons, "cell": cells}).group_by("unit").agg(pl.col("cell").sort())
        texts = rows.sort("unit")["cell"].cast(pl.List(pl.String)).list.join(",")
        bundle_of = _number([texts], len(texts))
    sizes = np.bincount(bundle_of)
    shares = {}
    for name in sensitive:
        pairs = pl.DataFrame({"unit": persons, "value": frame.get_column(name)})
        if separators and name in separators:
            split = (
                pl.col("value").cast(pl.String).str.split(separators[name]).list.eval(pl.element().str.strip_chars())
            )
            pairs = pairs.with_columns(split.list.eval(pl.element().filter(pl.element() != "")))
            pairs = pairs.with_columns(pl.when(pl.col("value").list.len() > 0).then(pl.col("value"))).explode("value")
        values = _number([pairs["value"]], pairs.height)
        width = int(values.max(initial=0)) + 1
        # Each person that has a value counts once.
        of_person = np.unique(pairs["unit"].to_numpy() * width + values)
        everywhere = np.bincount(of_person % width)
        keys, counts = np.unique(bundle_of[of_person // width] * width + of_person % width, return_counts=True)
        bundle, value = keys // width, keys % width
        table = np.column_stack((counts, sizes[bundle], everywhere[value]))
        different, kind = np.unique(table, axis=0, return_inverse=True)
        shares[name] = Shares(
            bundle=bundle, value=value, different=tuple(map(tuple, different.tolist())), kind=kind.ravel(),
            everywhere=everywhere,
        )  # fmt: skip
    return Bundles(
        person_of=persons,
        bundle_of=bundle_of,
        sizes=sizes,
        of="records" if pseudonym is None else "persons",
        shares=shares,
    )


def _number(columns: Sequence[pl.Series], height: int) -> NDArray[np.int64]:
    """Assign numbers to the different combinations of the cells of columns in the order of their first rows."""
    # Columns are renamed, because Polars takes some names for patterns.
    keys = [str(at) for at in range(len(columns))]
    rows = pl.DataFrame([column.alias(key) for column, key in zip(columns, keys, strict=True)])
    rows = rows.with_columns(pl.selectors.float().fill_nan(None))  # one missing value, as in groups of rows
    if not keys:
        return np.zeros(height, dtype=np.int64)
    distinct = rows.unique(maintain_order=True).with_row_index("cell")
    found = rows.join(distinct, on=keys, how="left", nulls_equal=True, maintain_order="left")["cell"]
    return found.cast(pl.Int64).to_numpy()
