"""Columns whose values repeat as a person's would: several rows each, and personal columns the same within them.

A release counts records. If people have several, groups of records hide nobody, so that such columns must be found
whatever they are called. What tells a number of persons from a code, a place or a product is the other columns: within
one person age, gender and date of birth stay the same, and columns that have nothing to do with each other do; within a
place or a household ages and genders differ.

For a column P and another column A two shares are compared, both exact:

* how often two rows with the same value of P agree on A, as the mean over the values of P that repeat;
* how often two rows of the table agree on A, which is what rows in a random order would give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.facts import Fact
from shoal.disclosure_risk.figures import Figures
from shoal.table.names import (
    suggests_individual,
    suggests_known,
    suggests_person_number,
    suggests_personal,
    suggests_place,
    suggests_thing,
)
from shoal.wording import english

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "PEEKED_ROWS",
    "PersonEvidence",
    "detect_persons",
    "detect_persons_in_sample",
    "evidence_by_name",
    "informative_columns",
    "may_be_code",
    "may_be_persons",
    "person_candidates",
    "repeated_combinations",
]

SAMPLED_ROWS = 100_000
"""Rows of whole values that are looked at for each candidate; a table of 5,000,000 rows takes .2 s for each so."""
PEEKED_ROWS = 20_000
"""Rows in which candidates are looked for."""
_CANDIDATES = 8
"""Columns that are looked at as persons, the likeliest ones."""
_FIRST_INFORMANTS = 6
"""Other columns by which candidates are chosen where there are more."""
_INFORMANTS = 24
"""Other columns that are looked at for each of them."""
_DATES_AND_DECIMALS = r"^-?\d*[.,]\d+$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
"""Text that names nobody: numbers with decimals, and dates."""
_FEW_FORMS = 0.5
"""Share of the cells with such text from which on a column is not looked at."""
_FEWEST_VALUES = 5
"""Fewer values are a code, not persons."""
_FEWEST_WITHOUT_AGE = 20
"""Fewer values are a code (17 kinds of admission, 12 wards) unless an age, gender or birth is the same within them."""
_VALUES_PER_ROOT = 4
"""Values are at least so many times fewer than the square root of the rows, or they are a code as well."""
_CONSTANT = 0.8
"""Agreement above chance (1: always) from which on a column is the same within values."""
_VARIES = 0.5
"""Agreement above chance below which a column differs within values."""
_DEVIATIONS = 4.0
"""Standard deviations by which an agreement must exceed that of rows in a random order."""
_RELATED = 0.5
"""Agreement above chance from which on one column says what another one is."""
_FREE = 0.8
"""Distinct values per person from which on a column names the persons itself, and shows nothing about them."""
_UNRELATED_PERSONAL = 2
"""Columns that are the same within persons and have nothing to do with each other, one of them personal."""
_UNRELATED = 3
"""Such columns if none of them is known to be personal."""
_LEAST_INDIVIDUAL = 2
"""Ages, genders, dates of birth that combinations of quasi-identifiers must have to say anything about persons."""
_LEAST_COLUMNS = 3
"""Quasi-identifiers that they must have in all."""
_SHOWN = 4
"""Columns that a sentence names."""
_AS_GOOD = 0.05
"""Difference of agreement that does not matter when persons are chosen among several columns."""


@dataclass(frozen=True, kw_only=True)
class PersonEvidence(Figures):
    """Why rows may not stand for one person each. It holds counts and names of columns, never a value."""

    column: str | None
    """The column that names the persons; None: no column does, but combinations of quasi-identifiers repeat."""
    records: int
    """Rows that have a value in it; if there is no column, all rows."""
    persons: int
    """Its distinct values; if there is no column, the distinct combinations."""
    most: int
    """Rows of the most frequent one."""
    constant: tuple[str, ...] = ()
    """Columns that are the same within nearly all values, personal ones first."""
    by: str
    """"values" (other columns stay the same within its values), "name" (its name or the form of its values), or
    "combinations" (no column says who)."""
    sampled: bool = False
    """Whether the counts are of a sample of whole values, as in tables that are read in pieces."""

    @property
    def text(self) -> str:
        """The counts in words, such as "300 rows of 60 values of 'pcode', at most 5 of one; age the same within"."""
        return english(self.as_fact)

    @property
    def as_fact(self) -> Fact:
        """The counts as a fact, for certificates."""
        counts = {"rows": self.records, "persons": self.persons, "most": self.most}
        sample = "_in_sample" if self.sampled else ""
        if self.column is None:
            return Fact(f"rows_of_combinations{sample}", **counts)
        found = Fact(f"rows_of_persons{sample}", column=self.column, **counts)
        if not self.constant:
            return found
        others = "_with_others" if len(self.constant) > _SHOWN else ""
        return Fact(f"same_within{others}", evidence=found, columns=self.constant[:_SHOWN])

    def to_dict(self) -> dict[str, object]:
        """Return the figures by their JSON names, with the sentence."""
        return {**super().to_dict(), "text": self.text}


def may_be_persons(values: int, rows: int) -> bool:
    """Return whether a column has enough values for its rows to name persons; a code of few values does not.

    Examples
    --------
    >>> may_be_persons(60, 300), may_be_persons(26, 101_766), may_be_persons(71_518, 101_766)
    (True, False, True)
    """
    return values >= _FEWEST_WITHOUT_AGE and not may_be_code(values, rows)


def may_be_code(values: int, rows: int) -> bool:
    """Return whether a column has so few values for its rows that it is a code, whatever it is called."""
    return (_VALUES_PER_ROOT * values) ** 2 < rows


def person_candidates(peek: pl.DataFrame, rows: int) -> list[str]:
    """Return the columns that may name persons, by some rows of a table: those with most values, in their order.

    Parameters
    ----------
    peek : polars.DataFrame
        Rows of the table, at most `PEEKED_ROWS` of them.
    rows : int
        Rows of the table.
    """
    distinct = {name: peek[name].n_unique() for name in peek.columns if _may_name_persons(peek[name])}
    if peek.height < rows:
        able = [name for name, values in distinct.items() if values >= _FEWEST_VALUES]
    else:
        able = [
            name
            for name, values in distinct.items()
            if _FEWEST_VALUES <= values < rows and not may_be_code(values, rows)
        ]
    if len(able) > _CANDIDATES:  # numbers with many values, too, are taken for candidates at first
        informants = informative_columns(peek)[:_FIRST_INFORMANTS]
        chances = {name: _screen(peek, name, informants) for name in able}
        able = [name for name in able if chances[name] >= 0]
        able.sort(key=lambda name: (-chances[name], not suggests_person_number(name), -distinct[name]))
    chosen = set(able[:_CANDIDATES])
    return [name for name in peek.columns if name in chosen]


def _screen(peek: pl.DataFrame, name: str, informants: Sequence[str]) -> int:
    """Return 1 if a column is the same within the values of a candidate, -1 if none is or ages differ, 0 if unknown.

    Few values repeat in some rows of a large table: the answer is unknown then.
    """
    rows = peek.filter(_is_present(peek[name]))
    persons = _codes(rows[name])
    found = False
    for other in informants:
        agreement = None if other == name else _agreement(persons, _codes(rows[other]))
        if agreement is None or agreement.values < _FEWEST_VALUES:
            continue
        if agreement.constant:
            return 1
        found = True
        if suggests_individual(other) and _differs(agreement, persons, rows[other]):
            return -1
    return -1 if found else 0


def informative_columns(peek: pl.DataFrame) -> list[str]:
    """Return the columns that are looked at for each candidate: personal ones first, then those with few values."""
    import polars as pl

    able = [name for name in peek.columns if not (peek[name].dtype.is_nested() or peek[name].dtype == pl.Object)]
    distinct = {name: peek[name].n_unique() for name in able}

    def rank(name: str) -> tuple[bool, bool, int]:
        return not suggests_individual(name), not suggests_personal(name), distinct[name]

    return sorted((name for name in able if distinct[name] > 1), key=rank)[:_INFORMANTS]


def detect_persons(frame: pl.DataFrame, *, limit: int = SAMPLED_ROWS) -> tuple[PersonEvidence, ...]:
    """Return the columns of a table whose values repeat as those of persons do, the likeliest persons first.

    Parameters
    ----------
    frame : polars.DataFrame
        All columns of the table, direct identifiers among them. The order of its rows does not matter.
    limit : int
        Above so many rows the rows of some values, all of them, are compared for each column.

    Returns
    -------
    tuple of PersonEvidence
        The first one names the persons: of several columns that fit equally well the one with the fewest values, such
        as the patient rather than the case. Its counts are those of the whole table.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.DataFrame({"pcode": [row % 60 for row in range(300)]}).with_columns(
    ...     age=20 + pl.col("pcode") * 7 % 50, gender=pl.col("pcode") * 5 % 7 % 2, ward=pl.int_range(300) // 60
    ... )
    >>> detect_persons(visits)[0].text
    "300 rows of 60 values of 'pcode', at most 5 of one; age and gender the same within nearly each"
    """
    rows = frame.height
    peek = frame if rows <= PEEKED_ROWS else frame.gather_every(-(-rows // PEEKED_ROWS))
    informants = informative_columns(peek)
    parts = max(1, rows // limit)
    found = []
    for name in person_candidates(peek, rows):
        some = frame if parts == 1 else frame.filter(frame[name].alias("").hash(seed=0) % parts == 0)
        found.append(_evidence(some[_with_first(name, informants)], name, sampled=parts > 1))
    return tuple(_counted(one, frame[str(one.column)]) for one in _likeliest_first(found))


def detect_persons_in_sample(rows_of: Mapping[str, pl.DataFrame], *, sampled: bool) -> tuple[PersonEvidence, ...]:
    """Return the columns that name persons in a table that is not read as a whole, the likeliest first.

    Parameters
    ----------
    rows_of : mapping of candidate to polars.DataFrame
        All rows of some values of that candidate: the columns that are compared.
    sampled : bool
        Whether there are other values, so that the counts are of a sample.
    """
    found = (_evidence(rows[_with_first(name, rows.columns)], name, sampled=sampled) for name, rows in rows_of.items())
    return tuple(_likeliest_first(found))


def _with_first(name: str, names: Sequence[str]) -> list[str]:
    return [name, *(other for other in names if other != name)]


def _likeliest_first(found: Iterable[tuple[PersonEvidence, Mapping[str, float]] | None]) -> list[PersonEvidence]:
    """Put the columns in order: those within which others agree best, of several equally good the fewest values."""
    there = [one for one in found if one is not None]
    fit = {evidence.column: sum(agreements.values()) / len(agreements) for evidence, agreements in there}
    best = max(fit.values(), default=0.0)
    return sorted((one for one, _ in there), key=lambda one: (fit[one.column] < best - _AS_GOOD, one.persons))


def _counted(evidence: PersonEvidence, column: pl.Series) -> PersonEvidence:
    """Return evidence of a sample with the counts of the whole column."""
    if not evidence.sampled:
        return evidence
    records, persons, most = _counts(column)
    return replace(evidence, records=records, persons=persons, most=most, sampled=False)


def _counts(column: pl.Series) -> tuple[int, int, int]:
    """Return the rows with a value, the distinct values, and the rows of the most frequent one."""
    import polars as pl

    present = column.filter(_is_present(column))
    counts = pl.DataFrame({"value": present}).group_by("value").len()["len"]
    most = counts.max()
    return len(present), len(counts), most if isinstance(most, int) else 0


def _is_present(column: pl.Series) -> pl.Series:
    """Return which cells have a value: empty text has none."""
    import polars as pl

    column = column.alias("")  # Polars takes some names for patterns
    there = column.is_not_null()
    if column.dtype.is_float():
        return there & column.is_not_nan().fill_null(value=False)
    return there & (column != "").fill_null(value=False) if column.dtype == pl.String else there


def _may_name_persons(column: pl.Series) -> bool:
    """Return whether a column can name persons: text or whole numbers that are neither dates nor known of people."""
    import polars as pl

    name, kind, column = column.name, column.dtype, column.alias("")
    if suggests_known(name) or suggests_individual(name) or suggests_place(name) or suggests_thing(name):
        return False
    if kind.is_integer():
        return True
    if kind.is_float():
        numbers = column.fill_nan(None).drop_nulls()
        return len(numbers) > 0 and bool((numbers == numbers.floor()).all())
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        return False
    texts = column.cast(pl.String).drop_nulls()
    texts = texts.filter(texts != "")
    return len(texts) > 0 and int(texts.str.contains(_DATES_AND_DECIMALS).sum()) < _FEW_FORMS * len(texts)


def repeated_combinations(
    frame: pl.DataFrame, counts: NDArray[np.int64] | None = None, *, limit: int = SAMPLED_ROWS
) -> PersonEvidence | None:
    """Return whether combinations of quasi-identifiers repeat as those of persons with several rows do; else None.

    That is weaker evidence, for tables without a column that names the persons. Among the rows that agree on all other
    quasi-identifiers ages, genders and dates of birth must agree far more often than chance explains, two of them at
    least.

    Parameters
    ----------
    frame : polars.DataFrame
        The quasi-identifiers; those of them are looked at that stand for a person or a place.
    counts : int64 array, optional
        How many rows of the table each row of the frame stands for; one by default.
    limit : int
        Above so many rows the rows of some combinations, all of them, are compared.
    """
    import polars as pl

    stable = [name for name in frame.columns if _stays(name)]
    individual = [name for name in stable if suggests_individual(name) and frame[name].n_unique() > 1]
    if len(individual) < _LEAST_INDIVIDUAL or len(stable) < _LEAST_COLUMNS:
        return None
    # By number, because Polars takes the name "*" for all columns.
    plain = pl.DataFrame([frame[name].alias(str(at)) for at, name in enumerate(stable)])
    times = pl.Series("times", np.ones(frame.height, dtype=np.int64) if counts is None else counts)
    parts = max(1, frame.height // limit)
    for name in individual:
        at = str(stable.index(name))
        rows = _whole_combinations(plain.with_columns(times), [one for one in plain.columns if one != at], parts)
        agreement = _agreement(_codes(rows["combination"]), _codes(rows[at]), rows["times"].to_numpy())
        if agreement is None or not agreement.constant:
            return None
    rows = _whole_combinations(plain.with_columns(times), plain.columns, parts)
    combined = np.bincount(_codes(rows["combination"]), weights=rows["times"].to_numpy())
    return PersonEvidence(
        column=None,
        records=int(combined.sum()),
        persons=len(combined),
        most=int(combined.max()),
        constant=tuple(individual),
        by="combinations",
        sampled=parts > 1,
    )


def _whole_combinations(plain: pl.DataFrame, names: Sequence[str], parts: int) -> pl.DataFrame:
    """Return the rows of one in so many combinations of some columns, with the combination as a column."""
    import polars as pl

    combined = plain.with_columns(pl.struct(names).alias("combination"))
    if parts > 1:
        combined = combined.filter(pl.col("combination").hash(seed=0) % parts == 0)
    return combined


def _stays(name: str) -> bool:
    return suggests_individual(name) or suggests_personal(name) or suggests_place(name)


def evidence_by_name(column: pl.Series, *, parts: int = 1) -> PersonEvidence | None:
    """Return evidence that a column is called like a number of persons, or has the form of one, and repeats.

    Parameters
    ----------
    column : polars.Series
        A column of which every person has one value, by `detect_identifiers`.
    parts : int
        It holds the rows of one in so many of its values.

    Returns
    -------
    PersonEvidence or None
        None if no value repeats, or a value has more rows on average than there are values: that is a code.
    """
    records, persons, most = _counts(column)
    if most < 2 or persons * persons * parts < records:
        return None
    return PersonEvidence(column=column.name, records=records, persons=persons, most=most, by="name", sampled=parts > 1)


@dataclass(frozen=True, kw_only=True)
class _Agreement:
    """How often rows with the same value of one column agree on another one."""

    share: float
    """Mean share of the pairs of rows of a value that agree, over the values that repeat."""
    expected: float
    """Share of all pairs of rows that agree: the mean over all orders of the rows."""
    values: int
    """Values that repeat."""

    @property
    def above_chance(self) -> float:
        """The share, so that chance is 0 and always is 1."""
        return (self.share - self.expected) / (1 - self.expected)

    @property
    def constant(self) -> bool:
        """Whether the other column is the same within nearly all values, and chance does not explain it."""
        noise = sqrt(self.expected * (1 - self.expected) / self.values)
        return self.above_chance >= _CONSTANT and self.share - self.expected >= _DEVIATIONS * noise


def _agreement(
    groups: NDArray[np.uint32], values: NDArray[np.uint32], times: NDArray[np.int64] | None = None
) -> _Agreement | None:
    """Compare the rows of each group; None if no group has two rows, or all rows have the same value.

    Parameters
    ----------
    groups, values : uint32 array
    times : int64 array, optional
        How many rows each of them stands for; one by default.
    """
    sizes, totals = np.bincount(groups, weights=times), np.bincount(values, weights=times)
    rows = float(sizes.sum())
    repeated = sizes >= 2
    expected = _pairs(totals).sum() / max(rows * (rows - 1), 1)
    if not repeated.any() or expected >= 1:
        return None
    keys, counts = _distinct(groups.astype(np.uint64) * np.uint64(len(totals)) + values, times)
    agreeing = np.bincount((keys // np.uint64(len(totals))).astype(np.int64), weights=_pairs(counts))
    share = float(np.mean(agreeing[repeated] / _pairs(sizes[repeated])))
    return _Agreement(share=share, expected=float(expected), values=int(repeated.sum()))


def _pairs(counts: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(counts * (counts - 1.0))


def _distinct(
    keys: NDArray[np.uint64], times: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return each key once, with its rows."""
    import polars as pl

    rows = pl.len().cast(pl.Int64) if times is None else pl.col("times").sum()
    found = pl.DataFrame({"key": keys} if times is None else {"key": keys, "times": times}).group_by("key")
    counted = found.agg(rows.alias("rows"))
    return counted["key"].to_numpy(), counted["rows"].to_numpy()


