"""The refinement attack: what coarser cells must have been, from public files alone.

References
----------
.. [1] A. Cohen: Attacks on deidentification's defenses. USENIX Security 2022 (downcoding).
   https://www.usenix.org/conference/usenixsecurity22/presentation/cohen
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.validation import OneOf, validate
from shoal._messages import Suggestion
from shoal.attacks.attack_result import AttackResult, Rate
from shoal.attacks.published_table import PublishedTable, Reading, open_published, refuse_linked
from shoal.attacks.refinement.counting import (
    Segments,
    count_tables,
    count_that_split,
    count_uncut,
    find_bounds,
    find_uncut_bounds,
)
from shoal.attacks.refinement.hidden_cells import HiddenColumn, read_hidden_column
from shoal.attacks.refinement.local import LocalColumn, bound_local
from shoal.errors import ParameterError, UnsupportedError
from shoal.verification.published_columns import ReadColumn, ReadTable
from shoal.verification.sub_domains import Everything

Method: TypeAlias = Literal["none", "mondrian", "full-domain", "local"]
"""What the adversary knows of the algorithm."""
_METHODS = ("none", "mondrian", "full-domain", "local")


def refinement_attack(
    release: Any,
    *,
    method: Method = "none",
    smallest: bool | None = None,
    k: int | None = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Find what coarser cells must have been, because cells are the smallest and the method left them as they are.

    A cell that stands for several values hides the value of each record of its group. The adversary has the public
    files only. If each cell is the smallest that covers its group, then an interval has a record at each end, each
    member of a set occurs, and the records of a star differ. If the method is known, too, then no cut was allowed
    (`mondrian`), no finer node was feasible (`full-domain`), or classes were too small at the turn of a finer node
    (`local`).

    Formula: successes = sum of the smallest number of records with value v in all tables that satisfy these
    conditions, over the groups, the columns and the values v of their coarser cells. Entropy left: log2 of the number
    of these tables divided by log2 of the number of all tables within the cells. Baseline: the same without the method.
    Control: a table drawn again from the published margins, in which each record has a value with the share that the
    column publishes within the cell; the expected number of records about which the same claims are right.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    method : {"none", "mondrian", "full-domain", "local"}
        The algorithm that is known. `mondrian` is strict Mondrian for k-anonymity of records, and gives nothing if ends
        are shared. `full-domain` needs the hierarchies, and a release without suppressed records. `local` is a
        full-domain recoding that is repeated for the suppressed records, and needs the hierarchies; groups are
        published at the nodes of their turn, not at lower ones.
    smallest : bool, optional
        Whether each cell is the smallest that covers its group. By default it is if a certificate states that cells
        show values of the table, and that there are no hierarchies.
    k : int, optional
        The k of k-anonymity; by default that of the certificate.
    progress : callable
        Called with (step, done, total) from time to time.
    **reading : Reading
        `quasi_identifiers`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        Attempts are coarser cells. Figures: `method`, `method_groups` (groups on which it adds a condition),
        `smallest`, `known_by` (coarser and known cells of each column), `alone` (coarser cells whose segment
        certainly holds one record of the group), `entropy_left` and `entropy_left_before` (shares, before the method),
        `not_counted` (coarser cells whose tables were not counted), and `not_measured_columns`.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UnsupportedError
        If nothing is known for the method.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module.

    Examples
    --------
    Both ages of a group of two are known, although not whose they are:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["[20, 29]"] * 2 + ["[30, 41]"] * 3})
    >>> found = refinement_attack(frame, quasi_identifiers=["age"], smallest=True)
    >>> found.successes, found.attempts
    (4, 5)
    """
    validate("refinement_attack", {"method": method}, {"method": OneOf(_METHODS)})
    table = open_published(release, reading, sensitive=False)
    refuse_linked(table)
    if table.person:
        raise ParameterError("The refinement attack counts cells of records. Leave out ", Suggestion("person"), ".")
    understood = table.read()
    known = _read_knowledge(table, method, smallest, k)
    sizes = np.bincount(table.group_of).tolist()
    first = np.unique(table.group_of, return_index=True)[1]
    columns: list[HiddenColumn] = []
    if method == "local":
        names = list(table.names)
        found, concerned = _attack_local(understood, first, sizes, known)
    else:
        columns = hidden_columns(table, understood, known)
        measured = [one for one in columns if one.problem is None]
        names, found = [one.name for one in measured], []
        uncut = _find_uncut(understood, first, sizes, known)
        concerned = len(sizes) if method == "full-domain" else sum(uncut)
        # Groups with equal cells in a column and equally many rows are computed once.
        for at, column in enumerate(measured):
            progress("refinement", at, len(measured))
            labels = understood[column.name].codes[first]
            found.append(_attack_column(column, labels.tolist(), sizes, uncut, known))
    hidden, exactly, without = (sum(getattr(one, name) for one in found) for name in ("hidden", "exactly", "without"))
    return AttackResult(
        attack="refinement",
        outcome=Rate(successes=exactly, attempts=hidden),
        baseline=Rate(successes=without, attempts=hidden),
        control=Rate(successes=sum(one.by_chance for one in found), attempts=hidden),
        figures={
            "columns": list(table.names),
            "method": method,
            "method_groups": concerned,
            "smallest": known.smallest,
            "known_by": [
                {"column": name, "hidden": one.hidden, "known": one.exactly}
                for name, one in zip(names, found, strict=True)
            ],
            "alone": sum(one.alone for one in found),
            "entropy_left": _share(sum(one.left for one in found), sum(one.box for one in found)),
            "entropy_left_before": _share(sum(one.left_before for one in found), sum(one.box for one in found)),
            "not_counted": sum(one.not_counted for one in found),
            "not_measured_columns": [
                {"column": one.name, "why": one.problem} for one in columns if one.problem is not None
            ],
            **({"several_records": True} if table.several_records else {}),
        },
    )


