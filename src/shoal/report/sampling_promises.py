"""Sentences about differential privacy by sampling, for people who do not know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal._core.words import number


def promise_of_sampling(request: Mapping[str, Any]) -> str:
    """Explain the guarantee of a requested model that publishes a sample; see `shoal.report.promise`."""
    return (
        f"Every published record is one of at least {number(request['k'])} that are equal in all columns. The "
        "procedure is differentially private: whether a record is in the original table changes the probability "
        f"of any release by a factor of at most e^{number(request['epsilon'])}, except with a probability of "
        f"{request['delta']:g}."
    )


def reservations_of_sampling(requested: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the limits of differential privacy by sampling, given the requested models."""
    paid = next((request for request in requested if "level_epsilon" in request), None)
    of_records = all(request.get("of") != "one_record_each" for request in requested)
    several = "Each record is taken for another person: for a person with several records the factor is larger."
    return [
        (
            "The guarantee is one of the procedure: each record stayed by a draw of the operating system, and "
            "classes that were too small were left out. Readers can check the sizes of the classes, not the "
            "draw."
        ),
        ("It holds if the columns, their types and how they were made coarser were fixed without looking at the table.")
        if paid is None
        else (
            "It holds if the columns, their types and their hierarchies were fixed without looking at the "
            "table. Only the levels depend on it: they were drawn, good ones with a higher probability. Of the "
            f"epsilon of {number(paid['epsilon'])}, {number(paid['level_epsilon'])} pays for that, and the rest "
            "for the draw of the records."
        ),
        *([several] if of_records else []),
        ("It counts one release. Each further release of the same people adds its own factor and probability."),
    ]
