"""What the command line says, and where: results on standard output, everything else on standard error."""

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

from shoal._messages import PYTHON, Phrase, set_audience

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shoal._core.progress import Progress
    from shoal._messages import Audience
    from shoal.findings import Remark

__all__ = [
    "Terminal",
    "discard_if_unread",
    "folder_lines",
    "lines_of",
    "logged_notes",
    "path_line",
    "plain",
    "warning_lines",
]


def plain(text: object) -> str:
    r"""Return a text in which no character can steer a terminal: column names come from files that others made.

    Examples
    --------
    >>> plain("age\x1b[2J")
    'age\\x1b[2J'
    """
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in str(text)
    )


@dataclass(kw_only=True)
class Terminal:
    """Where one call of the command line speaks to its user."""

    json: bool = False
    """Whether standard output carries one JSON object and nothing else."""
    published: bool = False
    """Whether the call did what it was for: its release is in place, and an interrupt can undo nothing."""
    audience: Audience = PYTHON
    """What the user calls the parameters of the library."""

    @contextmanager
    def speaking(self, audience: Audience) -> Iterator[None]:
        """Phrase messages for an audience, on the terminal and in written files."""
        self.audience = audience
        with set_audience(audience):
            yield

    def result(self, facts: Mapping[str, Any]) -> None:
        """Print the one JSON object of a call."""
        # ASCII, so that no locale can spoil it.
        sys.stdout.write(json.dumps(facts, indent=2, allow_nan=False, default=_as_json) + "\n")
        sys.stdout.flush()

    def say(self, *parts: RenderableType) -> None:
        """Print a part of the result for people; nothing when a program is listening."""
        if not self.json:
            console = _console(stderr=False)
            with _discarded_if_closed(sys.stdout):
                for part in parts:
                    # A path is copied or clicked: the terminal may wrap it, we must not break it.
                    console.print(part, soft_wrap=isinstance(part, PathLine))

    def note(self, text: str) -> None:
        """Tell something that is not the result, on standard error; nobody has to read it."""
        with suppress(BrokenPipeError), _discarded_if_closed(sys.stderr):
            _console(stderr=True).print(_text(text))

    def fail(
        self,
        message: str,
        code: int,
        *,
        show: Callable[[], None] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> int:
        """Say why a call failed, on standard error and to a listening program, and return its exit code.

        Parameters
        ----------
        message : str
            What went wrong and what to do next.
        code : int
            The exit code.
        show : callable, optional
            Prints the message on standard error in another way (with the usage, say).
        facts : mapping, optional
            What else a listening program is told.
        """
        # The code says that the call failed, also where nobody reads why (rich leaves with SystemExit then).
        with suppress(BrokenPipeError, SystemExit), _discarded_if_closed(sys.stderr):
            if show is not None:
                show()
            else:
                sys.stderr.write(f"Error: {plain(message)}\n")
        if self.json:
            with suppress(BrokenPipeError):
                self.result({"error": message, "exit_code": code, **(facts or {})})
        return code

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """Draw a bar for each step of the work while it lasts; none where standard error is no terminal.

        Either way it is said when the work is new to this machine and must be compiled.
        """
        from shoal.cli.compilation import announced_compilation

        if not sys.stderr.isatty():
            with announced_compilation(self.note):
                yield None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        console = _console(stderr=True)  # lines appear above the bars
        with (
            announced_compilation(lambda words: console.print(_text(words))),
            Progress(*columns, console=console, transient=True) as bars,
        ):
            tasks: dict[str, Any] = {}

            def told(step: str, done: int, total: int, /) -> None:
                if step not in tasks:
                    tasks[step] = bars.add_task(step)
                bars.update(tasks[step], completed=done, total=total)

            yield told


@contextmanager
def logged_notes(terminal: Terminal) -> Iterator[None]:
    """Say what the library logs, once each, while it works: how it reads a file, and what is odd about it."""

    class Notes(logging.Handler):
        """Passes each record on to the terminal."""

        said: frozenset[str] = frozenset()

        def emit(self, record: logging.LogRecord) -> None:
            if logging.getLogger(record.name).handlers:
                return  # its command says it
            said: object = record.msg
            text = said.render(terminal.audience) if isinstance(said, Phrase) else record.getMessage()
            if text not in self.said:
                self.said |= {text}
                terminal.note(f"Warning: {text}" if record.levelno >= logging.WARNING else text)

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
    """Return a line for each warning, in the words of the call."""
    return [plain(f"Warning: {remark.render(audience)}") for remark in warnings]


def path_line(name: str, path: object) -> PathLine:
    """Return a line like those of `lines_of`, with a path that stays in one piece."""
    return PathLine(f"  {name:<8}  {plain(path)}")


def folder_lines(folder: Path) -> list[PathLine]:
    """Return where a release was written: what may be published, what may not, and the page that tells all of it."""
    from shoal.io import private_folder

    private = private_folder(folder.resolve())
    if not folder.is_absolute():
        private = Path(os.path.relpath(private))
    return [
        path_line("publish", f"{folder} (everything in it)"),
        path_line("keep", f"{private} (for you alone)"),
        path_line("open", private / "report.html"),
    ]


def lines_of(facts: Sequence[tuple[str, str]]) -> RenderableType:
    """Return facts as lines with their names in a column of their own."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts:
        table.add_row(_text(f"  {name}"), _text(fact))
    return table


def _text(text: str) -> Any:
    """Return a text that means nothing but itself: no markup, no colours of its own."""
    from rich.text import Text

    return Text(plain(text))


def discard_if_unread(stream: TextIO) -> None:
    """Write what is left in a stream or, where its reader has left, drop it: the interpreter flushes once more."""
    try:
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def _discarded_if_closed(stream: TextIO) -> Iterator[None]:
    """Drop what is written to a terminal that was closed, now and later: the call has its own exit code."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    class Piped(Console):
        """A console that tells when its reader has left, rather than ending the process with a code of its own."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(stderr=stderr, highlight=False, markup=False, emoji=False)


def _as_json(value: Any) -> Any:
    """Return numbers of other kinds (numpy's, fractions) as plain ones."""
    return value.item() if hasattr(value, "item") else float(value)
