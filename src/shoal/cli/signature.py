"""Commands that take a request: their options are the fields that the request declares, group by group."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, get_type_hints

import typer

from shoal.cli import options
from shoal.cli.tiers import FEW, HelpAll
from shoal.cli.voice import Flags, flags_in
from shoal.errors import InternalError

__all__ = ["takes", "whole_command"]


def takes(*groups: Sequence[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes the terminal, a request, and options of its own.

    The options are made when the command is asked for: they need the models and the algorithms, and other commands
    start without them.

    Parameters
    ----------
    *groups : sequences of str
        Groups of `shoal.cli.options`: the fields of the request, or of its sections, that the command takes, but for
        those that are called like options of its own.

    Examples
    --------
    >>> @takes(options.READING, options.REQUEST)
    ... def look(terminal, request): "Look at a table."
    >>> sorted(one for one in inspect.signature(whole_command(look)).parameters)
    ['context', 'delimiter', 'encoding', 'json', 'sheet', 'spec']
    """
    names = tuple(name for group in groups for name in group)

    def made(function: Callable[..., None]) -> Callable[..., None]:
        def command(context: typer.Context) -> None:
            raise InternalError("a command was called without its options")

        command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
        command.whole = cache(lambda: _with_options(function, names))  # type: ignore[attr-defined]
        return command

    return made


def whole_command(command: Any) -> Callable[..., None] | None:
    """Return a command with all its options, where `takes` made it."""
    whole = getattr(command, "whole", None)
    return None if whole is None else whole()


def _with_options(function: Callable[..., None], names: Sequence[str]) -> Callable[..., None]:
    from shoal.cli.spec import request_of

    found = dict(_options_of(names))
    own = [one for one in inspect.signature(function).parameters.values() if one.kind == one.KEYWORD_ONLY]
    written = SimpleNamespace(__annotations__={one.name: one.annotation for one in own})
    kinds = get_type_hints(written, function.__globals__, include_extras=True)
    asked = {one.name: (kinds[one.name], one.default) for one in own}

    def command(context: typer.Context, **given: Any) -> None:
        request = request_of({name: value for name, value in given.items() if name not in asked})
        context.obj.json = bool(request.json)
        with context.obj.speaking(Flags(flags_in(context.command))):
            function(context.obj, request, **{name: given[name] for name in asked})

    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    shared = {name: (one, None) for name, one in found.items() if name not in asked}
    for name, (kind, default) in (asked | shared).items():
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    if len(parameters) > FEW:
        parameters.append(
            inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
        )
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _options_of(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the options of the fields of a request, those of its sections in their place."""
    from shoal.cli.declared import declared_in
    from shoal.cli.spec import FLAGGED, Columns, Privacy, ReleaseSpec, Report

    fields, sections = declared_in(ReleaseSpec), declared_in(Columns) | declared_in(Privacy) | declared_in(Report)
    for name in names:
        if name == "spec":
            yield name, options.Spec
        elif name == "privacy":
            yield from ((key, one.option) for key, one in declared_in(Privacy).items())
        else:
            if name == "parameters":
                yield from ((key, fields[key].option) for key in FLAGGED)
            yield name, (fields | sections)[name].option
