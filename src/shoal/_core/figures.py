"""Matplotlib figures without windows and global state, whose files depend on their content only."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shoal._core.optional import require
from shoal._core.outcome import reason_of
from shoal._core.private_files import open_beside, write_private_text
from shoal.errors import OutputError

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID = "#14232b", "#dbe3e7"
"""Colours of text and of grid lines."""
AFTER, BEFORE, BEFORE_EDGE = "#2a97a8", "#bfdfe4", "#7fb6bf"
"""Colours of the release and of the original, which is hatched so that both are distinct in grey; as on pages."""

_UNSIGNED = dict.fromkeys(("Creator", "Date", "Format", "Type"))
"""Metadata that is left out, so that equal figures give equal files."""
_FORMATS = (".svg", ".png")


def new_axes(width: float = 8, height: float = 5.5) -> Axes:
    """Create axes on a new figure of a given size in inches."""
    axes: Axes = _figure_class()(figsize=(width, height), layout="constrained").subplots()
    return axes


def new_figure(width: float, height: float) -> Figure:
    """Create a figure of a given size in inches, which notebooks display without any plotting mode."""
    # A subclass, because a plain figure has no display of its own in notebooks.
    figure: Figure = _shown_figure_class()(figsize=(width, height), layout="constrained")
    return figure


def _figure_class() -> Any:
    return require("matplotlib.figure", extra="plots", purpose="A chart").Figure


@cache
def _shown_figure_class() -> Any:
    class ShownFigure(_figure_class()):  # type: ignore[misc, unused-ignore]
        """A figure without a window that shows itself in notebooks."""

        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png", dpi=110)
            return written.getvalue()

    return ShownFigure


def write_picture(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of given axes as SVG or PNG, depending on the name; only the owner can read the file.

    Raises
    ------
    OutputError
        If the name has another ending, or the file cannot be written.
    """
    path = Path(path)
    check_picture_name(path)
    try:
        # Figures may reveal more than the release, so files are private.
        if path.suffix.lower() == ".svg":
            write_private_text(path, svg_file(ax))
        else:
            with open_beside(path, "wb") as file:
                _figure_of(ax).savefig(file, format="png", dpi=160, bbox_inches="tight")
    except OSError as error:
        raise OutputError(f"The picture cannot be written to '{path}': {reason_of(error)}.") from error


def check_picture_name(path: str | PathLike[str]) -> None:
    """Check that a name has the ending of a supported format.

    Raises
    ------
    OutputError
        If it does not.
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise OutputError(f"A picture is written as .svg or .png. Got '{path.name}'.")


def svg_element(ax: Axes) -> str:
    """Render the figure of given axes as an SVG element for a page."""
    text = svg_file(ax)
    return text[text.index("<svg") :]


def svg_file(ax: Axes) -> str:
    """Render the figure of given axes as an SVG file."""
    import matplotlib as mpl

    written = io.StringIO()
    # Text stays text, and identifiers are deterministic, so that equal figures give equal files.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shoal", "font.family": "sans-serif"}):
        _figure_of(ax).savefig(written, format="svg", bbox_inches="tight", metadata=_UNSIGNED)
    return written.getvalue()


def _figure_of(ax: Axes) -> Figure:
    return cast("Figure", ax.get_figure(root=True))
