"""Facts: what is known inside, as a code with arguments; `shoal.wording` makes the sentences, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal._messages import Voice, speaking

__all__ = ["Fact"]


@dataclass(frozen=True, init=False)
class Fact:
    """A statement about a run, a table or a release: a code of `shoal.wording.SENTENCES` with its arguments.

    Arguments are numbers, names, parts of messages such as `shoal._messages.Suggestion`, other facts, and tuples of
    these.

    Examples
    --------
    >>> Fact("patterns_theorem_4", factor=3).to_dict()
    {'code': 'patterns_theorem_4', 'arguments': {'factor': 3}}
    """

    code: str
    """What holds; code may branch on it, and it stays the same."""
    arguments: Mapping[str, Any] = field(hash=False)
    """Of what it holds, by the names of the placeholders of its sentence."""

    def __init__(self, code: str, /, **arguments: Any) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "arguments", arguments)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Fact:
        """Read a fact from what `to_dict` returned."""
        return cls(found["code"], **{name: _read(value) for name, value in found["arguments"].items()})

    def to_dict(self, voice: Voice | None = None) -> dict[str, Any]:
        """Return the fact as JSON holds it, parts of messages as text.

        Parameters
        ----------
        voice : Voice, optional
            For whom parts of messages are; by default for the call that is being answered.
        """
        voice = speaking() if voice is None else voice
        return {"code": self.code, "arguments": {name: _plain(one, voice) for name, one in self.arguments.items()}}


def _plain(value: Any, voice: Voice) -> Any:
    """Convert an argument to what JSON can hold."""
    if isinstance(value, Fact):
        return value.to_dict(voice)
    if isinstance(value, list | tuple):
        return [_plain(one, voice) for one in value]
    return value.told(voice) if hasattr(value, "told") else value


def _read(value: Any) -> Any:
    """Read an argument from JSON."""
    if isinstance(value, Mapping):
        return Fact.of(value)
    return tuple(map(_read, value)) if isinstance(value, list) else value