def _codes(column: pl.Series) -> NDArray[np.uint32]:
    """Return a number for each value; missing ones have one, too."""
    import polars as pl

    column = column.alias("")  # Polars takes some names for patterns
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype == pl.Struct:
        return column.rank("dense").to_numpy().astype(np.uint32) - 1
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    coded = column.to_arrow(compat_level=pl.CompatLevel.newest()).dictionary_encode()
    return pl.Series(coded.indices).fill_null(len(coded.dictionary)).cast(pl.UInt32).to_numpy()


def _differs(agreement: _Agreement, persons: NDArray[np.uint32], column: pl.Series) -> bool:
    """Return whether ages, genders or dates of birth differ within values, as those of several people do."""
    return agreement.above_chance < _VARIES and _within_spread(persons, column) < _VARIES


def _within_spread(groups: NDArray[np.uint32], column: pl.Series) -> float:
    """Return the share of the variance of numbers that is between groups: 1 if all rows of a group are alike.

    Ages grow from visit to visit; they stay closer together within a person than within a household.
    """
    import polars as pl

    plain = pl.DataFrame({"group": groups, "value": column.cast(pl.Float64, strict=False)}).drop_nulls()
    total = plain["value"].var()
    within = plain.group_by("group").agg(pl.col("value").var()).drop_nulls()["value"].mean()
    if not isinstance(total, float) or not isinstance(within, float) or total <= 0:
        return 0.0
    return 1 - within / total


