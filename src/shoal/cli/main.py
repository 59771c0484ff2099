"""The entry point: the commands, and the conversion of their exceptions to messages and exit codes."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from shoal._core.outcome import add_outcome, describe_outcome, watching
from shoal._core.progress import count_time_from, interruptible
from shoal._version import __version__
from shoal.cli.command import Flags, Group, command_of, flags_of
from shoal.cli.console import Terminal, discard_if_unread, logged_notes, writing_to
from shoal.errors import NotUnderstoodError, ShoalError, UsageError, place_of

_ONCE, _AGAIN, _CLASSES, _ITSELF = "One table", "Tables that change", "Classes of values", "shoal itself"
_PANELS: Mapping[str, str] = {
    **dict.fromkeys(("inspect", "anonymize", "audit", "risk", "explore", "report"), _ONCE),
    **dict.fromkeys(("demo", "studio"), _ONCE),
    **dict.fromkeys(("apply", "series", "attack"), _AGAIN),
    **dict.fromkeys(("group", "hierarchy"), _CLASSES),
    **dict.fromkeys(("datasets", "list", "schema", "warm-up"), _ITSELF),
}
"""The commands by panel, in the order of the help; each is a module with a function of the same name."""
_OTHERWISE: Mapping[str, str] = {"list": "listing.tables", "series": "series.commands"}
"""The locations of commands with another name than their module."""

# Exit codes of signals follow the convention of shells: 128 plus the number.
INTERRUPTED = 130
TERMINATED = 128 + signal.SIGTERM
HUNG_UP = 128 + getattr(signal, "SIGHUP", 1)
"""The exit code that a shell reports for a process whose terminal was closed."""
_STOPPED = {INTERRUPTED: "Interrupted", TERMINATED: "Terminated", HUNG_UP: "The terminal was closed"}
"""Messages for exit codes of external signals."""
READER_LEFT = 141
"""The exit code that a shell reports for a process that wrote to a closed pipe."""

_OBJECTS = 100_000
"""The garbage collector's threshold of new objects: imports create many objects, and a call is short."""


