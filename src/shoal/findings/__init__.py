"""Warnings: problems of a table or a release that a privacy officer would raise, with advice."""

from shoal.findings.finding_kinds import WARNINGS, Remark, warn_caller
from shoal.findings.input_findings import (
    columns_of_owners,
    exact_ends,
    how_to_coarsen,
    is_one_each,
    looks_one_each,
    original_warnings,
    persons_beside,
    persons_of,
    repeated_person,
    respelled_persons,
    sure_of_persons,
    unprotected_persons,
    warn_of_reading,
)
from shoal.findings.release_findings import (
    alike_warnings,
    column_warnings,
    insensitive_warnings,
    published_warnings,
    uncounted_persons,
)

__all__ = [
    "WARNINGS",
    "Remark",
    "alike_warnings",
    "column_warnings",
    "columns_of_owners",
    "exact_ends",
    "how_to_coarsen",
    "insensitive_warnings",
    "is_one_each",
    "looks_one_each",
    "original_warnings",
    "persons_beside",
    "persons_of",
    "published_warnings",
    "repeated_person",
    "respelled_persons",
    "sure_of_persons",
    "uncounted_persons",
    "unprotected_persons",
    "warn_caller",
    "warn_of_reading",
]
