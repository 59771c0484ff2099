"""Persons in an input: whose each row is, and which rows a release may publish; no value that identifies them is kept.

Each choice of rows takes those that may be published before it, and they share one generator. A record with a list of
sensitive values is a person with one row, without a pseudonym.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.algorithms.bundles.linking import least_persons, share_limits
from shoal.algorithms.bundles.strata import Strata, choose_strata
from shoal.errors import ColumnError, DataError, UnsupportedError, near_matches
from shoal.io import understand
from shoal.io.forms import read_column
from shoal.io.number_forms import numbers_of
from shoal.models import GroupModel
from shoal.models.counting import PSEUDONYM
from shoal.pipeline.input import BundledRows, KeptRows, OpenedData
from shoal.recoding.order import rank
from shoal.request.request import Request
from shoal.table import Column, Schema, encode, normalize_columns, split_lists

_Choice: TypeAlias = "Callable[[OpenedData, NDArray[np.int32], Request, np.random.Generator], OpenedData]"


def keep_rows(opened: OpenedData, request: Request) -> OpenedData:
    """Determine the person of each row, and the rows that are kept if not all of a person are published, or alone.

    Parameters
    ----------
    opened : OpenedData
    request : Request

    Raises
    ------
    ColumnError
        If there is no such column as `request.order`.
    DataError
        If rows without a person are an error.
    """
    if request.order is not None and request.order not in opened.frame.columns:
        near = near_matches(request.order, opened.frame.columns)
        raise ColumnError(f"There is no column '{request.order}' (order). {near}")
    opened = assign_persons(opened, request)
    rng = make_generator(request.seed)
    for name in request.requirement.keeps:
        _, rows = opened.select_publishable(request.schema, request.missing_sensitive)
        opened = KEEP[name](opened, rows, request, rng)
    return opened


def assign_persons(opened: OpenedData, request: Request) -> OpenedData:
    """Assign numbers to the owners of each kind that the rows of an input belong to.

    Parameters
    ----------
    opened : OpenedData
    request : Request
        Its `missing_person` states how rows without an owner are treated: as an error, or as owners of their own.

    Returns
    -------
    OpenedData
        The same rows with `OpenedData.owners`. Rows without an owner are no longer counted together.

    Raises
    ------
    DataError
        If rows without an owner are an error.
    """
    kinds = request.counting.kinds
    without = find_missing_owners(opened.frame, kinds)
    count = int(opened.counts[without].sum())
    if count and request.missing_person == "error":
        raise DataError(
            f"{count} row(s) do not show whose they are. Choose how to treat them: ",
            Suggestion("missing_person", "own"),
            " takes each for a person of its own.",
        )
    # Each row without an owner is one of its own, so its count must be one.
    if (opened.counts[without] > 1).any():
        times = np.where(without, opened.counts, 1)
        rows = np.repeat(np.arange(opened.frame.height), times)
        opened = opened.entries(rows, np.where(without, 1, opened.counts)[rows])
    return replace(opened, owners=tuple(encode_owners(opened.frame, kind) for kind in kinds))


def keep_some(opened: OpenedData, rows: NDArray[np.int32], request: Request, rng: np.random.Generator) -> OpenedData:
    """Choose the rows that are kept so that no person has more than the request allows.

    Parameters
    ----------
    opened : OpenedData
        The input; the first kind of its owners are the persons.
    rows : int32 array
        Indices of the rows that may be published.
    request : Request
        Its `rows_per_person` is the number of rows of a person to keep, and `kept_rows` selects them.
    rng : Generator
        Draws the rows, or breaks ties.

    Returns
    -------
    OpenedData
        The same rows with `OpenedData.kept`.
    """
    # Each row of the input, in random order.
    each = rng.permutation(np.repeat(rows, opened.counts[rows]))
    if request.kept_rows != "random":
        places = rank_rows(opened.frame, request)
        each = each[np.argsort(places[each] if request.kept_rows == "first" else -places[each], kind="stable")]
    # The first rows of each person in this order are kept.
    stays = number_rows_within_owners(opened.owners[0].codes[each]) < int(request.rows_per_person or 0)
    return replace(opened, kept=KeptRows(counts=np.bincount(each[stays], minlength=opened.frame.height)))


def keep_linked(opened: OpenedData, rows: NDArray[np.int32], request: Request, rng: np.random.Generator) -> OpenedData:
    """Choose the rows that persons publish together, and add a column of random pseudonyms.

    Parameters
    ----------
    opened : OpenedData
        The input with its owners, row by row.
    rows : int32 array
        The rows that may be published.
    request : Request
    rng : numpy.random.Generator
        Orders the persons, and decides between rows of equal rank. Pseudonyms are drawn apart from it.

    Raises
    ------
    UnsupportedError
        A model cannot be asked of linked rows.
    InfeasibleError
        There are too few persons, or a sensitive value is too frequent.
    """
    _check_supported(request)
    # Number the persons that have a row in random order.
    found, persons = np.unique(opened.owners[0].codes[rows], return_inverse=True)
    persons = rng.permutation(len(found))[persons]
    positions = _positions(opened.frame[rows], persons, request, rng)
    strata = _choose_strata(opened.frame[rows], persons, positions, request)
    # Spread over all rows of the input.
    of_rows = np.full((2, opened.frame.height), -1, dtype=np.int64)
    of_rows[0, rows] = persons
    of_rows[1, rows[strata.kept]] = positions[strata.kept]
    # A seed may be guessed, and would give away whose each pseudonym is: it has no part in them.
    drawn = np.random.default_rng(secrets.randbits(256)).permutation(len(found))
    pseudonyms = pl.Series(PSEUDONYM, np.append(drawn, -1)[of_rows[0]] + 1)
    return replace(
        opened,
        frame=opened.frame.with_columns(pseudonyms),
        kept=KeptRows(
            counts=(of_rows[1] >= 0).astype(np.int64),
            bundled=BundledRows(
                strata=strata,
                persons=of_rows[0],
                positions=of_rows[1],
                ordered=request.order is not None,
                rows=len(rows),
            ),
        ),
    )


def keep_lists(opened: OpenedData, rows: NDArray[np.int32], request: Request, rng: np.random.Generator) -> OpenedData:
    """Find the values of records that have lists of them; each record is a person.

    Parameters
    ----------
    opened, rows, request
        As for `keep_linked`.
    rng : numpy.random.Generator
        Orders the records.

    Raises
    ------
    UnsupportedError
        A model cannot be asked of lists.
    InfeasibleError
        There are too few records, or a sensitive value is too frequent.
    """
    _check_supported(request)
    persons, positions = rng.permutation(len(rows)), np.zeros(len(rows), dtype=np.int64)
    strata = _choose_strata(opened.frame[rows], persons, positions, request)
    of_rows = np.full((2, opened.frame.height), -1, dtype=np.int64)
    of_rows[:, rows] = persons, positions
    bundled = BundledRows(
        strata=strata, persons=of_rows[0], positions=of_rows[1], ordered=True, rows=len(rows), alone=True
    )
    counts = np.where(of_rows[1] >= 0, opened.publishable_counts, 0)
    return replace(opened, kept=KeptRows(counts=counts, bundled=bundled))


KEEP: Mapping[str, _Choice] = {"some": keep_some, "together": keep_linked, "lists": keep_lists}
"""How each of `Records.keeps` chooses rows."""


def _choose_strata(
    frame: pl.DataFrame, persons: NDArray[np.integer], positions: NDArray[np.int64], request: Request
) -> Strata:
    """Choose how many rows each person publishes, by the sensitive values of all rows."""
    columns = []
    separators = request.counting.separators
    for name in request.requirement.sensitive:
        values = frame.get_column(name)
        of: NDArray[np.integer] = np.arange(frame.height)
        if name in separators:
            of, values = split_lists(values, separators[name])
        (column,) = encode_values(values.to_frame(), [name])
        columns.append((of, column.codes.astype(np.int64), column.size))
    # The strata depend on the models, which limit the owners of each group.
    models = [model for model in request.requirement.models if isinstance(model, GroupModel)]
    return choose_strata(persons, positions, columns, partial(share_limits, models), least_persons(models))


def _check_supported(request: Request) -> None:
    """Refuse requests that linked rows and lists do not serve."""
    for model in request.requirement.models:
        if not isinstance(model, GroupModel) or model.share_limits(Fraction(0)) is None:
            raise UnsupportedError(
                "Linked rows, and lists of values, can have k-anonymity, l-diversity by frequency, t-closeness with "
                "the equal distance and beta-likeness, not ",
                model,
                ". Leave it out, or publish rows that are not linked, and no lists.",
            )


def _positions(
    frame: pl.DataFrame, persons: NDArray[np.integer], request: Request, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Compute the place of each row among those of its person, by the order column or by the quasi-identifiers."""
    # Chance decides between rows of equal rank, so ties reveal nothing about the order of the input.
    keys = [rng.permutation(frame.height)]
    if request.order is not None:
        keys.append(rank_rows(frame, request))
    else:
        # Columns of few values come first: the rows of two owners are then alike at more positions.
        known = sorted(encode_values(frame, request.schema.quasi_identifiers), key=lambda column: column.size)
        keys += [column.codes.astype(np.int64) for column in reversed(known)]
    order = np.lexsort(keys)
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = number_rows_within_owners(persons[order])
    return positions


