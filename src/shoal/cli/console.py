"""Output of the command line: results on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from shoal._core.outcome import reason_of
from shoal._core.words import visible
from shoal._messages import PYTHON, Phrase, set_audience
from shoal.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shoal._core.progress import Progress
    from shoal._messages import Audience
    from shoal.findings import Remark


def plain(text: object) -> str:
    r"""Escape characters that could control a terminal; column names come from untrusted files.

    Examples
    --------
    >>> plain("age\x1b[2J")
    'age\\x1b[2J'
    """
    return "\n".join(map(visible, str(text).split("\n")))


@dataclass(kw_only=True)
class Terminal:
    """The output of one call of the command line."""

    json: bool = False
    """If True, standard output carries one JSON object and nothing else."""
    audience: Audience = PYTHON
    """The audience, which determines the names of parameters in messages."""

    @contextmanager
    def speaking(self, audience: Audience) -> Iterator[None]:
        """Phrase messages for an audience, on the terminal and in written files."""
        self.audience = audience
        with set_audience(audience):
            yield

    def result(self, facts: Mapping[str, Any]) -> None:
        """Print the one JSON object of a call."""
        # ASCII output is independent of the locale.
        with writing_to(sys.stdout):
            sys.stdout.write(json.dumps(facts, indent=2, allow_nan=False, default=_as_json) + "\n")
            sys.stdout.flush()

    def say(self, *parts: RenderableType) -> None:
        """Print a part of the result for people; nothing with --json."""
        if not self.json:
            # A closed terminal must not change the exit code.
            console = _console(stderr=False)
            with writing_to(sys.stdout):
                for part in parts:
                    # Paths are copied or clicked, so the terminal may wrap them but rich must not break them.
                    console.print(part, soft_wrap=isinstance(part, PathLine))

    def note(self, text: str) -> None:
        """Print a note that is not part of the result on standard error."""
        with suppress(BrokenPipeError, OutputError), writing_to(sys.stderr):
            _console(stderr=True).print(_text(text))

    def fail(
        self,
        message: str,
        code: int,
        *,
        show: Callable[[], None] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> int:
        """Print the reason of a failure on standard error, and as JSON if requested; return the exit code.

        Parameters
        ----------
        message : str
            The error and the next step.
        code : int
            The exit code.
        show : callable, optional
            Prints the message on standard error in another form, such as with the usage.
        facts : mapping, optional
            Additional entries of the JSON object.
        """
        # The exit code reports the failure even if standard error is closed (rich raises SystemExit then).
        with suppress(BrokenPipeError, OutputError, SystemExit), writing_to(sys.stderr):
            if show is not None:
                show()
            else:
                sys.stderr.write(f"Error: {plain(message)}\n")
        if self.json:
            with suppress(BrokenPipeError, OutputError):
                self.result({"error": message, "exit_code": code, **(facts or {})})
        return code

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """Draw a progress bar for each step; none if standard error is not a terminal.

        In both cases a notice is printed if kernels must be compiled first.
        """
        from shoal.cli.compilation import announced_compilation

        # Without a terminal there are no bars, only the notice of compilation.
        if not sys.stderr.isatty():
            with announced_compilation(self.note):
                yield None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        # Bars are transient, so that only results stay on the screen.
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        console = _console(stderr=True)  # lines appear above the bars
        with (
            announced_compilation(lambda words: console.print(_text(words))),
            Progress(*columns, console=console, transient=True) as bars,
        ):
            tasks: dict[str, Any] = {}

            def draw(step: str, done: int, total: int, /) -> None:
                if step not in tasks:
                    tasks[step] = bars.add_task(step)
                bars.update(tasks[step], completed=done, total=total)

            yield draw


@contextmanager
def logged_notes(terminal: Terminal) -> Iterator[None]:
    """Print the log messages of the library during a call, each once: how a file is read, and its irregularities."""

    class Notes(logging.Handler):
        """Passes each record on to the terminal."""

        printed: frozenset[str] = frozenset()

        def emit(self, record: logging.LogRecord) -> None:
            if logging.getLogger(record.name).handlers:
                return  # the command prints it itself
            message: object = record.msg
            text = message.render(terminal.audience) if isinstance(message, Phrase) else record.getMessage()
            if text not in self.printed:
                self.printed |= {text}
                terminal.note(f"Warning: {text}" if record.levelno >= logging.WARNING else text)

    # Log records of the library become notes until the call ends.
    logger, handler = logging.getLogger("shoal"), Notes(level=logging.INFO)
    level, onwards = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = onwards


class PathLine(str):
    """A line that ends in a path and is never broken."""

    __slots__ = ()


def warning_lines(warnings: Iterable[Remark], audience: Audience) -> list[str]:
    """Return a line for each kind of warning, in the words of the call."""
    from shoal.wording import join_warnings

    return [plain(f"Warning: {text}") for _, text in join_warnings(one.to_dict(audience) for one in warnings)]


def path_line(name: str, path: object) -> PathLine:
    """Return a line like those of `lines_of`, with an unbroken path."""
    return PathLine(f"  {name:<8}  {plain(path)}")


def folder_lines(folder: Path, *, warned: bool = False) -> list[PathLine]:
    """Return lines with the folders of a release: the public one, the private one, and the page to open first."""
    from shoal.io import private_folder

    # Relative folders are shown relative to the current one.
    private = private_folder(folder.resolve())
    if not folder.is_absolute():
        private = Path(os.path.relpath(private))
    return [
        path_line("publish", f"{folder} (everything in it{'; read the warnings above first' if warned else ''})"),
        path_line("keep", f"{private} (for you alone)"),
        path_line("open", private / "report.html"),
    ]


def lines_of(facts: Sequence[tuple[str, str]]) -> RenderableType:
    """Format facts as lines, with their names in a separate column."""
    from rich.table import Table

    # Two columns without borders: names and facts.
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts:
        table.add_row(_text(f"  {name}"), _text(fact))
    return table


def _text(text: str) -> Any:
    """Return a text without markup and highlighting."""
    from rich.text import Text

    return Text(plain(text))


def discard_if_unread(stream: TextIO) -> None:
    """Flush a stream; if it cannot be written, discard the rest, because the interpreter flushes once more."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def writing_to(stream: TextIO) -> Iterator[None]:
    """Discard output to a terminal that was closed, now and later, so that the call keeps its exit code.

    Raises
    ------
    OutputError
        If the output cannot be written for another reason, such as a full disk.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if error.errno != errno.EIO:
            raise OutputError(f"The result cannot be written to standard output: {reason_of(error)}.") from error


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    class Piped(Console):
        """A console that raises if its reader is gone, instead of ending the process with its own exit code."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(stderr=stderr, highlight=False, markup=False, emoji=False)


def _as_json(value: Any) -> Any:
    """Convert other numeric types (numpy scalars, fractions) to plain numbers."""
    return value.item() if hasattr(value, "item") else float(value)