def _evidence(rows: pl.DataFrame, name: str, *, sampled: bool) -> tuple[PersonEvidence, dict[str, float]] | None:
    """Compare the other columns within the values of one; None if these are not persons.

    Parameters
    ----------
    rows : polars.DataFrame
        All rows of some values of the column, or of all of them; the column itself first.
    name : str
        The column.
    sampled : bool
        Whether there are other values.

    Returns
    -------
    evidence, dict
        The agreement above chance of the columns that are the same within values is beside it.
    """
    rows = rows.filter(_is_present(rows[name]))
    persons = _codes(rows[name])
    sizes = np.bincount(persons)
    if len(sizes) < _FEWEST_VALUES or len(sizes) == len(persons):
        return None
    constant: dict[str, float] = {}
    for other in rows.columns[1:]:
        agreement = _agreement(persons, values := _codes(rows[other]))
        if agreement is None:
            continue
        if suggests_individual(other) and _differs(agreement, persons, rows[other]):
            return None  # these are the people of a place, a household, a product
        if agreement.constant and (suggests_individual(other) or _shows_something(persons, values)):
            constant[other] = agreement.above_chance
    if not _are_persons(name, constant, rows, persons):
        return None
    evidence = PersonEvidence(
        column=name,
        records=len(persons),
        persons=len(sizes),
        most=int(sizes.max()),
        constant=tuple(constant),
        by="values",
        sampled=sampled,
    )
    return evidence, constant