def encode_values(frame: pl.DataFrame, names: Sequence[str]) -> tuple[Column, ...]:
    """Encode some columns of a frame."""
    # Column by column, because Polars takes the name "*" for all columns.
    chosen = pl.DataFrame([frame.get_column(name) for name in names])
    return encode(chosen, Schema(quasi_identifiers=tuple(names))).quasi_identifiers


def number_rows_within_owners(owners: NDArray[np.integer]) -> NDArray[np.int64]:
    """Assign each row its number within its owner, from 0, in the order of the rows.

    Examples
    --------
    >>> number_rows_within_owners(np.array([7, 3, 7, 7, 3]))
    array([0, 0, 1, 2, 1])
    """
    order = np.argsort(owners, kind="stable")
    in_order = owners[order]
    places = np.empty(len(owners), dtype=np.int64)
    places[order] = np.arange(len(owners)) - np.searchsorted(in_order, in_order)
    return places


def rank_rows(frame: pl.DataFrame, request: Request) -> NDArray[np.int64]:
    """Rank the rows by the order column of a request; rows without a value are chosen last.

    Raises
    ------
    DataError
        If the column is text that is neither numbers nor dates.
    """
    assert request.order is not None
    column = frame.get_column(request.order)
    formats = {} if column.dtype.is_numeric() else request.dates or {}
    named = {name: form for name, form in formats.items() if name == column.name}
    parsed = read_column(column, dates=named, decimal=request.decimal, certain=True)
    # Numbers in canonical notation stay text; whole numbers may be longer than a float is exact.
    for kind in (pl.Int128, pl.Float64):
        if parsed.dtype == pl.String:
            numbers = numbers_of(parsed, kind)
            parsed = numbers if numbers.is_finite().sum() == len(parsed.drop_nulls()) else parsed
    if not (parsed.dtype.is_numeric() or parsed.dtype.is_temporal()):
        raise DataError(
            f"The column '{column.name}' gives rows no order: it has neither numbers nor dates. Name another one with ",
            Suggestion("order"),
            ".",
        )
    places = parsed.rank("dense").cast(pl.Int64)
    return places.fill_null(-1 if request.kept_rows == "last" else len(places) + 1).to_numpy()


