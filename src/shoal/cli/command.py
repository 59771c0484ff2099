"""Click commands whose options are annotations of parameters, or words of a request.

A parameter of a command is annotated with its type and an `option` or an `argument`. A command that takes a request
names its words (`takes`), which are declared with `shoal.Request`, models and algorithms. They become options when the
command runs or its help is shown, so that other commands start faster.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import click

from shoal._core.outcome import note_reads
from shoal._messages import Audience

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoal.request.words import Word


class Flags(Audience):
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
        from shoal.algorithms.algorithm_list import ALGORITHMS
        from shoal.hierarchy import Coarsening
        from shoal.models.ground_distance import OrderedDistance
        from shoal.models.model_list import MODELS
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

    def assigned(self, parameter: str, called: str, value: object) -> str:
        """Write a flag with a value; a switch has a negative form, and the value of a column is NAME=HOW."""
        if isinstance(value, bool) and " " not in called:
            return called if value else f"--no-{called.removeprefix('--')}"
        if called.startswith("--set ") and isinstance(value, str) and "=" in value:
            from shoal.request.notation import toml_key

            # A format of dates has no such sign, the name of a column may.
            name, _, value = value.rpartition("=") if parameter == "dates" else value.partition("=")
            return f"--set {shlex.quote(called.removeprefix('--set ') + f'.{toml_key(name)}={value}')}"
        return super().assigned(parameter, called, value)


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


RELEASE = (
    *("input", "columns", "model", "method", "recoding", "preferences", "algorithms"),
    *("output", "report", "forms", "reading", "cleaning", "spec", "json"),
)
"""The words of a command that makes releases; see `takes`."""
_SPEC = (
    "Read the request from a TOML file. An option on the command line replaces the whole corresponding entry; "
    "relative paths in the file start from its folder."
)
_SET = (
    "Set any key of a spec file, such as reading.decimal=, or report.title=Visits; repeat it for others. "
    "See `shoal list keys`."
)
_MODEL = (
    "A privacy model with its parameters, such as beta=2 or l=3,variant=entropy; repeat it for others. See `shoal list "
    "models`."
)


class Number:
    """The type of options that are numbers, which fractions such as 1/3 keep exact."""


class _NumberType(click.ParamType):  # type: ignore[type-arg]
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from shoal.request.texts import as_number

        return as_number(param.opts[0] if param is not None else "", value)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The declaration of an option or argument in the annotation of a parameter."""

    flags: tuple[str, ...] = ()
    """The names of the option; empty for an argument."""
    metavar: str | None = None
    help: str = ""
    panel: str = "Options"
    """The panel of the help that shows it."""
    min: float | None = None
    max: float | None = None
    kind: Any = str
    """The type of the value, for an option that a command names in `takes`."""

    @property
    def name(self) -> str:
        """The name that the flag gives to the parameter of a function."""
        return self.flags[0].partition("/")[0].lstrip("-").replace("-", "_")

    def parameter(self, name: str, kind: Any, default: Any = None, *, required: bool = False) -> click.Parameter:
        """Build the click parameter.

        Parameters
        ----------
        name : str
            The name of the function's parameter.
        kind : type
            The type of its value, of a list of values, or a union of either with None.
        default : object
            The default.
        required : bool
            True if there is no default.
        """
        # Optional values and lists are reduced to the type of a single value.
        kind = (
            next((one for one in get_args(kind) if one is not type(None)), kind)
            if type(None) in get_args(kind)
            else kind
        )
        several = get_origin(kind) is list
        kind = get_args(kind)[0] if several else kind
        shared: dict[str, Any] = {"metavar": self.metavar, "required": required, "type": self._type(kind)}
        shared |= {} if required else {"default": default}
        # A parameter without flags is an argument.
        if not self.flags:
            return click.Argument([name], help=self.help, nargs=-1 if several else 1, **shared)
        if kind is bool:
            shared |= {"type": click.BOOL, "is_flag": True, "metavar": None}
        shown = default is not None and kind is not bool and str(default) not in ("", ".")
        return Option(
            [name, *self.flags], help=self.help, panel=self.panel, multiple=several, show_default=shown, **shared
        )

    def _type(self, kind: Any) -> Any:
        if kind in (int, float) and (self.min is not None or self.max is not None):
            ranged: Any = click.IntRange if kind is int else click.FloatRange
            return ranged(self.min, self.max)
        plain = {int: click.INT, float: click.FLOAT, bool: click.BOOL, Number: _NumberType()}
        return click.Path(path_type=Path) if kind is Path else plain.get(kind, click.STRING)


