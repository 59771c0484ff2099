"""Record linkage: match the rows of a new table to the people whom the series remembers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Phrase
from shoal.errors import ColumnError, DataError, InfeasibleError, NoRowsError, PeopleError, near_matches
from shoal.pipeline.input import find_missing_rows
from shoal.republication.ledger.advice import DROP, ERASE, LEAVE_OUT, LIST_IDS
from shoal.republication.ledger.keys import Pseudonyms, SeriesKeys
from shoal.republication.ledger.memory import RECORD, Memory, Persons
from shoal.republication.ledger.records import SeriesColumns, to_canonical_json
from shoal.republication.m_invariance.generalization import Generalization
from shoal.table import ENDS, INVISIBLE, Schema, Table, check_distinguishable, count_alike, encode

NO_ROWS_HINT = (
    "There is nothing to publish: leave this release out. No one is forgotten; people who return later are "
    "published with the same signature as before."
)
"""Advice that is added to the error for a table without rows."""
_NameIds = Callable[["NDArray[np.bool_]"], list[str]]
"""Function that selects the ids of rows."""
_EXACT = 1 << 53
"""Floats with a smaller absolute value represent whole numbers exactly."""
_SPELLINGS = (
    (INVISIBLE, ""),
    (ENDS, ""),
    (r"^\+", ""),
    (r"\.0+$", ""),
    (r"[ t]00:00(:00)?$", ""),
    (r"^(\d{1,3})[,' ](\d{3})$", "$1$2"),
    (r"^(\d{1,3})[,' ](\d{3})[,' ](\d{3})$", "$1$2$3"),
    (r"^(\d{2})\.(\d{2})\.(\d{4})$", "$3-$2-$1"),
    (r"^0+(.)", "$1"),
)
"""Patterns that normalize a lower-case id: invisible characters, blanks, signs, decimal zeros, midnight, thousands
separators, dates, leading zeros."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedTable:
    """Rows that may be published, linked to the people of the series; their order is independent of the input."""

    frame: pl.DataFrame
    """The rows: quasi-identifiers and sensitive attributes."""
    table: Table
    """The rows, encoded."""
    pseudonyms: Pseudonyms
    """Pseudonyms of the people of the rows."""
    rows: NDArray[np.int64]
    """Row numbers in the input."""
    known: NDArray[np.int64]
    """Index of each person in the memory; -1 if the person was never published."""
    values: tuple[str, ...]
    """Sensitive values: those of the memory in its order, followed by new ones."""
    sensitive: NDArray[np.int32]
    """Code of each row's sensitive value."""
    value_checks: NDArray[np.uint64]
    """Keyed check of each person's sensitive value."""
    quasi_identifiers: NDArray[np.uint64]
    """Keyed hash of each row's quasi-identifiers."""
    spellings: NDArray[np.uint64]
    """Keyed hash of each id in its normalized spelling (`hash_spellings`)."""
    memory: Memory
    """The memory of the series before this release."""
    dropped: int
    """Number of rows left out because a sensitive value is missing."""
    left_out: int
    """Number of people left out on request."""
    notes: tuple[str, ...] = ()
    """Notes for the publisher about sensitive values that read alike."""

    def select_ids(self, frame: pl.DataFrame, identifier: str) -> pl.Series:
        """Select the ids of the linked people, as text, from the input table."""
        return _read_identifiers(frame, identifier).gather(self.rows)

    @property
    def signature_of(self) -> NDArray[np.int64]:
        """The signature of each person; -1 if the person was never published."""
        if not len(self.memory.persons):
            return np.full(len(self.known), -1, dtype=np.int64)
        held = self.memory.persons.records["signature"][self.known].astype(np.int64)
        return np.where(self.known >= 0, held, -1)

    def remember(self, made: Generalization, number: int) -> tuple[Memory, dict[str, int]]:
        """Compute the memory of the series after a release, and counts for its record.

        Parameters
        ----------
        made : Generalization
            The groups of the release.
        number : int
            The number of the release.

        Returns
        -------
        after : Memory
            The memory after the release.
        counts : dict
            Numbers of people who were kept, new, returned, and so on.
        """
        values, value_releases, code_of = self._extend_values(made, number)
        # People who were published before: record their return, their absence and their current quasi-identifiers.
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
        # New people get the signature of their group for life.
        new = ~old
        fresh = np.zeros(int(new.sum()), dtype=RECORD)
        fresh["signature"] = made.signature_of[new]
        fresh["joined"] = number
        fresh["value"] = self.value_checks[new]
        fresh["quasi_identifiers"] = self.quasi_identifiers[new]
        fresh["spelling"] = self.spellings[new]
        # Signatures by the value codes of the memory.
        sets = [code_of[made.signatures[n]].astype(np.int32) for n in range(len(made.signatures))]
        after = Memory(
            erased=self.memory.erased,
            values=values,
            value_releases=value_releases,
            signatures=made.signatures.of(()).extend(sets),
            signature_releases=(
                *self.memory.signature_releases,
                *[number] * (len(made.signatures) - len(self.memory.signatures)),
            ),
            persons=Persons(ids=people.ids, records=records).merge(self.pseudonyms.ids[new], fresh),
        )
        # What happened to the people, for the record of the release.
        counts = {
            "kept": int((~was_gone).sum()),
            "returned": int(was_gone.sum()),
            "new": len(fresh),
            "left": int(left.sum()),
            "changed_quasi_identifiers": int(changed),
            "missing_sensitive": self.dropped,
            "left_out": self.left_out,
            "erased": len(self.memory.erased),
        }
        return after, counts

    def _extend_values(
        self, made: Generalization, number: int
    ) -> tuple[tuple[str, ...], tuple[int, ...], NDArray[np.int64]]:
        """Extend the value codes by the new values that the release uses in signatures."""
        known = len(self.memory.values)
        # Values that are in no signature are not remembered.
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
    leave_out: pl.Series | None = None,
) -> LinkedTable:
    """Link the rows of a table to the people whom a series remembers.

    Parameters
    ----------
    frame : DataFrame
        One row per person.
    columns : SeriesColumns
        The role of every column.
    memory : Memory
        The memory of the series.
    keys : SeriesKeys
        The keys of the series.
    missing_sensitive : {"error", "drop"}
        How to treat rows without a sensitive value.
    leave_out : polars.Series, optional
        The ids of people to leave out, as text.

    Returns
    -------
    LinkedTable
        The rows in the order of their pseudonyms.

    Raises
    ------
    ColumnError
        If the columns are not those of the series.
    DataError
        If there is no row, an id is missing or repeated, or a sensitive value is missing or has changed.
    """
    _check_columns(frame.columns, columns)
    if not frame.height:
        raise NoRowsError("The table has no rows.", " ", NO_ROWS_HINT)
    ids = _read_identifiers(frame, columns.identifier)
    left_out = _find_left_out(ids, leave_out)
    absent = find_missing_rows(frame, columns.sensitive) & ~left_out
    dropped = int(absent.sum())
    if dropped and missing_sensitive == "error":
        raise DataError(
            Phrase("1 row has no sensitive value. Leave it out of this release with ", LEAVE_OUT, ".")
            if dropped == 1
            else Phrase(f"{dropped} rows have no sensitive value. Leave them out of this release with ", LEAVE_OUT, ".")
        )
    rows = np.flatnonzero(~absent & ~left_out)
    pseudonyms = keys.pseudonymize(ids.gather(rows))
    # Sort by keyed hash: independent of the order of the input, and practically random.
    order = np.lexsort((pseudonyms.ids[:, 1], pseudonyms.ids[:, 0]))
    rows, people = rows[order], pseudonyms.of(order)
    if not len(rows):
        raise InfeasibleError("No row is left to publish: every row misses a sensitive value or is left out.")
    # Find the people, and normalize the spelling of new ids.
    known = memory.persons.find(people.ids)
    new = np.flatnonzero(known < 0)
    spellings = memory.persons.records["spelling"][known] if len(memory.persons) else np.zeros_like(people.words)
    spellings[new] = hash_spellings(ids.gather(rows[new]), people.of(new), keys)

    def name_ids(mask: NDArray[np.bool_]) -> list[str]:
        return ids.gather(rows[mask]).to_list()

    respelled = (known < 0) & np.isin(spellings, memory.erased["spelling"])
    _check_not_erased(memory.find_erased(people.ids) | respelled, name_ids)
    _check_spellings(known, spellings, memory, name_ids)
    frame = frame.select(columns.quasi_identifiers + columns.sensitive)[rows]
    # Sensitive values: those of the memory first, then the new ones in alphabetical order.
    texts, codes = _encode_sensitive(frame.select(columns.sensitive))
    values = (*memory.values, *sorted(set(texts) - set(memory.values)))
    parts = zip(columns.sensitive, zip(*map(json.loads, values), strict=True), strict=True)
    named = {name: pl.Series(some, dtype=pl.String).unique() for name, some in parts}
    check_distinguishable(named.items(), may_normalize=False)
    alike = {name: pairs for name, some in named.items() if (pairs := count_alike(some)[0])}
    code_of = {text: code for code, text in enumerate(values)}
    sensitive = np.array([code_of[text] for text in texts], dtype=np.int32)[codes]
    tokens = keys.hash_values("sensitive", values)[sensitive]
    # A person's value must be the one of the first release.
    checks = keys.compute_checks(people.words, tokens)
    old = known >= 0
    changed = np.zeros(len(rows), dtype=np.bool_)
    changed[old] = memory.persons.records["value"][known[old]] != checks[old]
    _check_unchanged(changed, int(old.sum()), name_ids)
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
        quasi_identifiers=_hash_quasi_identifiers(table, keys),
        spellings=spellings,
        memory=memory,
        dropped=dropped,
        left_out=int(left_out.sum()),
        notes=tuple(_describe_alike(name, pairs) for name, pairs in alike.items()),
    )