def _shows_something(persons: NDArray[np.uint32], values: NDArray[np.uint32]) -> bool:
    """Return whether several persons share values of a column: names and numbers of persons are the same anyway."""
    return len(np.unique(values)) <= _FREE * (int(persons.max()) + 1)


def _are_persons(name: str, constant: Collection[str], rows: pl.DataFrame, persons: NDArray[np.uint32]) -> bool:
    """Return whether columns that are the same within values are those of persons, not of places or products.

    An age, a gender or a birth date is enough; any other personal column with one that has nothing to do with it; or
    three columns that have nothing to do with each other. A place has a district, a county and a state, each of which
    says the next.
    """
    first = np.unique(persons, return_index=True)[1]
    unrelated: list[NDArray[np.uint32]] = []
    several_repeat = int((np.bincount(persons) >= 2).sum()) >= _FEWEST_VALUES
    for other in constant:
        values = _codes(rows[other])[first]
        shared = _shows_something(persons, values)
        # A date of birth may be different for every person. One pair of rows that agree on it may be chance.
        if suggests_individual(other) and (shared or several_repeat):
            return True
        if not shared or len(first) < _FEWEST_WITHOUT_AGE:
            continue
        if not any(_are_related(values, one) for one in unrelated):
            unrelated.append(values)
    personal = any(suggests_personal(other) for other in constant)
    needed = 1 if suggests_person_number(name) else _UNRELATED_PERSONAL if personal else _UNRELATED
    return len(unrelated) >= needed


def _are_related(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> bool:
    """Return whether one of two columns says what the other is, or nothing shows that it does not."""
    both = _agreement(one, other), _agreement(other, one)
    return any(found is None or found.above_chance >= _RELATED for found in both)
