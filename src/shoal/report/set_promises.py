"""Explain what models promise if they hold for sets of quasi-identifiers, each set by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal._core.words import listed, number

_SCOPES = ("knows", "columns")
"""The keys of a requested model that state its sets."""


def without_sets(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a requested model without its sets."""
    return {name: value for name, value in request.items() if name not in _SCOPES}


def name_sets(request: Mapping[str, Any]) -> str:
    """Name the sets of a requested model, as the end of its title; empty if it has none."""
    if "columns" in request:
        return ", " + f"for {listed(request['columns'])}"
    if "knows" in request:
        return ", " + (
            "for each quasi-identifier"
            if request["knows"] == 1
            else f"for any {number(request['knows'])} quasi-identifiers"
        )
    return ""


def promise_of_sets(request: Mapping[str, Any], promised: str) -> str:
    """Explain the guarantee of a requested model for its sets of quasi-identifiers.

    Parameters
    ----------
    request : mapping
        One entry of the certificate's "requested".
    promised : str
        The guarantee for groups, which is returned if the request has no sets.
    """
    if not request.keys() & set(_SCOPES):
        return promised
    known = listed(request["columns"]) if "columns" in request else _any_of(request["knows"])
    # k-anonymity by itself has a sentence of its own.
    if without_sets(request).keys() == {"model", "k"}:
        said = (
            (
                "Every record has the same published values of {known} as at least one other: whoever knows "
                "these of a person cannot tell which of {k} or more it is."
            )
            if request["k"] - 1 == 1
            else (
                "Every record has the same published values of {known} as at least {others} others: whoever "
                "knows these of a person cannot tell which of {k} or more it is."
            )
        )
        return said.format(known=known, others=number(request["k"] - 1), k=number(request["k"]))
    return f"For groups of the records with the same published values of {known}: {promised}"


def _any_of(count: int) -> str:
    return "any single quasi-identifier" if count == 1 else f"any {number(count)} of the quasi-identifiers"


def describe_known(requested: Sequence[Mapping[str, Any]]) -> str | None:
    """Describe what the adversary of a request with sets knows; None if there are no sets."""
    counts = [one["knows"] for one in requested if "knows" in one]
    sets = list(dict.fromkeys(tuple(one["columns"]) for one in requested if "columns" in one))
    known = [f"({listed(columns)})" for columns in sets]
    if counts:
        known.append(_any_of(counts[0]))
    return listed(known, "or") if known else None


def figures_of_sets(request: Mapping[str, Any], achieved: Mapping[str, Any]) -> Mapping[str, Any]:
    """Select the achieved figures of the sets of a requested model; all figures if it has no sets."""
    figures: Mapping[str, Any] = achieved.get("sets", achieved)
    if "columns" in request:
        return next((one for one in figures.get("named", ()) if one["columns"] == request["columns"]), figures)
    return figures if "knows" in request else achieved


def fails_model(request: Mapping[str, Any], failures: Sequence[Mapping[str, Any]]) -> bool:
    """Check whether a requested model is among the failures of an audit, for one of its sets or as a whole.

    Failures are of the parts of a model: a part that bounds the size of groups has its k, and no part states whom the
    model is about.
    """
    plain = {name: value for name, value in without_sets(request).items() if name != "of"}
    for failure in failures:
        part = {name: value for name, value in failure["model"].items() if name != "of"}
        failed = part == plain or (part["model"] == "k-anonymity" and part["k"] == plain.get("k"))
        columns = failure.get("columns")
        of_set = columns is None or columns == request.get("columns") or len(columns) == request.get("knows")
        if failed and of_set:
            return True
    return False
