"""Warnings: what a privacy officer would raise about a table or a release, and what to do next."""

from shoal.warnings.catalogue import WARNINGS, Remark, WarningKind
from shoal.warnings.original import how_to_coarsen, is_one_each, original_warnings, repeated_person, repeated_rows
from shoal.warnings.published import insensitive_warnings, published_warnings

__all__ = [
    "WARNINGS",
    "Remark",
    "WarningKind",
    "how_to_coarsen",
    "insensitive_warnings",
    "is_one_each",
    "original_warnings",
    "published_warnings",
    "repeated_person",
    "repeated_rows",
]
