"""An adversary who has the published files, everybody's quasi-identifiers, and who is in which release.

The adversary is plain Python and knows nothing of how the files were made.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import every
from tests.oracles.invariance import Group, Person, candidate_set, disclosure_risk

import shoal

QUASI_IDENTIFIERS = ["age", "zip"]


def history(seed, people=160, releases=6, values=6, stay=0.75):
    """Return tables of people who come, go, return, and sometimes have another zip code."""
    rng = np.random.default_rng(seed)
    age, zip_code = rng.integers(20, 60, people), rng.integers(100, 120, people)
    disease = rng.permutation(np.arange(people) % values)
    present = rng.random(people) < 0.6
    tables = []
    for _ in range(releases):
        rows = np.flatnonzero(present)
        tables.append(
            pl.DataFrame(
                {
                    "id": [f"p{row}" for row in rows],
                    "age": age[rows],
                    "zip": zip_code[rows],
                    "disease": [f"d{value}" for value in disease[rows]],
                }
            )
        )
        present ^= rng.random(people) > stay
        moved = rng.random(people) < 0.03
        zip_code = np.where(moved, rng.integers(100, 120, people), zip_code)
    return tables


def read_groups(folder, domains):
    """Read the files as anybody may: the groups of a release."""
    rows, shown = defaultdict(list), {}
    with open(folder / "release.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cells = tuple(row[name] for name in QUASI_IDENTIFIERS)
            number = row.get("group_id", cells)
            rows[number].append(row["disease"])
            assert shown.setdefault(number, cells) == cells
    fakes = {}
    if (folder / "counterfeits.csv").exists():
        with open(folder / "counterfeits.csv", encoding="utf-8", newline="") as file:
            fakes = {row["group_id"]: int(row["count"]) for row in csv.DictReader(file)}
    return [
        Group(
            extents=tuple(read_extent(cell, domain) for cell, domain in zip(shown[number], domains, strict=True)),
            values=tuple(values),
            counterfeits=fakes.get(number, 0),
        )
        for number, values in rows.items()
    ]


def read_extent(cell, domain):
    if cell == "*":
        return domain
    if cell.startswith("["):
        low, high = cell[1:-1].split(", ")
        return range(int(low), int(high) + 1)
    return {int(cell)}


DOMAINS = (range(20, 60), range(100, 120))


def publish_with_invariance(tables, folder, m):
    """Publish with a ledger; return the releases that could be made: folder, counts, and who is in it."""
    ledger = shoal.Ledger(folder / "ledger.db", create=True)
    series = ledger.start("s", m=m, identifier="id", quasi_identifiers=QUASI_IDENTIFIERS, sensitive="disease")
    shown = []
    for number, table in enumerate(tables):
        try:
            publication = series.publish(table, folder / f"out{number}", seed=number)
        except shoal.errors.InfeasibleError:
            continue
        people = list(zip(table["id"], table["age"], table["zip"], table["disease"], strict=True))
        shown.append((folder / f"out{number}", publication.counts, people))
    ledger.close()
    return shown


@every("seed", range(3))
def test_m_invariant_releases_leave_m_values_of_everybody(seed, tmp_path):
    m = 3
    tables = history(seed)
    shown = publish_with_invariance(tables, tmp_path, m)
    assert len(shown) >= 4
    assert any(counts["returned"] for _, counts, _ in shown)
    left = {}
    for folder, _, there in shown:
        groups = read_groups(folder, DOMAINS)
        for group in groups:
            assert len(set(group.values)) == len(group.values) >= m
            assert 0 <= group.counterfeits < len(group.values)
        assert sum(len(group.values) - group.counterfeits for group in groups) == len(there)
        for name, age, zip_code, value in there:
            person = Person(quasi_identifiers=(age, zip_code), releases=frozenset(), value=value)
            candidates = candidate_set(person, groups)
            assert value in candidates
            left.setdefault(name, set(candidates))
            left[name] &= candidates
    assert min(len(values) for values in left.values()) >= m, "no one is known with a confidence above 1/m"


@pytest.mark.drawn
@every("seed", range(3))
def test_l_diverse_releases_of_the_same_history_give_people_away(seed, tmp_path):
    tables = history(seed)
    left = {}
    for number, table in enumerate(tables):
        shoal.anonymize(
            table,
            quasi_identifiers=QUASI_IDENTIFIERS,
            sensitive="disease",
            direct_identifiers=["id"],
            privacy=shoal.LDiversity(2),
            algorithm="mondrian",
            recoding="generalization",
            seed=number,
        ).save(tmp_path / f"out{number}")
        groups = read_groups(tmp_path / f"out{number}", DOMAINS)
        for row in table.iter_rows(named=True):
            person = Person(quasi_identifiers=(row["age"], row["zip"]), releases=frozenset(), value=row["disease"])
            candidates = candidate_set(person, groups)
            assert row["disease"] in candidates
            left.setdefault(row["id"], set(candidates))
            left[row["id"]] &= candidates
    assert sum(len(values) == 1 for values in left.values()) > 0


@every("seed", range(6))
def test_the_exact_risk_of_tiny_histories_is_at_most_one_in_m(seed, tmp_path):
    m, tables = 2, history(seed, people=9, releases=3, values=3, stay=0.8)
    for table in tables:  # the definition knows neither changed values nor changed quasi-identifiers
        table.drop_in_place("zip")
    everybody = pl.concat(tables).unique("id", keep="first", maintain_order=True)
    tables = [everybody.filter(pl.col("id").is_in(table["id"].implode())) for table in tables]
    ledger = shoal.Ledger(tmp_path / "ledger.db", create=True)
    series = ledger.start("s", m=m, identifier="id", quasi_identifiers=["age"], sensitive="disease")
    releases, seen = [], defaultdict(set)
    for number, table in enumerate(tables):
        try:
            publication = series.publish(table, seed=number)
        except shoal.errors.InfeasibleError:
            continue
        fakes = dict(publication.counterfeits.iter_rows())
        rows = defaultdict(list)
        for row in publication.data.iter_rows(named=True):
            rows[row["group_id"], row["age"]].append(row["disease"])
        for row in table.iter_rows(named=True):
            seen[row["id"]].add(len(releases))
        releases.append(
            [
                Group(
                    extents=(read_extent(str(cell), DOMAINS[0]),),
                    values=tuple(values),
                    counterfeits=fakes.get(group, 0),
                )
                for (group, cell), values in rows.items()
            ]
        )
    ledger.close()
    people = [
        Person(quasi_identifiers=(row["age"],), releases=frozenset(seen[row["id"]]), value=row["disease"])
        for row in everybody.iter_rows(named=True)
        if row["id"] in seen
    ]
    assert releases, "some table was eligible"
    risks = disclosure_risk(releases, people, invariant=True)
    assert risks is not None
    assert max(risks) <= Fraction(1, m)