def _describe_alike(name: str, pairs: int) -> str:
    """Describe sensitive values that differ only in case, blanks or Unicode form."""
    return (
        f"{pairs:,} pair(s) of values of '{name}', of this release and of earlier ones, differ in upper and "
        "lower case, blanks or forms of Unicode alone: they count as different values, and read like one. "
        "Write them alike from the first release on."
    )


def _check_columns(names: Sequence[str], columns: SeriesColumns) -> None:
    """Check that a table has exactly the columns of the series."""
    required = {
        columns.identifier: "identifier",
        **dict.fromkeys(columns.quasi_identifiers, "quasi-identifier"),
        **dict.fromkeys(columns.sensitive, "sensitive"),
    }
    for name, role in required.items():
        if name not in names:
            raise ColumnError(
                f"There is no column '{name}' ({role} of the series). {near_matches(name, names)} Every release of a "
                "series has the same columns."
            )
    # A column without a role might identify people.
    others = [name for name in names if name not in {*required, *columns.direct_identifiers}]
    if others:
        shown = tuple(f"'{name}'" for name in others[:10])
        raise ColumnError(
            f"{len(others)} column(s) have no role in the series: {', '.join(shown)}",
            " and more." if len(others) > 10 else ".",
            " Drop them from the table, or start a series with ",
            DROP,
            ": these are never published.",
        )


