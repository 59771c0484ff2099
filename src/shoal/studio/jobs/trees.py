"""Hierarchy job: build the hierarchy of one column step by step, write it, and measure each of its levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.progress import Progress
from shoal.errors import UsageError
from shoal.studio.jobs.parsing import parse_other_columns, read_parsed
from shoal.studio.requests import arguments_in

if TYPE_CHECKING:
    import polars as pl

    from shoal.hierarchy import Hierarchy


def shape(
    *,
    content: Mapping[str, Any],
    column: str,
    steps: Sequence[Mapping[str, Any]],
    path: str,
    k: int,
    level: int,
    find: str,
    most: int,
    progress: Progress,
) -> dict[str, Any]:
    """Build the hierarchy of a column from editing steps, write it, and measure the values and loss of each level."""
    from shoal.hierarchy import Level, OneValue, coarsen_columns
    from shoal.hierarchy.distinct_values import encode_values
    from shoal.table.text import dictionary_text
    from shoal.verbs.explore import coarsening_losses

    asked = arguments_in(content)
    frame, quasi = read_parsed(asked, progress)
    if column not in quasi:
        frame, _ = parse_other_columns(frame, asked)
    values = frame.get_column(column)
    sensitive = asked.get("sensitive")
    other = frame.get_column(sensitive if isinstance(sensitive, str) else sensitive[0]) if sensitive else None
    progress("hierarchy", 0, 1)
    tree: Hierarchy | None = None
    # Hierarchies are immutable, so the steps are applied from the first one each time.
    for step in steps:
        tree = _after(tree, step, values, other)
    if tree is None:
        raise UsageError("No hierarchy was proposed yet.")
    coded = encode_values(values)
    if coded is not None:
        # Raises an error with the number of values that the hierarchy lacks.
        tree.positions(dictionary_text(coded.dictionary).to_list(), column=column)
    _write(tree, path)
    rows = max(values.len(), 1)
    levels = []
    # Measure each level on the column alone: values left, smallest value, share of records below k, and loss.
    for number in range(tree.height + 1):
        progress("levels", number, tree.height + 1)
        # The root has the name of a star, so the top level is expressed by `OneValue`.
        made: Any = {} if number == 0 else {column: OneValue() if number == tree.height else Level(tree, number)}
        after = coarsen_columns(frame.select(column), made, [column]).frame.to_series().drop_nulls()
        counts = after.unique_counts()  # the name of the column may be that of the counts
        losses = coarsening_losses(frame.select(column), made)
        levels.append({
            "left": len(counts),
            "smallest": int(counts.min() or 0),  # type: ignore[arg-type]
            "below": float(counts.filter(counts < k).sum()) / rows,
            "loss": losses[column],
        })  # fmt: skip
    facts: dict[str, Any] = {"levels": levels, "missing": values.null_count(), "nodes": [], "hidden": 0}
    if tree.height > 0 and coded is not None:
        # Count the records of each node of the level below the shown one, most frequent first.
        level = min(max(level, 1), max(tree.height - 1, 1))
        fine = coarsen_columns(frame.select(column), {column: Level(tree, level - 1)}, [column]).frame.to_series()
        records = _records(fine if level > 1 else values)
        above = {row[level - 1]: row[min(level, tree.height)] for row in tree.rows()}
        named = list(enumerate(tree.labels[level - 1]))
        wanted = [one for one in named if find.casefold() in one[1].casefold()]
        wanted.sort(key=lambda one: -records.get(one[1], 0))
        facts["nodes"] = [[place, text, records.get(text, 0), above[text]] for place, text in wanted[:most]]
        facts["hidden"] = max(len(wanted) - most, 0)
    return facts


def _records(values: pl.Series) -> dict[str, int]:
    """Count the records of each value, given as its text in hierarchies."""
    import numpy as np

    from shoal.hierarchy.distinct_values import encode_values
    from shoal.table.text import dictionary_text

    column = encode_values(values)
    if column is None:
        return {}
    counts = np.bincount(column.codes, minlength=column.size)
    texts = dictionary_text(column.dictionary).to_list()
    return {text: int(count) for text, count in zip(texts, counts.tolist(), strict=True) if text is not None}


def _after(
    tree: Hierarchy | None, step: Mapping[str, Any], values: pl.Series, other: pl.Series | None
) -> Hierarchy | None:
    """Apply one editing step to a hierarchy."""
    from shoal.hierarchy import Hierarchy, insert_level, join_nodes

    if step["do"] == "propose":
        return _proposed(step, values, other)
    if step["do"] == "file":
        return Hierarchy.from_csv(step["path"])
    if tree is None:
        raise UsageError("No hierarchy was proposed yet.")
    if step["do"] == "level":
        return insert_level(tree, min(int(step["level"]), tree.height))
    # Joining on the top level needs a level below the root first.
    level = int(step["level"])
    if level >= tree.height:
        tree = insert_level(tree, min(level, tree.height))
    names = tree.labels[level - 1]
    return join_nodes(tree, [names[at] for at in step["nodes"] if at < len(names)], step["name"], level=level)


def _proposed(step: Mapping[str, Any], values: pl.Series, other: pl.Series | None) -> Hierarchy:
    from shoal.hierarchy import propose_hierarchy

    # A proposal has at most one field.
    field = next((step[name] for name in ("width", "cuts", "parts") if step.get(name)), "")
    return propose_hierarchy(f"{'flat' if step['how'] == 'by hand' else step['how']}:{field}", values, other)


def _write(tree: Hierarchy, path: str) -> None:
    """Write a hierarchy atomically, because the worker may be stopped at any time."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.part")
    tree.to_csv(unfinished)
    unfinished.replace(target)