def option(
    *flags: str,
    metavar: str | None = None,
    help: str = "",  # noqa: A002
    panel: str = "Options",
    min: float | None = None,  # noqa: A002
    max: float | None = None,  # noqa: A002
    kind: Any = str,
) -> Declared:
    """Declare an option in the annotation of a parameter, or in `takes`; see `Declared`."""
    return Declared(flags=flags, metavar=metavar, help=help, panel=panel, min=min, max=max, kind=kind)


def argument(*, metavar: str | None = None, help: str = "") -> Declared:  # noqa: A002
    """Declare an argument in the annotation of a parameter; see `Declared`."""
    return Declared(metavar=metavar, help=help)


class Option(click.Option):
    """An option that belongs to a panel of the help."""

    def __init__(self, *declared: Any, panel: str = "Options", **more: Any) -> None:
        super().__init__(*declared, **more)
        self.panel = panel


class Command(click.Command):
    """A command with its own options and those of a request."""

    def __init__(
        self,
        *declared: Any,
        words: tuple[str, ...] = (),
        order: tuple[str, ...] = (),
        panel: str = "Commands",
        **more: Any,
    ) -> None:
        super().__init__(*declared, **more)
        self.words = words
        self.order = order
        self.panel = panel
        self.more_flags: Mapping[str, str] = {}
        """The words of the command line for parameters without a flag of their own, such as `--param j`."""

    @cached_property
    def whole(self) -> list[click.Parameter]:
        """All parameters: the command's own, and those of the request."""
        # Options of the command itself replace words of the same name.
        own = {str(one.name): one for one in self.params}
        shared = [] if not self.words else [one for one in _of_words(self.words) if one.name not in own]
        # The input of a request precedes its options, like the arguments of the command itself.
        places = {name: place for place, name in enumerate(self.order)}
        found: list[click.Parameter] = sorted(
            [*self.params, *shared],
            key=lambda one: (isinstance(one, click.Option), places.get(str(one.name), len(places))),
        )
        return found

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters."""
        shown = self.get_help_option(ctx)
        return [*self.whole, *([shown] if shown is not None else [])]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; messages name its flags."""
        note_reads(ctx.params)
        with ctx.obj.speaking(Flags(flags_in(self))):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options panel by panel."""
        # Group the options by panel, in order of first occurrence.
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            record = None if isinstance(one, click.Argument) else one.get_help_record(ctx)
            if record is not None:
                panels.setdefault(getattr(one, "panel", "Options"), []).append(record)
        # Write one section per panel.
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Group(click.Group):
    """A group of commands, listed panel by panel in the order of their addition."""

    def __init__(self, *declared: Any, panel: str = "Commands", **more: Any) -> None:
        super().__init__(*declared, **more)
        self.panel = panel
        self.aliases: dict[str, str] = {}
        """Other names of commands, which are not listed."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name or another name."""
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def add(self, command: Command) -> Command:
        """Add a command, as a decorator."""
        self.add_command(command)
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in their order."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a summary of each command."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            panels.setdefault(command.panel, []).append((name, command.get_short_help_str(limit=500)))
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)


def command_of(function: Callable[..., Any], name: str | None = None) -> Command:
    """Make a command from a function whose parameters are annotated with an `option` or an `argument`.

    The function receives the context as `context` if it has such a parameter.
    """
    # Click's context is passed only to functions that ask for it.
    wants_context = "context" in inspect.signature(function).parameters

    def callback(**given: Any) -> Any:
        values = {key: _listed(value) for key, value in given.items()}
        return function(**values, **({"context": click.get_current_context()} if wants_context else {}))

    return _command(function, name, callback)


