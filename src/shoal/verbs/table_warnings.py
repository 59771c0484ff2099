"""Warnings about persons in a table of which releases are compared before one is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.engines.memory import InMemory
from shoal.findings import Remark, repeated_person, respelled_persons, uncounted_persons
from shoal.pipeline.input import OpenedData
from shoal.request.request import Request


def warn_of_persons(opened: OpenedData, rows: NDArray[np.int32], request: Request) -> tuple[Remark, ...]:
    """Return the warnings that every release of a table has if persons have several records that nothing protects.

    Parameters
    ----------
    opened : OpenedData
        The table, row by row, with all columns.
    rows : int32 array
        The rows that may be published.
    request : Request
        What is requested of the releases; columns may lack a role.
    """
    schema = request.schema
    # Any other column may identify the persons; none of them is published here.
    others = [name for name in opened.frame.columns if name not in (*schema.published, *schema.unit_columns)]
    hidden = replace(schema, direct_identifiers=tuple(others))
    persons = InMemory(opened=opened).persons(opened, rows, hidden)
    return (
        *repeated_person(persons),
        *respelled_persons(opened.raw_frame, schema),
        *uncounted_persons(request.requirement.to_list()),
    )
