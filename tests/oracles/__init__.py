"""What tests compare shoal with: slow oracles, strategies for `hypothesis`, reusable assertions."""
