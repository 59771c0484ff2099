"""The tests of shoal, and the oracles that they compare it with."""
