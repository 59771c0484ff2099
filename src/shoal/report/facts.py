"""What a report is made of: plain facts, independent of how they were found. None of them is a cell of the input."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["AttributeLoss", "PublicFacts", "ReportFacts", "SizeBin", "TradeOffFacts", "public_facts", "size_bins"]

_SEPARATE_SIZES = 14
"""Up to so many different group sizes get a bar each."""


@dataclass(frozen=True, kw_only=True)
class AttributeLoss:
    """What one quasi-identifier lost on the way into the release."""

    name: str
    """Name of the column."""
    changed: int
    """Rows whose value is published less precisely than it was, a star included; 0 <= changed <= rows."""
    stars: int
    """Rows whose value is a star; 0 <= stars <= changed."""
    loss: float
    """Mean normalized certainty penalty of the column, from 0 (nothing lost) to 1 (every value a star)."""


@dataclass(frozen=True, kw_only=True)
class SizeBin:
    """The groups of a release whose size lies between two bounds, both included."""

    low: int
    """Smallest size in the bin, at least 1."""
    high: int
    """Largest size that belongs to the bin, at least `low`."""
    groups: int
    """Groups of such a size."""
    rows: int
    """Rows in those groups."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TradeOffFacts:
    """What a release was chosen from: coarsenings that would lose more, or other levels of protection."""

    title: str
    """What was chosen, as a heading."""
    sentences: tuple[str, ...]
    """What there was to choose from, and what was found."""
    header: tuple[str, ...]
    """Names of the columns of the table."""
    rows: tuple[tuple[str, ...], ...]
    """What there was to choose from: its name, and figures as they are read."""
    caption: str
    """What the rows are."""
    picture: str
    """A picture of them: an SVG element that we drew, with no cell in it."""

    def __repr__(self) -> str:
        return f"TradeOffFacts(rows={len(self.rows)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportFacts:
    """Everything that the private page of one release says."""

    certificate: Mapping[str, Any]
    """The certificate as a dictionary, with the keys of `certificate.json`."""
    losses: tuple[AttributeLoss, ...] = ()
    """One entry per quasi-identifier, in the order of the release."""
    class_sizes: tuple[SizeBin, ...] = ()
    """How large the groups of the release are; see `size_bins`."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    """Metrics by their names in `shoal.metrics.METRICS`; those that were not computed are None and stay out of it."""
    insensitive: tuple[str, ...] = ()
    """Columns that are published as they came, because the publisher said so."""
    direct_identifiers: tuple[str, ...] = ()
    """Columns that were dropped."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """For columns that were coarsened, their names and a picture: an SVG element that we drew, with no cell in it."""
    trade_off: TradeOffFacts | None = None
    """What the release was chosen from, where it was chosen."""
    title: str = "Release report"
    """Heading of the page."""

    def __repr__(self) -> str:
        return f"ReportFacts(algorithm={self.certificate.get('algorithm')!r}, attributes={len(self.losses)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicFacts:
    """Everything that the public page of one release says: nothing but its public certificate and its table tell it."""

    certificate: Mapping[str, Any]
    """The public certificate as a dictionary."""
    rows: int
    """Rows of the published table."""
    stars: Mapping[str, int]
    """How many cells of each quasi-identifier are stars, in the order of the release."""
    starred_rows: int
    """Rows with a star."""
    class_sizes: tuple[SizeBin, ...] = ()
    """How large the groups are; see `size_bins`."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    """Further measures of the published table by name."""
    title: str = "Release report"
    """Heading of the page."""

    def __repr__(self) -> str:
        return f"PublicFacts(rows={self.rows}, attributes={len(self.stars)})"


def public_facts(
    certificate: Mapping[str, Any],
    frame: pl.DataFrame,
    sizes: NDArray[np.integer] | None = None,
    times: NDArray[np.int64] | None = None,
) -> PublicFacts:
    """Return what the public page of a release says.

    Parameters
    ----------
    certificate : mapping
        The public certificate as a dictionary.
    frame : polars.DataFrame
        The published table.
    sizes : int array, optional
        The sizes of its equivalence classes, where they were counted already.
    times : int64 array, optional
        How often each row stands in the published table, where that is not once.
    """
    from shoal import metrics

    names, star = certificate["columns"]["quasi_identifiers"], certificate["parameters"]["star"]
    sizes = metrics.published_class_sizes(frame, names, times) if sizes is None else sizes.astype("int64")
    stars, starred_rows = metrics.published_star_counts(frame, names, star, times)
    rows = frame.height if times is None else int(times.sum())
    return PublicFacts(
        certificate=certificate,
        rows=rows,
        stars=stars,
        starred_rows=starred_rows,
        class_sizes=size_bins(sizes),
        metrics={
            "discernability": int((sizes * sizes).sum()),
            "mean_class_size": rows / max(len(sizes), 1),
        },
    )


def size_bins(sizes: Iterable[int]) -> tuple[SizeBin, ...]:
    """Sort the sizes of a release's groups into bins that fit on a page.

    Few different sizes get a bin each; otherwise each bound is a quarter, a half or
    once more than the one before, starting from the smallest size. Bins without a
    group are left out.

    Parameters
    ----------
    sizes : iterable of int
        Rows of each group, at least 1; a list or an array, in any order.

    Returns
    -------
    tuple of SizeBin
        From the smallest groups to the largest.

    Examples
    --------
    >>> [(bin.low, bin.high, bin.groups, bin.rows) for bin in size_bins([4, 6, 4])]
    [(4, 4, 2, 8), (6, 6, 1, 6)]
    """
    counted = Counter(sizes.tolist() if hasattr(sizes, "tolist") else (int(size) for size in sizes))
    if not counted:
        return ()
    if len(counted) <= _SEPARATE_SIZES:
        return tuple(
            SizeBin(low=size, high=size, groups=counted[size], rows=size * counted[size]) for size in sorted(counted)
        )
    for growth in (Fraction(5, 4), Fraction(3, 2), Fraction(2)):
        bins = _geometric(counted, growth)
        if len(bins) <= _SEPARATE_SIZES:
            break
    return bins


def _geometric(counted: Counter[int], growth: Fraction) -> tuple[SizeBin, ...]:
    """Return bins whose lower bounds grow by a factor, without the empty ones."""
    bins: dict[int, list[int]] = {}
    low, following = 0, min(counted)
    for size in sorted(counted):
        while size >= following:
            low, following = following, max(following + 1, int(following * growth))
        found = bins.setdefault(low, [following - 1, 0, 0])
        found[1] += counted[size]
        found[2] += size * counted[size]
    return tuple(SizeBin(low=low, high=high, groups=groups, rows=rows) for low, (high, groups, rows) in bins.items())
