from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.verbs.explore.lattice import lattice_search


class Losses(dict[tuple[int, ...], float]):
    """Losses of settings, which notes in what order they are asked for."""

    def __init__(self, losses: dict[tuple[int, ...], float]) -> None:
        super().__init__(losses)
        self.asked: list[tuple[int, ...]] = []

    def of(self, node: tuple[int, ...]) -> float:
        self.asked.append(node)
        return self[node]


@st.composite
def lattices(draw: st.DrawFn) -> tuple[list[int], Losses]:
    heights = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    nodes = [()]
    for height in heights:
        nodes = [(*node, rung) for node in nodes for rung in range(height + 1)]
    values = st.one_of(st.integers(0, 20).map(float), st.just(math.inf))
    losses = draw(st.lists(values, min_size=len(nodes), max_size=len(nodes)))
    return heights, Losses(dict(zip(nodes, losses, strict=True)))


@settings(max_examples=150, deadline=None)
@given(lattices())
def test_with_patience_every_setting_is_tried_once(lattice: tuple[list[int], Losses]) -> None:
    heights, losses = lattice
    assert lattice_search(heights, losses.of, patience=10_000)
    assert sorted(losses.asked) == sorted(losses)
    assert losses.asked[0] == (0,) * len(heights)


@settings(max_examples=150, deadline=None)
@given(lattices(), st.integers(0, 5))
def test_it_is_deterministic_and_knows_whether_it_tried_all(lattice: tuple[list[int], Losses], patience: int) -> None:
    heights, losses = lattice
    complete = lattice_search(heights, losses.of, patience=patience)
    assert len(set(losses.asked)) == len(losses.asked)
    assert complete == (len(losses.asked) == len(losses))
    # The same losses are asked for in the same order.
    again = Losses(dict(losses))
    lattice_search(heights, again.of, patience=patience)
    assert again.asked == losses.asked


@settings(max_examples=150, deadline=None)
@given(lattices())
def test_without_patience_the_end_is_a_local_optimum(lattice: tuple[list[int], Losses]) -> None:
    heights, losses = lattice
    lattice_search(heights, losses.of, patience=0)
    tried = {node: losses[node] for node in losses.asked}
    # Of each ladder, the two rungs above and below one of the best settings were looked at.
    assert any(
        all(
            (*node[:at], rung, *node[at + 1 :]) in tried
            for at, height in enumerate(heights)
            for rung in range(max(node[at] - 2, 0), min(node[at] + 2, height) + 1)
        )
        for node, loss in tried.items()
        if loss == min(tried.values())
    )


def test_it_climbs_several_ladders_one_after_the_other() -> None:
    heights = [5, 5, 5]
    target = (4, 2, 3)
    nodes = [(a, b, c) for a in range(6) for b in range(6) for c in range(6)]
    losses = Losses({node: float(sum(abs(x - y) for x, y in zip(node, target, strict=True))) for node in nodes})
    assert not lattice_search(heights, losses.of, patience=0)
    assert target in losses.asked
    assert len(losses.asked) < 40


def test_what_a_loss_raises_ends_the_search() -> None:
    def fails(node: tuple[int, ...]) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lattice_search([1], fails, patience=1)