def _read_identifiers(frame: pl.DataFrame, name: str) -> pl.Series:
    """Read the ids as text, and check that none is missing or repeated."""
    # Ids are compared as text, so that 7 in a file equals 7 in a frame.
    ids = to_identity_text(frame.get_column(name))
    missing = int(find_blank(ids).sum())
    if missing:
        raise DataError(
            f"Rows without the identifier '{name}': {missing}. Later releases could not recognize the "
            "people. Give each person one, or leave the rows out."
        )
    # A release has one row per person.
    repeated = ids.is_duplicated()
    if repeated.any():
        times, people = int(repeated.sum()), ids.filter(repeated).n_unique()
        raise DataError(
            f"The identifier '{name}' is repeated: people with several rows: {people}; their rows: {times}. "
            "A release has one row per person: decide which one, or merge them."
        )
    return ids


def hash_spellings(ids: pl.Series, people: Pseudonyms, keys: SeriesKeys) -> NDArray[np.uint64]:
    """Compute a keyed hash of each id that is equal for all common spellings of the id.

    Parameters
    ----------
    ids : polars.Series
        The ids as text.
    people : Pseudonyms
        The pseudonyms of these ids.
    keys : SeriesKeys
        The keys of the series.
    """
    plain = ids.str.to_lowercase()
    # Normalize only ids with other characters than letters, digits and hyphens, because the patterns are slow.
    unusual = np.flatnonzero(plain.str.contains("^0|[^0-9a-z_-]").to_numpy())
    some = plain.gather(unusual).str.normalize("NFKC").str.to_uppercase().str.to_lowercase().str.normalize("NFKC")
    for pattern, written in _SPELLINGS:
        some = some.str.replace_all(pattern, written)
    plain = plain.scatter(unusual, some) if len(unusual) else plain
    # Ids that are their own normal form keep the hash of the pseudonym.
    hashes = people.ids[:, 0].copy()
    other = np.flatnonzero((plain != ids).to_numpy())
    hashes[other] = keys.pseudonymize(plain.gather(other)).ids[:, 0]
    return hashes


