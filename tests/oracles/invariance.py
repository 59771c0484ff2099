"""Slow oracles for m-invariance in plain Python: eligibility, balancing, assignment, split, and an adversary.

They follow the definitions by exhaustive search, so only tiny cases finish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

__all__ = [
    "Group",
    "Person",
    "assign",
    "candidate_set",
    "disclosure_risk",
    "is_eligible",
    "most_taken",
    "split",
]


def is_eligible(counts: Sequence[int], m: int) -> bool:
    """Test that no value has more than 1/m of the rows."""
    return all(m * count <= sum(counts) for count in counts)


def most_taken(supply: Sequence[int], demand: Sequence[int], m: int) -> int | None:
    """Compute the largest number of rows that can balance buckets if the others stay eligible; None if impossible."""
    ranges = [range(min(have, want) + 1) for have, want in zip(supply, demand, strict=True)]
    possible = [
        sum(taken)
        for taken in product(*ranges)
        if is_eligible([have - one for have, one in zip(supply, taken, strict=True)], m)
    ]
    return max(possible, default=None)


def assign(counts: Mapping[int, int], m: int) -> list[tuple[int, frozenset[int]]]:
    """Assign eligible rows to buckets as in Figure 3; return the alpha and the signature of each step.

    Raises
    ------
    AssertionError
        If no pair (alpha, beta) exists, which contradicts Lemma 5.
    """
    left = Counter({value: count for value, count in counts.items() if count})
    steps = []
    while left:
        gamma = sum(left.values())
        ranked = sorted(left, key=lambda value: -left[value])
        n = [left[value] for value in ranked]
        for beta in range(m, len(n) + 1):
            following = n[beta] if beta < len(n) else 0
            fitting = [
                alpha
                for alpha in range(1, n[beta - 1] + 1)
                if m * (n[0] - alpha) <= gamma - alpha * beta and m * following <= gamma - alpha * beta
            ]
            if fitting:
                break
        else:
            raise AssertionError("Lemma 5: a pair always exists")
        alpha = max(fitting)
        steps.append((alpha, frozenset(ranked[:beta])))
        left = +(left - Counter(dict.fromkeys(ranked[:beta], alpha)))
    return steps


def split(lists: Sequence[Sequence[tuple[int, ...] | None]], weights: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Split a balanced bucket into groups as in Section 4.3.

    Parameters
    ----------
    lists : sequence of sequences
        Codes of the rows of each value of the signature; None for a counterfeit.
    weights : sequence of int
        Length of one step on each attribute.

    Returns
    -------
    list of lists of (int, int)
        The groups; a row is identified by its list and its position in it.
    """
    rows = [[(which, place) for place in range(len(one))] for which, one in enumerate(lists)]
    return _split(rows, {(w, p): codes for w, one in enumerate(lists) for p, codes in enumerate(one)}, weights)


_Row = tuple[int, int]


def _split(
    lists: list[list[_Row]], codes: Mapping[_Row, tuple[int, ...] | None], weights: Sequence[int]
) -> list[list[_Row]]:
    h, d = len(lists[0]), len(weights)
    if h == 1:
        return [[one[0] for one in lists]]

    def length(rows: list[_Row]) -> int:
        known = [codes[row] for row in rows]
        real = [one for one in known if one is not None]
        return (
            sum(w * (max(c[b] for c in real) - min(c[b] for c in real)) for b, w in enumerate(weights)) if real else 0
        )

    best = None
    for a in range(d):

        def key(row: _Row, a: int = a) -> tuple[tuple[int, ...], int]:
            own = codes[row]
            return tuple(-1 if own is None else own[(a + step) % d] for step in range(d)), row[1]

        ordered = [sorted(one, key=key) for one in lists]
        for j in range(h - 1, 0, -1):
            left = [row for one in ordered for row in one[:j]]
            right = [row for one in ordered for row in one[j:]]
            rank = (j * length(left) + (h - j) * length(right), abs(2 * j - h), a, -j)
            if best is None or rank < best[0]:
                best = (rank, [one[:j] for one in ordered], [one[j:] for one in ordered])
    assert best is not None
    return [*_split(best[1], codes, weights), *_split(best[2], codes, weights)]


