"""What users say of published cells that do not say it themselves: hierarchies, and how values were coarsened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from shoal.cli.command import option
from shoal.errors import ColumnError, UsageError, did_you_mean, near_matches
from shoal.request.texts import KINDS, columns_and_words, names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.hierarchy import Hierarchy

__all__ = ["Cells", "Nodes", "cells_of", "named_by_certificate", "trees_of_cells"]

Nodes = Annotated[
    list[str] | None,
    option(
        "--hierarchy",
        metavar="NAME=FILE",
        help="The hierarchy of a column whose cells are its nodes: a line per value, from the value to the root; "
        "repeat it for other columns.",
    ),
]
Cells = Annotated[
    list[str] | None,
    option(
        "--cells",
        metavar="NAME=HOW",
        help="What the cells of a column are, where neither they nor a certificate say it: values (as they stand), "
        "order:A,B,C (all values in their order), or how they were coarsened, as --coarsen has it: prefix:3, "
        "date:year, round:5, top:90, ...",
    ),
]


def named_by_certificate(source: str) -> tuple[str, ...]:
    """Return the quasi-identifiers of a release by the certificate in its folder, or beside its file; empty if none."""
    from shoal.verification.published_folder import columns_with_role, find_published

    _, certificate = find_published(source)
    return columns_with_role(certificate, "quasi_identifiers")


_HOW = (
    "Write values (as they stand), order:A,B,C (all values in their order), or how they were coarsened: "
    f"{', '.join(KINDS.values())}."
)


def trees_of_cells(given: Sequence[str] | None, names: Sequence[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns, read from their files.

    Raises
    ------
    UsageError
        Where a column or a file is not there.
    """
    from shoal.hierarchy import as_hierarchy

    said = columns_and_words("--hierarchy", given) or {}
    _check("--hierarchy", said, names)
    return {name: as_hierarchy(f"The hierarchy of '{name}'", path) for name, path in said.items()}


def cells_of(given: Sequence[str] | None, names: Sequence[str]) -> dict[str, object]:
    """Return what is said of the cells of columns, as `shoal.verification.Meaning.of` takes it.

    Raises
    ------
    UsageError
        Where a column is not there, or the words mean nothing.

    Examples
    --------
    >>> cells_of(["size=order:S,M,L", "zip=values"], ["size", "zip"])
    {'size': ('S', 'M', 'L'), 'zip': 'values'}
    """
    said = columns_and_words("--cells", given) or {}
    _check("--cells", said, names)
    return {name: _cells(name, words) for name, words in said.items()}


def _cells(name: str, words: str) -> object:
    kind, _, rest = words.partition(":")
    if words == "values":
        return "values"
    if kind == "order":
        order = names_in("--cells", [rest]) if rest else None
        if order is None:
            raise UsageError(f"--cells {name}=order:... takes all values in their order, separated by commas.")
        return order
    if kind == "regions":
        raise UsageError(
            f"--cells {name}=regions says too little: give --hierarchy {name}=FILE, place;region;* a line."
        )
    if kind not in KINDS:
        near = did_you_mean(kind, ("values", "order", *KINDS))
        raise UsageError(" ".join(filter(None, (f"--cells {name}={words} does not say what cells are.", near, _HOW))))
    try:
        from shoal.request.coarsening_words import coarsenings_of

        (coarsening,) = coarsenings_of({name: words}).values()
    except UsageError as error:
        raise UsageError(str(error).replace("--coarsen", "--cells")) from error
    return coarsening


def _check(option: str, said: Mapping[str, str], names: Sequence[str]) -> None:
    for name in said:
        if name not in names:
            raise ColumnError(f"{option} names '{name}', which is no quasi-identifier. {near_matches(name, names)}")
