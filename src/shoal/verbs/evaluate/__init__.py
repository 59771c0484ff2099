"""Evaluation of a request on a table: proposals, what is feasible, and what the publisher should know first."""

from shoal.verbs.evaluate.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
