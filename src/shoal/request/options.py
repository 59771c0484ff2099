"""The fields of `shoal.Request` as keywords, for editors and type checkers.

Made of the fields by `python -m tests.request.test_options`; not edited by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from shoal.algorithms.base import Algorithm
from shoal.hierarchy import Coarsening, Hierarchy
from shoal.models import PrivacyModel
from shoal.report import About


class ExploreOptions(TypedDict, total=False):
    """Keywords of `shoal.explore`."""

    quasi_identifiers: Sequence[str]
    sensitive: str | Sequence[str] | None
    direct_identifiers: Sequence[str]
    insensitive: str | Sequence[str]
    qi_sets: Sequence[str | Sequence[str]]
    knows: int | None
    person: str | Sequence[str] | None
    units: Sequence[str | Sequence[str]]
    missing_person: str
    rows_per_person: int | None
    kept_rows: str
    order: str | None
    link: bool
    lists: Mapping[str, str] | None
    missing_sensitive: str
    normalize: bool
    star: str
    privacy: PrivacyModel | Sequence[PrivacyModel] | None
    t: float | None
    harmless: str | Sequence[str] | None
    algorithm: str | Algorithm
    resist: str | None
    seed: int | None
    keep_order: bool
    recoding: Literal["suppression", "generalization"]
    largest_set: int
    exact_ends: bool
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None
    coarsen: Mapping[str | tuple[str, ...], Coarsening | str] | None
    weights: Mapping[str, float] | None
    limits: Mapping[str, tuple[int, int]] | None
    suppression_limit: float | None
    dates: Mapping[str, str] | None
    decimal: str | None
    delimiter: str | None
    encoding: str | None
    sheet: str | None
    header_row: int | None
    replace_values: Mapping[str, Mapping[str, str | None]] | None
    derive: Mapping[str, str] | None


class Options(ExploreOptions, total=False):
    """Keywords of `shoal.anonymize`."""

    k: int | None
    l: float | None
    engine: Literal["auto", "memory", "stream", "spark"]
    memory: int | str | None
    about: About | None
    output: str | PathLike[str] | None
    format: str | None
    spreadsheet_safe: bool
    publish_proof: bool
    strict: bool
    force: bool