def _share(left: float, box: float) -> float | None:
    return left / box if box else None


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What the adversary assumes of a release."""

    method: str
    smallest: bool
    shared_by: int
    """Ends that fewer records have were moved outwards; 1 if ends are exact, 0 if the number is unknown."""
    k: int


def _find_uncut(understood: ReadTable, first: NDArray[np.int64], sizes: Sequence[int], known: Knowledge) -> list[bool]:
    """Find the groups of strict Mondrian that are known to have no allowed cut, although they have at least 2k rows.

    Parts with equal cells are one group to readers, and may be cut between: parts with stars, or with shared ends.
    """
    if known.method != "mondrian" or not known.smallest or known.shared_by != 1:
        return [False] * len(sizes)
    starred = np.zeros(len(first), dtype=np.bool_)
    for column in understood.columns.values():
        stars = np.array([isinstance(one, Everything) for one in column.sub_domains])
        starred |= stars[column.codes[first]]
    return [rows >= 2 * known.k and not star for rows, star in zip(sizes, starred.tolist(), strict=True)]


def read_smallest(table: PublishedTable, smallest: bool | None) -> tuple[bool, int]:
    """Read whether cells are the smallest of their groups, and how many records share an end (0: unknown)."""
    parameters = table.certificate.get("parameters") or {}
    # Cells of one level of a hierarchy may cover more than a group needs.
    if smallest is None:
        levels = any(one.get("coarsening") == "level" for one in (parameters.get("coarsen") or {}).values())
        nodes = levels or parameters.get("hierarchies") or table.reading.get("hierarchies")
        smallest = bool(parameters) and not nodes
    shared_by = int(parameters.get("shared_by") or 1)
    return smallest, 0 if shared_by > 1 and table.several_records else shared_by


def _read_knowledge(table: PublishedTable, method: str, smallest: bool | None, k: int | None) -> Knowledge:
    """Read what the adversary assumes from the certificate, unless the caller states it."""
    requested = table.certificate.get("requested") or ()
    smallest, shared_by = read_smallest(table, smallest)
    if method == "none":
        if not smallest:
            raise UnsupportedError(
                "Nothing is known of how the cells were made: no certificate states that they are the smallest of "
                "their groups, or they are nodes of a hierarchy. State it with ",
                Suggestion("smallest", True),
                ", or name ",
                Suggestion("method"),
                ".",
            )
        return Knowledge(method=method, smallest=smallest, shared_by=shared_by, k=0)
    # Conditions of a method are those of k-anonymity of records: other models refuse more cuts.
    alone = not requested or (len(requested) == 1 and requested[0].get("model") == "k-anonymity")
    if not alone or table.several_records:
        raise UnsupportedError(
            f"What {method} refuses is known for k-anonymity of records alone, and the release has other models. Leave "
            "out ",
            Suggestion("method"),
            ".",
        )
    k = k or next((int(model["k"]) for model in requested if model.get("k")), None)
    if k is None or k < 1:
        raise ParameterError("No certificate states the k of the release. Give it with ", Suggestion("k"), ".")
    return Knowledge(method=method, smallest=smallest and method == "mondrian", shared_by=shared_by, k=k)


def hidden_columns(table: PublishedTable, understood: ReadTable, known: Knowledge) -> list[HiddenColumn]:
    """Read the coarser cells of all columns."""
    columns = []
    for name in table.names:
        column = understood[name]
        # Bins, rounded numbers and the like were made of single values: their ends are not those of a group.
        exact = column.meaning.kind in ("", "values") and (
            not column.meaning.climbed or column.meaning.tree is not None
        )
        columns.append(
            read_hidden_column(
                column,
                smallest=known.smallest and exact,
                shared_by=known.shared_by,
                counts=np.bincount(column.codes, minlength=len(column.labels)),
                below=_find_level(column) if known.method == "full-domain" else None,
            )
        )
    return columns


def _find_level(column: ReadColumn) -> int:
    """Find the level of a hierarchy whose nodes the cells are.

    Raises
    ------
    UnsupportedError
        If there is no hierarchy, or the cells are of no single level.
    """
    tree = column.meaning.tree
    if tree is not None:
        for level, names in enumerate(tree.labels):
            if set(column.labels) <= set(names):
                return level
        if set(column.labels) == {column.star}:
            return len(tree.labels)
    raise _no_level_error(column.name)


def _no_level_error(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"full-domain publishes one level of a hierarchy for all records. None is known for '{name}', or some "
        "of its cells are of another level. Give the hierarchies with ",
        Suggestion("hierarchies"),
        ", or leave out ",
        Suggestion("method"),
        ".",
    )


@dataclass(kw_only=True)
class _Found:
    """Figures of one column."""

    hidden: int = 0
    exactly: int = 0
    without: int = 0
    by_chance: float = 0.0
    alone: int = 0
    box: float = 0.0
    left: float = 0.0
    left_before: float = 0.0
    not_counted: int = 0


def _attack_column(
    column: HiddenColumn, labels: Sequence[int], sizes: Sequence[int], uncut: Sequence[bool], known: Knowledge
) -> _Found:
    """Attack the coarser cells of one column in all groups."""
    found = _Found()
    cells = [column.cells[label] for label in labels]
    groups = [(cell, rows, whole) for cell, rows, whole in zip(cells, sizes, uncut, strict=True) if cell]
    # A finer node of a full-domain release failed in some group, which is known if only one can have failed.
    full = known.method == "full-domain"
    failing = [full and len(cell.segments.sizes) > 1 and known.k > 1 and rows > 1 for cell, rows, _ in groups]
    for at, (cell, rows, whole) in enumerate(groups):
        segments = cell.segments
        before = find_bounds(segments, rows)
        if full:
            after = _bounds_of_failing(segments, rows) if failing[at] and sum(failing) == 1 else before
        else:
            after = find_uncut_bounds(segments, rows, known.k) if whole else before
        if not before[0] or not after[0]:
            raise UnsupportedError(
                f"No table gives the cells of '{column.name}': they are not the smallest of their groups, or another "
                "method made them. Change ",
                Suggestion("smallest"),
                " or ",
                Suggestion("method"),
                ".",
            )
        found.hidden += rows
        for segment, size in enumerate(segments.sizes):
            least = after[0][segment]
            found.alone += least == after[1][segment] == 1
            if size != 1:
                continue
            found.without += before[0][segment]
            found.exactly += least
            if least:
                within = column.weight(cell.pieces)
                piece = column.weight([cell.pieces[segment]])
                found.by_chance += _expected_hits(rows, least, piece / within if within else 0.0)
    _count_entropy(found, [(cell.segments, rows, whole) for cell, rows, whole in groups], known, failing)
    return found


def _attack_local(
    understood: ReadTable, first: NDArray[np.int64], sizes: Sequence[int], known: Knowledge
) -> tuple[list[_Found], int]:
    """Attack a local recoding, all columns of a group together; return figures by column, and the groups concerned."""
    columns = []
    for read in understood.columns.values():
        tree = read.meaning.tree
        local = None if tree is None else LocalColumn.of(tree, read.labels, read.star)
        if local is None:
            raise _no_level_error(read.name)
        columns.append(local)
    groups = np.column_stack([read.codes[first] for read in understood.columns.values()]).astype(np.int64)
    found = [_Found() for _ in columns]
    margins = [_margin(column, groups[:, at].tolist(), sizes) for at, column in enumerate(columns)]
    concerned = 0
    bounds = bound_local(columns, groups, sizes, known.k)
    for labels, rows, one in zip(groups.tolist(), sizes, bounds, strict=True):
        concerned += one is not None
        uncounted = one is not None and one.share is None
        least_of = [{} for _ in columns] if one is None else one.least
        greatest_of = least_of if one is None else one.greatest
        for at, (column, label, figures) in enumerate(zip(columns, labels, found, strict=True)):
            values = len(column.below[label])
            if values == 1:
                continue
            figures.hidden += rows
            figures.not_counted += rows * uncounted
            if not uncounted:
                figures.box += rows * math.log2(values)
                figures.left_before += rows * math.log2(values)
                figures.left += rows * math.log2(values)
            for part, least in least_of[at].items():
                figures.alone += least == greatest_of[at][part] == 1
                if len(part) == 1 and least:
                    within = sum(margins[at][leaf] for leaf in column.below[label])
                    figures.exactly += least
                    figures.by_chance += _expected_hits(rows, least, margins[at][next(iter(part))] / within)
        # The conditions concern all columns of a group together: their bits are counted with the first.
        found[0].left += math.log2(one.share) if one is not None and one.share else 0.0
    return found, concerned


def _margin(column: LocalColumn, labels: Sequence[int], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Compute how many rows have each value, if those of each cell are spread evenly over it."""
    rows = np.zeros(len(column.tree.labels[0]))
    for label, size in zip(labels, sizes, strict=True):
        rows[list(column.below[label])] += size / len(column.below[label])
    return rows


