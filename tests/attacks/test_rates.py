"""Success rates and their intervals, to the digits that are known."""

from __future__ import annotations

import pytest

from shoal.attacks import Rate, residual
from shoal.attacks.attack_result import _residual


@pytest.mark.parametrize(("successes", "centre", "half"), [(850, 0.849, 0.022), (0, 0.002, 0.002)])
def test_wilson(successes, centre, half):
    rate = Rate(successes=successes, attempts=1000)
    assert (round(rate.centre, 3), round(rate.half_width, 3)) == (centre, half)
    assert rate.low <= rate.rate <= rate.high


def test_the_residual():
    found = _residual(0.9, 0.02, 0.85, 0.02)
    assert found["rate"] == pytest.approx(1 / 3, abs=5e-4)
    assert (found["high"] - found["low"]) / 2 == pytest.approx(0.16, abs=5e-4)
    assert residual(Rate(successes=5, attempts=10), Rate(successes=10, attempts=10))["rate"] < 0


def test_nothing_and_everything():
    assert Rate(successes=0, attempts=0).to_dict() == {"rate": None, "low": 0.0, "high": 1.0}
    assert Rate(successes=3, attempts=3).high == 1.0
    assert Rate(successes=3, attempts=3).low < 1.0