def _find_left_out(ids: pl.Series, leave_out: pl.Series | None) -> NDArray[np.bool_]:
    """Find the rows of people to leave out, and check that all of them are in the table."""
    if leave_out is None:
        return np.zeros(len(ids), dtype=np.bool_)
    unknown = leave_out.filter(~leave_out.is_in(ids.implode()))
    if len(unknown):
        raise PeopleError(
            f"{len(unknown)} of {len(leave_out)} people to leave out {'is' if len(unknown) == 1 else 'are'} not in the "
            "table. Write the ids as in the table.",
            ids=unknown.to_list(),
        )
    return ids.is_in(leave_out.implode()).to_numpy()


def _check_not_erased(erased: NDArray[np.bool_], name_ids: _NameIds) -> None:
    """Check that no erased person is in a table."""
    count = int(erased.sum())
    if count:
        raise PeopleError(
            f"{count} of {len(erased)} people was erased from the series earlier."
            if count == 1
            else f"{count} of {len(erased)} people were erased from the series earlier.",
            " Those who were erased must not return: they would get another set of values, and the releases together "
            "could betray them. Leave their rows out of the table, and see that later tables do not have them either.",
            LIST_IDS,
            ids=name_ids(erased),
            reason="erased",
        )


def _check_spellings(
    known: NDArray[np.int64], spellings: NDArray[np.uint64], memory: Memory, name_ids: _NameIds
) -> None:
    """Check that no new person is an absent known person under another spelling of the id.

    Such a person would get a second signature, and the releases together would disclose the person's value.
    """
    new = known < 0
    absent = memory.persons.records["spelling"][find_absent_people(known, memory)]
    respelled = new & np.isin(spellings, absent)
    if respelled.any():
        count = int(respelled.sum())
        raise PeopleError(
            f"{count} of {int(new.sum())} new people is known under another spelling of the id"
            if count == 1
            else f"{count} of {int(new.sum())} new people are known under other spellings of the ids",
            " (blanks, leading zeros, upper and lower case, Unicode forms, a decimal point, signs, dates). "
            "Taken for new ones, they would get another set of values, and the releases together would "
            "betray them. Write the ids as in the earlier releases, and read them as text. If they are "
            "other people, let their ids differ in more than that.",
            LIST_IDS,
            ids=name_ids(respelled),
            reason="known under another spelling",
        )


def find_absent_people(known: NDArray[np.int64], memory: Memory) -> NDArray[np.bool_]:
    """Find the remembered people who are not in a table."""
    absent = np.ones(len(memory.persons), dtype=np.bool_)
    absent[known[known >= 0]] = False
    return absent


