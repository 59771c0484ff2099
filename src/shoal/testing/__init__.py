"""For the tests of shoal and of what builds on it: slow oracles, strategies for `hypothesis`, reusable assertions.

`shoal.testing.strategies` needs the package `hypothesis`; the other modules need nothing.
"""

from shoal.testing import invariance, invariants, oracles, three_phase

__all__ = ["invariance", "invariants", "oracles", "three_phase"]
