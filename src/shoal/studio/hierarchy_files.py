"""The private files of hierarchies that are made in the studio."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.studio.allowed_paths import AllowedPaths
from shoal.studio.plan import Plan, ShapedTree


def create_tree(paths: AllowedPaths, plan: Plan, name: str, steps: tuple[Mapping[str, Any], ...]) -> ShapedTree:
    """Create the record of a hierarchy; the path of its file is determined by the table, the column and the steps."""
    made_of = json.dumps([plan.source, plan.reading, name, steps], sort_keys=True, default=dict)
    key = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    plain = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:60] or "column"
    # Commands refer to the file by name only, so names must differ between columns.
    taken = {one.name for other, one in plan.trees.items() if other != name}
    names = [f"{plain}.hierarchy.csv", *(f"{plain}-{number}.hierarchy.csv" for number in range(2, 5_000))]
    called = next(one for one in names if one not in taken)
    return ShapedTree(steps=steps, path=str(paths.create_hierarchy_path(key, called)))


def store_file(paths: AllowedPaths, content: bytes) -> Path:
    """Write an uploaded hierarchy.

    The path depends on the content, so that undoing an upload finds the earlier file unchanged.
    """
    key = hashlib.sha256(content).hexdigest()[:16]
    path = paths.create_hierarchy_path(f"from-{key}", "hierarchy.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
