"""The population that models of a release refer to: open its table, and match its members to hierarchy nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.algorithms.base import PeopleOfNodes
from shoal.disclosure_risk import count_frequencies
from shoal.disclosure_risk.frequencies import PersonRows
from shoal.errors import DataError, ParameterError
from shoal.hierarchy import Hierarchy
from shoal.io.forms import read_column
from shoal.io.number_forms import NumberForm
from shoal.models.requirement import Requirement
from shoal.pipeline.input import OpenedData, open_population
from shoal.recoding import Levels, recode
from shoal.table import Column, Schema, Table, encode
from shoal.table.text import spell_like
from shoal.verification import Meaning, read_table
from shoal.verification.covered_ranks import CoveredRanks
from shoal.verification.placing import place_cells


def load_population(
    requirement: Requirement, opened: OpenedData, table: Table, coarsen: Mapping[Any, Any]
) -> pl.DataFrame | None:
    """Open the population that a requirement refers to, or return None if it refers to none.

    Parameters
    ----------
    requirement : Requirement
    opened : OpenedData
        The table that is to be published; text of the population is converted in the same way.
    table : Table
        Its rows to publish, encoded.
    coarsen : mapping
        The requested coarsenings; must be empty if the requirement refers to a population.

    Returns
    -------
    polars.DataFrame or None
        The quasi-identifiers, with one row per member.

    Raises
    ------
    UsageError
        If the population lacks a column, or the rows of the table are not among its rows.
    """
    if requirement.population is None:
        return None
    if coarsen:
        raise ParameterError(
            "The people of a population are compared with the values as they came, so nothing can be coarsened "
            "beforehand: give hierarchies with ",
            Suggestion("hierarchies"),
            ", or coarsen both tables and leave out ",
            Suggestion("coarsen"),
            ".",
        )
    names = table.schema.quasi_identifiers
    if not names:
        raise ParameterError("People of a population are compared by quasi-identifiers: name at least one.")
    frame = open_population(requirement.population.source, names, kinds=table.schema.kinds)
    frame = frame.with_columns([_convert_like_table(frame.get_column(name), opened) for name in names])
    others = encode(frame, Schema(quasi_identifiers=names)).quasi_identifiers
    columns = table.quasi_identifiers
    if table.owners:  # a person is in the population once, with however many rows of the table
        entries = PersonRows.of(columns, pl.Series(table.owners[0].codes))
        columns = tuple(column.gather(entries.first_rows) for column in columns)
    # Raises an error if a row of the table is not in the population.
    count_frequencies(columns, others, released=False)
    return frame


def _convert_like_table(column: pl.Series, opened: OpenedData) -> pl.Series:
    """Convert a column of the population to dates or numbers in the same way as the column of the table."""
    form = opened.forms.get(column.name)
    if form is None:
        return spell_like(column, opened.frame.get_column(column.name))
    if column.dtype != opened.raw_frame.schema[column.name]:
        return column
    # The notation of the table, or one of its own.
    own = read_column(column)
    kinds = (form.read(column), NumberForm(decimal=".").read(own) if isinstance(form, NumberForm) else own)
    for read in kinds:
        if read.dtype == opened.frame.schema[column.name] and read.null_count() == column.null_count():
            return read.alias(column.name)
    unread = int(kinds[0].null_count() - column.null_count())
    raise DataError(
        f"{unread:,} cell(s) of '{column.name}' in the population are not written as those of the table are. "
        "Write both the same way."
    )


def find_people_of_nodes(
    table: Table,
    people: pl.DataFrame,
    *,
    meanings: Mapping[str, Meaning],
    trees: Mapping[str, Hierarchy],
    recoding: Literal["suppression", "generalization"],
    star: str,
) -> PeopleOfNodes:
    """Find the hierarchy node that each member of the population matches, at each level of each quasi-identifier.

    The cells that would be published are parsed as readers of the release parse them.

    Parameters
    ----------
    table : Table
        The table that is to be published.
    people : polars.DataFrame
        The population, with its quasi-identifiers.
    meanings, trees, recoding, star
        How cells are published, and which values they can represent.
    """
    members = encode(people, Schema(quasi_identifiers=tuple(people.columns))).quasi_identifiers
    nodes = tuple(
        _find_nodes(column, other, meanings, trees, recoding, star)
        for column, other in zip(table.quasi_identifiers, members, strict=True)
    )
    # Members with the same quasi-identifiers are counted together.
    rows = np.column_stack([other.codes for other in members]).astype(np.int32)
    codes, counts = np.unique(rows, axis=0, return_counts=True)
    return PeopleOfNodes(counts=counts.astype(np.int64), codes=codes, nodes=nodes)


def _find_nodes(
    column: Column,
    other: Column,
    meanings: Mapping[str, Meaning],
    trees: Mapping[str, Hierarchy],
    recoding: Literal["suppression", "generalization"],
    star: str,
) -> NDArray[np.int32]:
    """Find the node that each value of the population matches, by level; -1 if it matches none."""
    name = column.name
    # A table with one row for each value of the column.
    values = Column(
        name=name,
        codes=np.arange(column.size, dtype=np.uint32),
        dictionary=column.dictionary,
        ordered=column.ordered,
        numbers=lambda: column.numbers,
        of_intervals=column.of_intervals,
    )
    alone = Table(
        schema=Schema(quasi_identifiers=(name,)),
        rows=column.size,
        quasi_identifiers=(values,),
        sensitive=(),
        insensitive=other.dictionary.to_frame().clear(),
    )
    own = {name: trees[name]} if name in trees else {}
    levels = Levels.of(column, trees.get(name))
    found = np.full((levels.height + 1, other.size), -1, dtype=np.int32)
    # A star matches every value.
    found[-1] = 0
    for level in range(levels.height):
        # The published cell of each node of this level.
        of_value = levels.nodes[level]
        count = int(of_value.max()) + 1
        least = np.full((count, 1), level, dtype=np.int32)
        (shown,) = recode(
            alone, of_value, count, method=recoding, star=star, hierarchies=own, spell_out=True, least=least
        ).columns
        cells = shown.labels.gather(shown.group_codes).alias(name)
        # Parse the cells, and find the values of the population that each one covers.
        read = read_table(
            cells.to_frame(), [name], star=star, meanings=meanings, true_values=other.dictionary.to_frame()
        )
        read.require()
        placed, ranks = read[name].values(other.dictionary.alias(name))
        covered = place_cells(read[name], placed)
        of_cell = np.empty(len(covered.low), dtype=np.int32)
        of_cell[read[name].codes] = np.arange(count, dtype=np.int32)
        found[level] = _find_node_of_each_rank(covered, of_cell, int(ranks.max()) + 1)[ranks]
    return found


def _find_node_of_each_rank(covered: CoveredRanks, of_cell: NDArray[np.int32], ranks: int) -> NDArray[np.int32]:
    """Find the node of the cell that covers each rank; -1 if no cell covers it."""
    node = np.full(ranks, -1, dtype=np.int32)
    for cell, (low, high) in enumerate(zip(covered.low.tolist(), covered.high.tolist(), strict=True)):
        members = covered.members[covered.starts[cell] : covered.starts[cell + 1]]
        node[members if len(members) else slice(low, high + 1)] = of_cell[cell]
    return node
