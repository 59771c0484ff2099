"""Record linkage: from the rows of a table of today to what the series remembers of their people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ColumnError, DataError, InfeasibleError, NoRowsError, near_matches
from shoal.pipeline.prepare import rows_without
from shoal.republication.ledger.memory import Memory
from shoal.republication.ledger.persons import RECORD
from shoal.republication.ledger.records import canonical
from shoal.table import Schema, check_read_apart, count_alike, encode

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.republication.ledger.keys import Pseudonyms, SeriesKeys
    from shoal.republication.ledger.records import SeriesColumns
    from shoal.republication.m_invariance.generalization import Generalization
    from shoal.table import Table

__all__ = [
    "NOBODY",
    "LinkedTable",
    "absent_people",
    "canonical_text",
    "link",
    "spelling_hashes",
]

NOBODY = (
    "There is nothing to publish: leave this release out. Nobody is forgotten; whoever returns later is published with "
    "the same signature as before."
)
"""What a table without a row means to a series."""
_ALIKE = (
    "{:,} pair(s) of values of '{}', of this release and of earlier ones, differ in upper and lower case, blanks or "
    "forms of Unicode alone: they count as different values, and read like one. Write them alike from the first "
    "release on."
)
"""What values that read alike mean to a series."""
_EXACT = 1 << 53
"""Floats below this are whole numbers without doubt, where they are whole."""
_INVISIBLE = "[\u00ad\u200b-\u200f\u2060\ufeff]"
"""Characters that nobody sees."""
_SPELLINGS = (
    (_INVISIBLE, ""),
    (r"^\s+|\s+$", ""),
    (r"^\+", ""),
    (r"\.0+$", ""),
    (r"[ t]00:00(:00)?$", ""),
    (r"^(\d{1,3})[,' ](\d{3})$", "$1$2"),
    (r"^(\d{1,3})[,' ](\d{3})[,' ](\d{3})$", "$1$2$3"),
    (r"^(\d{2})\.(\d{2})\.(\d{4})$", "$3-$2-$1"),
    (r"^0+(.)", "$1"),
)
"""What ways to write an id differ in, and what takes its place: blanks, signs, decimal places, midnight, thousands,
dates, leading zeros. Letters are lower case then."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedTable:
    """The rows that may be published, in an order that tells nothing of the input's, and who their people are."""

    frame: pl.DataFrame
    """The rows: quasi-identifiers and sensitive attributes."""
    table: Table
    """The rows, encoded."""
    pseudonyms: Pseudonyms
    """What the ledger knows their people by."""
    rows: NDArray[np.int64]
    """Their numbers in the input."""
    known: NDArray[np.int64]
    """Where each person stands in the memory; -1: the person was never published."""
    values: tuple[str, ...]
    """Sensitive values: those that the memory holds, in its order, and the new ones behind them."""
    sensitive: NDArray[np.int32]
    """Code of each row's sensitive value."""
    value_checks: NDArray[np.uint64]
    quasi_identifiers: NDArray[np.uint64]
    """Keyed hash of each row's quasi-identifiers."""
    spellings: NDArray[np.uint64]
    """Keyed hash of each id without what differs between ways to write it (`spelling_hashes`)."""
    memory: Memory
    dropped: int
    """Rows left out because they miss a sensitive value."""
    notes: tuple[str, ...] = ()
    """What the publisher should know of sensitive values that read alike, in sentences."""

    def ids_in(self, frame: pl.DataFrame, identifier: str) -> pl.Series:
        """Return the people's ids as text, from the table that was linked."""
        return _identifiers(frame, identifier).gather(self.rows)

    @property
    def signature_of(self) -> NDArray[np.int64]:
        """The signature of each person; -1 for one who was never published."""
        if not len(self.memory.persons):
            return np.full(len(self.known), -1, dtype=np.int64)
        held = self.memory.persons.records["signature"][self.known].astype(np.int64)
        return np.where(self.known >= 0, held, -1)

    def remembered(self, made: Generalization, number: int) -> tuple[Memory, dict[str, int]]:
        """Return what the series remembers after a release, and counts of what happened to its people."""
        values, value_releases, code_of = self._values_after(made, number)
        people = self.memory.persons
        records = people.records.copy()
        old = self.known >= 0
        places = self.known[old]
        was_gone = records["gone"][places] != 0
        changed = (records["quasi_identifiers"][places] != self.quasi_identifiers[old]).sum()
        present = np.zeros(len(people), dtype=np.bool_)
        present[places] = True
        left = ~present & (records["gone"] == 0)
        records["gone"][places] = 0
        records["value"][places] = self.value_checks[old]
        records["quasi_identifiers"][places] = self.quasi_identifiers[old]
        records["gone"][left] = number
        new = ~old
        fresh = np.zeros(int(new.sum()), dtype=RECORD)
        fresh["signature"] = made.signature_of[new]
        fresh["joined"] = number
        fresh["value"] = self.value_checks[new]
        fresh["quasi_identifiers"] = self.quasi_identifiers[new]
        fresh["spelling"] = self.spellings[new]
        sets = [code_of[made.signatures[n]].astype(np.int32) for n in range(len(made.signatures))]
        after = Memory(
            values=values,
            value_releases=value_releases,
            signatures=made.signatures.of(()).extended(sets),
            signature_releases=(
                *self.memory.signature_releases,
                *[number] * (len(made.signatures) - len(self.memory.signatures)),
            ),
            persons=people.changed(np.arange(len(people)), records).joined_by(self.pseudonyms.ids[new], fresh),
        )
        counts = {
            "kept": int((~was_gone).sum()),
            "returned": int(was_gone.sum()),
            "new": len(fresh),
            "left": int(left.sum()),
            "changed_quasi_identifiers": int(changed),
            "missing_sensitive": self.dropped,
        }
        return after, counts

    def _values_after(
        self, made: Generalization, number: int
    ) -> tuple[tuple[str, ...], tuple[int, ...], NDArray[np.int64]]:
        """Return the values that a release leaves in signatures, and the code that each of this table's gets."""
        known = len(self.memory.values)
        used = np.unique(made.signatures.values)
        fresh = used[used >= known]
        code_of = np.arange(len(self.values))
        code_of[fresh] = known + np.arange(len(fresh))
        values = (*self.memory.values, *(self.values[code] for code in fresh))
        return values, (*self.memory.value_releases, *[number] * len(fresh)), code_of


