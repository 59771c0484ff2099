"""Verification and audit of sets of quasi-identifiers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random

import polars as pl
from tests.every import few
from tests.oracles.column_sets import is_safe

import shoal
from shoal.errors import ReleaseUnsafeError
from shoal.models import KAnonymity
from shoal.models.column_sets import ColumnSet
from shoal.models.counting import Records
from shoal.models.requirement import Requirement
from shoal.verification import MeasuredTable

NAMES = ["a", "b", "c"]


def verified(frame: pl.DataFrame, size: int, k: int) -> bool:
    sets = [ColumnSet(columns=known) for known in combinations(NAMES, size)]
    requirement = Requirement.of(KAnonymity(k), (), Records(sets=sets, knows=size))
    try:
        achieved = MeasuredTable(frame, quasi_identifiers=NAMES, sensitive=(), requirement=requirement).verify()
    except ReleaseUnsafeError:
        return False
    assert achieved.sets is not None
    assert achieved.sets["k"] >= k
    return True


def test_verification_agrees_with_the_definition() -> None:
    """Small tables, with stars and missing values, which are values like any other."""
    random, seen = Random(3), set()
    for _ in range(few(300)):
        size, k = random.randrange(1, 4), random.randrange(1, 4)
        values = random.choice([["x", "*"], ["x", "y", "*", None]])
        rows = [[random.choice(values) for _ in NAMES] for _ in range(random.choice([4, 12, 30]))]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")
        sets = dict.fromkeys(combinations(range(3), size), k)
        assert verified(frame, size, k) is is_safe(rows, sets)
        audited = shoal.audit(frame, quasi_identifiers=NAMES, k=k, knows=size)
        assert (not audited.failures) is is_safe(rows, sets)
        seen.add(is_safe(rows, sets))
    assert seen == {True, False}


def test_an_audit_reads_the_sets_of_a_release(tmp_path: object) -> None:
    random = Random(4)
    rows = [[random.choice("uvwx") for _ in NAMES] for _ in range(80)]
    table = pl.DataFrame(rows, schema=NAMES, orient="row")
    shoal.anonymize(table, quasi_identifiers=NAMES, k=3, knows=2, output=f"{tmp_path}/out")
    found = shoal.audit(f"{tmp_path}/out", k=3)
    assert found.violations == ()
    assert found.to_dict()["achieved"]["sets"]["sets"] == 3
    # Other sets on request: all three columns together.
    worse = shoal.audit(f"{tmp_path}/out", k=3, knows=3)
    assert [one.columns for one in worse.failures] == [("a", "b", "c")]
    assert "for 'a', 'b' and 'c' in" in worse.violations[0]


def test_an_audit_measures_what_the_certificate_states(tmp_path: Path) -> None:
    random = Random(6)
    rows = [[*(random.choice("uvw") for _ in NAMES), random.choice("xyz")] for _ in range(120)]
    table = pl.DataFrame(rows, schema=[*NAMES, "s"], orient="row")
    asked = {"quasi_identifiers": NAMES, "sensitive": "s", "qi_sets": ["a,b", "b,c:4"]}
    for models in ({"l": 2}, {"k": 3, "l": 2}):
        release = shoal.anonymize(table, **asked, **models, seed=1, output=tmp_path / str(len(models)))
        certified = release.certificate.to_dict()["achieved"]["sets"]
        assert certified["l"]["distinct"] >= 2
        # The models of the audit do not change the figures.
        for own in ({}, {"k": 2}, models):
            assert shoal.audit(tmp_path / str(len(models)), **own).to_dict()["achieved"]["sets"] == certified


def test_risk_counts_rows_and_persons_that_are_unique_in_some_set() -> None:
    random = Random(5)
    for _ in range(few(20)):
        rows = [[random.choice("uvwxyz"[: 3 + a]) for a in range(3)] for _ in range(25)]
        owners = [random.randrange(9) for _ in rows]
        frame = pl.DataFrame(rows, schema=NAMES, orient="row").with_columns(owner=pl.Series(owners))
        asked = {"quasi_identifiers": NAMES, "knows": 2, "threshold": 0.5}
        known = shoal.risk(frame.drop("owner"), **asked).known_sets
        assert known is not None
        unique, above, sizes = set(), set(), {}
        for columns in combinations(range(3), 2):
            groups = Counter(tuple(row[a] for a in columns) for row in rows)
            own = [groups[tuple(row[a] for a in columns)] for row in rows]
            unique |= {row for row, size in enumerate(own) if size == 1}
            above |= {row for row, size in enumerate(own) if size < 2}
            sizes[tuple(NAMES[a] for a in columns)] = own
        assert (known.uniques, known.records_above) == (len(unique) / 25, len(above) / 25)
        assert known.smallest_class == min(map(min, sizes.values()))
        assert (
            known.most_uniques == sizes[known.columns].count(1) / 25 == max(own.count(1) for own in sizes.values()) / 25
        )
        assert known.sets == 3
        # The persons of a class are counted, and each person has the smallest class of any own row.
        whose = {
            columns: {
                person: min(
                    len({owners[o] for o in range(25) if all(rows[o][a] == rows[r][a] for a in columns)})
                    for r in range(25)
                    if owners[r] == person
                )
                for person in owners
            }
            for columns in combinations(range(3), 2)
        }
        found = shoal.risk(frame, **asked, person="owner").known_sets
        assert found is not None
        alone = {person for one in whose.values() for person, size in one.items() if size == 1}
        assert (found.uniques, found.sets) == (len(alone) / len(set(owners)), 3)
        assert found.records_above == found.uniques
        assert found.smallest_class == min(size for one in whose.values() for size in one.values())
        shares = [sum(size == 1 for size in one.values()) / len(one) for one in whose.values()]
        assert found.most_uniques == max(shares)
        assert found.columns == tuple(NAMES[a] for a in [*whose][shares.index(max(shares))])
