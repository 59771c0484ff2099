"""The facts of a report: plain data, independent of their computation, without unpublished cells.

Facts are stored next to each page as JSON (`report.json`), from which the page can be rendered again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.report.about import About
from shoal.report.distributions import Distribution
from shoal.report.svg import check_svg
from shoal.table.counts import multiplicities

FORMAT = 1
"""Version of the format of `report.json`. A version may only gain keys."""
SCHEMA = f"urn:shoal:report:{FORMAT}"
"""Name of the JSON Schema of `report.json`."""

_SEPARATE_SIZES = 14
"""Largest number of distinct group sizes that get a bar each."""


@dataclass(frozen=True, kw_only=True)
class AttributeLoss:
    """The loss of one quasi-identifier."""

    name: str
    """Name of the column."""
    changed: int
    """Number of rows whose value is published less precisely, including stars; 0 <= changed <= rows."""
    stars: int
    """Number of rows with a star; 0 <= stars <= changed."""
    loss: float
    """Mean normalized certainty penalty of the column, from 0 (nothing lost) to 1 (every value a star)."""
    coarsened: bool = False
    """Whether the column was coarsened before anonymization."""


@dataclass(frozen=True, kw_only=True)
class SizeBin:
    """The groups of a release with a size between two bounds, both included."""

    low: int
    """Smallest size in the bin, at least 1."""
    high: int
    """Largest size of the bin, at least `low`."""
    groups: int
    """Number of groups."""
    rows: int
    """Number of rows in these groups."""


@dataclass(frozen=True, kw_only=True)
class SizeShare:
    """The share of the records in groups of certain sizes, before and after."""

    low: int
    """Smallest size, at least 1."""
    high: int
    """Largest size, at least `low`."""
    before: float
    """Share of the records in such groups of the original."""
    after: float
    """Share of the records in such groups of the release."""


@dataclass(frozen=True, kw_only=True)
class AttributeConfidence:
    """The confidence of an adversary who knows the quasi-identifiers in a sensitive value, before and after."""

    name: str
    """The sensitive column."""
    highest_before: float
    """Largest share of a value in a group of the original."""
    average_before: float
    """Mean over the records of the share of their group's most common value."""
    highest_after: float
    """Largest share of a value in a group of the release."""
    average_after: float
    """Mean share of the most common value in the release."""