def link(
    frame: pl.DataFrame,
    columns: SeriesColumns,
    memory: Memory,
    keys: SeriesKeys,
    *,
    missing_sensitive: str,
) -> LinkedTable:
    """Find out who is in a table.

    Parameters
    ----------
    frame : DataFrame
        One row per person.
    columns : SeriesColumns
        The role of every column.
    memory : Memory
        What the series remembers.
    keys : SeriesKeys
        Its keys.
    missing_sensitive : {"error", "drop"}
        What to do with rows that miss a sensitive value.

    Raises
    ------
    ColumnError
        Where the columns are not those of the series.
    DataError
        Where there is no row, an id is missing or repeated, or a sensitive value is missing or changed.
    """
    import polars as pl

    _check_columns(frame.columns, columns)
    if not frame.height:
        raise NoRowsError(f"The table has no rows. {NOBODY}")
    ids = _identifiers(frame, columns.identifier)
    rows = np.arange(frame.height)
    absent = rows_without(frame, columns.sensitive)
    dropped = int(absent.sum())
    if dropped and missing_sensitive == "error":
        raise DataError(
            f"{dropped} row(s) miss a sensitive value. missing_sensitive='drop' leaves them out of this release "
            "(--missing-sensitive drop)."
        )
    rows = rows[~absent]
    pseudonyms = keys.pseudonyms(ids.gather(rows))
    # The order of keyed hashes: the same for every order of the input, and as good as random.
    order = np.lexsort((pseudonyms.ids[:, 1], pseudonyms.ids[:, 0]))
    rows, people = rows[order], pseudonyms.of(order)
    if not len(rows):
        raise InfeasibleError("No row is left to publish: every row misses a sensitive value.")
    known = memory.persons.find(people.ids)
    new = np.flatnonzero(known < 0)
    spellings = memory.persons.records["spelling"][known] if len(memory.persons) else np.zeros_like(people.words)
    spellings[new] = spelling_hashes(ids.gather(rows[new]), people.of(new), keys)
    _check_spellings(known, spellings, memory)
    frame = frame.select(columns.quasi_identifiers + columns.sensitive)[rows]
    texts, codes = _sensitive(frame.select(columns.sensitive))
    values = (*memory.values, *sorted(set(texts) - set(memory.values)))
    parts = zip(columns.sensitive, zip(*map(json.loads, values), strict=True), strict=True)
    named = {name: pl.Series(some, dtype=pl.String).unique() for name, some in parts}
    check_read_apart(named.items(), may_normalize=False)
    alike = {name: pairs for name, some in named.items() if (pairs := count_alike(some)[0])}
    code_of = {text: code for code, text in enumerate(values)}
    sensitive = np.array([code_of[text] for text in texts], dtype=np.int32)[codes]
    tokens = keys.tokens("sensitive", values)[sensitive]
    checks = keys.checks_of(people.words, tokens)
    old = known >= 0
    _check_unchanged(memory.persons.records["value"][known[old]] != checks[old])
    table = encode(frame, Schema(quasi_identifiers=columns.quasi_identifiers, sensitive=columns.sensitive))
    return LinkedTable(
        frame=frame,
        table=table,
        pseudonyms=people,
        rows=rows,
        known=known,
        values=values,
        sensitive=sensitive,
        value_checks=checks,
        quasi_identifiers=_combined_tokens(table, keys),
        spellings=spellings,
        memory=memory,
        dropped=dropped,
        notes=tuple(_ALIKE.format(pairs, name) for name, pairs in alike.items()),
    )


