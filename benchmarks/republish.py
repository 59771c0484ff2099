"""Re-publication: counterfeits, seconds, query errors and vulnerable people over a history (Xiao, Tao 2007)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import shoal
from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import encoded, partitioned, side_by_side
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.datasets import census
from shoal.joins import PointTree
from shoal.metrics import random_ranges, workload_error
from shoal.models.requirement import Requirement
from shoal.recoding.extents_kernel import group_extents
from shoal.republication import Signatures, generalize
from shoal.republication.m_invariance import BALANCINGS
from shoal.verification.covered_ranks import CoveredRanks

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from benchmarks.settings import Settings

__all__ = ["measure"]

_QUASI_IDENTIFIERS = ("age", "gender", "education", "birth_place")
_SENSITIVE = {"OCC": "occupation", "SAL": "income"}
_COMPARED = ("independent", "fewest")
"""The balancings of ours; `paper` is beside them in one table."""
_NEAR = "independent, near values"
"""The same with signatures of values near each other; of the longest history alone."""
_LONG = (*_COMPARED, _NEAR)
_QUERY_ERROR = 0.12
"""The most that queries should miss."""
_SELECTIVITY = 0.1
_SELECTIVITIES = (0.02, 0.04, 0.06, 0.08, 0.1)
"""Those of Figure 8a."""


@dataclass(frozen=True, kw_only=True)
class People:
    """Everybody who is ever in the table."""

    frame: pl.DataFrame
    """Quasi-identifiers and the sensitive attribute."""
    codes: NDArray[np.int32]
    """Their codes."""
    sizes: tuple[int, ...]
    """The number of codes of each attribute."""

    @classmethod
    def of(cls, settings: Settings, sensitive: str) -> People:
        """Make a census-like table with the attributes of the paper's tables."""
        frame = census(
            settings.rows, sensitive=sensitive, quasi_identifiers=list(_QUASI_IDENTIFIERS), seed=settings.seed
        )
        codes = frame.to_numpy().astype(np.int32)
        codes -= codes.min(axis=0)
        return cls(frame=frame, codes=codes, sizes=tuple((codes.max(axis=0) + 1).tolist()))

    def history(self, settings: Settings, volume: int) -> Iterator[NDArray[np.int64]]:
        """Yield who is in each release: at first a sample, then `volume` people go and as many new ones come."""
        rng = np.random.default_rng(settings.seed)
        order = rng.permutation(len(self.codes))
        present, pool = order[: settings.alive], order[settings.alive :]
        yield present
        for start in range(0, len(pool) - volume + 1, volume):
            stay = rng.permutation(settings.alive)[volume:]
            present = np.concatenate((present[stay], pool[start : start + volume]))
            yield present


@dataclass(frozen=True, kw_only=True)
class Released:
    """One release as arrays."""

    seconds: float
    counterfeits: int
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    people: NDArray[np.int64]
    values: NDArray[np.int64]
    groups: NDArray[np.int32]
    """Of each person."""


def _released(
    codes: NDArray[np.int32],
    groups: NDArray[np.int32],
    count: int,
    fakes: tuple[NDArray[np.int32], NDArray[np.int32]],
    values: int,
    seconds: float,
) -> Released:
    """Return what a reader sees of the groups of some rows."""
    d = codes.shape[1] - 1
    extents = [group_extents(np.ascontiguousarray(codes[:, a]), groups, count) for a in range(d)]
    cells = np.bincount(groups.astype(np.int64) * values + codes[:, d], minlength=count * values)
    cells += np.bincount(fakes[0].astype(np.int64) * values + fakes[1], minlength=count * values)
    return Released(
        seconds=seconds,
        counterfeits=len(fakes[0]),
        first=np.column_stack([low for low, _ in extents]),
        last=np.column_stack([high for _, high in extents]),
        people=np.bincount(groups, minlength=count),
        values=cells.reshape(count, values),
        groups=groups,
    )


