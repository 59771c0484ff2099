"""Reference implementations of definitions, in slow and plain Python.

Oracles judge the fast code of the other packages and share no code with it. They use integers and `fractions.Fraction`.
If a definition is irrational (such as a logarithm), they use decimals of 60 digits, far more than small tables need.

A *group* is a list of sensitive values; *rows* are tuples of quasi-identifiers; a *partition* is a list of lists of row
numbers; *counts* are the numbers of rows by sensitive value, h(Q, v) in the paper.

References
----------
X. Xiao, K. Yi, Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010,
doi:10.1145/1739041.1739060.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from decimal import Decimal, localcontext
from enum import Enum
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, Final, Literal, NamedTuple

__all__ = [
    "STAR",
    "Interval",
    "Partition",
    "Predicate",
    "Row",
    "alpha_k_anonymous",
    "basic_beta_like",
    "cost_of_partition",
    "delta_disclosure_private",
    "discernability",
    "distinct_diverse",
    "earth_movers_distance",
    "enhanced_beta_like",
    "entropy_diverse",
    "fewest_stars_by_patterns",
    "frequency_diverse",
    "frequency_diverse_except",
    "ground_of",
    "groups_of_labels",
    "is_partition",
    "k_anonymous",
    "k_e_anonymous",
    "kl_divergence",
    "m_unique",
    "ncp",
    "optimal_partition",
    "penalty_of_group",
    "predicate_of",
    "recursive_diverse",
    "stars_of_group",
    "suppress",
    "suppressed_of_group",
    "t_close",
]

Row = Sequence[Hashable]
Partition = list[list[int]]
Predicate = Callable[[list[Any]], bool]
"""Whether a group, given as its sensitive values, is acceptable."""

_DIGITS = 60


class _Star(Enum):
    """Type of the mark of a suppressed cell, which equals no value of a table."""

    STAR = "*"


STAR: Final = _Star.STAR
"""A suppressed cell."""


class Interval(NamedTuple):
    """A generalized cell: all values of its attribute between two values, both included."""

    low: Any
    high: Any


# Privacy models: predicates on one group.


def k_anonymous(group: Sequence[Hashable], k: int) -> bool:
    """Test that |G| >= k."""
    return len(group) >= k


def frequency_diverse(group: Sequence[Hashable], l: Fraction | int) -> bool:
    """Test that l * h(G) <= |G|."""
    return l * max(Counter(group).values(), default=0) <= len(group)


def frequency_diverse_except(group: Sequence[Hashable], l: Fraction | int, harmless: Collection[Hashable]) -> bool:
    """Test that l * h(G) <= |G| if each row with a harmless value has a value of its own."""
    own = [(row, value) if value in harmless else value for row, value in enumerate(group)]
    return frequency_diverse(own, l)


def distinct_diverse(group: Sequence[Hashable], l: int) -> bool:
    """Test that there are at least l different values."""
    return len(set(group)) >= l


def entropy_diverse(group: Sequence[Hashable], l: Fraction | int) -> bool:
    """Test that the entropy of the values is at least log l.

    If n rows have counts c, this is prod (n / c)^c >= l^n, which integers can decide.
    """
    n = len(group)
    product = math.prod(Fraction(n, count) ** count for count in Counter(group).values())
    return n > 0 and product >= Fraction(l) ** n


def recursive_diverse(group: Sequence[Hashable], c: Fraction | int, l: int) -> bool:
    """Test that r_1 < c (r_l + ... + r_m), with r the counts in descending order."""
    r = sorted(Counter(group).values(), reverse=True)
    return bool(r) and r[0] < Fraction(c) * sum(r[l - 1 :])


def alpha_k_anonymous(group: Sequence[Hashable], alpha: Fraction, k: int) -> bool:
    """Test that |G| >= k and h(G) <= alpha |G|."""
    return len(group) >= k and max(Counter(group).values(), default=0) <= alpha * len(group)


def k_e_anonymous(group: Sequence[Fraction | int | None], k: int, e: Fraction | int) -> bool:
    """Test that |G| >= k and that the numbers span at least e; a missing number counts as a row only."""
    numbers = [number for number in group if number is not None]
    return len(group) >= k and bool(numbers) and max(numbers) - min(numbers) >= e


def m_unique(group: Sequence[Hashable], m: int) -> bool:
    """Test that |G| >= m and that all values differ."""
    return len(group) >= m and len(set(group)) == len(group)


def basic_beta_like(group: Sequence[Hashable], table: Sequence[Hashable], beta: Fraction | int) -> bool:
    """Test that q <= (1 + beta) p for every value, with share q in the group and share p in the table."""
    return all(q <= (1 + Fraction(beta)) * p for q, p in _shares(group, table) if q > 0)


def enhanced_beta_like(group: Sequence[Hashable], table: Sequence[Hashable], beta: Fraction | int) -> bool:
    """Test that q <= (1 + min(beta, -ln p)) p for every value."""
    with localcontext(prec=_DIGITS):
        # -ln p is irrational unless p = 1, so the decimals decide; with p = 1 it is 0, exactly.
        gains = {p: min(Fraction(beta), Fraction(-_decimal(p).ln())) for _, p in _shares(group, table)}
    return all(q <= (1 + gains[p]) * p for q, p in _shares(group, table) if q > 0)


def delta_disclosure_private(group: Sequence[Hashable], table: Sequence[Hashable], delta: Fraction | int) -> bool:
    """Test that |log2(q / p)| < delta for every value of the table; the test fails if the group lacks a value.

    If delta = a / b, this is 2^-a < (q / p)^b < 2^a.
    """
    a, b = Fraction(delta).numerator, Fraction(delta).denominator
    return all(q > 0 and Fraction(1, 2**a) < (q / p) ** b < 2**a for q, p in _shares(group, table))


def earth_movers_distance(
    group: Sequence[Hashable], table: Sequence[Hashable], ground: Callable[[Any, Any], Fraction | int]
) -> Fraction:
    """Compute the cheapest transport of a group's distribution to that of the table, by shortest augmenting paths.

    Parameters
    ----------
    group, table : sequences
        Sensitive values of the group and of the table.
    ground : callable
        Distance of two values.

    Raises
    ------
    AssertionError
        If the plan is not optimal; prices prove optimality (complementary slackness).
    """
    # In integers: amounts in units of 1 / (|G| n), distances in units of their common denominator.
    supply = {value: count * len(table) for value, count in Counter(group).items()}
    demand = {value: count * len(group) for value, count in Counter(table).items()}
    exact = {(i, j): Fraction(ground(i, j)) for i in supply for j in demand}
    unit = math.lcm(*(one.denominator for one in exact.values()))
    cost = {pair: int(one * unit) for pair, one in exact.items()}
    flow = dict.fromkeys(cost, 0)
    ways: list[_Way] = [(("from", i), ("to", j), (i, j), one) for (i, j), one in cost.items()]
    while any(supply.values()):
        prices, came_from = _cheapest_ways(supply, flow, ways)
        end = min((j for j in demand if demand[j] > 0), key=lambda j: prices["to", j])
        way: list[tuple[str, Any]] = [("to", end)]
        while way[-1] in came_from:
            way.append(came_from[way[-1]])
        way.reverse()
        forward = [(a[1], b[1]) for a, b in pairwise(way) if a[0] == "from"]
        backward = [(b[1], a[1]) for a, b in pairwise(way) if a[0] == "to"]
        start = way[0][1]
        amount = min([supply[start], demand[end], *(flow[pair] for pair in backward)])
        for pair in forward:
            flow[pair] += amount
        for pair in backward:
            flow[pair] -= amount
        supply[start] -= amount
        demand[end] -= amount
    prices, _ = _cheapest_ways(dict.fromkeys(supply, 1), flow, ways)
    for (i, j), one in cost.items():
        slack = prices["from", i] + one - prices["to", j]
        assert slack >= 0, "some way is cheaper than the prices say"
        assert slack == 0 or flow[i, j] == 0, "something takes a way that is dearer than it need be"
    return Fraction(sum(flow[pair] * one for pair, one in cost.items()), unit * len(group) * len(table))


_Place = tuple[str, Any]
_Way = tuple[_Place, _Place, tuple[Any, Any], int]
"""From where, to where, the pair of values, and what it costs."""


def _cheapest_ways(
    supply: dict[Any, int], flow: dict[tuple[Any, Any], int], ways: list[_Way]
) -> tuple[dict[_Place, int], dict[_Place, _Place]]:
    """Compute the cheapest path from the supply to each place, and its predecessor (Bellman and Ford)."""
    prices: dict[_Place, int] = {("from", i): 0 for i, left in supply.items() if left > 0}
    came_from: dict[_Place, _Place] = {}
    changed = True
    while changed:
        changed = False
        for a, b, pair, one in ways:
            here, there = prices.get(a), prices.get(b)
            if here is not None and (there is None or here + one < there):
                prices[b] = there = here + one
                came_from[b], changed = a, True
            if flow[pair] and there is not None and (here is None or there - one < here):
                prices[a] = there - one
                came_from[a], changed = b, True
    return prices, came_from


def t_close(
    group: Sequence[Hashable],
    table: Sequence[Hashable],
    t: Fraction | int,
    ground: Callable[[Any, Any], Fraction | int],
) -> bool:
    """Test that the earth mover's distance between the group and the table is at most t."""
    return len(group) > 0 and earth_movers_distance(group, table, ground) <= t