def _check_columns(names: Sequence[str], columns: SeriesColumns) -> None:
    """Check that a table has the columns of the series, and no others."""
    roles = {
        "identifier": (columns.identifier,),
        "quasi-identifier": columns.quasi_identifiers,
        "sensitive": columns.sensitive,
        "direct identifier": columns.direct_identifiers,
    }
    expected = {name for group in roles.values() for name in group}
    for role, group in roles.items():
        for name in group:
            if name not in names and role != "direct identifier":
                raise ColumnError(
                    f"There is no column '{name}' ({role} of the series). {near_matches(name, names)} Every release of "
                    "a series has the same columns."
                )
    others = [name for name in names if name not in expected]
    if others:
        shown = ", ".join(f"'{name}'" for name in others[:10]) + (" and more" if len(others) > 10 else "")
        raise ColumnError(
            f"{len(others)} column(s) have no role in the series: {shown}. Drop them from the table, or start a "
            "series with direct_identifiers=... (--drop): these are never published."
        )


def _identifiers(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the ids as text, each of them there, and each once."""
    ids = identity_text(frame.get_column(name))
    missing = int((ids.is_null() | (ids.str.strip_chars() == "")).sum())
    if missing:
        raise DataError(
            f"{missing} row(s) miss the identifier '{name}': nobody could tell later who was published. Give each "
            "person one, or leave the rows out."
        )
    repeated = ids.is_duplicated()
    if repeated.any():
        times, people = int(repeated.sum()), ids.filter(repeated).n_unique()
        raise DataError(
            f"The identifier '{name}' is repeated: {times} rows belong to {people} person(s). A release has one row "
            "per person: decide which one, or merge them."
        )
    return ids


def spelling_hashes(ids: pl.Series, people: Pseudonyms, keys: SeriesKeys) -> NDArray[np.uint64]:
    """Compute a keyed hash of each id that is the same for all common ways to write the id.

    Parameters
    ----------
    ids : polars.Series
        The ids as text.
    people : Pseudonyms
        What the ids are known by.
    keys : SeriesKeys
        The keys of the series.
    """
    plain = ids.str.to_lowercase()
    # Most ids have letters, digits and hyphens only, which takes no pattern.
    unusual = np.flatnonzero(plain.str.contains("^0|[^0-9a-z_-]").to_numpy())
    some = plain.gather(unusual).str.normalize("NFKC").str.to_uppercase().str.to_lowercase().str.normalize("NFKC")
    for pattern, written in _SPELLINGS:
        some = some.str.replace_all(pattern, written)
    plain = plain.scatter(unusual, some) if len(unusual) else plain
    hashes = people.ids[:, 0].copy()
    other = np.flatnonzero((plain != ids).to_numpy())
    hashes[other] = keys.pseudonyms(plain.gather(other)).ids[:, 0]
    return hashes


def _check_spellings(known: NDArray[np.int64], spellings: NDArray[np.uint64], memory: Memory) -> None:
    """Check that no new person is a known one who is absent today, with an id that is written in another way.

    Such a person would get another signature, and the releases together would betray the person.
    """
    new = known < 0
    count = int(np.isin(spellings[new], memory.persons.records["spelling"][absent_people(known, memory)]).sum())
    if count:
        raise DataError(
            f"{count} of {int(new.sum())} new people are known under ids that are written in another way (blanks, "
            "leading zeros, upper and lower case, Unicode forms, a decimal point, signs, dates). Taken for new ones, "
            "they would get another set of values, and the releases together would betray them. Write the ids as in "
            "the earlier releases; in pandas, read them as text (dtype=str). If they are other people, let their ids "
            "differ in more than that."
        )


def absent_people(known: NDArray[np.int64], memory: Memory) -> NDArray[np.bool_]:
    """Return which of the people whom a series remembers are not in a table."""
    absent = np.ones(len(memory.persons), dtype=np.bool_)
    absent[known[known >= 0]] = False
    return absent


def _sensitive(frame: pl.DataFrame) -> tuple[list[str], NDArray[np.integer]]:
    """Return the distinct combinations of sensitive values as JSON texts, and the one of each row."""
    table = encode(frame, Schema(quasi_identifiers=(), sensitive=tuple(frame.columns)))
    words = [canonical_text(column.dictionary).to_list() for column in table.sensitive]
    combined = np.zeros(frame.height, dtype=np.int64)
    for column in table.sensitive:
        _, combined = np.unique(combined * column.size + column.codes, return_inverse=True)
    _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
    texts = [
        canonical([names[column.codes[row]] for names, column in zip(words, table.sensitive, strict=True)])
        for row in first
    ]
    return texts, codes


def _check_unchanged(changed: NDArray[np.bool_]) -> None:
    """Check that the people who were published before have the sensitive value that they had."""
    count = int(changed.sum())
    if not count:
        return
    hint = (
        " That is nearly everyone: is the column written in another way than before (codes and names, 1 and 1.0)?"
        if count > 1 and 2 * count > len(changed)
        else ""
    )
    raise DataError(
        f"{count} of {len(changed)} people who were published before have another sensitive value now.{hint} Their "
        "signature would give the change away, and so would their absence: a series can publish no changed value. Give "
        "these people the value that they were first published with (it is the value of that time), or start another "
        "series for other people."
    )


def _combined_tokens(table: Table, keys: SeriesKeys) -> NDArray[np.uint64]:
    """Return a keyed hash of each row's quasi-identifiers: the sum of one for each column."""
    total = np.zeros(table.rows, dtype=np.uint64)
    for column in table.quasi_identifiers:
        tokens = keys.tokens(f"quasi-identifier {column.name}", canonical_text(column.dictionary).to_list())
        total += tokens[column.codes]
    return total


def identity_text(values: pl.Series) -> pl.Series:
    """Return ids as text: as `canonical_text`, and the same for all ways to store the same id.

    Text is brought to Unicode's normal form C, decimal numbers lose zeros behind the point, and times those of their
    seconds and midnight. Upper and lower case, spaces and leading zeros make a difference.

    Examples
    --------
    >>> import datetime
    >>> import polars as pl
    >>> identity_text(pl.Series([datetime.datetime(2020, 1, 31)])).to_list()
    ['2020-01-31']
    """
    import polars as pl

    text = canonical_text(values)
    if values.dtype == pl.Datetime or values.dtype.is_decimal():
        text = text.str.replace(r"(\.\d*?)0+$", "$1").str.replace(r"\.$", "")
    return text.str.replace(" 00:00:00$", "") if values.dtype == pl.Datetime else text.str.normalize("NFC")


def canonical_text(values: pl.Series) -> pl.Series:
    """Return values as text that does not depend on how a library stores them: 1, 1.0 and "1" are the same.

    Raises
    ------
    DataError
        Where the values are nested, or Python objects.

    Examples
    --------
    >>> import polars as pl
    >>> canonical_text(pl.Series([1.0, 2.5, None])).to_list()
    ['1', '2.5', None]
    """
    import polars as pl

    kind = values.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        raise DataError(f"The column '{values.name}' holds nested data or objects. Turn it into text.")
    if not kind.is_float():
        return values.cast(pl.String)
    values = values.cast(pl.Float64).fill_nan(None)
    whole = (values == values.round()) & (values.abs() < _EXACT)
    integers = values.set(~whole.fill_null(value=False), 0.0).cast(pl.Int64).cast(pl.String)
    return integers.zip_with(whole.fill_null(value=False), values.cast(pl.String))
