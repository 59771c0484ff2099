"""Figures of matplotlib as objects: no window, no state, and files that depend on nothing but what is drawn."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shoal.errors import OutputError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_picture_name", "new_axes", "svg_element", "svg_file", "write_picture"]

_UNSIGNED = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_FORMATS = (".svg", ".png")


def new_axes(width: float = 8, height: float = 5.5) -> Axes:
    """Return axes on a figure of their own, of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def write_picture(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of some axes as SVG or PNG, whichever the name ends in.

    Raises
    ------
    OutputError
        The name ends in something else, or the file cannot be written.
    """
    path = Path(path)
    check_picture_name(path)
    try:
        if path.suffix.lower() == ".svg":
            path.write_text(svg_file(ax), encoding="utf-8")
        else:
            _figure_of(ax).savefig(path, dpi=160, bbox_inches="tight")
    except OSError as error:
        raise OutputError(f"The picture cannot be written to '{path}': {error.strerror}.") from error


def check_picture_name(path: str | PathLike[str]) -> None:
    """Check that a name ends in what pictures can be written as.

    Raises
    ------
    OutputError
        Where it does not.
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise OutputError(f"A picture is written as .svg or .png. Got '{path.name}'.")


def svg_element(ax: Axes) -> str:
    """Return the figure of some axes as one SVG element, to stand within a page."""
    text = svg_file(ax)
    return text[text.index("<svg") :]


def svg_file(ax: Axes) -> str:
    """Return the figure of some axes as an SVG file."""
    import matplotlib as mpl

    written = io.StringIO()
    # Text stays text, and nothing depends on the day: the same figure gives the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shoal", "font.family": "sans-serif"}):
        _figure_of(ax).savefig(written, format="svg", bbox_inches="tight", metadata=_UNSIGNED)
    return written.getvalue()


def _figure_of(ax: Axes) -> Figure:
    return cast("Figure", ax.get_figure(root=True))
