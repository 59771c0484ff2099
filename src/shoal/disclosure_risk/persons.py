"""Detection of columns that identify persons: their values repeat, and personal columns are constant within them.

A release counts records. If persons have several records, a group of records may hide a single person. Such columns
must therefore be found under any name. The other columns distinguish a number of persons from a code, a place
or a product: within one person, age, gender and date of birth are constant, as are columns that are unrelated to each
other. Within a place or a household, ages and genders differ.

For a candidate column P and another column A, two shares are compared, both exact:

* how often two rows with the same value of P agree on A, as the mean over the values of P that repeat;
* how often two rows of the table agree on A, which is the expectation for rows in a random order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.disclosure_risk.agreement import Agreement, encode_values, measure_agreement, share_between
from shoal.disclosure_risk.figures import Figures
from shoal.table.classes import mixed_radix_keys
from shoal.table.counts import multiplicities
from shoal.table.names import (
    suggests_individual,
    suggests_known,
    suggests_measured,
    suggests_numbering,
    suggests_person_number,
    suggests_personal,
    suggests_place,
    suggests_sensitive,
    suggests_thing,
    words_of,
)
from shoal.wording import sentence

_SAMPLED_ROWS, _SAMPLED_COMBINATIONS = 25_000, 100_000
"""Rows that are compared for each candidate, as whole values, and for combinations, which are counted in them alone."""
PEEKED_ROWS = 20_000
"""Rows in which candidates are searched."""
_CANDIDATES = 8
"""Largest number of candidates."""
_FIRST_INFORMANTS = 6
"""Number of other columns that choose the candidates if there are more."""
_INFORMANTS = 24
"""Number of other columns that are compared for each candidate."""
_DATES_AND_DECIMALS = r"^-?\d*[.,]\d+$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
"""Text that identifies no person: numbers with decimals, and dates."""
_FEW_FORMS = 0.5
"""Share of the cells with such text from which a column is not a candidate."""
_FEWEST_VALUES = 5
"""Smallest number of values of a column of persons; fewer values are a code."""
_FEWEST_WITHOUT_AGE = 20
"""Smallest number of values (17 kinds of admission and 12 wards are codes) if no age, gender or birth is constant
within them."""
_VALUES_PER_ROOT = 4
"""Values that are this many times fewer than the square root of the rows are a code."""
_VARIES = 0.5
"""Agreement above chance below which a column differs within values."""
_RELATED = 0.5
"""Agreement above chance from which one column determines another."""
_FREE = 0.8
"""Distinct values per person from which a column identifies the persons itself, and is no evidence."""
_UNRELATED_PERSONAL = 2
"""Required number of unrelated columns that are constant within persons, if one of them is personal."""
_UNRELATED = 3
"""Required number if none of them is known to be personal."""
_LEAST_INDIVIDUAL = 2
"""Required number of ages, genders and dates of birth for evidence by combinations of quasi-identifiers."""
_LEAST_COLUMNS = 3
"""Required number of quasi-identifiers in total."""
_SHOWN = 4
"""Largest number of columns that a sentence names."""
_AS_GOOD = 0.05
"""Differences of agreement below this do not matter when persons are chosen among several columns."""


@dataclass(frozen=True, kw_only=True)
class PersonEvidence(Figures):
    """Evidence that rows do not stand for one person each. It holds counts and column names, never a value."""

    column: str | None
    """The column that identifies the persons, or None if there is no such column but combinations of quasi-
    identifiers repeat."""
    records: int
    """Number of rows with a value in the column; all rows if there is no column."""
    persons: int
    """Number of distinct values; of distinct combinations if there is no column."""
    most: int
    """Number of rows of the most frequent value."""
    constant: tuple[str, ...] = ()
    """Columns that are constant within nearly all values, personal ones first."""
    by: str
    """"values" (other columns are constant within its values), "name" (its name or the form of its values), or
    "combinations" (no column identifies persons)."""
    fewest: int | None = None
    """Number of persons in the group of a release with the fewest, at most; None if that was not counted."""
    sampled: bool = False
    """Whether the counts are of a sample of whole values, as for tables that are read in pieces."""

    @property
    def text(self) -> str:
        """The counts in words, such as "300 rows of 60 values of 'pcode', at most 5 of one; age the same within"."""
        return sentence(self.as_fact)

    @property
    def as_fact(self) -> Fact:
        """The counts as a fact, for certificates."""
        counts = {"rows": self.records, "persons": self.persons, "most": self.most}
        sample = "_in_sample" if self.sampled else ""
        if self.column is None:
            return Fact(f"rows_of_combinations{sample}", **counts)
        found = Fact(f"rows_of_persons{sample}", column=self.column, **counts)
        if self.fewest is not None:
            found = Fact("fewest_in_group", evidence=found, fewest=self.fewest)
        if not self.constant:
            return found
        others = "_with_others" if len(self.constant) > _SHOWN else ""
        return Fact(f"same_within{others}", evidence=found, columns=self.constant[:_SHOWN])

    def to_dict(self) -> dict[str, object]:
        """Convert the figures to a dictionary with their JSON names, and the sentence."""
        return {**super().to_dict(), "text": self.text}


def may_be_persons(values: int, rows: int) -> bool:
    """Check whether a column has enough values for its rows to identify persons; a code has too few.

    Examples
    --------
    >>> may_be_persons(60, 300), may_be_persons(26, 101_766), may_be_persons(71_518, 101_766)
    (True, False, True)
    """
    return values >= _FEWEST_WITHOUT_AGE and not may_be_code(values, rows)


def may_be_code(values: int, rows: int) -> bool:
    """Check whether a column has so few values for its rows that it is a code, under any name."""
    return (_VALUES_PER_ROOT * values) ** 2 < rows


def look_for_persons(peek: pl.DataFrame, rows: int) -> tuple[list[str], list[str]]:
    """Select the columns that may identify persons, and those that are compared for each, by a part of the rows.

    Parameters
    ----------
    peek : polars.DataFrame
        At most `PEEKED_ROWS` rows of the table.
    rows : int
        Number of rows of the table.

    Returns
    -------
    candidates : list of str
        Those with the most values, in the order of the table.
    informants : list of str
        Personal columns first, then those with few values.
    """
    distinct = {
        name: peek[name].n_unique()
        for name in peek.columns
        if not (peek[name].dtype.is_nested() or peek[name].dtype == pl.Object)
    }
    informants = sorted(
        (name for name, values in distinct.items() if values > 1),
        key=lambda name: (not suggests_individual(name), not suggests_personal(name), distinct[name]),
    )[:_INFORMANTS]
    able = [name for name, values in distinct.items() if values >= _FEWEST_VALUES and _may_name_persons(peek[name])]
    # A part of the rows cannot show whether values repeat.
    if peek.height >= rows:
        able = [name for name in able if distinct[name] < rows and not may_be_code(distinct[name], rows)]
    # Too many candidates: screen them with the most informative columns.
    if len(able) > _CANDIDATES:  # numbers with many values, too, are taken for candidates at first
        codes = {name: encode_values(peek[name]) for name in informants[:_FIRST_INFORMANTS]}
        chances = {name: _screen(peek, name, codes) for name in able}
        able = [name for name in able if chances[name] >= 0]
        able.sort(key=lambda name: (-chances[name], not suggests_person_number(name), -distinct[name]))
    chosen = set(able[:_CANDIDATES])
    return [name for name in peek.columns if name in chosen], informants


def _screen(peek: pl.DataFrame, name: str, informants: Mapping[str, NDArray[np.uint32]]) -> int:
    """Screen a candidate: 1 if a column is constant within its values, -1 if none is or ages differ, 0 if unknown.

    In a part of a large table few values repeat. The answer is unknown then. The other columns are given by their
    codes.
    """
    present = _is_present(peek[name])
    rows = peek if present.all() else peek.filter(present)
    persons = encode_values(rows[name])
    found = False
    for other, codes in informants.items():
        coded = codes if rows is peek else None
        agreement = None if other == name else _measure_present(persons, rows[other], codes=coded)
        if agreement is None or agreement.values < _FEWEST_VALUES:
            continue
        if agreement.constant:
            return 1
        found = True
        if suggests_individual(other) and _differs(agreement, persons, rows[other]):
            return -1
    return -1 if found else 0


def detect_persons(
    frame: pl.DataFrame, *, distinct: pl.DataFrame | None = None, limit: int = _SAMPLED_ROWS
) -> tuple[PersonEvidence, ...]:
    """Detect the columns of a table whose values repeat like persons, the most likely persons first.

    Parameters
    ----------
    frame : polars.DataFrame
        All columns of the table, including direct identifiers. The order of the rows does not matter.
    distinct : polars.DataFrame, optional
        The distinct rows of some of the columns, if they are known.
    limit : int
        Largest number of rows that are compared for each column; of longer tables, all rows of some values are
        compared.

    Returns
    -------
    tuple of PersonEvidence
        The first one identifies the persons. If several columns fit equally well, it is the one with the fewest values,
        such as the patient rather than the case. Its counts are those of the whole table.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.DataFrame({"pcode": [row % 60 for row in range(300)]}).with_columns(
    ...     age=20 + pl.col("pcode") * 7 % 50, gender=pl.col("pcode") * 5 % 7 % 2, ward=pl.int_range(300) // 60
    ... )
    >>> detect_persons(visits)[0].text
    "300 rows of 60 values of 'pcode', at most 5 of one; gender and age the same within nearly each"
    """
    rows = frame.height
    peek = frame if rows <= PEEKED_ROWS else frame.gather_every(-(-rows // PEEKED_ROWS))
    candidates, informants = look_for_persons(peek, rows)
    # In long tables select whole values by hash, because persons must not be cut.
    parts = max(1, rows // limit)
    found = []
    for name in candidates:
        # All rows show that values are too few for persons, which the first look could not.
        values = frame[name] if distinct is None or name not in distinct.columns else distinct[name]
        if peek is not frame and may_be_code(values.n_unique(), rows):
            continue
        some = frame if parts == 1 else frame.filter(frame[name].alias("").hash(seed=0) % parts == 0)
        found.append(_find_evidence(some[_put_first(name, informants)], name, sampled=parts > 1))
    return tuple(_count_whole(one, frame[str(one.column)]) for one in _likeliest_first(found))


def detect_persons_in_sample(rows_of: Mapping[str, pl.DataFrame], *, sampled: bool) -> tuple[PersonEvidence, ...]:
    """Detect the columns that identify persons in a table that is not read as a whole, the most likely first.

    Parameters
    ----------
    rows_of : mapping of candidate to polars.DataFrame
        All rows of some values of that candidate, with the columns to compare.
    sampled : bool
        Whether there are other values, so that the counts are of a sample.
    """
    found = (
        _find_evidence(rows[_put_first(name, rows.columns)], name, sampled=sampled) for name, rows in rows_of.items()
    )
    return tuple(_likeliest_first(found))


def _put_first(name: str, names: Sequence[str]) -> list[str]:
    """Move a column to the front."""
    return [name, *(other for other in names if other != name)]


def _likeliest_first(found: Iterable[tuple[PersonEvidence, Mapping[str, float]] | None]) -> list[PersonEvidence]:
    """Sort evidence by the mean agreement; among equally good columns the one with the fewest values is first."""
    there = [one for one in found if one is not None]
    fit = {evidence.column: sum(agreements.values()) / len(agreements) for evidence, agreements in there}
    best = max(fit.values(), default=0.0)
    return sorted((one for one, _ in there), key=lambda one: (fit[one.column] < best - _AS_GOOD, one.persons))


def _count_whole(evidence: PersonEvidence, column: pl.Series) -> PersonEvidence:
    """Replace the counts of a sample by those of the whole column."""
    if not evidence.sampled:
        return evidence
    records, persons, most = _count_column(column)
    return replace(evidence, records=records, persons=persons, most=most, sampled=False)


def _count_column(column: pl.Series) -> tuple[int, int, int]:
    """Count the rows with a value, the distinct values, and the rows of the most frequent value."""
    present = column.filter(_is_present(column))
    counts = pl.DataFrame({"value": present}).group_by("value").len()["len"]
    most = counts.max()
    return len(present), len(counts), most if isinstance(most, int) else 0


def _is_present(column: pl.Series) -> pl.Series:
    """Check which cells have a value; an empty text is not a value."""
    column = column.alias("")  # Polars interprets some names as patterns
    if column.dtype == pl.String:
        return (column != "").fill_null(value=False)
    return column.is_not_nan().fill_null(value=False) if column.dtype.is_float() else column.is_not_null()


def _may_name_persons(column: pl.Series) -> bool:
    """Check whether a column can identify persons: text or integers, but no dates or known attributes."""
    name, kind, column = column.name, column.dtype, column.alias("")
    if suggests_known(name) or suggests_place(name) or suggests_thing(name) or suggests_measured(name):
        return False
    if suggests_sensitive(name) and not (suggests_person_number(name) or suggests_numbering(name)):
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
    frame: pl.DataFrame, counts: NDArray[np.int64] | None = None, *, limit: int = _SAMPLED_COMBINATIONS
) -> PersonEvidence | None:
    """Find evidence that combinations of quasi-identifiers repeat like persons with several rows, or return None.

    This is weaker evidence, for tables without a column that identifies the persons. Among the rows that agree on all
    other quasi-identifiers, each of at least two ages, genders or dates of birth must agree far more often than by
    chance.

    Parameters
    ----------
    frame : polars.DataFrame
        The quasi-identifiers; only those that describe a person or a place are compared.
    counts : int64 array, optional
        Multiplicity of each row; one by default.
    limit : int
        Largest number of rows that are compared; of longer tables, all rows of some combinations are compared.
    """
    stable = [name for name in frame.columns if _is_stable(name)]
    individual = [name for name in stable if suggests_individual(name) and frame[name].n_unique() > 1]
    if len(individual) < _LEAST_INDIVIDUAL or len(stable) < _LEAST_COLUMNS:
        return None
    times = multiplicities(frame.height, counts)
    parts = max(1, frame.height // limit)
    # Name columns by number, because Polars interprets the name "*" as all columns, also for a single one.
    columns = {name: frame[name].alias(str(at)) for at, name in enumerate(stable)}
    # Each individual column must be constant within the combinations of all others; columns in which nearly all rows
    # of the table agree are no evidence.
    constant = []
    for name in individual:
        rows, combinations = _number_combinations([columns[one] for one in stable if one != name], parts)
        agreement = _measure_present(combinations, columns[name].gather(rows), times[rows])
        if agreement is None or not (agreement.constant or agreement.rarely_differs):
            return None
        if agreement.constant:
            constant.append(name)
    if len(constant) < _LEAST_INDIVIDUAL:
        return None
    rows, combinations = _number_combinations(list(columns.values()), parts)
    combined = np.bincount(combinations, weights=times[rows])
    return PersonEvidence(
        column=None,
        records=int(combined.sum()),
        persons=len(combined),
        most=int(combined.max()),
        constant=tuple(constant),
        by="combinations",
        sampled=parts > 1,
    )


def _number_combinations(columns: Sequence[pl.Series], parts: int) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
    """Select the rows of one in `parts` combinations of columns; return them and their combinations, numbered."""
    rows = np.arange(len(columns[0]))
    if parts > 1:
        rows = np.flatnonzero((pl.DataFrame(columns).hash_rows(seed=0) % parts == 0).to_numpy())
    coded = [encode_values(column if parts == 1 else column.gather(rows)) for column in columns]
    keys, _ = mixed_radix_keys([(codes, int(codes.max(initial=0)) + 1) for codes in coded], len(rows))
    return rows, np.unique(keys, return_inverse=True)[1].astype(np.uint32)


def _is_stable(name: str) -> bool:
    return suggests_individual(name) or suggests_personal(name) or suggests_place(name)


def evidence_by_name(rows: pl.DataFrame, name: str, *, parts: int = 1) -> PersonEvidence | None:
    """Find evidence in the name or form of a column: it is called like a number of persons, and repeats.

    Parameters
    ----------
    rows : polars.DataFrame
        The rows of one in so many values of the column as `parts` says, with the columns to compare.
    name : str
        A column that `detect_identifiers` recognizes as an identifier of persons.
    parts : int
        The column holds the rows of one in so many of its values.

    Returns
    -------
    PersonEvidence or None
        None if no value repeats, or, unless the name says that it numbers persons, if values have more rows on average
        than there are values, as codes do, or if ages, genders or dates of birth differ within values, as those of a
        family with one account do.
    """
    records, persons, most = _count_column(rows[name])
    # A code has few values for many rows; few persons may have many rows each, if the name says that they are persons.
    called = suggests_person_number(name) and persons >= _FEWEST_VALUES
    if most < 2 or (not called and (persons * persons * parts < records or _are_several(rows, name))):
        return None
    return PersonEvidence(column=name, records=records, persons=persons, most=most, by="name", sampled=parts > 1)


def _are_several(rows: pl.DataFrame, name: str) -> bool:
    """Check whether ages, genders or dates of birth differ within the values of a column."""
    individual = [other for other in rows.columns if other != name and suggests_individual(other)]
    rows = rows[[name, *individual]].filter(_is_present(rows[name]))
    persons = encode_values(rows[name])
    for other in individual:
        agreement = _measure_present(persons, rows[other])
        if agreement is not None and _differs(agreement, persons, rows[other]):
            return True
    return False


def merge_evidence(
    by_values: Sequence[PersonEvidence], by_name: Iterable[PersonEvidence | None]
) -> tuple[PersonEvidence, ...]:
    """Merge the evidence of values and of names, the strongest first.

    A column whose name says that it numbers persons, and which repeats, comes first. Values alone may show a code that
    determines others, as that of a drug: next to such a column they count only if ages, genders or dates of birth are
    the same within them.
    """
    named = [one for one in by_name if one is not None]
    values = {one.column: one for one in by_values}
    called = [values.get(one.column, one) for one in named if suggests_person_number(str(one.column))]
    called.sort(key=lambda one: one.persons)
    if not called:
        return tuple(by_values) or tuple(named)
    columns = {one.column for one in called}
    others = (one for one in by_values if one.column not in columns)
    return (*called, *(one for one in others if any(map(suggests_individual, one.constant))))


def _measure_present(
    groups: NDArray[np.uint32],
    column: pl.Series,
    times: NDArray[np.int64] | None = None,
    codes: NDArray[np.uint32] | None = None,
) -> Agreement | None:
    """Measure the agreement of the rows that have a value: a missing gender is not another person's."""
    there = _is_present(column)
    if not there.all():
        mask = there.to_numpy()
        column, groups, times = column.filter(there), groups[mask], None if times is None else times[mask]
        codes = None
    return measure_agreement(groups, encode_values(column) if codes is None else codes, times) if len(groups) else None


