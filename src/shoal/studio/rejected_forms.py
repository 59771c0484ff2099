"""Rejected forms: render their page again with the submitted values and an error message at the invalid field.

Templates are not involved. The page is rendered as usual, the submitted form is found in it by its address and its
hidden fields, its fields are filled with the submitted values, and the message is inserted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markupsafe import Markup

from shoal._core.words import visible
from shoal._messages import Part
from shoal.errors import UsageError

_BESIDE = Markup('<span class="wrong beside" id="refused" role="alert">{}</span>')
"""Error message behind the invalid field."""
_ABOVE = Markup(
    '<section class="warning" id="refused" role="alert" tabindex="-1" autofocus><p><strong>{}.</strong> {}</p>'
    "</section>"
)
"""Error message at the start of a form, if the invalid field is unknown."""
_NOT_TYPED = ("hidden", "submit", "checkbox", "radio", "file")


class FieldError(UsageError):
    """A field of a form has an invalid value.

    Parameters
    ----------
    *parts : str, or part of a message
        The message.
    field : str, optional
        The name of the field in the form.
    """

    def __init__(self, *parts: Part, field: str | None) -> None:
        super().__init__(*parts)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class SubmittedForm:
    """A submitted form."""

    path: str
    """The path that it was submitted to."""
    form: Mapping[str, str]
    """The values of its fields, by name."""


@dataclass
class _Tag:
    """A start tag in the text of a page, with its position."""

    name: str
    attributes: dict[str, str | None]
    start: int
    end: int
    after: int
    """Position at which a message can be inserted: after the tag or, for a list, after its last option."""
    folds: list[_Tag] = field(default_factory=list)
    """The collapsible parts of the page around it."""

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
        """Serialize the tag with its current attributes."""
        words = (str(Markup(' {}="{}"').format(key, one or "")) for key, one in self.attributes.items())
        return f"<{self.name}{''.join(words)}>"


@dataclass
class _Form:
    """A form in a page, with its fields."""

    tag: _Tag
    fields: list[_Tag] = field(default_factory=list)
    options: list[tuple[_Tag, _Tag]] = field(default_factory=list)
    """Options of lists, each paired with its list."""

    def is_the_one(self, sent: SubmittedForm) -> bool:
        """Check whether this is the submitted form; forms with the same address differ in their hidden fields."""
        hidden = [one for one in self.fields if one.kind == "hidden"]
        same = all(sent.form.get(one.field, one.value) == one.value for one in hidden)
        return self.tag.attributes.get("method") == "post" and self.tag.attributes.get("action") == sent.path and same

    def wrong_field(self, named: str | None) -> _Tag | None:
        """Find the field that an error names; if it names none, return the only visible field, if there is only one."""
        own = [one for one in self.fields if one.field and one.kind != "hidden"]
        typed = [one for one in own if one.kind not in _NOT_TYPED]
        found = next((one for one in own if one.field == named), None)
        return typed[0] if found is None and len(typed) == 1 else found


class _Reader(HTMLParser):
    """HTML parser that collects the forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        # The parser reports lines and columns; the start of each line turns them into positions.
        self._lines = [0]
        for line in page.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.forms: list[_Form] = []
        self.content = 0
        """Position at which the main content of the page starts."""
        self._folds: list[_Tag] = []
        self._form: _Form | None = None
        self._list: _Tag | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        end = self._at() + len(self.get_starttag_text() or "")
        found = _Tag(tag, dict(attrs), self._at(), end, end, [*self._folds])
        if tag == "main":
            self.content = end
        elif tag == "details":
            self._folds.append(found)
        elif tag == "form":
            self._form = _Form(found)
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


def refused_page(page: str, sent: SubmittedForm, message: str | None, *, named: str | None = None) -> str:
    """Insert submitted values and an error message into a page.

    Parameters
    ----------
    page : str
        The rendered page that contains the form.
    sent : SubmittedForm
        The submitted form. If the page has no such form, for example because the columns have changed, nothing is
        filled in.
    message : str, optional
        The error message; None if the page shows it already.
    named : str, optional
        The name of the invalid field.
    """
    reader = _Reader(page)
    fitting = [one for one in reader.forms if one.is_the_one(sent)]
    # Of several such forms, the one that shares the most fields was submitted.
    form = max(fitting, key=lambda one: sum(tag.field in sent.form for tag in one.fields), default=None)
    edits: list[tuple[int, int, str]] = []
    wrong = None if form is None or message is None else form.wrong_field(named)
    # The message goes behind the invalid field or, if that is unknown, to the start of the form or page.
    if wrong is not None:
        edits.append((wrong.after, wrong.after, str(_BESIDE.format(visible(message)))))
        wrong.attributes |= {"aria-invalid": "true", "aria-describedby": "refused", "autofocus": None}
    elif message is not None:
        place = reader.content if form is None else form.tag.end
        edits.append((place, place, str(_ABOVE.format("That does not work", visible(message)))))
    if form is not None:
        _fill(form, sent.form)
        # Unfold the parts around the field or the form, or the message would be hidden.
        folds = (form.tag if wrong is None else wrong).folds
        for tag in folds:
            tag.attributes["open"] = None
        tags = [*folds, *form.fields, *(option for option, _list in form.options)]
        edits += [(tag.start, tag.end, tag.text()) for tag in tags]
    # From the end to the start, so that earlier positions stay valid.
    for start, end, text in sorted(edits, reverse=True):
        page = page[:start] + text + page[end:]
    return page


def _fill(form: _Form, given: Mapping[str, str]) -> None:
    """Set the fields of a form to the submitted values."""
    for one in form.fields:
        if not one.field or one.kind in ("hidden", "select", "submit"):
            continue
        # Browsers submit no value for an unchecked box.
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
