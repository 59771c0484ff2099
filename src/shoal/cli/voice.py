"""The audience of the command line: errors of the library told in flags, where Python has parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Flags", "flags_in", "flags_of"]


class Flags:
    """What users of a command call the parameters of the library; see `shoal._messages.Audience`.

    Parameters
    ----------
    flags : mapping of str to str
        The flags of the command by the names of its parameters, as `flags_of` returns them.

    Examples
    --------
    >>> from shoal.models import KAnonymity
    >>> from shoal.errors import ParameterError
    >>> try:
    ...     KAnonymity(0)
    ... except ParameterError as error:
    ...     error.render(Flags({"k": "-k"}))
    '-k must be a whole number >= 1. Got 0.'
    """

    python = False

    def __init__(self, flags: Mapping[str, str]) -> None:
        self._flags = flags

    def called(self, parameter: str, owner: str = "") -> str | None:
        """Return the flag of a parameter; None where the command has none for it."""
        if not owner:
            return self._flags.get(parameter)
        from shoal._core.validation import parameters_of
        from shoal.algorithms import ALGORITHMS
        from shoal.hierarchy import Coarsening
        from shoal.models import MODELS, OrderedDistance

        asked: list[type] = [*MODELS.values(), OrderedDistance]
        for model in asked:
            if model.__name__ == owner:
                return parameters_of(model)[parameter].flag
        for name, algorithm in ALGORITHMS.items():
            declared = parameters_of(algorithm)
            if owner in (name, type(algorithm).__name__) and parameter in declared:
                return declared[parameter].flag or f"--param {parameter}"
        if any(kind.__name__ == owner for kind in _kinds_of(Coarsening)):
            return f"Its {parameter}"  # what --coarsen says of a column has it
        return self._flags.get(parameter)


def _kinds_of(kind: type[Any]) -> list[type[Any]]:
    """Return a class and all that derive from it."""
    found = [kind]
    for one in kind.__subclasses__():
        found += _kinds_of(one)
    return found


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
        within = command.get_command(None, word) if hasattr(command, "get_command") else None
        if within is None:
            break
        command = within
    return flags_in(command)


def flags_in(command: Any) -> dict[str, str]:
    """Return the flags of a command by the names of their parameters."""
    flags = {
        one.name: one.opts[0]
        for one in getattr(command, "whole", command.params)
        if one.opts and one.opts[0].startswith("-")
    }
    return {"algorithm": flags["algorithms"], **flags} if "algorithms" in flags else flags