def count_days_since_first(frame: pl.DataFrame, names: Sequence[str], request: Request) -> pl.DataFrame:
    """Replace dates by whole days since the first date of the person in any of some columns.

    Raises
    ------
    DataError
        If a column has no dates.
    """
    named = {name: form for name, form in (request.dates or {}).items() if name in names}
    given = pl.DataFrame([frame.get_column(name) for name in names])
    parsed = understand(given, names, dates=named, decimal=request.decimal).frame
    for column in parsed:
        if column.dtype not in (pl.Date, pl.Datetime):
            raise DataError(f"The column '{column.name}' has no dates to count days from.")
    # Columns are numbered, because Polars takes some names for patterns.
    dates = pl.DataFrame({str(place): column.cast(pl.Date) for place, column in enumerate(parsed)})
    owners = pl.Series("owner", encode_owners(frame, request.counting.kinds[0]).codes)
    first = dates.with_columns(owners).select(pl.min_horizontal(dates.columns).min().over("owner")).to_series()
    days = [(column - first).dt.total_days().alias(name) for column, name in zip(dates, names, strict=True)]
    return frame.with_columns(days)


def mark_first_rows(owners: Sequence[NDArray[np.integer]], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark rows that belong to different owners of every kind: those that are the first row of an owner for all kinds.

    Parameters
    ----------
    owners : sequence of integer array
        Owner of each row, for each kind of owner.
    rows : integer array
        Indices of the rows in the input, which define their order.

    Examples
    --------
    >>> mark_first_rows([np.array([0, 0, 1])], np.array([5, 2, 9]))
    array([False,  True,  True])
    """
    order = np.argsort(rows, kind="stable")
    first = np.ones(len(rows), dtype=np.bool_)
    for codes in owners:
        own = np.zeros(len(rows), dtype=np.bool_)
        own[order[np.unique(codes[order], return_index=True)[1]]] = True
        first &= own
    return first


def find_missing_owners(frame: pl.DataFrame, owners: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Find the rows without an owner: an identifying column is null, NaN or empty text."""
    without = np.zeros(frame.height, dtype=np.bool_)
    for column in _normalize(frame, tuple(dict.fromkeys(name for kind in owners for name in kind))):
        found = column.fill_nan(None) if column.dtype.is_float() else column
        without |= found.is_null().to_numpy()
    return without


def encode_owners(frame: pl.DataFrame, names: Sequence[str]) -> Column:
    """Assign numbers to the owners of one kind; a row without an owner is an owner of its own.

    Text is compared in its normalized form. Two forms of one name are therefore one person, which is the safe choice.
    """
    columns = encode(_normalize(frame, names), Schema(quasi_identifiers=tuple(names))).quasi_identifiers
    without = find_missing_owners(frame, [names])
    numbers, count = rank([(column.codes, column.size) for column in columns], frame.height)
    if without.any():
        # Owners with values come first, without gaps, then owners of single rows.
        numbers, count = rank([(np.where(without, count, numbers), count + 1)], frame.height)
        alone = int(np.count_nonzero(without))
        numbers = np.array(numbers)
        numbers[without] = count - 1 + np.arange(alone)
        count += alone - 1
    kind = np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32
    return Column(
        name=" + ".join(names),
        codes=numbers.astype(kind),
        dictionary=pl.Series(np.arange(count)),
        ordered=False,
        numbers=None,
    )


def _normalize(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Select the columns that identify owners, with normalized text."""
    named = pl.DataFrame([frame.get_column(name) for name in names])
    return normalize_columns(named.lazy(), names).collect()


def make_generator(seed: int | None) -> np.random.Generator:
    """Make a random generator, seeded by the operating system if there is no seed."""
    return np.random.default_rng(secrets.randbits(256) if seed is None else seed)
