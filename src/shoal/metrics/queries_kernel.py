# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Kernels for counting queries on microdata and on published groups."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import kernel

__all__ = ["count_rows", "estimate_rows"]


@kernel
def count_rows(codes, low, high):
    """Count the rows within the ranges of each query: `codes` has shape (n, q), the bounds (queries, q)."""
    counts = np.zeros(low.shape[0], dtype=np.int64)
    for query in range(low.shape[0]):
        # A row is compared attribute by attribute, until one is out of range.
        for row in range(codes.shape[0]):
            inside = True
            for a in range(codes.shape[1]):
                if codes[row, a] < low[query, a] or codes[row, a] > high[query, a]:
                    inside = False
                    break
            counts[query] += inside
    return counts


@kernel
def estimate_rows(first, last, people, below, low, high):
    """Estimate the answer to each query from the groups, as in the paper.

    Group g spans `first[g, a]` to `last[g, a]` on attribute a and has `people[g]` real rows; `below[g, v]` of all its
    rows have a sensitive code less than v. The last range of a query refers to the sensitive attribute.
    """
    groups, d = first.shape
    values = below.shape[1] - 1
    estimates = np.zeros(low.shape[0], dtype=np.float64)
    for query in range(low.shape[0]):
        for g in range(groups):
            # The share of the group's box that the query covers, under uniformity.
            share = 1.0
            for a in range(d):
                common = min(last[g, a], high[query, a]) - max(first[g, a], low[query, a]) + 1
                if common <= 0:
                    share = 0.0
                    break
                share *= common / (last[g, a] - first[g, a] + 1)
            # Times the share of its sensitive values in the range.
            if share > 0.0:
                good = below[g, high[query, d] + 1] - below[g, low[query, d]]
                estimates[query] += people[g] * share * good / below[g, values]
    return estimates