def _encode_sensitive(frame: pl.DataFrame) -> tuple[list[str], NDArray[np.integer]]:
    """Encode the combinations of sensitive values.

    Returns
    -------
    texts : list of str
        The distinct combinations, as JSON.
    codes : array
        The combination of each row.
    """
    table = encode(frame, Schema(quasi_identifiers=(), sensitive=tuple(frame.columns)))
    words = [to_canonical_text(column.dictionary).to_list() for column in table.sensitive]
    combined = np.zeros(frame.height, dtype=np.int64)
    for column in table.sensitive:
        _, combined = np.unique(combined * column.size + column.codes, return_inverse=True)
    _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
    texts = [
        to_canonical_json([names[column.codes[row]] for names, column in zip(words, table.sensitive, strict=True)])
        for row in first
    ]
    return texts, codes


def _check_unchanged(changed: NDArray[np.bool_], old: int, name_ids: _NameIds) -> None:
    """Check that no known person's sensitive value has changed."""
    count = int(changed.sum())
    if not count:
        return
    everyone = (
        " That is nearly everyone: is the column written in another way than before (codes and names, 1 and 1.0)?"
    )
    raise PeopleError(
        f"{count} of {old} people who were published before {'has' if count == 1 else 'have'} another sensitive value "
        "now.",
        everyone if count > 1 and 2 * count > old else "",
        " A series can publish no changed value: their signature would give the change away. If the "
        "first value was right at its time, give them that value. If it was wrong, do not publish it "
        "again: leave them out of this and all later releases, and erase them with ",
        ERASE,
        ". Who knows that they still belong to the table may then guess that a value was corrected; not "
        "which, unless some values are corrected more often than others.",
        LIST_IDS,
        ids=name_ids(changed),
        reason="with another value",
    )


def _hash_quasi_identifiers(table: Table, keys: SeriesKeys) -> NDArray[np.uint64]:
    """Compute a keyed hash of each row's quasi-identifiers: the sum of the hashes of its cells."""
    total = np.zeros(table.rows, dtype=np.uint64)
    for column in table.quasi_identifiers:
        tokens = keys.hash_values(f"quasi-identifier {column.name}", to_canonical_text(column.dictionary).to_list())
        total += tokens[column.codes]
    return total


def to_identity_text(values: pl.Series) -> pl.Series:
    """Convert ids to text that is independent of how the ids are stored.

    In addition to `to_canonical_text`, text is brought to Unicode normal form C, decimal numbers lose trailing zeros,
    and times lose fractions of a second and midnight. Case, blanks and leading zeros are kept.

    Examples
    --------
    >>> import datetime
    >>> import polars as pl
    >>> to_identity_text(pl.Series([datetime.datetime(2020, 1, 31)])).to_list()
    ['2020-01-31']
    """
    text = to_canonical_text(values)
    # Decimal places without effect.
    if values.dtype == pl.Datetime or values.dtype.is_decimal():
        text = text.str.replace(r"(\.\d*?)0+$", "$1").str.replace(r"\.$", "")
    return text.str.replace(" 00:00:00$", "") if values.dtype == pl.Datetime else text.str.normalize("NFC")


def find_blank(ids: pl.Series) -> pl.Series:
    """Find ids that are missing, or of which nothing is seen."""
    return ids.is_null() | (ids.str.replace_all(INVISIBLE, "").str.replace_all(ENDS, "") == "")


def to_canonical_text(values: pl.Series) -> pl.Series:
    """Convert values to text that is independent of how a library stores them: 1, 1.0 and "1" are equal.

    Raises
    ------
    DataError
        If the values are nested, or Python objects.

    Examples
    --------
    >>> import polars as pl
    >>> to_canonical_text(pl.Series([1.0, 2.5, None])).to_list()
    ['1', '2.5', None]
    """
    kind = values.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        raise DataError(f"The column '{values.name}' holds nested data or objects. Turn it into text.")
    if not kind.is_float():
        return values.cast(pl.String)
    values = values.cast(pl.Float64).fill_nan(None)
    # Whole floats are written like integers.
    whole = (values == values.round()) & (values.abs() < _EXACT)
    integers = values.set(~whole.fill_null(value=False), 0.0).cast(pl.Int64).cast(pl.String)
    return integers.zip_with(whole.fill_null(value=False), values.cast(pl.String))