def _differs(agreement: Agreement, persons: NDArray[np.uint32], column: pl.Series) -> bool:
    """Check whether ages, genders or dates of birth differ within values, as those of several people do."""
    if agreement.rarely_differs:  # nearly all rows of the table have one value, and a typing error is no other person
        return False
    return agreement.above_chance < _VARIES and share_between(persons, column) < _VARIES


def _find_evidence(rows: pl.DataFrame, name: str, *, sampled: bool) -> tuple[PersonEvidence, dict[str, float]] | None:
    """Compare the other columns within the values of a column; None if these are not persons.

    Parameters
    ----------
    rows : polars.DataFrame
        All rows of some or all values of the column; the column itself comes first.
    name : str
        The column.
    sampled : bool
        Whether there are other values.

    Returns
    -------
    evidence : PersonEvidence
        The evidence.
    agreements : dict
        Agreement above chance of each constant column.
    """
    rows = rows.filter(_is_present(rows[name]))
    persons = encode_values(rows[name])
    sizes = np.bincount(persons)
    if len(sizes) < _FEWEST_VALUES or len(sizes) == len(persons):
        return None
    # An age that differs within values rules out persons; columns that are constant support them.
    constant: dict[str, float] = {}
    differing: list[str] = []
    for other in rows.columns[1:]:
        agreement = _measure_present(persons, rows[other])
        if agreement is None:
            continue
        if suggests_individual(other) and _differs(agreement, persons, rows[other]):
            differing.append(other)
        if agreement.constant and (suggests_individual(other) or _shows_something(persons, encode_values(rows[other]))):
            constant[other] = agreement.above_chance
    # The people of a place, a household or a product differ. If another age is constant, it is that of someone else,
    # such as a partner.
    own = {word for other in constant if suggests_individual(other) for word in words_of(other)}
    if any(own.isdisjoint(words_of(other)) for other in differing):
        return None
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
    """Check whether several persons share values of a column; names and numbers of persons are constant anyway."""
    return len(np.unique(values)) <= _FREE * (int(persons.max()) + 1)


def _are_persons(name: str, constant: Collection[str], rows: pl.DataFrame, persons: NDArray[np.uint32]) -> bool:
    """Check whether the constant columns are those of persons, not of places or products.

    Sufficient are: an age, a gender or a birth date; any other personal column together with one that is unrelated to
    it; or three columns that are unrelated to each other. A place has a district, a county and a state, each of which
    determines the next.
    """
    first = np.unique(persons, return_index=True)[1]
    unrelated: list[NDArray[np.uint32]] = []
    several_repeat = int((np.bincount(persons) >= 2).sum()) >= _FEWEST_VALUES
    for other in constant:
        values = encode_values(rows[other])[first]
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
    """Check whether one of two columns determines the other, or nothing shows that it does not."""
    both = measure_agreement(one, other), measure_agreement(other, one)
    return any(found is None or found.above_chance >= _RELATED for found in both)
