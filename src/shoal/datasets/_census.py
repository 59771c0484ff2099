"""Synthetic census-like tables of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import Integer, OneOf, validate
from shoal._messages import Subject
from shoal.errors import ParameterError, near_matches

Codes = NDArray[np.int16]


QUASI_IDENTIFIERS = ("age", "gender", "race", "marital_status", "birth_place", "education", "work_class")
"""The seven quasi-identifiers of SAL and OCC, in the order of the paper."""

_STREAMS = (*QUASI_IDENTIFIERS, "income", "occupation")
_BLOCK = 1 << 16
"""Number of rows that are generated at a time, so that intermediate arrays fit into the cache."""
_SHARE_BITS = 20
"""Probabilities are integer multiples of 2**-20, so that floating-point differences between platforms do not change a
table."""


def census(
    n: int = 600_000,
    *,
    sensitive: Literal["income", "occupation"] = "income",
    quasi_identifiers: int | Sequence[str] | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Generate a census-like table with the shape of SAL or OCC.

    Parameters
    ----------
    n : int, default 600_000
        Number of rows, at least 0. A shorter table consists of the first rows of a longer one.
    sensitive : {"income", "occupation"}, default "income"
        The sensitive attribute: "income" has the shape of SAL, "occupation" that of OCC. Both have 50 values, and the
        most common value has a share of less than a tenth, so that l = 10 is feasible.
    quasi_identifiers : int or sequence of str, optional
        The number of leading `QUASI_IDENTIFIERS` to include, or their names; all seven by default. The selection does
        not change the records.
    seed : int, default 0
        At least 0. The same seed always yields the same table: it depends only on integer arithmetic and on the raw
        bits of PCG64, whose stream NumPy guarantees.

    Returns
    -------
    polars.DataFrame
        The quasi-identifiers in the requested order, then the sensitive attribute, all of type Int16: `age` in years
        (17 to 95), every other attribute a code from 0. Domain sizes: age 79, gender 2, race 9, marital_status 6,
        birth_place 56, education 17, work_class 9, income 50, occupation 50.

    Raises
    ------
    ParameterError
        If a parameter is invalid.

    Notes
    -----
    The tables of the paper come from the American Community Survey through IPUMS and cannot be redistributed. This
    function samples from a chain of conditional distributions, given by small tables: age; gender | age; race | age;
    marital status | age, gender, race; birth place | race; education | age, gender, race, birth place, married; work
    class | age, education, gender; occupation | age, education, gender, work class; income | age, education, gender,
    work class, married, race. All records are adults with an occupation. The birth place is a state, D.C., or one of
    five parts of the world, an interpretation of the domain size 56 that is based on the state codes of the survey.

    `docs/census-like-tables.md` compares the result with survey data: entropies, mutual information, distinct
    combinations.

    References
    ----------
    X. Xiao, K. Yi, Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 6,
    doi:10.1145/1739041.1739060.

    Examples
    --------
    >>> from shoal.datasets import census
    >>> census(3, quasi_identifiers=2).columns
    ['age', 'gender', 'income']
    """
    validate(
        "census",
        {"n": n, "sensitive": sensitive, "seed": seed},
        {"n": Integer(low=0), "sensitive": OneOf(("income", "occupation")), "seed": Integer(low=0)},
    )
    selected = _select_attributes(quasi_identifiers)
    columns = {name: np.empty(n, dtype=np.int16) for name in (*selected, sensitive)}
    # Each attribute has its own random stream, so that a selection of columns does not change the others.
    sources = {name: np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(j,))) for j, name in enumerate(_STREAMS)}
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        block = _sample_people(stop - start, sources, sensitive)
        for name, column in columns.items():
            column[start:stop] = block[name]
    return pl.DataFrame(columns)


def _select_attributes(quasi_identifiers: int | Sequence[str] | None) -> tuple[str, ...]:
    if quasi_identifiers is None:
        return QUASI_IDENTIFIERS
    # Other types than sequences fail the validation of the number.
    if isinstance(quasi_identifiers, int) or not isinstance(quasi_identifiers, Sequence):
        constraint = Integer(low=0, high=len(QUASI_IDENTIFIERS))
        validate("census", {"quasi_identifiers": quasi_identifiers}, {"quasi_identifiers": constraint})
        return QUASI_IDENTIFIERS[: int(quasi_identifiers)]
    # A single name is a sequence of characters, which would be a confusing error.
    names = (quasi_identifiers,) if isinstance(quasi_identifiers, str) else tuple(quasi_identifiers)
    for name in names:
        if name not in QUASI_IDENTIFIERS:
            raise ParameterError(
                Subject("census", "quasi_identifiers"), f" has no '{name}'. {near_matches(name, QUASI_IDENTIFIERS)}"
            )
    if len(set(names)) < len(names):
        raise ParameterError(Subject("census", "quasi_identifiers"), " must name each attribute once.")
    return names


