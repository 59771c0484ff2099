"""Forms that are refused: their page again, with everything that was typed and what is wrong beside its field.

Templates know nothing of this. The page of the form is rendered as usual, the form that was sent is found in it by its
address and its hidden fields, its fields get back what was sent, and the message is put in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from markupsafe import Markup

from shoal.errors import UsageError
from shoal.studio.words import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal._messages import Part

__all__ = ["FieldError", "Sent", "refused_page"]

_BESIDE = Markup('<span class="wrong beside" id="refused" role="alert">{}</span>')
"""What is wrong with a field, behind it."""
_ABOVE = Markup(
    '<section class="warning" id="refused" role="alert" tabindex="-1" autofocus><p><strong>That does not work.'
    "</strong> {}</p></section>"
)
"""What is wrong with a form whose field is not known, at its start."""
_NOT_TYPED = ("hidden", "submit", "checkbox", "radio", "file")


class FieldError(UsageError):
    """A field of a form has a value that it cannot have.

    Parameters
    ----------
    *parts : str, or part of a message
        The message.
    field : str, optional
        The field, by its name in the form.
    """

    def __init__(self, *parts: Part, field: str | None) -> None:
        super().__init__(*parts)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A form that was sent."""

    path: str
    """Where it was sent."""
    form: Mapping[str, str]
    """Its fields."""


@dataclass
class _Tag:
    """A tag of a page: what it is, and where its text starts and ends."""

    name: str
    attributes: dict[str, str | None]
    start: int
    end: int
    after: int
    """Where something can be put behind it: behind the last of its options, for a list."""

    @property
    def field(self) -> str:
        return self.attributes.get("name") or ""

    @property
    def kind(self) -> str:
        return (self.attributes.get("type") or "text") if self.name == "input" else self.name

    @property
    def value(self) -> str:
        return self.attributes.get("value") or ""

    def text(self) -> str:
        """Return the tag with its attributes as they are now."""
        words = (str(Markup(' {}="{}"').format(key, one or "")) for key, one in self.attributes.items())
        return f"<{self.name}{''.join(words)}>"


@dataclass
class _Form:
    """A form of a page, with its fields and with the folded parts of the page that it is in."""

    tag: _Tag
    folds: list[_Tag]
    fields: list[_Tag] = field(default_factory=list)
    options: list[tuple[_Tag, _Tag]] = field(default_factory=list)
    """The options of lists, each with its list."""

    def is_the_one(self, sent: Sent) -> bool:
        """Whether it is the form that was sent: several may have an address, with other hidden fields."""
        hidden = [one for one in self.fields if one.kind == "hidden"]
        same = all(sent.form.get(one.field, one.value) == one.value for one in hidden)
        return self.tag.attributes.get("method") == "post" and self.tag.attributes.get("action") == sent.path and same

    def wrong_field(self, named: str | None) -> _Tag | None:
        """Return the field that an error names; if it names none of them, the only one that is typed or chosen."""
        own = [one for one in self.fields if one.field and one.kind != "hidden"]
        typed = [one for one in own if one.kind not in _NOT_TYPED]
        found = next((one for one in own if one.field == named), None)
        return typed[0] if found is None and len(typed) == 1 else found


class _Reader(HTMLParser):
    """Finds the forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._lines = [0]
        for line in page.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.forms: list[_Form] = []
        self.content = 0
        """Where the content of the page starts."""
        self._folds: list[_Tag] = []
        self._form: _Form | None = None
        self._list: _Tag | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        end = self._at() + len(self.get_starttag_text() or "")
        found = _Tag(tag, dict(attrs), self._at(), end, end)
        if tag == "main":
            self.content = end
        elif tag == "details":
            self._folds.append(found)
        elif tag == "form":
            self._form = _Form(found, [*self._folds])
            self.forms.append(self._form)
        elif self._form is not None and tag in ("input", "select"):
            self._form.fields.append(found)
            self._list = found if tag == "select" else self._list
        elif self._form is not None and self._list is not None and tag == "option":
            self._form.options.append((found, self._list))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "details" and self._folds:
            self._folds.pop()
        elif tag == "select" and self._list is not None:
            self._list.after = self._at() + len("</select>")
            self._list = None

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column


def refused_page(page: str, sent: Sent, message: str | None, *, named: str | None = None) -> str:
    """Return the page of a form with what was typed and what is wrong with it.

    Parameters
    ----------
    page : str
        The page that has the form, as it is usually shown.
    sent : Sent
        What was sent. If the page has no such form (it was made for other columns, say), nothing is filled in.
    message : str, optional
        What is wrong; None if the page says it already.
    named : str, optional
        The field that is wrong.
    """
    reader = _Reader(page)
    fitting = [one for one in reader.forms if one.is_the_one(sent)]
    form = max(fitting, key=lambda one: sum(tag.field in sent.form for tag in one.fields), default=None)
    edits: list[tuple[int, int, str]] = []
    wrong = None if form is None or message is None else form.wrong_field(named)
    if wrong is not None:
        edits.append((wrong.after, wrong.after, str(_BESIDE.format(visible(message)))))
        wrong.attributes |= {"aria-invalid": "true", "aria-describedby": "refused", "autofocus": None}
    elif message is not None:
        place = reader.content if form is None else form.tag.end
        edits.append((place, place, str(_ABOVE.format(visible(message)))))
    if form is not None:
        _fill(form, sent.form)
        for tag in form.folds:
            tag.attributes["open"] = None
        tags = [*form.folds, *form.fields, *(option for option, _ in form.options)]
        edits += [(tag.start, tag.end, tag.text()) for tag in tags]
    for start, end, text in sorted(edits, reverse=True):
        page = page[:start] + text + page[end:]
    return page


def _fill(form: _Form, given: Mapping[str, str]) -> None:
    """Give the fields of a form what was sent."""
    for one in form.fields:
        if not one.field or one.kind in ("hidden", "select", "submit"):
            continue
        if one.kind == "checkbox" or (one.kind == "radio" and one.field in given):
            one.attributes.pop("checked", None)
            if given.get(one.field) == one.value or (one.kind == "checkbox" and one.field in given):
                one.attributes["checked"] = None
        elif one.kind != "radio":
            one.attributes["value"] = given.get(one.field, one.value)
    for option, chosen_from in form.options:
        if chosen_from.field in given:
            option.attributes.pop("selected", None)
            if option.value == given[chosen_from.field]:
                option.attributes["selected"] = None