@dataclass(frozen=True, kw_only=True)
class AnalystMeasure:
    """One measure of what analysts lose by working with a release instead of the original table."""

    name: str
    """Its key."""
    title: str
    """Its name, for tables."""
    value: float | None
    """The measure; None if it cannot be computed."""
    best: float
    """Its value if the release were the original."""
    reason: str | None = None
    """The reason why there is no value."""
    meaning: str = ""
    """What it measures, in a sentence."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TradeOffFacts:
    """The alternatives to a release, such as other coarsenings or other levels of protection."""

    title: str
    """The subject of the choice, as a heading."""
    sentences: tuple[str, ...]
    """Descriptions of the alternatives and of the result."""
    header: tuple[str, ...]
    """Names of the columns of the table."""
    rows: tuple[tuple[str, ...], ...]
    """The alternatives: a name, then formatted figures."""
    caption: str
    """Description of the rows."""
    picture: str
    """A figure of the alternatives as an SVG element, drawn by shoal and without cells."""

    def __repr__(self) -> str:
        return f"TradeOffFacts(rows={len(self.rows)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportFacts:
    """The content of the private page of one release."""

    certificate: Mapping[str, Any]
    """The certificate as a dictionary, with the keys of `certificate.json`."""
    losses: tuple[AttributeLoss, ...] = ()
    """One entry per quasi-identifier, in the order of the release."""
    class_sizes: tuple[SizeBin, ...] = ()
    """Sizes of the groups of the release; see `size_bins`."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    """Metrics by their names in `shoal.metrics.METRICS`; None if not computed, and then not shown."""
    insensitive: tuple[str, ...] = ()
    """Columns that the publisher declared insensitive, and which are published unchanged."""
    direct_identifiers: tuple[str, ...] = ()
    """Columns that were dropped."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Figures of coarsened columns by name: SVG elements drawn by shoal, without cells."""
    trade_off: TradeOffFacts | None = None
    """The alternatives, if the release was chosen from several."""
    sizes: tuple[SizeShare, ...] = ()
    """Shares of the records by group size, before and after."""
    sureness: tuple[AttributeConfidence, ...] = ()
    """Confidence of adversaries in sensitive values, before and after."""
    distributions: tuple[Distribution, ...] = ()
    """Distributions of the quasi-identifiers, before and after."""
    attacks: tuple[Mapping[str, Any], ...] = ()
    """Results of attacks on the release: `AttackResult.to_dict` of each."""
    utility: tuple[AnalystMeasure, ...] = ()
    """What analysts lose, to four digits."""
    about: About = field(default_factory=About)
    """The publisher's own words."""
    private: ClassVar[bool] = True

    def to_json(self) -> str:
        """Convert the facts to JSON text, which `facts_in` parses."""
        return _json(self)

    def __repr__(self) -> str:
        return f"ReportFacts(algorithm={self.certificate.get('algorithm')!r}, attributes={len(self.losses)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicFacts:
    """The content of the public page of one release, derived from its public certificate and its table alone."""

    certificate: Mapping[str, Any]
    """The public certificate as a dictionary."""
    rows: int
    """Number of rows of the published table."""
    stars: Mapping[str, int]
    """Number of stars of each quasi-identifier, in the order of the release."""
    starred_rows: int
    """Number of rows with a star."""
    ranges: Mapping[str, int] = field(default_factory=dict)
    """Number of intervals and sets of each quasi-identifier."""
    class_sizes: tuple[SizeBin, ...] = ()
    """Sizes of the groups; see `size_bins`."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    """Further measures of the published table by name."""
    about: About = field(default_factory=About)
    """The publisher's own words for readers."""
    private: ClassVar[bool] = False

    def to_json(self) -> str:
        """Convert the facts to JSON text, which `facts_in` parses."""
        return _json(self)

    def __repr__(self) -> str:
        return f"PublicFacts(rows={self.rows}, attributes={len(self.stars)})"


def heading(facts: ReportFacts | PublicFacts | type[ReportFacts | PublicFacts]) -> dict[str, Any]:
    """Return the keys of `report.json` that precede the facts."""
    return {"$schema": SCHEMA, "format": FORMAT, "private": facts.private}


def _json(facts: ReportFacts | PublicFacts) -> str:
    return json.dumps({**heading(facts), **asdict(facts)}, indent=2, ensure_ascii=False)


def facts_in(text: str | bytes) -> ReportFacts | PublicFacts:
    """Parse the facts that `to_json` wrote.

    Raises
    ------
    DataError
        If the text has no facts, facts of a later version, or a picture that shoal did not draw.
    """
    import msgspec

    try:
        # The version is checked before the content, which a later version may have changed.
        found = json.loads(text)
        if found["format"] > FORMAT:
            raise DataError("The report was written by a later version of shoal. Render it with that version.")
        kind: type[ReportFacts | PublicFacts] = ReportFacts if found["private"] else PublicFacts
        facts = msgspec.convert(found, kind)
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError) as error:
        raise DataError("The report.json is not one that shoal wrote.") from error
    if isinstance(facts, ReportFacts):
        # Pictures go into the page as they are, so nothing else may get in with them.
        for picture in (*facts.pictures.values(), *([] if facts.trade_off is None else [facts.trade_off.picture])):
            check_svg(picture)
    return facts


def public_facts(
    certificate: Mapping[str, Any],
    frame: pl.DataFrame,
    sizes: NDArray[np.integer] | None = None,
    times: NDArray[np.int64] | None = None,
    *,
    about: About | None = None,
) -> PublicFacts:
    """Collect the content of the public page of a release.

    Parameters
    ----------
    certificate : mapping
        The public certificate as a dictionary.
    frame : polars.DataFrame
        The published table.
    sizes : int array, optional
        The sizes of its equivalence classes, if already counted.
    times : int64 array, optional
        Multiplicity of each row of the published table, if it is not 1.
    about : About, optional
        The publisher's own words.
    """
    from shoal import metrics

    # Everything is counted on the published table.
    names, star = certificate["columns"]["quasi_identifiers"], certificate["parameters"]["star"]
    sizes = metrics.published_class_sizes(frame, names, times) if sizes is None else sizes.astype("int64")
    stars, starred_rows = metrics.published_star_counts(frame, names, star, times)
    rows = int(multiplicities(frame.height, times).sum())
    return PublicFacts(
        certificate=certificate,
        rows=rows,
        stars=stars,
        starred_rows=starred_rows,
        ranges=metrics.published_range_counts(frame, names, times),
        class_sizes=size_bins(sizes),
        metrics={
            "discernability": int((sizes * sizes).sum()),
            "mean_class_size": rows / max(len(sizes), 1),
        },
        about=(about or About()).for_readers(),
    )


