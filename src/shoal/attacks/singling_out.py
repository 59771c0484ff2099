"""The singling-out attack: predicates, made from the public table, that exactly one person satisfies.

References
----------
.. [1] A. Cohen, K. Nissim: Towards formalizing the GDPR's notion of singling out. PNAS 117(15), 2020.
   https://doi.org/10.1073/pnas.1914598117
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Subject
from shoal.attacks.attack_result import AttackResult, Rate
from shoal.attacks.compatible_rows import CompatibilityJoin, join_compatible
from shoal.attacks.persons import number_owners
from shoal.attacks.published_table import (
    PublishedTable,
    Reading,
    open_published,
    refuse_linked,
)
from shoal.attacks.refinement.attack import Knowledge, hidden_columns, read_smallest
from shoal.attacks.refinement.hidden_cells import HiddenCell, HiddenColumn, Piece
from shoal.errors import ParameterError
from shoal.verification.cell_syntax import cell_text
from shoal.verification.published_columns import ReadColumn, ReadTable

_KINDS = ("end", "segment", "hash")
"""The kinds of predicates."""
_SIZES_PER_PASS = 32
"""Number of group sizes whose hashes are counted in one pass over the tree."""


def singling_out_attack(
    release: Any,
    targets: Any,
    *,
    controls: Any = None,
    weight: float | None = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Count the predicates from the public table that exactly one person of the original satisfies.

    A predicate singles a person out if exactly one person of the table satisfies it, although a random person would
    satisfy it with a small probability only (its weight). Three kinds of predicates are made of each group: its cells
    with an end of an interval or a member of a set in one of them (`end`); its cells with a range in one of them in
    which a record certainly lies, because cells are the smallest of their groups (`segment`); and its cells with a hash
    of the whole record of weight 1 / g, if g records are in the group (`hash`).

    Formula: the weight of a predicate is the product, over the columns, of the share of records in its cell, if the
    records of each published cell are spread evenly over its values. Successes: predicates that exactly one of n people
    satisfies, with a weight of at most `weight`. Baseline: random predicates of equal weights w, of which
    n w (1 - w)^(n - 1) are expected to single out a person (37 % for w = 1 / n); those of a larger weight count
    as failures, too.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    targets : frame or path
        The original: all people in the release, with true quasi-identifiers.
    controls : frame or path, optional
        People who are not in the release, best as many: of how many of the light predicates exactly one of them
        satisfies.
    weight : float, optional
        Largest weight of a predicate that counts; by default 1 / (100 n).
    progress : callable
        Called with (step, done, total) from time to time.
    **reading : Reading
        `quasi_identifiers`, `star`, `certificate`, `hierarchies`, `cells`, `person` (in the targets): see
        `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        Attempts are predicates. Figures: `people`, `weight`, `singled_out` (people who are singled out), and `by_kind`:
        for each kind `attempts`, `isolating` (predicates that exactly one person satisfies, of any weight),
        `isolating_by_chance` (the same expected for random predicates of equal weights), `successes`, and `by_chance`.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [20, 25, 29, 30, 36, 41]})
    >>> release = pl.DataFrame({"age": ["[20, 29]"] * 3 + ["[30, 41]"] * 3})
    >>> found = singling_out_attack(release, people, weight=0.1, quasi_identifiers=["age"])
    >>> found["by_kind"][0]["attempts"], found["by_kind"][0]["successes"]
    (4, 4)
    """
    if weight is not None and not 0 < weight <= 1:
        raise ParameterError(Subject("singling_out_attack", "weight"), f" must be above 0 and at most 1. Got {weight}.")
    # Targets, controls, and the person of each of their rows.
    without = reading.copy()
    person = without.pop("person", None)
    table = open_published(release, without, sensitive=False)
    refuse_linked(table)
    people = table.open_people(targets, "the targets")
    table.read_matching(people, "members")
    others = None if controls is None else table.open_people(controls, "the controls")
    if others is not None:
        table.read_matching(others, "some")
    names = (person,) if isinstance(person, str) else tuple(person or ())
    owners = number_owners(people, names, "the targets")
    count = int(owners.max()) + 1
    # Predicates from the public table that are true of few people by chance.
    bound = weight if weight is not None else 1 / (100 * count)
    predicates = list(_make_predicates(table, table.read(people)))
    progress("predicates", 0, len(predicates))
    light = np.array([one.weight for one in predicates]) <= bound
    # People who are not in the table show what chance finds.
    control = None
    if others is not None:
        outside = number_owners(others, names, "the controls")
        single = _count_matches(table, others, outside, predicates, progress) >= 0
        control = Rate(successes=int((single & light).sum()), attempts=len(predicates))
    found = _count_matches(table, people, owners, predicates, progress)
    # Attempts, successes and what chance finds, by kind of predicate.
    by_kind = []
    people_found: set[int] = set()
    for kind in _KINDS:
        at = [number for number, one in enumerate(predicates) if one.kind == kind]
        by_kind.append(_summarize(kind, [predicates[one].weight for one in at], found[at] >= 0, bound, count))
        people_found |= {int(found[one]) for one in at if found[one] >= 0 and light[one]}
    total = {name: sum(one[name] for one in by_kind) for name in ("attempts", "successes", "by_chance")}
    return AttackResult(
        attack="singling-out",
        outcome=Rate(successes=total["successes"], attempts=total["attempts"]),
        baseline=Rate(successes=total["by_chance"], attempts=total["attempts"]),
        control=control,
        figures={
            "columns": list(table.names),
            "people": count,
            "weight": bound,
            "singled_out": len(people_found),
            "by_kind": by_kind,
            **({"of": "persons"} if names else {}),
        },
    )