def ground_of(distance: Any, table: Sequence[Any]) -> Callable[[Any, Any], Fraction | int]:
    """Convert a ground distance of `shoal.models` to a function of two values of a table."""
    if distance.name == "equal":
        return lambda i, j: int(i != j)
    if distance.name == "metric":
        position = {str(value): at for at, value in enumerate(distance.values)}
        return lambda i, j: Fraction(distance.matrix[position[str(i)]][position[str(j)]])
    if distance.name == "hierarchical":
        ways = {row[0]: row for row in distance.hierarchy.rows()}
        top = max(distance.hierarchy.height, 1)
        return lambda i, j: Fraction(sum(a != b for a, b in zip(ways[str(i)], ways[str(j)], strict=True)), top)
    order = sorted(set(table)) if distance.order is None else [one for one in distance.order if one in set(table)]
    place = {value: at for at, value in enumerate(order)}
    return lambda i, j: Fraction(abs(place[i] - place[j]), max(len(place) - 1, 1))


def predicate_of(model: Any, table: Sequence[Any]) -> Predicate:
    """Convert a model of `shoal.models` to a predicate, by its name and its parameters.

    Parameters
    ----------
    model : PrivacyModel
        The model.
    table : sequence
        Sensitive values of the whole table; numbers if the model needs them.
    """
    exact = {name: _exact(value) for name, value in vars(model).items()}
    decide: dict[str, Predicate] = {
        "k-anonymity": lambda group: k_anonymous(group, exact["k"]),
        "(alpha, k)-anonymity": lambda group: alpha_k_anonymous(group, exact["alpha"], exact["k"]),
        "(k, e)-anonymity": lambda group: k_e_anonymous(group, exact["k"], exact["e"]),
        "m-uniqueness": lambda group: m_unique(group, exact["m"]),
        "t-closeness": lambda group: t_close(group, table, exact["t"], ground_of(model.ground, table)),
        "delta-disclosure": lambda group: delta_disclosure_private(group, table, exact["delta"]),
        "beta-likeness, basic": lambda group: basic_beta_like(group, table, exact["beta"]),
        "beta-likeness, enhanced": lambda group: enhanced_beta_like(group, table, exact["beta"]),
        "l-diversity, frequency": lambda group: frequency_diverse_except(group, exact["l"], exact["harmless"]),
        "l-diversity, distinct": lambda group: distinct_diverse(group, exact["l"]),
        "l-diversity, entropy": lambda group: entropy_diverse(group, exact["l"]),
        "l-diversity, recursive": lambda group: recursive_diverse(group, exact["c"], exact["l"]),
    }
    variant = exact.get("variant")
    return decide[f"{model.name}, {variant}" if variant else model.name]


