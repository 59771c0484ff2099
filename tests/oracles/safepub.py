"""Choice of levels by the exponential mechanism, by brute force: scores in plain Python, exact probabilities."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

Row = tuple[str, ...]


def power_of_e(exponent: Fraction, terms: int = 120) -> Fraction:
    """Compute e**exponent by its series, to more than 40 digits if the exponent is at most 10."""
    total, term = Fraction(0), Fraction(1)
    for n in range(1, terms):
        total, term = total + term, term * exponent / n
    return total


def published(rows: int, least: Fraction) -> int:
    """About how many rows of a class are published: none of small ones, all of large ones, and a steep rise between."""
    begin = int(least * 11 / 12)
    return min(rows, max(0, 6 * (rows - begin)))


def score(rows: Sequence[Row], columns: Sequence[Sequence[Row]], levels: Sequence[int], least: Fraction) -> int:
    """Score one combination: for each class, what its cells show in thousandths, times the published rows.

    `columns` has for each column a list of tuples, one for each value: the value and its ancestors.
    """
    classes: dict[Row, int] = {}
    for row in rows:
        cells = tuple(
            next(line for line in lines if line[0] == value)[level]
            for value, lines, level in zip(row, columns, levels, strict=True)
        )
        classes[cells] = classes.get(cells, 0) + 1
    total = 0
    for cells, size in classes.items():
        shown = 0
        for cell, lines, level in zip(cells, columns, levels, strict=True):
            below = sum(line[level] == cell for line in lines)
            shown += 1000 * (len(lines) - below) // (len(lines) - 1)
        total += shown * published(size, least)
    return total


def distribution(
    rows: Sequence[Row], columns: Sequence[Sequence[Row]], least: Fraction, epsilon: Fraction
) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of each combination of levels, the last column varying fastest."""
    combinations = list(product(*(range(len(lines[0])) for lines in columns)))
    scores = [score(rows, columns, levels, least) for levels in combinations]
    rate = epsilon / Fraction(6 * 1000 * len(columns))
    # Relative to the best, so that the exponents are small.
    weights = [1 / power_of_e(rate * (max(scores) - one)) for one in scores]
    return {levels: weight / sum(weights) for levels, weight in zip(combinations, weights, strict=True)}