def _summarize(
    kind: str, weights: Sequence[float], single: NDArray[np.bool_], bound: float, people: int
) -> dict[str, Any]:
    """Summarize the predicates of one kind."""
    # Only predicates of at most this weight count as successes.
    heavy = np.array(weights, dtype=np.float64)
    light = heavy <= bound
    # Exactly one of n people satisfies a random predicate of weight w.
    chance = people * heavy * (1 - np.minimum(heavy, 1.0)) ** (people - 1)
    return {
        "kind": kind,
        "attempts": len(heavy),
        "isolating": int(single.sum()),
        "isolating_by_chance": float(chance.sum()),
        "successes": int((single & light).sum()),
        "by_chance": float(chance[light].sum()),
    }


@dataclass(frozen=True, kw_only=True)
class _Predicate:
    """The cells of a group, one of them replaced, or a hash of weight 1 / g."""

    kind: str
    group: int
    column: str = ""
    cell: str = ""
    """The cell that replaces that of the column."""
    size: int = 0
    """The number of records in the group, for a hash."""
    weight: float


def _make_predicates(table: PublishedTable, understood: ReadTable) -> Iterator[_Predicate]:
    """Make the predicates of each group from the public table alone."""
    smallest, shared_by = read_smallest(table, None)
    known = Knowledge(method="none", smallest=smallest, shared_by=shared_by, k=0)
    columns = hidden_columns(table, understood, known)
    # One record of each group has its cells; the weight of each cell is a share of the column.
    sizes = np.bincount(table.group_of).tolist()
    first = np.unique(table.group_of, return_index=True)[1]
    labels = np.column_stack([understood[column.name].codes[first] for column in columns]).tolist()
    shares = [[column.weight(shown) for shown in column.shown] for column in columns]
    shown = [_list_values(understood[column.name], column) for column in columns]
    for group, (size, cells) in enumerate(zip(sizes, labels, strict=True)):
        # A column whose cells have no size makes predicates no lighter.
        weights = [of[label] or 1.0 if of else 1.0 for of, label in zip(shares, cells, strict=True)]
        box = float(np.prod(weights))
        yield _Predicate(kind="hash", group=group, size=size, weight=box / size)
        # Replace one cell by each of its ends, members and certain ranges.
        for column, values, label, share in zip(columns, shown, cells, weights, strict=True):
            for kind, piece in values[label]:
                text = column.write(piece)
                if text is not None:
                    inner = box / share * column.weight([piece])
                    yield _Predicate(kind=kind, group=group, column=column.name, cell=text, weight=inner)