def _exact(value: Any) -> Any:
    """Convert a float to the decimal number that it is printed as; return anything else unchanged."""
    return Fraction(repr(value)) if isinstance(value, float) else value


def _shares(group: Sequence[Hashable], table: Sequence[Hashable]) -> list[tuple[Fraction, Fraction]]:
    inside, overall = Counter(group), Counter(table)
    return [
        (Fraction(inside[value], max(len(group), 1)), Fraction(count, len(table))) for value, count in overall.items()
    ]


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


# Costs and partitions.


def is_partition(groups: Sequence[Collection[int]], n: int) -> bool:
    """Test that every row from 0 to n - 1 is in exactly one group, and that no group is empty."""
    return all(groups) and sorted(row for group in groups for row in group) == list(range(n))


def groups_of_labels(labels: Sequence[int]) -> Partition:
    """Collect the rows of each label, in the order of the labels."""
    groups: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        groups.setdefault(int(label), []).append(row)
    return [groups[label] for label in sorted(groups)]


def stars_of_group(rows: Sequence[Row]) -> int:
    """Count the cells that are suppressed if rows become one group: those of each column in which they differ."""
    return sum(len(rows) for column in zip(*rows, strict=True) if len(set(column)) > 1)


def penalty_of_group(rows: Sequence[Row], domains: Sequence[Collection[Any]], ordered: Sequence[bool]) -> Fraction:
    """Compute the certainty penalty of all cells if rows become one group.

    A column in which they differ becomes an interval if it is ordered (numbers), otherwise a set. If some rows miss the
    value and others do not, it becomes a star.
    """
    total = Fraction(0)
    for column, domain, numeric in zip(zip(*rows, strict=True), domains, ordered, strict=True):
        values = set(column)
        if len(values) < 2:
            continue
        cell: Any = frozenset(values)
        if None in values:
            cell = STAR
        elif numeric:
            cell = Interval(min(values), max(values))
        total += len(rows) * _penalty(cell, domain)
    return total


