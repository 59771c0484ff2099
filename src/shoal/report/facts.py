"""What a report is made of: plain facts, independent of how they were found, with no cell that is not published.

Facts are written beside each page as JSON (`report.json`), and read back from there to make the page again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.language import ENGLISH
from shoal.errors import DataError
from shoal.report.about import About
from shoal.report.distributions import Distribution  # noqa: TC001 - msgspec reads the annotations
from shoal.report.svg import check_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "AttributeLoss",
    "PublicFacts",
    "ReportFacts",
    "SizeBin",
    "SizeShare",
    "Sureness",
    "TradeOffFacts",
    "facts_in",
    "public_facts",
    "size_bins",
    "size_shares",
]

FORMAT = 1
"""Version of the form of `report.json`. Keys are only ever added to a form."""

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
    coarsened: bool = False
    """Whether it was made coarser before anything else."""


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


@dataclass(frozen=True, kw_only=True)
class SizeShare:
    """The share of the records in groups of some sizes, before and after."""

    low: int
    """Smallest size, at least 1."""
    high: int
    """Largest size, at least `low`."""
    before: float
    """Share of the records that were in such a group in the original."""
    after: float
    """Share of the records that are in such a group in the release."""


@dataclass(frozen=True, kw_only=True)
class Sureness:
    """How sure somebody who knows the quasi-identifiers of a person can be of one sensitive value, before and after."""

    name: str
    """The sensitive column."""
    highest_before: float
    """The largest share that a value has in a group of the original."""
    average_before: float
    """The mean over the records of the share that the most common value of their group has."""
    highest_after: float
    """The same in the release."""
    average_after: float
    """The same in the release."""


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
    language: str = ENGLISH
    """The language of all of it: that in which the release was saved."""

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
    sizes: tuple[SizeShare, ...] = ()
    """How large the groups were and are, by records."""
    sureness: tuple[Sureness, ...] = ()
    """How sure adversaries could be of sensitive values, and can be."""
    distributions: tuple[Distribution, ...] = ()
    """How the values of each quasi-identifier are spread, before and after."""
    attacks: tuple[Mapping[str, Any], ...] = ()
    """What attacks on the release found: `AttackResult.to_dict` of each."""
    about: About = field(default_factory=About)
    """What the publisher says of the release."""
    private: ClassVar[bool] = True

    def to_json(self) -> str:
        """Return the facts as JSON text; `facts_in` reads them back."""
        return _json(self)

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
    ranges: Mapping[str, int] = field(default_factory=dict)
    """How many cells of each quasi-identifier read like an interval or a set."""
    class_sizes: tuple[SizeBin, ...] = ()
    """How large the groups are; see `size_bins`."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    """Further measures of the published table by name."""
    about: About = field(default_factory=About)
    """What the publisher says of the release to readers."""
    private: ClassVar[bool] = False

    def to_json(self) -> str:
        """Return the facts as JSON text; `facts_in` reads them back."""
        return _json(self)

    def __repr__(self) -> str:
        return f"PublicFacts(rows={self.rows}, attributes={len(self.stars)})"


def _json(facts: ReportFacts | PublicFacts) -> str:
    return json.dumps({"format": FORMAT, "private": facts.private, **asdict(facts)}, indent=2, ensure_ascii=False)


def facts_in(text: str | bytes) -> ReportFacts | PublicFacts:
    """Return the facts that `to_json` wrote.

    Raises
    ------
    DataError
        Where the text has none, has them in a form of a later version, or has a picture that shoal did not draw.
    """
    import msgspec

    try:
        found = json.loads(text)
        if found["format"] > FORMAT:
            raise DataError("The report is of a later version of shoal: make it again with that one.")
        kind: type[ReportFacts | PublicFacts] = ReportFacts if found["private"] else PublicFacts
        facts = msgspec.convert(found, kind)
    except (ValueError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise DataError("The report.json is not one that shoal wrote.") from error
    if isinstance(facts, ReportFacts):
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
    about : About, optional
        What the publisher says of it.
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
        ranges=metrics.published_range_counts(frame, names, times),
        class_sizes=size_bins(sizes),
        metrics={
            "discernability": int((sizes * sizes).sum()),
            "mean_class_size": rows / max(len(sizes), 1),
        },
        about=(about or About()).for_readers(),
    )


def size_shares(before: Mapping[int, int], after: Mapping[int, int]) -> tuple[SizeShare, ...]:
    """Return the shares of the records in groups of some sizes, before and after.

    Parameters
    ----------
    before, after : mapping of int to int
        How many groups have each size that occurs.

    Examples
    --------
    >>> [(one.low, one.high, one.before, one.after) for one in size_shares({1: 6, 2: 1}, {4: 2})]
    [(1, 1, 0.75, 0.0), (2, 2, 0.25, 0.0), (3, 4, 0.0, 1.0)]
    """
    most = max([*before, *after], default=0)
    shares = []
    for low, high in _round_sizes(most):
        inside = [
            sum(size * groups for size, groups in counted.items() if low <= size <= high)
            / max(sum(size * groups for size, groups in counted.items()), 1)
            for counted in (before, after)
        ]
        shares.append(SizeShare(low=low, high=high, before=inside[0], after=inside[1]))
    return tuple(shares)


def _round_sizes(most: int) -> Iterator[tuple[int, int]]:
    """Yield 1, 2, 3 to 4, 5 to 9, 10 to 19, 20 to 49, 50 to 99 and so on, until a size is reached."""
    yield from ((low, high) for low, high in ((1, 1), (2, 2), (3, 4), (5, 9)) if low <= most)
    power = 10
    while power <= most:
        for low, high in ((1, 2), (2, 5), (5, 10)):
            if low * power <= most:
                yield low * power, high * power - 1
        power *= 10


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
