"""People as sorted arrays, against a dictionary in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.republication.ledger.keys import LedgerKey
from shoal.republication.ledger.persons import RECORD, Persons

KEYS = LedgerKey(secret=b"k" * 32).of_series("x")


def people(ids: list[tuple[int, int]]) -> Persons:
    records = np.zeros(len(ids), dtype=RECORD)
    records["signature"] = np.arange(len(ids))
    return Persons.none().joined_by(np.array(ids, dtype=np.uint64).reshape(-1, 2), records)


@pytest.mark.parametrize("seed", range(30))
def test_everyone_is_found_even_with_equal_halves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few different first halves, up to the largest number: what never happens with hashes.
    halves = np.array([0, 1, 7, 2**63, 2**64 - 1], dtype=np.uint64)
    ids = list({(int(rng.choice(halves)), int(rng.choice(halves))) for _ in range(rng.integers(0, 20))})
    known = people(ids)
    where = {tuple(one): place for place, one in enumerate(known.ids.tolist())}
    asked = np.array([(a, b) for a in halves for b in halves], dtype=np.uint64)
    expected = [where.get((int(a), int(b)), -1) for a, b in asked]
    assert known.find(asked).tolist() == expected
    assert known.ids.tolist() == sorted(known.ids.tolist())


def test_bytes_and_back() -> None:
    known = people([(2**64 - 1, 5), (3, 2**63), (3, 1)])
    everyone = np.arange(3)
    again = Persons.of_bytes(b"".join(known.id_bytes(everyone)), b"".join(known.record_bytes(everyone)))
    assert np.array_equal(again.ids, known.ids)
    assert np.array_equal(again.records, known.records)
    assert known.id_bytes(everyone) == sorted(known.id_bytes(everyone)), "as a database sorts them"
    assert len(known.record_bytes([0])[0]) == 28


def test_the_digest_tells_every_change() -> None:
    known = people([(1, 1), (2, 2)])
    changed = known.records.copy()
    changed["gone"][1] = 3
    others = [known.changed(np.arange(2), changed), known.without(np.array([True, False])), people([(1, 1), (2, 3)])]
    digests = {one.digest(KEYS) for one in [known, *others]}
    assert len(digests) == 4
    assert known.digest(LedgerKey(secret=b"l" * 32).of_series("x")) not in digests
    assert repr(known) == "Persons(2)"