def suppressed_of_group(rows: Sequence[Row]) -> int:
    """Count the rows with a star if rows become one group: all or none."""
    return len(rows) if stars_of_group(rows) else 0


def cost_of_partition(rows: Sequence[Row], partition: Partition, cost: Literal["stars", "tuples"] = "stars") -> int:
    """Count the suppressed cells ("stars") or rows ("tuples") of a partition."""
    of_group = stars_of_group if cost == "stars" else suppressed_of_group
    return sum(of_group([rows[row] for row in group]) for group in partition)


def discernability(partition: Partition) -> int:
    """Sum the group sizes over all rows."""
    return sum(len(group) for group in partition for _ in group)


def optimal_partition(
    rows: Sequence[Row],
    sensitive: Sequence[Any],
    predicate: Predicate,
    cost: Literal["stars", "tuples"] | Callable[[Sequence[Row]], Any] = "stars",
) -> tuple[Any, Partition] | None:
    """Find a cheapest partition into acceptable groups; return its cost and the partition, or None if there is none.

    The cost is the number of stars or of suppressed tuples, or the sum of a function of the rows of each group. Every
    subset of rows is tried as the group of its first row: 3^n steps, hence for at most about ten rows.
    """
    n = len(rows)
    named = {"stars": stars_of_group, "tuples": suppressed_of_group}
    of_group = named[cost] if isinstance(cost, str) else cost
    price: dict[int, Any] = {}
    for mask in range(1, 1 << n):
        members = _members(mask, n)
        if predicate([sensitive[row] for row in members]):
            price[mask] = of_group([rows[row] for row in members])
    best: list[Any] = [None] * (1 << n)
    best[0] = 0
    choice = [0] * (1 << n)
    for mask in range(1, 1 << n):
        first = mask & -mask
        others = mask ^ first
        part = others
        while True:
            # The group of the first row is `first` with `part`; what remains was solved before.
            rest = best[others ^ part]
            here = price.get(first | part)
            if rest is not None and here is not None and (best[mask] is None or rest + here < best[mask]):
                best[mask], choice[mask] = rest + here, first | part
            if part == 0:
                break
            part = (part - 1) & others
    whole = (1 << n) - 1
    total = best[whole]
    if total is None:
        return None
    partition = []
    while whole:
        partition.append(_members(choice[whole], n))
        whole ^= choice[whole]
    return total, partition


def _members(mask: int, n: int) -> list[int]:
    return [row for row in range(n) if mask >> row & 1]


# Released tables and their losses.


