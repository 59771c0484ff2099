"""Messages for several audiences: a message is composed once, and phrased for users of Python or of the command line.

A message consists of parts: plain text, and references to parameters. An *audience* defines how its readers name a
parameter; the parts phrase themselves accordingly. `PYTHON` is the audience of `str(error)`; the command line and the
studio have their own.

Examples
--------
>>> text_of(("Choose another symbol with ", Suggestion("star"), "."), PYTHON)
"Choose another symbol with the 'star' parameter."
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


class Audience:
    """An audience, which names the fields of its door; this one writes Python, others are derived from it."""

    python = True
    """Whether the audience writes Python."""
    terms: Sequence[tuple[str, str]] = ()
    """Words of the field that sentences avoid, and what stands in their place; the longest first."""

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Name the field of a parameter of a function, a class or an algorithm; None if it is called as in Python.

        Parameters
        ----------
        parameter : str
            Its name in Python.
        owner : str, optional
            The owner, such as "KAnonymity" or "mondrian"; by default any function that the audience calls.
        """

    def assigned(self, parameter: str, called: str, value: object) -> str:
        """Write a named field with a value."""
        return with_value(called, value)


class Renderable(Protocol):
    """A part of a message whose words depend on the audience."""

    def render(self, audience: Audience) -> str:
        """Phrase the part."""


Part = str | Renderable


PYTHON = Audience()
"""The audience that calls functions."""

_SPEAKING: ContextVar[Audience] = ContextVar("_SPEAKING", default=PYTHON)


def current_audience() -> Audience:
    """Get the audience of the current call, for messages in its files."""
    return _SPEAKING.get()


@contextmanager
def set_audience(audience: Audience) -> Iterator[None]:
    """Set the audience for the duration of the context."""
    # A context variable, so that concurrent calls have their own audiences.
    before = _SPEAKING.set(audience)
    try:
        yield
    finally:
        _SPEAKING.reset(before)


@dataclass(frozen=True)
class Suggestion:
    """A parameter with a suggested value, such as `recoding='generalization'` or `--recoding generalization`.

    Examples
    --------
    >>> Suggestion("local", True).render(PYTHON), Suggestion("star").render(PYTHON)
    ('local=True', "the 'star' parameter")
    """

    parameter: str
    value: object = ...
    """The suggested value; `...` if the reader has to choose."""
    owner: str = ""
    """The owner of the parameter, if it is not a function that the audience calls."""
    python: str = ""
    """The words for Python, if they are another call, such as `rollback(unpublished=True)`."""
    command: str = ""
    """The words for the command line, if another command has the parameter, such as `shoal series undo`."""

    def render(self, audience: Audience) -> str:
        """Phrase the suggestion."""
        called = audience.called(self.parameter, self.owner)
        if called is not None:
            return called if self.value is ... else audience.assigned(self.parameter, called, self.value)
        if self.command and not audience.python:
            return self.command
        text = f"the '{self.parameter}' parameter" if self.value is ... else f"{self.parameter}={self.value!r}"
        return self.python or text


def with_value(option: str, value: object) -> str:
    """Write an option with its value; a key of an option follows it with an equals sign.

    Examples
    --------
    >>> with_value("-k", 5), with_value("--set reading.decimal", ","), with_value("--set normalize", True)
    ('-k 5', '--set reading.decimal=,', '--set normalize=true')
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{option}{'=' if ' ' in option else ' '}{text}"


@dataclass(frozen=True)
class Subject:
    """A parameter as the subject of a sentence: "The 'k' parameter of mondrian", or `-k`."""

    owner: str
    parameter: str

    def render(self, audience: Audience) -> str:
        """Phrase the subject."""
        return audience.called(self.parameter, self.owner) or f"The '{self.parameter}' parameter of {self.owner}"


@dataclass(frozen=True)
class Allowed:
    """The allowed values of a parameter, in words that follow "must be", with an alternative for the command line."""

    words: str
    plain: str = ""
    """The words for audiences that do not write Python; by default the same."""

    def render(self, audience: Audience) -> str:
        """Phrase the allowed values."""
        return self.words if audience.python else self.plain or self.words


class Phrase:
    """Consecutive parts of an error, or a whole log message. Its `str` is phrased for Python."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def render(self, audience: Audience) -> str:
        """Phrase the parts."""
        return text_of(self.parts, audience)

    def __str__(self) -> str:
        return self.render(PYTHON)


def phrase(*parts: Part) -> str:
    """Phrase a message for the audience of the current call."""
    return text_of(parts, current_audience())


def text_of(parts: Iterable[Part], audience: Audience) -> str:
    """Phrase a message for an audience."""
    return "".join(part if isinstance(part, str) else part.render(audience) for part in parts)
