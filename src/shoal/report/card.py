"""Show results as cards: as HTML without scripts in notebooks, and as plain text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap

from shoal.report.templating import template

_WIDTH = 100
"""Characters of a line of text."""
_wrap = partial(wrap, break_on_hyphens=False)


@dataclass(frozen=True, kw_only=True)
class Card:
    """The short description of a result: a title, figures and sentences."""

    title: str
    figures: Sequence[tuple[str, str]] = ()
    """Names and values."""
    sentences: Sequence[str] = ()
    """Explanations of the figures."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """A table by the titles of its columns; the first column names the rows."""
    caption: str = ""
    """Description of the rows."""
    picture: str = ""
    """An SVG element drawn by shoal."""
    private: str = ""
    """The reason why the card is for the publisher only; empty if it is public."""

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table."""
        return list(zip(*self.columns.values(), strict=True))

    def html(self) -> str:
        """Render it for the output of a notebook's cell."""
        return template("notebook.html.j2").render(card=self)

    def text(self) -> str:
        """Write it as plain text, without the picture."""
        lines = [self.title, *_wrap(f"Private. {self.private}" if self.private else "", _WIDTH)]
        lines += [""] if self.figures else []
        wide = max((len(name) for name, _ in self.figures), default=0)
        for name, value in self.figures:
            lines += _wrap(f"{name:{wide}}  {value}", _WIDTH, subsequent_indent=" " * (wide + 2))
        for sentence in self.sentences:
            lines += ["", *_wrap(sentence, _WIDTH)]
        if self.columns:
            cells = [tuple(self.columns), *self.rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
            indent = sum(widths) + 2 * len(widths)
            lines += ["", f"{self.caption}:"] if self.caption else [""]
            for row in cells:
                line = "".join(f"{cell:{size}}  " for cell, size in zip(row, widths, strict=False)) + row[-1]
                lines += _wrap(line, max(_WIDTH, indent + 30), subsequent_indent=" " * indent)
        return "\n".join("".join(one if one.isprintable() else " " for one in line).rstrip() for line in lines)


class HasCard(ABC):
    """A result that is shown as a card."""

    @abstractmethod
    def _card(self) -> Card:
        """Make the card."""

    def _repr_html_(self) -> str:
        return self._card().html()

    def summary(self) -> str:
        """Describe the result in plain text, with no more than its card in a notebook shows."""
        return self._card().text()
