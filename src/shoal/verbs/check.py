"""Entry point `check_release`: stop a pipeline if a published table is not what its spec requests."""

from __future__ import annotations

from os import PathLike
from typing import TypeVar

from shoal.errors import ParameterError, ReleaseUnsafeError
from shoal.io import open_frame
from shoal.request.request import Request
from shoal.table import PSEUDONYM
from shoal.verbs.audit import audit

_Frame = TypeVar("_Frame")


def check_release(frame: _Frame, spec: Request | str | PathLike[str]) -> _Frame:
    """Return a published table unchanged if it satisfies its spec, or raise an error.

    The columns must be those that the spec publishes, and the groups must satisfy its models. A table does not show
    which records are of one person: if the spec names a person, records are counted instead, unless they are linked.

    Parameters
    ----------
    frame : frame
        The published table, as for `audit`.
    spec : Request or path
        The request, or its spec file.

    Returns
    -------
    frame
        The same object, so that the check can be a step of a chain: `frame.pipe(shoal.check_release, "release.toml")`.

    Raises
    ------
    ReleaseUnsafeError
        The table has another column, or fails a model.
    UsageError
        The call or the table is invalid, such as a missing column.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": ["20-29", "20-29", "30-39"]})
    >>> check_release(table, Request(quasi_identifiers=["age"], k=2))
    Traceback (most recent call last):
    shoal.errors.ReleaseUnsafeError: The table fails k-anonymity with k = 2 in 1 of 2 groups, with 1 records.
    """
    # A file is read again for each check, because it may have changed.
    request = spec if isinstance(spec, Request) else Request.from_toml(spec)
    if request.privacy is None and request.k is request.l is request.t is None:
        raise ParameterError("The spec requests no model, so there is nothing to check.")
    columns = list(open_frame(frame).frame.columns)
    schema = request.schema
    # With "rest" any other column may be published, but none that identifies people.
    hidden = {*schema.direct_identifiers, *schema.unit_columns}
    allowed = {*schema.published, *([PSEUDONYM] if request.link else ())}
    odd = [name for name in columns if name in hidden or (request.insensitive != "rest" and name not in allowed)]
    if odd:
        listed = ", ".join(f"'{name}'" for name in odd)
        raise ReleaseUnsafeError(f"The table has columns that its spec does not publish: {listed}.")
    # The same measurement as that of any table, with the models and the meaning of cells of the spec.
    found = audit(
        frame,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        privacy=request.models,
        star=request.star,
        hierarchies=request.hierarchies,
        dates=request.dates,
        decimal=request.decimal,
        qi_sets=request.qi_sets,
        knows=request.knows,
        person=PSEUDONYM if request.link else None,
        link=request.link or None,
    )
    if found.violations:
        raise ReleaseUnsafeError(" ".join(found.violations))
    return frame