def _sample_people(rows: int, sources: dict[str, np.random.PCG64], sensitive: str) -> dict[str, NDArray[np.integer]]:
    """Sample the attributes of a block of records, each conditional on the previous ones."""
    from shoal.datasets import _census_weights as contexts

    def draw(name: str, context: NDArray[np.int64] | int) -> NDArray[np.int64]:
        return _alias_table(name).draw(sources[name].random_raw(rows), context)

    # The order of the chain; contexts are mixed-radix numbers of the conditions.
    age = draw("age", 0)
    gender = draw("gender", age)
    race = draw("race", age)
    group = contexts.RACE_GROUP[race]
    marital = draw("marital_status", (age * 2 + gender) * 4 + group)
    birth = draw("birth_place", race)
    married = (marital == 0).astype(np.int64)
    education = draw("education", (((age * 2 + gender) * 4 + group) * 3 + contexts.BIRTH_KIND[birth]) * 2 + married)
    work = draw("work_class", (age * 17 + education) * 2 + gender)
    if sensitive == "income":
        base = ((contexts.INCOME_AGE_BAND[age] * 17 + education) * 2 + gender) * 9 + work
        secret = draw(sensitive, (base * 2 + married) * 2 + contexts.INCOME_RACE[race])
    else:
        secret = draw(sensitive, ((((age > 5).astype(np.int64) + (age > 15)) * 17 + education) * 2 + gender) * 9 + work)
    return {
        "age": age + 17,
        "gender": gender,
        "race": race,
        "marital_status": marital,
        "birth_place": birth,
        "education": education,
        "work_class": work,
        sensitive: secret,
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class _AliasTable:
    """Walker's alias method for many distributions over the same values, in integers."""

    values: int
    """Number of values."""
    keep: NDArray[np.uint32]
    """By (context, cell): the fraction of the cell below which the cell's own value is drawn (flat)."""
    other: NDArray[np.uint8]
    """By (context, cell): the value that is drawn otherwise (flat)."""

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> _AliasTable:
        """Build the table of several distributions, one per row of `weights`."""
        contexts, values = weights.shape
        whole = 1 << _SHARE_BITS
        # Round to integer shares, and let the largest share absorb the rounding error.
        shares = np.rint(weights / weights.sum(axis=1, keepdims=True) * whole).astype(np.int64)
        rows = np.arange(contexts)
        shares[rows, shares.argmax(axis=1)] += whole - shares.sum(axis=1)
        room = shares * values
        keep = np.full((contexts, values), whole, dtype=np.int64)
        other = np.broadcast_to(np.arange(values), (contexts, values)).astype(np.uint8)
        open_cells = np.ones((contexts, values), dtype=np.bool_)
        # Each step closes the smallest open cell of every context and fills it up from the largest cell.
        for _ in range(values - 1):
            least = np.where(open_cells, room, 2 * whole * values).argmin(axis=1)
            most = np.where(open_cells, room, -1).argmax(axis=1)
            keep[rows, least] = room[rows, least]
            other[rows, least] = most
            room[rows, most] -= whole - room[rows, least]
            open_cells[rows, least] = False
        scaled = np.minimum(keep << (32 - _SHARE_BITS), (1 << 32) - 1).astype(np.uint32)
        return cls(values=values, keep=scaled.ravel(), other=other.ravel())

    def draw(self, bits: NDArray[np.uint64], context: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Draw one value per row from 64 random bits and the number of its context."""
        # The upper half of the product selects a cell, the lower half is the fraction within it.
        product = (bits >> np.uint64(32)) * np.uint64(self.values)
        cell = (product >> np.uint64(32)).astype(np.int64)
        place = context * self.values + cell
        fraction = product.astype(np.uint32)
        return np.where(fraction < self.keep[place], cell, self.other[place])


@cache
def _alias_table(name: str) -> _AliasTable:
    from shoal.datasets._census_weights import WEIGHTS

    return _AliasTable.of(WEIGHTS[name]())
