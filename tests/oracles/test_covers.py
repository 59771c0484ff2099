"""The judge of covers, on covers that can be counted by hand."""

from tests.every import every
from tests.oracles.covers import allowed_groups, cheapest_cover
from tests.oracles.oracles import frequency_diverse, k_anonymous, optimal_partition

ROWS = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 2)]


def test_pairs_and_triples_with_their_costs():
    costs = allowed_groups(ROWS, [0, 0, 1, 1, 2], len)
    assert costs == {
        (0, 2): 2, (0, 3): 4, (0, 4): 4, (1, 2): 4, (1, 3): 2, (1, 4): 2, (2, 4): 2, (3, 4): 0,
        (0, 2, 4): 6, (0, 3, 4): 6, (1, 2, 4): 6, (1, 3, 4): 3,
    }  # fmt: skip
    assert len(allowed_groups(ROWS, None, len)) == 10 + 10
    assert (0, 3) not in allowed_groups(ROWS, None, lambda starred: None if len(starred) > 1 else len(starred))


@every(
    ("values", "expected"),
    [(None, 4 + 0 + 1), ([0, 0, 1, 1, 2], 2 + 3), ([0, 0, 0, 0, 1], None), ([0] * 5, None)],
)
def test_by_hand(values, expected):
    assert cheapest_cover(ROWS, values, len) == expected


def test_it_is_the_optimum_of_the_models():
    values = [0, 1, 2, 0, 1]
    assert cheapest_cover(ROWS, values, len) == optimal_partition(ROWS, values, lambda g: frequency_diverse(g, 2))[0]
    assert cheapest_cover(ROWS, None, len) == optimal_partition(ROWS, values, lambda g: k_anonymous(g, 2))[0]