def _list_values(column: ReadColumn, hidden: HiddenColumn) -> list[list[tuple[str, Piece]]]:
    """List the ends and members that each label shows, and the ranges in which a record certainly lies."""
    found: list[list[tuple[str, Piece]]] = []
    shown = hidden.shown or ((),) * len(column.labels)
    for label, pieces, cell in zip(column.labels, shown, hidden.cells, strict=True):
        listed: list[tuple[str, Piece]] = []
        # Ends of intervals, and members of sets.
        form = column.form(str(label)).kind if label is not None and column.meaning.kind in ("", "values") else ""
        if form == "interval" and len(pieces) == 1 and pieces[0][0] < pieces[0][1]:
            listed += [("end", (end, end)) for end in pieces[0]]
        elif form == "set":
            listed += [("end", piece) for piece in pieces if piece[0] == piece[1]]
        # Ranges that are not such ends already.
        ends = {piece for _, piece in listed}
        listed += [("segment", piece) for piece in _list_certain(cell) if piece not in ends]
        found.append(listed)
    return found


def _list_certain(cell: HiddenCell | None) -> list[Piece]:
    """List the ranges of a cell in each of which at least one record lies."""
    if cell is None:
        return []
    certain = [(cell.pieces[first][0], cell.pieces[stop - 1][1]) for first, stop in cell.segments.occupied]
    # A star of two values has records of both.
    if cell.segments.varied and cell.segments.values == 2:
        certain += [piece for piece in cell.pieces if piece[0] == piece[1]]
    return certain


def _count_matches(
    table: PublishedTable,
    people: pl.DataFrame,
    owners: NDArray[np.int64],
    predicates: Sequence[_Predicate],
    progress: Progress,
) -> NDArray[np.int64]:
    """Find the only person who satisfies each predicate; -1 if none or several do."""
    # Each predicate is a row of cells; that of a hash has the cells of its group.
    first = np.unique(table.group_of, return_index=True)[1]
    rows = table.frame[first][[one.group for one in predicates]]
    replaced: dict[str, dict[int, str]] = {}
    for at, one in enumerate(predicates):
        if one.column:
            replaced.setdefault(one.column, {})[at] = one.cell
    for name, cells in replaced.items():
        column = rows.get_column(name).to_list()
        rows = rows.with_columns(
            pl.Series(name, [cells.get(at, cell) for at, cell in enumerate(column)], dtype=pl.String)
        )
    # Boxes of all rows are joined with the people at once.
    join = join_compatible(replace(table, frame=rows).read(people), people)
    found = np.full(len(predicates), -1, dtype=np.int64)
    plain = np.array([one.size == 0 for one in predicates])
    (anybody,) = _find_single(join, owners, np.ones((len(owners), 1), dtype=np.bool_), progress)
    found[plain] = anybody[join.box_of[plain]]
    # Hashes of the same weight are one predicate for all groups of a size.
    drawn = pl.DataFrame([cell_text(column) for column in people]).hash_rows(seed=0).to_numpy()
    sizes = np.array([one.size for one in predicates])
    different = np.unique(sizes[~plain])
    for start in range(0, len(different), _SIZES_PER_PASS):
        some = different[start : start + _SIZES_PER_PASS]
        chosen = drawn[:, None] % some.astype(np.uint64)[None, :] == 0
        for size, single in zip(some.tolist(), _find_single(join, owners, chosen, progress), strict=True):
            of_size = np.flatnonzero(sizes == size)
            found[of_size] = single[join.box_of[of_size]]
    return found


def _find_single(
    join: CompatibilityJoin, owners: NDArray[np.int64], chosen: NDArray[np.bool_], progress: Progress
) -> list[NDArray[np.int64]]:
    """Find for each box the only person among the chosen rows within it; -1 if there is none, or several.

    The rows are of one person if the number of rows times the sum of the squares of their numbers is the square of the
    sum of their numbers (Cauchy and Schwarz).
    """
    # Numbers from 1, so that a person's square is never 0.
    number = owners + 1
    found = []
    for one in chosen.T:
        carried = np.zeros((len(join.points), 3), dtype=np.int64)
        ones = np.ones_like(number)
        np.add.at(carried, join.point_of[one], np.column_stack((ones, number, number * number))[one])
        rows, total, squares = join.sum_over_people(carried, progress).T.tolist()
        single = [(s // m - 1) if m and m * q == s * s else -1 for m, s, q in zip(rows, total, squares, strict=True)]
        found.append(np.array(single, dtype=np.int64))
    return found
