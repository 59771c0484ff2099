"""Messages in two voices: what is wrong is known once, and told to people who wrote Python or who wrote flags.

A message is made of parts: plain text, and references to what a caller can set. A *voice* says what its readers call a
parameter; the parts make the words of that. `PYTHON` is the voice of `str(error)`; the command line has its own.

Examples
--------
>>> text_of(("Choose another symbol with ", Suggestion("star"), "."), PYTHON)
"Choose another symbol with the 'star' parameter."
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "PYTHON",
    "Allowed",
    "Part",
    "Phrase",
    "Subject",
    "Suggestion",
    "Voice",
    "speaking",
    "spoken_to",
    "text_of",
]


class Voice(Protocol):
    """How a kind of readers calls things."""

    @property
    def python(self) -> bool:
        """Whether they write Python."""

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Return what they call a parameter of a function, a class or an algorithm; None where they call it as Python.

        Parameters
        ----------
        parameter : str
            Its name in Python.
        owner : str, optional
            Who has it: "KAnonymity", "mondrian"; any function that the readers call, unless given.
        """


class Told(Protocol):
    """Part of a message whose words depend on who reads it."""

    def told(self, voice: Voice) -> str:
        """Return the words."""


Part = str | Told


@dataclass(frozen=True)
class _Python:
    """The voice of tracebacks."""

    python: bool = True

    def called(self, parameter: str, owner: str = "") -> str | None:
        return None


PYTHON: Voice = _Python()
"""The voice of those who call functions."""

_SPEAKING: ContextVar[Voice] = ContextVar("_SPEAKING", default=PYTHON)


def speaking() -> Voice:
    """Return the voice of the call that is being answered: what is written to its files speaks so."""
    return _SPEAKING.get()


@contextmanager
def spoken_to(voice: Voice) -> Iterator[None]:
    """Answer in a voice for as long as the context lasts."""
    before = _SPEAKING.set(voice)
    try:
        yield
    finally:
        _SPEAKING.reset(before)


@dataclass(frozen=True)
class Suggestion:
    """A parameter with the value that it should have: `recoding='generalization'`, or `--recoding generalization`.

    Examples
    --------
    >>> Suggestion("local", True).told(PYTHON), Suggestion("star").told(PYTHON)
    ('local=True', "the 'star' parameter")
    """

    parameter: str
    value: object = ...
    """The value; `...` where it is for the reader to choose."""
    owner: str = ""
    """Who has the parameter, where it is not a function that the readers call."""
    python: str = ""
    """What Python's readers are told, where it is another call: `rollback(unpublished=True)`."""

    def told(self, voice: Voice) -> str:
        """Return the words."""
        called = voice.called(self.parameter, self.owner)
        if called is None:
            said = f"the '{self.parameter}' parameter" if self.value is ... else f"{self.parameter}={self.value!r}"
            return self.python or said
        if self.value is ... or self.value is True:
            return called
        return f"{called} {self.value}"


@dataclass(frozen=True)
class Subject:
    """A parameter as the subject of a sentence: "The 'k' parameter of mondrian", or `-k`."""

    owner: str
    parameter: str

    def told(self, voice: Voice) -> str:
        """Return the words."""
        return voice.called(self.parameter, self.owner) or f"The '{self.parameter}' parameter of {self.owner}"


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be, in words that follow "must be"; other words for those who cannot give an object."""

    words: str
    plain: str = ""
    """The words for readers who do not write Python; the same unless given."""

    def told(self, voice: Voice) -> str:
        """Return the words."""
        return self.words if voice.python else self.plain or self.words


class Phrase:
    """Parts that belong together: of an error, or a whole message of a log. `str` of it speaks of Python."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def told(self, voice: Voice) -> str:
        """Return the words."""
        return text_of(self.parts, voice)

    def __str__(self) -> str:
        return self.told(PYTHON)


def text_of(parts: Iterable[Part], voice: Voice) -> str:
    """Return a message in a voice."""
    return "".join(part if isinstance(part, str) else part.told(voice) for part in parts)