def _invariant(people: People, settings: Settings, m: int, volume: int, balancing: str) -> Iterator[Released]:
    """Publish a history with m-invariance; the seconds are those of the generalization."""
    rng = np.random.default_rng(settings.seed)
    signature_of = np.full(len(people.codes), -1)
    signatures = Signatures.of([])
    values = people.sizes[-1]
    for present in people.history(settings, volume):
        codes = people.codes[present]
        start = time.process_time()
        made = generalize(
            quasi_identifiers=codes[:, :-1],
            sensitive=codes[:, -1],
            values=values,
            signature_of=signature_of[present],
            signatures=signatures,
            m=m,
            rng=rng,
            balancing="independent" if balancing == _NEAR else balancing,
            near=np.arange(values) if balancing == _NEAR else None,
        )
        seconds = time.process_time() - start
        signature_of[present], signatures = made.signature_of, made.signatures
        fakes = (made.counterfeit_groups, made.counterfeit_values)
        yield _released(codes, made.groups, made.count, fakes, values, seconds)


def _diverse(people: People, settings: Settings, l: int, volume: int) -> Iterator[Released]:
    """Publish a history with l-diversity by Mondrian, each release for itself."""
    nobody = np.empty(0, dtype=np.int32)
    sensitive = people.frame.columns[-1]
    requirement = Requirement.of(shoal.LDiversity(l), (sensitive,))
    for present in people.history(settings, volume):
        table = encoded(people.frame[present], list(_QUASI_IDENTIFIERS), sensitive)
        start = time.process_time()
        made = partitioned(table, ALGORITHMS["mondrian"], requirement)
        seconds = time.process_time() - start
        yield _released(people.codes[present], made.groups, made.count, (nobody, nobody), people.sizes[-1], seconds)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was measured over a history."""

    counterfeits: list[int]
    seconds: list[float]
    errors_by_selectivity: dict[float, list[float]]
    """Query error of the releases that were asked, by the size of the queries."""
    vulnerable: int
    """People whose value is certain at the end."""
    fewest: int
    """Sensitive values left of the person with the fewest."""

    @property
    def errors(self) -> list[float]:
        """Those of the largest queries."""
        return self.errors_by_selectivity[max(self.errors_by_selectivity)]


def _of_all_groups(codes: NDArray[np.int32], release: Released, carried: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sensitive values, as bits, of all groups that each person may be in."""
    count, d = release.first.shape
    boxes = (np.arange(count)[:, None] + np.arange(d) * count).astype(np.int32)
    ranges = CoveredRanks(
        low=release.first.T.ravel().astype(np.int32),
        high=release.last.T.ravel().astype(np.int32),
        starts=np.zeros(count * d + 1, dtype=np.int64),
        members=np.empty(0, dtype=np.int32),
    )
    return PointTree(codes[:, :-1]).collect(boxes, ranges, carried[:, None])[:, 0]


def _measured(
    people: People,
    settings: Settings,
    volume: int,
    releases: Iterator[Released],
    *,
    attack: bool,
    queries: Mapping[float, int],
    disjoint: bool = False,
) -> Found:
    """Run through a history, ask queries of some releases, and play the adversary if asked to.

    Parameters
    ----------
    queries : mapping
        By their selectivity: how many.
    disjoint : bool
        Whether nobody fits two groups of a release, as with strict Mondrian: its cuts never divide equal rows.
    """
    total = 1 + (len(people.codes) - settings.alive) // volume
    asked = set(np.linspace(0, total - 1, settings.queried_releases).astype(int).tolist())
    rng = np.random.default_rng(settings.seed)
    left = np.full(len(people.codes), ~np.uint64(0))
    counterfeits, seconds = [], []
    errors: dict[float, list[float]] = {selectivity: [] for selectivity in queries}
    for number, (present, one) in enumerate(zip(people.history(settings, volume), releases, strict=True)):
        counterfeits.append(one.counterfeits)
        seconds.append(one.seconds)
        if number in asked:
            for selectivity, found in errors.items():
                ranges = random_ranges(people.sizes, selectivity, queries[selectivity], rng)
                boxes = (one.first, one.last)
                found.append(workload_error(people.codes[present], boxes, one.people, one.values, ranges))
        if attack:
            bits = np.uint64(1) << np.arange(people.sizes[-1], dtype=np.uint64)
            carried = np.bitwise_or.reduce(np.where(one.values > 0, bits, np.uint64(0)), axis=1)
            left[present] &= carried[one.groups] if disjoint else _of_all_groups(people.codes[present], one, carried)
    sizes = np.bitwise_count(left)
    return Found(
        counterfeits=counterfeits,
        seconds=seconds,
        errors_by_selectivity=errors,
        vulnerable=int((sizes == 1).sum()),
        fewest=int(sizes.min()),
    )


