"""People as sorted arrays, against a dictionary in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.every import every

from shoal.republication.ledger.memory import RECORD, Persons


def people(ids: list[tuple[int, int]]) -> Persons:
    records = np.zeros(len(ids), dtype=RECORD)
    records["signature"] = np.arange(len(ids))
    return Persons.empty().merge(np.array(ids, dtype=np.uint64).reshape(-1, 2), records)


@every("seed", range(30))
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


def test_pieces_and_back() -> None:
    known = people([(2**64 - 1, 5), (3, 2**63), (3, 1)])
    again = Persons.from_pieces(known.to_pieces())
    assert np.array_equal(again.ids, known.ids)
    assert np.array_equal(again.records, known.records)
    assert [len(piece) for piece in known.to_pieces()] == [3 * 52]
    assert repr(known) == "Persons(3)"


def test_many_people_are_in_several_pieces() -> None:
    many = people([(one, 7 * one) for one in range(45_000)])
    pieces = many.to_pieces()
    assert [len(piece) // 52 for piece in pieces] == [20_000, 20_000, 5_000]
    assert np.array_equal(Persons.from_pieces(pieces).ids, many.ids)
    assert len(Persons.from_pieces([])) == 0
    with pytest.raises(ValueError, match="buffer size"):
        Persons.from_pieces([pieces[0][:-1]])
