"""Link the rows of persons: pseudonyms, the positions of rows, and how many rows each person publishes.

A record with a list of sensitive values is a person with one row, without a pseudonym.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.linked.linking import least_units, unit_limits
from shoal.algorithms.linked.strata import Strata, choose_strata
from shoal.errors import UnsupportedError
from shoal.models import GroupModel
from shoal.models.counting import PSEUDONYM
from shoal.pipeline.input import OpenedData
from shoal.pipeline.linked_rows import LinkedRows
from shoal.pipeline.units import number_rows_within_units, rank_rows
from shoal.request.request import Request
from shoal.table import Column, Schema, encode, split_lists


def link_rows(opened: OpenedData, rows: NDArray[np.int32], request: Request, rng: np.random.Generator) -> OpenedData:
    """Choose the rows that persons publish together, and add a column of random pseudonyms.

    Parameters
    ----------
    opened : OpenedData
        The input with its units, row by row.
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
    found, persons = np.unique(opened.units[0].codes[rows], return_inverse=True)
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
        kept=(of_rows[1] >= 0).astype(np.int64),
        linked=LinkedRows(
            strata=strata,
            persons=of_rows[0],
            positions=of_rows[1],
            ordered=request.order is not None,
            rows=len(rows),
        ),
    )


def take_lists(opened: OpenedData, rows: NDArray[np.int32], request: Request, rng: np.random.Generator) -> OpenedData:
    """Find the values of records that have lists of them; each record is a person.

    Parameters
    ----------
    opened, rows, request
        As for `link_rows`.
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
    linked = LinkedRows(strata=strata, persons=of_rows[0], positions=of_rows[1], ordered=True, rows=len(rows))
    return replace(opened, linked=linked)


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
    # The strata depend on the models, which limit the units of each group.
    models = [model for model in request.requirement.models if isinstance(model, GroupModel)]
    return choose_strata(persons, positions, columns, partial(unit_limits, models), least_units(models))


def _check_supported(request: Request) -> None:
    """Refuse requests that linked rows and lists do not serve."""
    for model in request.requirement.models:
        if not isinstance(model, GroupModel) or model.unit_limits(Fraction(0)) is None:
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
        # Columns of few values come first: the rows of two units are then alike at more positions.
        known = sorted(encode_values(frame, request.schema.quasi_identifiers), key=lambda column: column.size)
        keys += [column.codes.astype(np.int64) for column in reversed(known)]
    order = np.lexsort(keys)
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = number_rows_within_units(persons[order])
    return positions


def encode_values(frame: pl.DataFrame, names: Sequence[str]) -> tuple[Column, ...]:
    """Encode some columns of a frame."""
    # Column by column, because Polars takes the name "*" for all columns.
    chosen = pl.DataFrame([frame.get_column(name) for name in names])
    return encode(chosen, Schema(quasi_identifiers=tuple(names))).quasi_identifiers