_History = tuple[str, int, int]
"""How signatures are balanced, how many people are replaced at each release, and m."""


def measure(settings: Settings) -> Part:
    """Measure the paper's Figures 4 to 9 on census-like tables."""
    part = Part(name="republish", title="Re-publication with m-invariance")
    part.say(
        f"{settings.rows:,} census-like people, {settings.alive:,} of them alive, r of them replaced at each release, "
        f"d = 4 (age, gender, education, birth place). {settings.queried_releases} of the releases are asked "
        f"{settings.queries:,} queries, those of Figure 7 {settings.many_queries:,}, of an expected selectivity of "
        f"10 % where no other is told. Seconds are those of the processor; {settings.workers} histories at a time."
    )
    histories = _histories(settings)
    tasks = [(settings, sensitive, *history) for history in histories for sensitive in _SENSITIVE.values()]
    found = dict(side_by_side(_published, tasks, settings.workers))
    diverse = side_by_side(
        _vulnerable,
        [
            (settings, sensitive, l, volume)
            for volume in sorted(settings.diverse_volumes)  # the longest histories first
            for l in settings.diverse_l
            for sensitive in _SENSITIVE.values()
        ],
        settings.workers,
    )
    for name, sensitive in _SENSITIVE.items():
        of_table = {history: found[sensitive, history] for history in histories}
        _show_long(part, settings, name, of_table)
        _measure_independence(part, settings, name, People.of(settings, sensitive))
        _show_queries(part, settings, name, of_table)
        _show_sweep(part, settings, name, of_table)
        header = ("r", "l", "releases", "vulnerable people")
        rows = [row[1:] for row in diverse if row[0] == sensitive]
        part.show(Grid(title=f"{name}: l-diversity by Mondrian (Figure 4):", header=header, rows=rows))
    return part


def _histories(settings: Settings) -> list[_History]:
    """Return what is published with m-invariance, each once, the longest first."""
    m, swept = settings.fixed_m, settings.swept_volume
    found: dict[_History, None] = {(way, settings.fixed_volume, m): None for way in (*BALANCINGS, _NEAR)}
    for balancing in _COMPARED:
        found |= {(balancing, swept, one): None for one in (m, *settings.m_values)}
        found |= {(balancing, volume, m): None for volume in settings.update_volumes}
    return sorted(found, key=lambda one: one[1])


def _published(task: tuple[Settings, str, str, int, int]) -> list[tuple[tuple[str, _History], Found]]:
    """Publish a history with m-invariance and measure it; of those of the figures over time more is asked."""
    settings, sensitive, balancing, volume, m = task
    people = People.of(settings, sensitive)
    most = m == settings.fixed_m and balancing in _LONG
    many = most and volume in (settings.fixed_volume, max(settings.update_volumes))
    queries = {_SELECTIVITY: settings.many_queries if many else settings.queries}
    if most and volume == settings.swept_volume:
        queries = {**dict.fromkeys(_SELECTIVITIES, settings.queries), **queries}
    releases = _invariant(people, settings, m, volume, balancing)
    attack = most and volume == settings.fixed_volume
    found = _measured(people, settings, volume, releases, attack=attack, queries=queries)
    return [((sensitive, (balancing, volume, m)), found)]


