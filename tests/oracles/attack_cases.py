"""Random small releases in several forms, people, and what every cell may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from tests.oracles.attacks import candidate_rows

if TYPE_CHECKING:
    import numpy as np

__all__ = ["READING", "Case", "Person"]

Person: TypeAlias = tuple[int, str, str]
"""Age, town and illness."""
AGES, TOWNS, ILLS = list(range(20, 30)), ["Aachen", "Bonn", "Celle", "Delft"], ["1", "2", "3", "4", "7"]
READING: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "sensitive": "ill", "cells": {"town": "values"}}


class Case:
    """People, some of whom are in a release, and others who are not.

    Parameters
    ----------
    rng : numpy.random.Generator
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.members = [self._person(rng) for _ in range(int(rng.integers(1, 12)))]
        self.others = [self._person(rng) for _ in range(int(rng.integers(1, 8)))]
        self.rows, cells = [], []
        for age, town, ill in self.members:
            (one, ages), (other, towns) = self._age(rng, age), self._town(rng, town)
            self.rows.append(((ages, towns), ill))
            cells.append((one, other, ill))
        self.release = pl.DataFrame(cells, schema=["age", "town", "ill"], orient="row")

    @staticmethod
    def _person(rng: np.random.Generator) -> Person:
        return (int(rng.choice(AGES)), str(rng.choice(TOWNS)), str(rng.choice(ILLS)))

    @staticmethod
    def _age(rng: np.random.Generator, age: int) -> tuple[str, frozenset[object]]:
        kind = rng.integers(4)
        if kind == 0:
            return str(age), frozenset({age})
        if kind == 1:
            return "*", frozenset(AGES)
        low, high = int(rng.integers(20, age + 1)), int(rng.integers(age, 30))
        written = f"[{low}, {high}]" if kind == 2 else f"[{low}, {high + 1})"
        return written, frozenset(range(low, high + 1))

    @staticmethod
    def _town(rng: np.random.Generator, town: str) -> tuple[str, frozenset[object]]:
        kind = rng.integers(3)
        if kind == 0:
            return town, frozenset({town})
        if kind == 1:
            return "*", frozenset(TOWNS)
        other = str(rng.choice(TOWNS))
        return f"{{{town}, {other}}}", frozenset({town, other})

    @staticmethod
    def frame(people: Sequence[Person]) -> pl.DataFrame:
        """Return people as a table."""
        return pl.DataFrame(people, schema={"age": pl.Int64, "town": pl.String, "ill": pl.String}, orient="row")

    def shown(self, person: Person) -> list[str]:
        """Return the values of the rows that may be a person's."""
        return [self.rows[row][1] for row in candidate_rows(person[:2], self.rows)]

    def __repr__(self) -> str:
        return f"Case(members={len(self.members)}, others={len(self.others)})"
