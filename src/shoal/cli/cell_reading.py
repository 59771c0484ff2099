"""Options that declare the meaning of published cells: hierarchies, and earlier coarsenings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from shoal.cli.command import option
from shoal.errors import ColumnError, UsageError, did_you_mean, near_matches
from shoal.request.texts import KINDS, columns_and_words, names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.hierarchy import Hierarchy

Nodes = Annotated[
    list[str] | None,
    option(
        "--hierarchy",
        metavar="NAME=FILE",
        help="The hierarchy of a column whose cells are its nodes: one line per value, from the value to the root; "
        "repeat it for other columns.",
    ),
]
Cells = Annotated[
    list[str] | None,
    option(
        "--cells",
        metavar="NAME=HOW",
        help="The meaning of the cells of a column, if neither they nor a certificate determine it: values (as "
        "they stand), order:A,B,C (all values in their order), or a coarsening in the syntax of --coarsen: prefix:3, "
        "date:year, round:5, top:90, ...",
    ),
]


def named_by_certificate(source: str) -> tuple[str, ...]:
    """Return the quasi-identifiers in the certificate of a release, in its folder or next to its file; may be empty."""
    from shoal.verification.published_folder import columns_with_role, find_published

    _, certificate = find_published(source)
    return columns_with_role(certificate, "quasi_identifiers")


_HOW = (
    "Write values (as they stand), order:A,B,C (all values in their order), or a coarsening: "
    f"{', '.join(KINDS.values())}."
)


def trees_of_cells(given: Sequence[str] | None, names: Sequence[str]) -> dict[str, Hierarchy]:
    """Read the hierarchies of columns from their files.

    Raises
    ------
    UsageError
        If a column or a file does not exist.
    """
    from shoal.hierarchy import as_hierarchy

    given_files = columns_and_words("--hierarchy", given) or {}
    _check("--hierarchy", given_files, names)
    return {name: as_hierarchy(f"The hierarchy of '{name}'", path) for name, path in given_files.items()}


def cells_of(given: Sequence[str] | None, names: Sequence[str]) -> dict[str, object]:
    """Parse the declared meanings of columns, in the form that `shoal.verification.Meaning.of` accepts.

    Raises
    ------
    UsageError
        If a column does not exist, or its meaning is invalid.

    Examples
    --------
    >>> cells_of(["size=order:S,M,L", "zip=values"], ["size", "zip"])
    {'size': ('S', 'M', 'L'), 'zip': 'values'}
    """
    declared = columns_and_words("--cells", given) or {}
    _check("--cells", declared, names)
    return {name: _cells(name, words) for name, words in declared.items()}


def _cells(name: str, words: str) -> object:
    kind, _, rest = words.partition(":")
    if words in ("values", KINDS["since"]):
        return "values"
    if kind == "order":
        order = names_in("--cells", [rest]) if rest else None
        if order is None:
            raise UsageError(f"--cells {name}=order:... takes all values in their order, separated by commas.")
        return order
    # Regions are not determined by a name, so their hierarchy is needed.
    if kind == "regions":
        raise UsageError(
            f"--cells {name}=regions is incomplete: give --hierarchy {name}=FILE, one line place;region;* per place."
        )
    if kind not in KINDS:
        near = str(did_you_mean(kind, ("values", "order", *KINDS)))
        wrong = f"--cells {name}={words} does not declare a meaning of cells."
        raise UsageError(" ".join(filter(None, (wrong, near, _HOW))))
    try:
        from shoal.request.coarsening_words import coarsenings_of

        (coarsening,) = coarsenings_of({name: words}).values()
    except UsageError as error:
        raise UsageError(str(error).replace("--coarsen", "--cells")) from error
    return coarsening


def _check(option: str, declared: Mapping[str, str], names: Sequence[str]) -> None:
    for name in declared:
        if name not in names:
            raise ColumnError(f"{option} names '{name}', which is not a quasi-identifier. {near_matches(name, names)}")
