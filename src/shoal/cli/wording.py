"""Messages of the library, in the words of the command line: flags where Python has parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["flags_of", "in_flags"]

_PARAMETER = re.compile(r"The '(\w+)' parameter of ([\w+-]+) must be ")
_BOTH_WAYS = re.compile(r"(?:\w+=\{[^{}]*\}|\w+=\S+|\w+\([^()]*\)|\bforce) \((--[\w-]+(?: [^()]+)?)\)")
"""What to do in Python, and in parentheses the flag that does it."""
_RENAMED = {
    ("variant", "LDiversity"): "l_variant",
    ("variant", "BetaLikeness"): "beta_variant",
    ("distance", "TCloseness"): "t_distance",
}
"""Parameters that have another name among the options."""
_COARSENINGS = (
    "Bins",
    "BottomCode",
    "DatePart",
    "Labels",
    "Level",
    "Ordered",
    "Points",
    "Prefix",
    "Regions",
    "Round",
    "TopCode",
)
"""Their parameters are no options, whatever they are called: what --coarsen says of a column has them."""


def in_flags(message: str, flags: Mapping[str, str]) -> str:
    """Return a message of the library as users of the command line say it.

    Parameters
    ----------
    message : str
    flags : mapping of str to str
        The flags of the command by the names of its parameters, as `flags_of` returns them.

    Examples
    --------
    >>> in_flags("The 'k' parameter of KAnonymity must be an int >= 1. Got 0.", {"k": "-k"})
    '-k must be a whole number >= 1. Got 0.'
    >>> in_flags("Choose another symbol with star=... (--star).", {})
    'Choose another symbol with --star.'
    >>> in_flags("Say which with dates={'born': '%d/%m/%Y'} (--date born=%d/%m/%Y).", {})
    'Say which with --date born=%d/%m/%Y.'
    """

    def named(found: re.Match[str]) -> str:
        name, owner = found.groups()
        if owner in _COARSENINGS:
            return f"Its {name} must be "
        flag = flags.get(_RENAMED.get((name, owner), name))
        return found[0] if flag is None else f"{flag} must be "

    said = _PARAMETER.sub(named, message)
    if said != message:
        said = said.replace("must be None or ", "must be ").replace("must be an int ", "must be a whole number ")
        said = said.replace(", or an algorithm object.", ".")
    return _BOTH_WAYS.sub(r"\1", said)


def flags_of(command: Any, words: Sequence[str]) -> dict[str, str]:
    """Return the flags of the command that a call names, by the names of their parameters.

    Parameters
    ----------
    command : click command
        The group of all commands.
    words : sequence of str
        The words of the call.
    """
    for word in words:
        within = getattr(command, "commands", {})
        if word not in within:
            break
        command = within[word]
    flags = {one.name: one.opts[0] for one in command.params if one.opts and one.opts[0].startswith("-")}
    return {"algorithm": flags["algorithms"], **flags} if "algorithms" in flags else flags
