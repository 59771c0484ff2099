"""Check that a request for differential privacy leaves nothing to the records that may not stay."""

from __future__ import annotations

from shoal._core.quoting import listed_names
from shoal._core.validation import exact_fraction
from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.models import DifferentialPrivacy
from shoal.models.rationals import json_number
from shoal.request.request_fields import RequestFields
from shoal.table import Schema

_NAME = "Differential privacy"


def check_sampling(request: RequestFields, schema: Schema, model: DifferentialPrivacy) -> None:
    """Check that the proof of differential privacy holds for a request that asks for it.

    Parameters
    ----------
    request : RequestFields
    schema : Schema
        Its roles, resolved for the columns of the table.
    model : DifferentialPrivacy
        The requested model.

    Raises
    ------
    ParameterError
        If it would not hold.
    """
    # Every published column is part of the classes.
    if schema.sensitive or schema.insensitive:
        raise ParameterError(
            f"{_NAME} makes no difference between columns: name all that are published with ",
            Suggestion("quasi_identifiers"),
            ".",
        )
    # The published values must not depend on the table.
    for key, coarsening in (request.coarsen or {}).items():
        if not coarsening.streams:
            raise ParameterError(
                f"The coarsening of {listed_names(key)} depends on the records, but {_NAME.lower()} needs one that is "
                "fixed before: such as a width or cuts of bins, or a level of a hierarchy."
            )
    drawn = exact_fraction(model.level_epsilon) > 0
    if request.hierarchies and not drawn:
        raise ParameterError(
            f"{_NAME} publishes each column at one level: fix it with ",
            Suggestion("coarsen"),
            ", or have it drawn for a part of epsilon, with ",
            Suggestion("level_epsilon", json_number(exact_fraction(model.epsilon) / 10), owner="DifferentialPrivacy"),
            ".",
        )
    if drawn and not request.hierarchies:
        raise ParameterError(
            "A part of epsilon is for drawing levels of hierarchies: name them with ",
            Suggestion("hierarchies"),
            ", or leave out ",
            Suggestion("level_epsilon", owner="DifferentialPrivacy"),
            ".",
        )
    for name in request.hierarchies or ():
        if any(name in ((key,) if isinstance(key, str) else key) for key in request.coarsen or ()):
            raise ParameterError(
                f"The level of '{name}' is drawn if it has a hierarchy, and fixed if it is coarsened. Choose one."
            )