@cache
def _expected_hits(rows: int, claimed: int, share: float) -> float:
    """Compute the expected number of right claims: min(claimed, X) for a binomial X."""
    share = min(max(share, 0.0), 1.0)
    # E min(c, X) = sum of P(X > j) for j below c.
    below = total = 0.0
    for j in range(claimed):
        if share in (0.0, 1.0):
            return claimed * share
        log = math.lgamma(rows + 1) - math.lgamma(j + 1) - math.lgamma(rows - j + 1)
        below += math.exp(log + j * math.log(share) + (rows - j) * math.log1p(-share))
        total += max(0.0, 1.0 - below)
    return total


def _count_entropy(
    found: _Found, groups: Sequence[tuple[Segments, int, bool]], known: Knowledge, failing: Sequence[bool]
) -> None:
    """Compare the number of possible tables with that of all tables within the cells, in bits."""
    whole: list[int] = []
    splitting: list[int] = []
    for at, (segments, rows, uncut) in enumerate(groups):
        before = count_tables(segments, rows)
        if known.method == "full-domain":
            split = count_that_split(segments.sizes, rows, known.k) if failing[at] else before
            after = None if split is None else before
            splitting.append(split or 0)
        else:
            after = count_uncut(segments, rows, known.k) if uncut else before
        if after is None:
            found.not_counted += rows
            continue
        found.box += rows * math.log2(segments.values)
        found.left_before += _log2(before)
        found.left += _log2(after)
        whole.append(before)
    # Full-domain: all tables but those in which the finer node is feasible in every group.
    if known.method == "full-domain" and groups and not found.not_counted and any(failing):
        feasible = sum(_log2(one) if one else -math.inf for one in splitting) - sum(map(_log2, whole))
        found.left += math.log1p(-(2.0**feasible)) / math.log(2) if feasible > -50 else 0.0


def _log2(count: int) -> float:
    """Compute the binary logarithm of a positive integer of any size."""
    shift = max(count.bit_length() - 60, 0)
    return math.log2(count >> shift) + shift


def _bounds_of_failing(segments: Segments, rows: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Find the bounds of a group in which some child of the node has 1 to k - 1 rows."""
    only = len(segments.sizes) == 2
    return tuple(int(only) for _ in segments.sizes), tuple(rows - 1 for _ in segments.sizes)