def suppress(rows: Sequence[Row], partition: Partition) -> list[tuple[Any, ...]]:
    """Suppress the rows of a partition; the order of the rows is kept."""
    published: list[tuple[Any, ...]] = [()] * len(rows)
    for group in partition:
        columns = list(zip(*(rows[row] for row in group), strict=True))
        cells = tuple(column[0] if len(set(column)) == 1 else STAR for column in columns)
        for row in group:
            published[row] = cells
    return published


def kl_divergence(
    rows: Sequence[Row],
    sensitive: Sequence[Hashable],
    release: Sequence[Sequence[Any]],
    domains: Sequence[Collection[Any]],
) -> float:
    """Compute the KL-divergence of a table and its release by equation 2 of the paper.

    Parameters
    ----------
    rows, sensitive : sequences
        The table.
    release : sequence of sequences
        Published quasi-identifiers of the same rows in the same order; a cell is a value, `STAR`, an `Interval` or a
        frozenset of values.
    domains : sequence of collections
        The values of each quasi-identifier. A star is uniform over them, a sub-domain uniform over those inside it.
    """
    n = len(rows)
    points = Counter((tuple(row), value) for row, value in zip(rows, sensitive, strict=True))
    total = []
    for (point, value), count in points.items():
        density = Fraction(0)
        for cells, published in zip(release, sensitive, strict=True):
            if published == value:
                density += math.prod(
                    (_probability(cell, x, domain) for cell, x, domain in zip(cells, point, domains, strict=True)),
                    start=Fraction(1, n),
                )
        share = Fraction(count, n)
        ratio = share / density
        total.append(float(share) * (math.log(ratio.numerator) - math.log(ratio.denominator)))
    return math.fsum(total)


def _subdomain(cell: Any, domain: Collection[Any]) -> set[Any]:
    if cell is STAR:
        return set(domain)
    if isinstance(cell, Interval):
        return {value for value in domain if value is not None and cell.low <= value <= cell.high}
    return set(cell) if isinstance(cell, frozenset) else {cell}


def _probability(cell: Any, x: Any, domain: Collection[Any]) -> Fraction:
    inside = _subdomain(cell, domain)
    return Fraction(x in inside, len(inside))


def ncp(release: Sequence[Sequence[Any]], domains: Sequence[Collection[Any]]) -> Fraction:
    """Compute the normalized certainty penalty, averaged over all cells.

    A value costs 0 and a star 1. An `Interval` costs its length relative to that of the domain, and a set costs (size -
    1) / (size of the domain - 1).
    """
    cells = [_penalty(cell, domain) for row in release for cell, domain in zip(row, domains, strict=True)]
    return sum(cells, Fraction(0)) / len(cells) if cells else Fraction(0)


def _penalty(cell: Any, domain: Collection[Any]) -> Fraction:
    if cell is STAR:
        return Fraction(1)
    if isinstance(cell, Interval):
        numbers = [Fraction(value) for value in domain if value is not None]
        return Fraction(cell.high - cell.low) / (max(numbers) - min(numbers))
    if isinstance(cell, frozenset) and len(cell) > 1:
        return Fraction(len(cell) - 1, len(set(domain)) - 1)
    return Fraction(0)


def fewest_stars_by_patterns(
    rows: Sequence[Row], starred: Sequence[Sequence[bool]], k: int, weights: Sequence[Fraction | int]
) -> Fraction | int | None:
    """Find the cost of the cheapest k-anonymous table whose rows follow patterns, by trying all patterns for every row.

    Parameters
    ----------
    rows : sequence of tuple
        At most about seven rows.
    starred : sequence of sequence of bool
        Attributes that each pattern stars.
    k : int
    weights : sequence of number
        Cost of a star in each attribute.

    Returns
    -------
    number or None
        The cost; None if no such table exists (Bredereck et al. 2013, Definition 3).
    """
    shown = [
        [tuple(None if star else (value,) for value, star in zip(row, stars, strict=True)) for stars in starred]
        for row in rows
    ]
    costs = [sum(weight for weight, star in zip(weights, stars, strict=True) if star) for stars in starred]
    best: Fraction | int | None = None
    for choice in product(range(len(starred)), repeat=len(rows)):
        cost = sum(map(costs.__getitem__, choice))
        # Tables that cost at least as much as the best one so far are skipped.
        if (best is None or cost < best) and min(Counter(map(list.__getitem__, shown, choice)).values()) >= k:
            best = cost
    return best