@dataclass(frozen=True, kw_only=True)
class Group:
    """One published group."""

    extents: tuple[Collection[int], ...]
    """The values that its rows may have on each quasi-identifier."""
    values: tuple[str, ...]
    """The sensitive values of its rows."""
    counterfeits: int = 0
    """How many of the rows are counterfeits."""

    def covers(self, person: Person) -> bool:
        """Test if the person may be in the group."""
        return all(value in extent for value, extent in zip(person.quasi_identifiers, self.extents, strict=True))


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person with the background knowledge of the adversary, and the value that the adversary wants."""

    quasi_identifiers: tuple[int, ...]
    """The true quasi-identifiers."""
    releases: frozenset[int]
    """The releases that the person is in, from 0."""
    value: str
    """The true sensitive value."""


def candidate_set(person: Person, groups: Sequence[Group]) -> set[str]:
    """Compute the candidate sensitive set of a person in one release (Definition 15)."""
    return {value for group in groups if group.covers(person) for value in group.values}


def disclosure_risk(
    releases: Sequence[Sequence[Group]], people: Sequence[Person], *, invariant: bool
) -> list[Fraction] | None:
    """Compute the disclosure risk of each person (Definition 14), by enumeration of all reasonable surjections.

    Parameters
    ----------
    releases : sequence of sequences of Group
        The groups of each release.
    people : sequence of Person
        All people in any of the releases.
    invariant : bool
        If True, the adversary knows that the releases are m-invariant, so that a person's groups have one signature.

    Returns
    -------
    list of Fraction or None
        The risks; None if there is no reasonable surjection, so that the releases are not of these people.
    """
    # A state says of each person seen so far which value (and which signature) it has, and how many ways lead there.
    states: dict[tuple[tuple[str, frozenset[str]] | None, ...], int] = {(None,) * len(people): 1}
    for number, groups in enumerate(releases):
        following: Counter[tuple[tuple[str, frozenset[str]] | None, ...]] = Counter()
        for state, ways in states.items():
            for hosted in _surjections(groups, people, number, state, invariant):
                following[hosted] += ways
        states = dict(following)
    total = sum(states.values())
    if not total:
        return None
    risks = []
    for place, person in enumerate(people):
        right = sum(ways for state, ways in states.items() if (found := state[place]) and found[0] == person.value)
        risks.append(Fraction(right, total))
    return risks


_State = tuple[tuple[str, frozenset[str]] | None, ...]


def _surjections(
    groups: Sequence[Group], people: Sequence[Person], number: int, state: _State, invariant: bool
) -> Iterator[_State]:
    """Yield the knowledge about all people after one release, for each assignment of its rows."""
    rows = [(group, value) for group in groups for value in group.values]
    absent = {place for place, person in enumerate(people) if number not in person.releases}

    def place_rows(
        at: int, known: _State, placed: frozenset[int], fakes: tuple[tuple[int, int], ...]
    ) -> Iterator[_State]:
        if at == len(rows):
            if len(placed) == len(people):
                yield known
            return
        group, value = rows[at]
        used = dict(fakes)
        which = next(index for index, one in enumerate(groups) if one is group)
        # The counterfeits of a group are rows of the adversary's table too, each with a number of its own.
        free = group.counterfeits - used.get(which, 0)
        for _ in range(free):
            yield from place_rows(at + 1, known, placed, tuple({**used, which: used.get(which, 0) + 1}.items()))
        mark = (value, frozenset(group.values) if invariant else frozenset())
        for place, person in enumerate(people):
            if place not in placed and known[place] in (None, mark) and group.covers(person):
                after = (*known[:place], mark, *known[place + 1 :])
                yield from place_rows(at + 1, after, placed | {place}, fakes)

    yield from place_rows(0, state, frozenset(absent), ())