class Commands(Group):
    """The group of commands, which converts every failure to a message, an exit code and, with --json, an object."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of the help, for beginners first."""
        return list(_PANELS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, and import its module."""
        if cmd_name not in _PANELS:
            return None
        # Import the module of a command only when it is needed.
        if cmd_name not in self.commands:
            called = cmd_name.replace("-", "_")
            module, _, function = _OTHERWISE.get(cmd_name, f"{called}.{called}").partition(".")
            # Plain functions become commands here, groups and commands stay as they are.
            found = getattr(importlib.import_module(f"shoal.cli.{module}"), function)
            self.commands[cmd_name] = found if isinstance(found, click.Command) else command_of(found)
            self.commands[cmd_name].panel = _PANELS[cmd_name]  # type: ignore[attr-defined]
        return self.commands[cmd_name]

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and flush its output so that write errors are noticed in time."""
        result = super().invoke(ctx)
        with writing_to(sys.stdout):
            sys.stdout.flush()
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Parse the arguments of a call, run its command and exit with the code of its outcome."""
        # The output mode is known before parsing, so that usage errors can be JSON.
        words = sys.argv[1:] if args is None else list(args)
        terminal = Terminal(json="--json" in words)
        self._main_shell_completion(extra, prog_name or str(self.name), complete_var)

        def call() -> Any:
            try:
                with self.make_context(self.name, [*words], obj=terminal, **extra) as context:
                    return self.invoke(context)
            except click.exceptions.Exit as leaving:
                return leaving.exit_code

        with watching():
            code = _outcome(terminal, call, flags=lambda: flags_of(self, words))
        if standalone_mode:
            sys.exit(code)
        return code


def _outcome(terminal: Terminal, call: Callable[[], Any], *, flags: Callable[[], Mapping[str, str]]) -> int:
    """Run a command and return its exit code; report errors with the names of the command's flags."""
    try:
        with interruptible(), logged_notes(terminal):
            code = call() or 0
    except BrokenPipeError:
        code = READER_LEFT
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except NotUnderstoodError as error:
        return terminal.fail(
            error.render(Flags(flags())), error.exit_code, facts={"columns_not_understood": list(error.columns)}
        )
    except ShoalError as error:
        return terminal.fail(add_outcome(error.render(Flags(flags())), error), error.exit_code)
    except click.ClickException as fault:
        return terminal.fail(fault.format_message(), fault.exit_code, show=fault.show)
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # raised by click
            return READER_LEFT
        if leaving.code not in (TERMINATED, HUNG_UP):
            raise
        code = int(leaving.code)
    except MemoryError:
        lack = "There is not enough memory. Read the table in pieces (--memory 2GB), or publish fewer columns."
        return terminal.fail(f"{lack} {describe_outcome()}", UsageError.exit_code)
    except BaseException as bug:  # a panic of compiled code (Polars) is not an Exception
        if os.environ.get("SHOAL_DEBUG") == "1":
            import traceback

            traceback.print_exception(bug)
        return terminal.fail(_report_of(bug), 70)
    # Signals are reported like errors, unless the release is in place.
    if code in _STOPPED:  # by a signal
        return _stopped(terminal, _STOPPED[code], code)
    return int(code)


def _stopped(terminal: Terminal, how: str, code: int) -> int:
    """Return the exit code of a call that a signal ended: success if it has made its change."""
    outcome = describe_outcome()
    if outcome.changed:
        terminal.note(f"{how} when the work was done. {outcome}")
        return 0
    return terminal.fail(f"{how}. {outcome}", code)


def _report_of(bug: BaseException) -> str:
    """Describe the location of a bug without its message, which may quote a cell."""
    return (
        f"Internal error: {place_of(bug)}. This is a bug in shoal {__version__}: please report it with this line. "
        f"{describe_outcome()} SHOAL_DEBUG=1 prints the traceback, which may quote cells of the data."
    )


def _print_version(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        sys.stdout.write(f"shoal {__version__}\n")
        ctx.exit()


app = Commands(
    "shoal",
    help="Publish a table about people without exposing anyone: anonymize it, verify the result, audit releases.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and exit.",
        )
    ],
)
"""The command line."""


def _leave_on_signals() -> None:
    """Exit as after Ctrl-C if the process is terminated or its terminal is closed, so that files are cleaned up."""
    # SIGHUP does not exist on Windows.
    ending = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

    def leave(number: int, frame: object) -> None:
        if (
            128 + number == HUNG_UP
        ):  # the shell and the system both send it: the second signal must not interrupt the cleanup
            signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for one in ending:
        if signal.getsignal(one) is not signal.SIG_IGN:  # `nohup` ignores it
            signal.signal(one, leave)


def _age() -> float:
    """Return the age of this process in seconds; 0 if the system does not report it."""
    try:
        started = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


def run() -> None:
    """Run the command line of this process."""
    # Count the start of the interpreter as part of the running time.
    count_time_from(time.perf_counter() - _age())
    gc.set_threshold(_OBJECTS)
    _leave_on_signals()
    # Closed streams are replaced, so that printing never fails.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - None if the caller closed it
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    code: object = None
    try:
        app()
    except SystemExit as leaving:
        code = leaving.code
    finally:
        for stream in (sys.stdout, sys.stderr):
            discard_if_unread(stream)
    _leave(code)


def _leave(code: object) -> None:
    """End the process at once, because the regular shutdown of the interpreter takes a tenth of a second."""
    # Profilers and tracers need the regular shutdown.
    if not isinstance(code, int | None) or sys.getprofile() is not None or sys.gettrace() is not None:
        sys.exit(code)  # type: ignore[arg-type]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        discard_if_unread(stream)
    os._exit(code or 0)
