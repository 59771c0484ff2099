"""The audience of the command line: error messages with flags instead of Python parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Flags:
    """The flags of a command for the parameters of the library; see `shoal._messages.Audience`.

    Parameters
    ----------
    flags : mapping of str to str
        The flags of the command by the names of its parameters, as returned by `flags_of`.

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
        """Return the flag of a parameter; None if the command has none for it."""
        if not owner:
            return self._flags.get(parameter)
        from shoal._core.validation import parameters_of
        from shoal.algorithms import ALGORITHMS
        from shoal.hierarchy import Coarsening
        from shoal.models import MODELS, OrderedDistance
        from shoal.request.model_words import key_of
        from shoal.request.words import flag_of

        # A parameter of a model, an algorithm or a coarsening has the flag declared with its class.
        owners: list[type] = [*MODELS.values(), OrderedDistance]
        for model in owners:
            if model.__name__ == owner:
                one = parameters_of(model)[parameter]
                return flag_of(key_of(one)) if one.flag else None
        for name, algorithm in ALGORITHMS.items():
            declared = parameters_of(algorithm)
            if owner in (name, type(algorithm).__name__) and parameter in declared:
                flag = declared[parameter].flag
                return flag_of(key_of(declared[parameter])) if flag else f"--param {parameter}"
        if any(kind.__name__ == owner for kind in _kinds_of(Coarsening)):
            return f"Its {parameter}"  # a parameter within --coarsen
        return self._flags.get(parameter)

    def suggested(self, parameter: str, value: object) -> str | None:
        """Return `--set KEY=VALUE` for a parameter without a flag of its own; None if the value follows the flag."""
        called = self._flags.get(parameter, "")
        if " " not in called or value is ...:
            return None
        # The value of a column is NAME=HOW.
        joined = "." if called.startswith("--set ") and isinstance(value, str) and "=" in value else "="
        return f"{called}{joined}{str(value).lower() if isinstance(value, bool) else value}"


def _kinds_of(kind: type[Any]) -> list[type[Any]]:
    """Return a class and all its subclasses."""
    found = [kind]
    for one in kind.__subclasses__():
        found += _kinds_of(one)
    return found


def flags_of(command: Any, words: Sequence[str]) -> dict[str, str]:
    """Return the flags of the command in a call, keyed by parameter.

    Parameters
    ----------
    command : click command
        The group of all commands.
    words : sequence of str
        The arguments of the call.
    """
    # Follow the names of groups and commands until the first other word.
    for word in words:
        within = command.get_command(None, word) if hasattr(command, "get_command") else None
        if within is None:
            break
        command = within
    return flags_in(command)


def flags_in(command: Any) -> dict[str, str]:
    """Return the flags of a command, keyed by parameter."""
    # Options that are not listed are addressed by their keys.
    options = [one for one in getattr(command, "whole", command.params) if one.opts and one.opts[0].startswith("-")]
    flags = {one.name: one.opts[0] for one in options if not one.hidden}
    if hidden := [one.name for one in options if one.hidden]:
        from shoal.request.words import flag_of

        flags |= {name: flag_of(name) for name in hidden}
    flags |= getattr(command, "more_flags", {})
    # An algorithm is addressed by the option of several in `explore`.
    return {**flags, "algorithm": flags["algorithms"]} if "algorithms" in flags else flags
