"""Commands that take a request: their options are the fields that the request declares, group by group."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from shoal.cli import options
from shoal.cli.tiers import FEW, HelpAll
from shoal.cli.voice import Flags, flags_in
from shoal.errors import InternalError

if TYPE_CHECKING:
    from shoal.request.words import Word

__all__ = ["takes", "whole_command"]


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes the terminal, a request, and options of its own.

    The options are made when the command is asked for: they need the models and the algorithms, and other commands
    start without them.

    Parameters
    ----------
    *names : str
        Words of `shoal.request.words.WORDS`, or groups of them, that the command takes, but for those that are called
        like options of its own.

    Examples
    --------
    >>> @takes("reading", "spec", "json")
    ... def look(terminal, request): "Look at a table."
    >>> sorted(one for one in inspect.signature(whole_command(look)).parameters)
    ['context', 'delimiter', 'encoding', 'json', 'sheet', 'spec']
    """

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
    from shoal.request.words import Words

    found = dict(_options_of(names))
    own = [one for one in inspect.signature(function).parameters.values() if one.kind == one.KEYWORD_ONLY]
    written = SimpleNamespace(__annotations__={one.name: one.annotation for one in own})
    kinds = get_type_hints(written, function.__globals__, include_extras=True)
    asked = {one.name: (kinds[one.name], one.default) for one in own}

    def command(context: typer.Context, **given: Any) -> None:
        words = Words.of_options({name: value for name, value in given.items() if name not in asked})
        context.obj.json = bool(words.get("json"))
        with context.obj.speaking(Flags(flags_in(context.command))):
            function(context.obj, words, **{name: given[name] for name in asked})

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
    """Yield the options of words: those that are named, and those of the groups that are named."""
    from shoal.request.words import WORDS

    for name in names:
        if name == "spec":
            yield name, options.Spec
        for key, word in WORDS.items():
            if name in (key, word.group):
                yield key, _option(word)


def _option(word: Word) -> Any:
    if not word.flags:
        return options.Source
    kind: Any = bool if word.switch else list[str] if word.many else int if word.kind is int else str
    metavar = None if word.switch else word.declared.metavar
    option = typer.Option(*word.flags, metavar=metavar, help=word.declared.help, rich_help_panel=word.panel)
    return Annotated[kind | None, option]
