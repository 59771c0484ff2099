"""Evaluation of a request on a table: proposals, what is feasible, and what the publisher should know first."""

__all__: list[str] = []