def _vulnerable(task: tuple[Settings, str, int, int]) -> list[tuple[str, int, int, int, int]]:
    """Publish a history with l-diversity, and count those whose value is certain at the end."""
    settings, sensitive, l, volume = task
    people = People.of(settings, sensitive)
    releases = _diverse(people, settings, l, volume)
    found = _measured(people, settings, volume, releases, attack=True, queries={}, disjoint=True)
    return [(sensitive, volume, l, len(found.seconds), found.vulnerable)]


def _show_long(part: Part, settings: Settings, name: str, histories: Mapping[_History, Found]) -> None:
    """Figures 5 and 7 and the targets: one long history."""
    m, volume = settings.fixed_m, settings.fixed_volume
    rows = []
    for balancing in (*BALANCINGS, _NEAR):
        found = histories[balancing, volume, m]
        counts = found.counterfeits
        times = (statistics.median(found.seconds), max(found.seconds))
        average = statistics.mean(counts)
        rows.append((balancing, len(counts), average, max(counts), counts.count(0), *times, max(found.errors)))
        if balancing in _LONG:
            what = f"{name}, m = {m}, r = {volume:,}, {balancing}"
            _show_history(part, what, found)
            part.targets += _targets(f"{what}: ", found, m)
    header = ("balancing", "releases", "average", "most", "without", "median s", "slowest s", "worst query error")
    part.show(Grid(title=f"{name}, m = {m}, r = {volume:,}: counterfeits by balancing:", header=header, rows=rows))


def _targets(what: str, found: Found, m: int) -> list[Target]:
    counts = found.counterfeits
    return [
        Target(what=what + "average counterfeits", limit=2.5, measured=float(statistics.mean(counts))),
        Target(what=what + "most counterfeits of a release", limit=12, measured=max(counts)),
        Target(what=what + "median seconds", limit=1, measured=statistics.median(found.seconds), unit=" s"),
        Target(what=what + "vulnerable people", limit=0, measured=found.vulnerable),
        Target(what=what + "greatest confidence", limit=1 / m, measured=1 / found.fewest),
        Target(what=what + "worst query error", limit=_QUERY_ERROR, measured=max(found.errors)),
    ]


_BY_SIMILARITY = "l-diversity by Mondrian"
"""Groups made by quasi-identifiers, whose values may go with them; no series can be made of such releases."""


def _measure_independence(part: Part, settings: Settings, name: str, people: People) -> None:
    """Measure what independence costs: with everybody's own cell, and with values that know no quasi-identifiers."""
    m, volume = settings.fixed_m, settings.fixed_volume
    queries = random_ranges(people.sizes, _SELECTIVITY, settings.queries, np.random.default_rng(settings.seed))
    codes = people.codes[next(people.history(settings, volume))]
    rows = []
    for way in ("independent", _NEAR, _BY_SIMILARITY):
        by_similarity = way == _BY_SIMILARITY
        releases = (
            _diverse(people, settings, m, volume) if by_similarity else _invariant(people, settings, m, volume, way)
        )
        one = next(releases)
        published = workload_error(codes, (one.first, one.last), one.people, one.values, queries)
        exact = _error_of_exact_cells(codes, one, people.sizes, queries)
        dealt = _error_of_exact_cells(_dealt_anew(codes, one.groups, settings.seed), one, people.sizes, queries)
        rows.append((way, _perimeter(one, people.sizes), published, exact, dealt))
    header = ("sets of values", "mean perimeter", "query error", "with exact cells", "and values dealt anew")
    title = f"{name}, the first release with m = {m}: what independence and what boxes cost:"
    part.show(Grid(title=title, header=header, rows=rows))