def takes(*names: str, options: Sequence[Declared] = ()) -> Callable[[Callable[..., None]], Command]:
    """Make a command from a function that takes the terminal, the words of a request, and its own options.

    Parameters
    ----------
    *names : str
        Words of `shoal.request.words.WORDS`, or groups of them. Words with the name of one of the function's own
        options are left out; "spec" is the spec file.
    options : sequence of Declared
        Options that the function passes on: those that are given reach it as further keywords.

    Examples
    --------
    >>> @takes("reading", "spec", "json")
    ... def look(terminal, words): "Look at a table."
    >>> [one.name for one in look.whole if not one.hidden]
    ['spec', 'json', 'settings']
    """

    def made(function: Callable[..., None]) -> Command:
        # The function receives its own options by name, all others as words.
        own, passed = set(_annotations(function)), {one.name: one for one in options}

        def callback(**given: Any) -> None:
            from shoal.request.words import Words

            # Words of the request are separated from the function's own options.
            context = click.get_current_context()
            values = {key: _listed(value) for key, value in given.items()}
            more = {key: values.pop(key) for key in passed}
            words = Words.of_options({key: value for key, value in values.items() if key not in own})
            context.obj.json = bool(words.get("json"))
            note_reads(words.said)  # also those of the spec file
            _name_keys(context, {key: value for key, value in values.items() if key not in own and value is not None})
            more = {key: value for key, value in more.items() if value is not None and value is not False}
            function(context.obj, words, **{key: values[key] for key in own}, **more)

        # Keys are set if the command takes more of a request than its output.
        settings = ("settings",) if {*names} - {"json", "force"} else ()
        return _command(function, None, callback, (*names, *settings), passed)

    return made


def _command(
    function: Callable[..., Any],
    name: str | None,
    callback: Callable[..., Any],
    words: tuple[str, ...] = (),
    passed: Mapping[str, Declared] | None = None,
) -> Command:
    called, declared = name or function.__name__.replace("_", "-"), _annotations(function)
    defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    parameters = [
        one.parameter(name, kind, None if needed else defaults[name], required=needed)
        for name, (kind, one) in declared.items()
        for needed in [defaults[name] is inspect.Parameter.empty]
    ]
    parameters += [one.parameter(name, one.kind) for name, one in (passed or {}).items()]
    own: dict[str, Any] = {"callback": callback, "params": parameters, "help": inspect.getdoc(function)}
    return Command(called, words=words, order=tuple(declared), **own)


def _annotations(function: Callable[..., Any]) -> dict[str, tuple[Any, Declared]]:
    """Return the type and the declaration of each parameter that is an option or an argument."""
    # Type hints are resolved with placeholders for types that are not imported at run time.
    kinds: Mapping[str, Any] = get_type_hints(function, include_extras=True, localns={"Terminal": Any, "Words": Any})
    found = {}
    for name, kind in kinds.items():
        typed, *notes = get_args(kind) or (kind,)
        declared = next((note for note in notes if isinstance(note, Declared)), None)
        if declared is not None:
            found[name] = typed, declared
    return found


def _of_words(names: tuple[str, ...]) -> Iterator[click.Parameter]:
    """Yield the options of words, given by name or by group."""
    from shoal.request.words import SHOWN, WORDS

    for name in names:
        if name == "spec":
            spec = option("--spec", metavar="FILE.toml", help=_SPEC, panel="Files")
            yield spec.parameter("spec", Path | None)
        if name == "settings":
            yield option("--set", metavar="KEY=VALUE", help=_SET, panel="Files").parameter("settings", list[str])
        if name == "model":
            yield option("--model", metavar="NAME=VALUE", help=_MODEL, panel="Privacy").parameter("models", list[str])
        for key, one in WORDS.items():
            if name in (key, one.group):
                yield _of_word(one, hidden=key not in SHOWN)


def _of_word(one: Word, *, hidden: bool) -> click.Parameter:
    kind = bool if one.switch else list[str] if one.many else int if one.kind is int else str
    declared = Declared(flags=one.flags, metavar=one.declared.metavar, help=one.declared.help, panel=one.panel)
    made = declared.parameter(one.key, kind | None)
    if isinstance(made, click.Option):
        made.hidden = hidden
    return made


def _name_keys(context: click.Context, given: Mapping[str, Any]) -> None:
    """State the key of a spec file for each option in the call that is no longer listed."""
    from shoal.request.words import SHOWN, WORDS, flag_of

    # The value is not repeated: it may be a cell.
    for key in given:
        if key in WORDS and key not in SHOWN:
            old = WORDS[key].flags[0].partition("/")[0]
            context.obj.note(f"{old} will go. Write {flag_of(key)}=..., or the key {WORDS[key].path} of a spec file.")


def _listed(value: Any) -> Any:
    """Convert a tuple of values to a list, or to None if it is empty."""
    return (list(value) or None) if isinstance(value, tuple) else value
