"""Facts: statements as codes with arguments, for which `shoal.wording` has sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal._messages import Audience, current_audience


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
    """The stable code, on which programs may depend."""
    arguments: Mapping[str, Any] = field(hash=False)
    """The arguments by the placeholders of the sentence."""

    def __init__(self, code: str, /, **arguments: Any) -> None:
        # The dataclass is frozen; arguments are keywords for readability.
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "arguments", arguments)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Fact:
        """Parse a fact from the result of `to_dict`."""
        return cls(found["code"], **{name: _read(value) for name, value in found["arguments"].items()})

    def to_dict(self, audience: Audience | None = None) -> dict[str, Any]:
        """Convert the fact to JSON values, with parts of messages as text.

        Parameters
        ----------
        audience : Audience, optional
            The audience of parts of messages; by default that of the current call.
        """
        audience = current_audience() if audience is None else audience
        return {"code": self.code, "arguments": {name: _plain(one, audience) for name, one in self.arguments.items()}}


def _plain(value: Any, audience: Audience) -> Any:
    """Convert an argument to a JSON value."""
    if isinstance(value, Fact):
        return value.to_dict(audience)
    if isinstance(value, list | tuple):
        return [_plain(one, audience) for one in value]
    # Parts of messages lose their structure, because readers of JSON have one audience.
    return value.render(audience) if hasattr(value, "render") else value


def _read(value: Any) -> Any:
    """Parse an argument from a JSON value."""
    if isinstance(value, Mapping):
        return Fact.of(value)
    return tuple(map(_read, value)) if isinstance(value, list) else value
