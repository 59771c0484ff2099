"""Sentences about the cost of a release and the lower bound on it."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

from shoal._core.words import number


def gap_sentence(cost: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> str:
    """Describe the distance of a release's cost from its lower bound.

    Parameters
    ----------
    cost : mapping
        The certificate's "cost".
    source : mapping, optional
        The certificate's "input", with the number of records that were left out.
    """
    gap = _gap_of(cost)
    left = (source or {}).get("rows_left_out")
    if not source or not left:
        return gap
    said = "{left} of {rows} records were left out; what follows is about the others."
    return f"{said.format(left=number(left), rows=number(source['rows']))} {gap}"


def _gap_of(cost: Mapping[str, Any]) -> str:
    word, cells, _records, least = counted(cost)
    if cost.get("optimal"):
        return _optimum_sentence(cost)
    if cells is None or least is None:
        return "No lower bound on the cost is known for this request."
    in_stars = word == "stars"
    if cells <= least:
        said = (
            "Its {cells} stars are the fewest that any release with the same request can have."
            if in_stars
            else "Its {cells} recoded cells are the fewest that any release with the same request can have."
        )
    elif least == 0:
        said = (
            "It has {cells} stars; it was not possible to prove that any release needs more than none."
            if in_stars
            else ("It has {cells} recoded cells; it was not possible to prove that any release needs more than none.")
        )
    else:
        said = (
            (
                "Any release that meets the same request on this table has at least {least} stars; this one has "
                "{cells}, so it is within a factor of {ratio} of the best that can exist."
            )
            if in_stars
            else (
                "Any release that meets the same request on this table has at least {least} recoded cells; this "
                "one has {cells}, so it is within a factor of {ratio} of the best that can exist."
            )
        )
    near = _ratio(cells / least) if least else ""
    told = said.format(cells=number(cells), least=number(least), ratio=near)
    return told if in_stars or cells <= least or least == 0 else told + _loss_sentence(cost)


def _optimum_sentence(cost: Mapping[str, Any]) -> str:
    """Describe a proven optimum: of stars it is one of all costs, of recoded cells it is not one of the loss."""
    stars = cost.get("stars")
    recoded = cost.get("recoded_cells", stars)
    if not recoded or recoded == stars == (cost.get("lower_bound") or {}).get("stars", stars):
        return "This is proved optimal: no release that meets the same request on this table costs less."
    said = "Its {cells} recoded cells are the fewest that any release with the same request can have."
    return said.format(cells=number(recoded)) + _loss_sentence(cost)


def _loss_sentence(cost: Mapping[str, Any]) -> str:
    """Describe the lower bound of the loss, if it is above zero."""
    least = (cost.get("lower_bound") or {}).get("gcp", 0.0)
    # Rounded against the publisher: the bound down, the loss up.
    hundredths = floor(10_000 * least)
    if hundredths == 0:
        return ""
    # By other cells, the same groups lose less or more, so the bound is not theirs.
    nodes = cost["lower_bound"].get("gcp_nodes", ())
    cells = f"with nodes of these hierarchies in {', '.join(nodes)}" if nodes else "with intervals and sets"
    bound, lost = f"{hundredths / 100:.2f}", f"{ceil(10_000 * cost['gcp']) / 100:.2f}"
    return (
        f" On average a cell of any such release {cells} loses at least {bound}% of its precision (GCP); of "
        f"this one it loses {lost}%."
    )


def counted(cost: Mapping[str, Any]) -> tuple[str, int | None, int | None, int | None]:
    """Extract the counted cost of a release: its unit, the cells, the affected records, and the bound on the cells.

    The unit is stars, unless cells became intervals or sets: then it is cells that are published less precisely.
    """
    bound = cost.get("lower_bound") or {}
    if cost.get("recoded_cells", cost.get("stars")) == cost.get("stars"):
        return "stars", cost.get("stars"), cost.get("suppressed_tuples"), bound.get("stars")
    return "recoded cells", cost["recoded_cells"], cost.get("recoded_tuples"), bound.get("recoded_cells")


def _ratio(value: float) -> str:
    """Round a ratio above 1 up: an approximation factor must not look better than it is."""
    digits = 1000 if value < 2 else 100
    return number(ceil(value * digits) / digits)
