"""Record linkage: from the rows of a table of today to what the series remembers of their people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ColumnError, DataError, InfeasibleError, NoRowsError, near_matches
from shoal.publish import rows_without
from shoal.republication.ledger.memory import Memory
from shoal.republication.ledger.persons import RECORD
from shoal.republication.ledger.records import canonical
from shoal.table import Schema, check_seen_apart, encode

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.republication.ledger.keys import Pseudonyms, SeriesKeys
    from shoal.republication.ledger.records import SeriesColumns
    from shoal.republication.m_invariance.generalization import Generalization
    from shoal.table import Table

__all__ = ["NOBODY", "LinkedTable", "canonical_text", "identity_text", "link", "mostly_respelled"]

NOBODY = (
    "There is nothing to publish: leave this release out. Nobody is forgotten; whoever returns later is published with "
    "the same signature as before."
)
"""What a table without a row means to a series."""
_TRIED = 1000
"""Of so many new people other spellings of the ids are tried."""
_WIDEST = 16
"""Ids with leading zeros are tried up to this width."""
_EXACT = 1 << 53
"""Floats below this are whole numbers without doubt, where they are whole."""
_INVISIBLE = "[\u00ad\u200b-\u200f\u2060\ufeff]"
"""Characters that nobody sees."""
_SPELLINGS = (
    (r"^\+", ""),
    (r"\.0+$", ""),
    (r"[ T]00:00(:00(\.0+)?)?$", ""),
    (r"^(\d{1,3})[,' ](\d{3})$", "$1$2"),
    (r"^(\d{1,3})[,' ](\d{3})[,' ](\d{3})$", "$1$2$3"),
    (r"^(\d{2})\.(\d{2})\.(\d{4})$", "$3-$2-$1"),
    (r"^(\d{4})-(\d{2})-(\d{2})$", "$3.$2.$1"),
)
"""Ways to write an id, and others: signs, decimal places, midnight, thousands, dates."""


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
    quasi_identifier_checks: NDArray[np.uint64]
    memory: Memory
    dropped: int
    """Rows left out because they miss a sensitive value."""

    def ids_in(self, frame: pl.DataFrame, identifier: str, memory: Memory, keys: SeriesKeys) -> pl.Series:
        """Return the people's ids as text, from the table that was linked, as another series knows them."""
        ids = _identifiers(frame, identifier)
        return _as_known(ids, frame.get_column(identifier), memory, keys).gather(self.rows)

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
        before = records["quasi_identifiers"][places]
        changed = ((before != self.quasi_identifier_checks[old]) & (before != 0)).sum()
        present = np.zeros(len(people), dtype=np.bool_)
        present[places] = True
        left = ~present & (records["gone"] == 0)
        records["gone"][places] = 0
        records["value"][places] = self.value_checks[old]
        records["quasi_identifiers"][places] = self.quasi_identifier_checks[old]
        records["gone"][left] = number
        new = ~old
        fresh = np.zeros(int(new.sum()), dtype=RECORD)
        fresh["signature"] = made.signature_of[new]
        fresh["joined"] = number
        fresh["value"] = self.value_checks[new]
        fresh["quasi_identifiers"] = self.quasi_identifier_checks[new]
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
    pseudonyms = keys.pseudonyms(_as_known(ids, frame.get_column(columns.identifier), memory, keys).gather(rows))
    # The order of keyed hashes: the same for every order of the input, and as good as random.
    order = np.lexsort((pseudonyms.ids[:, 1], pseudonyms.ids[:, 0]))
    rows, people = rows[order], pseudonyms.of(order)
    if not len(rows):
        raise InfeasibleError("No row is left to publish: every row misses a sensitive value.")
    known = memory.persons.find(people.ids)
    if mostly_respelled(ids.gather(rows[known < 0]), memory, keys):
        raise DataError(
            "Most of the new people are known under ids that are written in another way (leading zeros, spaces, upper "
            "and lower case, a decimal point, signs, dates). Taken for new ones, they would get another set of values, "
            "and the releases together would betray them. Write the ids as in the earlier releases; in pandas, read "
            "them as text (dtype=str)."
        )
    frame = frame.select(columns.quasi_identifiers + columns.sensitive)[rows]
    texts, codes = _sensitive(frame.select(columns.sensitive))
    values = (*memory.values, *sorted(set(texts) - set(memory.values)))
    check_seen_apart([(", ".join(columns.sensitive), pl.Series(values, dtype=pl.String))])
    code_of = {text: code for code, text in enumerate(values)}
    sensitive = np.array([code_of[text] for text in texts], dtype=np.int32)[codes]
    tokens = keys.tokens("sensitive", values)[sensitive]
    checks = keys.checks_of(people.words, tokens)
    old = known >= 0
    held = memory.persons.records["value"][known[old]]
    # A person who was not published since the ledger's first format has that format's check.
    _check_unchanged((held != checks[old]) & (held != (people.words ^ tokens)[old]))
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
        quasi_identifier_checks=keys.checks_of(people.words, _combined_tokens(table, keys)),
        memory=memory,
        dropped=dropped,
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


def _as_known(ids: pl.Series, values: pl.Series, memory: Memory, keys: SeriesKeys) -> pl.Series:
    """Return ids, those as text that earlier versions wrote in another way as they did, where only that is known."""
    earlier = canonical_text(values)
    other = np.flatnonzero((earlier != ids).to_numpy())
    if not len(other) or not len(memory.persons):
        return ids
    known, known_earlier = (memory.persons.find(keys.pseudonyms(one.gather(other)).ids) >= 0 for one in (ids, earlier))
    other = other[~known & known_earlier]
    return ids.scatter(other, earlier.gather(other)) if len(other) else ids


def mostly_respelled(unknown: pl.Series, memory: Memory, keys: SeriesKeys) -> bool:
    """Return whether most people who seem unknown are known ones, with ids that are written in another way.

    They would get another signature, and the releases together would betray them.
    """
    if not len(memory.persons) or not len(unknown):
        return False
    some = unknown.head(_TRIED)  # in the order of their hashes: as good as random
    plain = some.str.strip_chars()
    short = plain.str.strip_chars_start("0")
    spellings = [plain, short, plain.str.to_lowercase(), plain.str.to_uppercase()]
    spellings += [short.str.zfill(width) for width in range(2, _WIDEST + 1)]
    spellings += [some.str.normalize("NFKC").str.replace_all(_INVISIBLE, "").str.strip_chars()]
    spellings += [plain.str.replace(pattern, written) for pattern, written in _SPELLINGS]
    found = np.zeros(len(some), dtype=np.bool_)
    for one in spellings:
        found |= memory.persons.find(keys.pseudonyms(one).ids) >= 0
    return 2 * int(found.sum()) > len(some)


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