def _error_of_exact_cells(
    codes: NDArray[np.int32],
    one: Released,
    sizes: tuple[int, ...],
    queries: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> float:
    """Return the query error if everybody were published with the own cells, and the values of the group."""
    rows_of_group = one.values.sum(axis=1)
    kinds = np.column_stack([*codes[:, :-1].T, rows_of_group[one.groups]])
    number = np.ravel_multi_index(tuple(kinds.T), (*sizes[:-1], int(rows_of_group.max()) + 1))
    _, first, kind_of, people = np.unique(number, return_index=True, return_inverse=True, return_counts=True)
    # People with the same cells in groups of the same size are counted together: nothing else is said of them.
    values = np.zeros((len(first), sizes[-1]), dtype=np.int64)
    np.add.at(values, kind_of, one.values[one.groups])
    cells = np.ascontiguousarray(codes[first, :-1])
    return workload_error(codes, (cells, cells), people, values, queries)


def _dealt_anew(codes: NDArray[np.int32], groups: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """Return the people with the values of each group dealt out anew, at random, among the people of the group."""
    chance = np.random.default_rng(seed).random(len(groups))
    dealt = codes.copy()
    dealt[np.argsort(groups, kind="stable"), -1] = codes[np.lexsort((chance, groups)), -1]
    return dealt


def _perimeter(one: Released, sizes: tuple[int, ...]) -> float:
    """Return the mean over groups of the sum of their extents, each in units of its domain."""
    widest = np.maximum(np.array(sizes[:-1]) - 1, 1)
    return float(((one.last - one.first) / widest).sum(axis=1).mean())


def _show_history(part: Part, what: str, found: Found) -> None:
    counts = found.counterfeits
    rows = [
        (f"{start + 1} to {min(start + 10, len(counts))}", " ".join(map(str, counts[start : start + 10])))
        for start in range(0, len(counts), 10)
    ]
    part.show(Grid(title=f"{what}: counterfeits (Figure 5):", header=("releases", "counterfeits"), rows=rows))
    _show_errors(part, what, found)


def _show_errors(part: Part, what: str, found: Found) -> None:
    counts = found.counterfeits
    numbers = np.linspace(1, len(counts), len(found.errors)).astype(int).tolist()
    header = ("release", "median relative error")
    part.show(
        Grid(
            title=f"{what}: query error (Figure 7):", header=header, rows=list(zip(numbers, found.errors, strict=True))
        )
    )


def _show_queries(part: Part, settings: Settings, name: str, histories: Mapping[_History, Found]) -> None:
    """Figure 7 where many people are replaced, and Figure 8a: queries of several sizes."""
    m, many = settings.fixed_m, max(settings.update_volumes)
    for balancing in _COMPARED:
        if many != settings.fixed_volume:
            what = f"{name}, m = {m}, r = {many:,}, {balancing}"
            _show_errors(part, what, histories[balancing, many, m])
    rows = []
    for balancing in _COMPARED:
        volume = settings.swept_volume
        for theta, errors in histories[balancing, volume, m].errors_by_selectivity.items():
            rows.append((balancing, volume, round(100 * theta), float(statistics.mean(errors))))
    header = ("balancing", "r", "theta in %", "average query error")
    part.show(Grid(title=f"{name}: over theta (Figure 8a):", header=header, rows=rows))


def _show_sweep(part: Part, settings: Settings, name: str, histories: Mapping[_History, Found]) -> None:
    """Figures 6, 8 and 9: over r at the largest m, and over m at one r."""
    header = ("balancing", "r", "m", "average counterfeits", "average query error", "average s")
    by_volume = [(volume, settings.fixed_m) for volume in settings.update_volumes]
    by_m = [(settings.swept_volume, m) for m in settings.m_values]
    for title, pairs in (("over r", by_volume), ("over m", by_m)):
        rows = []
        for balancing in _COMPARED:
            for volume, m in pairs:
                found = histories[balancing, volume, m]
                means = map(statistics.mean, (found.counterfeits, found.errors, found.seconds))
                rows.append((balancing, volume, m, *map(float, means)))
        part.show(Grid(title=f"{name}: {title} (Figures 6, 8, 9):", header=header, rows=rows))


if __name__ == "__main__":
    from benchmarks.settings import Settings

    independence = Part(name="republish", title="What independence costs")
    for table, attribute in _SENSITIVE.items():
        _measure_independence(independence, Settings(), table, People.of(Settings(), attribute))
    print(independence.text())