def size_shares(before: Mapping[int, int], after: Mapping[int, int]) -> tuple[SizeShare, ...]:
    """Compute the shares of the records by group size, before and after.

    Parameters
    ----------
    before, after : mapping of int to int
        Number of groups of each size that occurs.

    Examples
    --------
    >>> [(one.low, one.high, one.before, one.after) for one in size_shares({1: 6, 2: 1}, {4: 2})]
    [(1, 1, 0.75, 0.0), (2, 2, 0.25, 0.0), (3, 4, 0.0, 1.0)]
    """
    # The same ranges for both, so that their shares can be compared.
    most = max([*before, *after], default=0)
    shares = []
    for low, high in _round_sizes(most):
        # Shares of records, not of groups: a record's risk depends on its own group.
        inside = [
            sum(size * groups for size, groups in counted.items() if low <= size <= high)
            / max(sum(size * groups for size, groups in counted.items()), 1)
            for counted in (before, after)
        ]
        shares.append(SizeShare(low=low, high=high, before=inside[0], after=inside[1]))
    return tuple(shares)


def _round_sizes(most: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges 1, 2, 3 to 4, 5 to 9, 10 to 19, 20 to 49, 50 to 99 and so on, up to a size."""
    yield from ((low, high) for low, high in ((1, 1), (2, 2), (3, 4), (5, 9)) if low <= most)
    # Ranges of 1, 2 and 5 times each power of ten.
    power = 10
    while power <= most:
        for low, high in ((1, 2), (2, 5), (5, 10)):
            if low * power <= most:
                yield low * power, high * power - 1
        power *= 10


def size_bins(sizes: Iterable[int]) -> tuple[SizeBin, ...]:
    """Bin the sizes of a release's groups so that the bins fit on a page.

    Few distinct sizes get a bin each. Otherwise each bound exceeds the previous one by a quarter, a half or 100 %,
    starting from the smallest size. Empty bins are omitted.

    Parameters
    ----------
    sizes : iterable of int
        Number of rows of each group, at least 1, in any order.

    Returns
    -------
    tuple of SizeBin
        Bins in ascending order of size.

    Examples
    --------
    >>> [(bin.low, bin.high, bin.groups, bin.rows) for bin in size_bins([4, 6, 4])]
    [(4, 4, 2, 8), (6, 6, 1, 6)]
    """
    # Few distinct sizes are shown one by one.
    counted = Counter(sizes.tolist() if hasattr(sizes, "tolist") else (int(size) for size in sizes))
    if not counted:
        return ()
    if len(counted) <= _SEPARATE_SIZES:
        return tuple(
            SizeBin(low=size, high=size, groups=counted[size], rows=size * counted[size]) for size in sorted(counted)
        )
    # The smallest growth whose bins fit; fractions keep the bounds exact.
    for growth in (Fraction(5, 4), Fraction(3, 2), Fraction(2)):
        bins = _geometric(counted, growth)
        if len(bins) <= _SEPARATE_SIZES:
            break
    return bins


def _geometric(counted: Counter[int], growth: Fraction) -> tuple[SizeBin, ...]:
    """Make bins whose lower bounds grow by a factor, without empty ones."""
    bins: dict[int, list[int]] = {}
    low, following = 0, min(counted)
    for size in sorted(counted):
        # Advance to the bin of this size; empty bins are skipped.
        while size >= following:
            low, following = following, max(following + 1, int(following * growth))
        found = bins.setdefault(low, [following - 1, 0, 0])
        found[1] += counted[size]
        found[2] += size * counted[size]
    return tuple(SizeBin(low=low, high=high, groups=groups, rows=rows) for low, (high, groups, rows) in bins.items())
