"""The server: a socket on the loopback interface, an address for one use, and cleanup at the end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shoal._core.outcome import reason_of
from shoal._core.temporary import sweep_temporary_folders
from shoal.errors import UsageError
from shoal.studio.allowed_paths import AllowedPaths
from shoal.studio.state import Studio

_LOOPBACK = "127.0.0.1"


def serve(
    *,
    home: Path,
    table: Path | None,
    allowed: Sequence[Path],
    port: int,
    max_upload: int,
    browser: bool,
    opened: Callable[[str], None],
) -> None:
    """Run a studio until it is closed.

    Parameters
    ----------
    home : Path
        The folder of tables and releases.
    table : Path, optional
        The table to open first.
    allowed : sequence of Path
        Other files and folders that may be read.
    port : int
        The port to listen on; 0 chooses a free port.
    max_upload : int
        Maximum size of an uploaded file in bytes.
    browser : bool
        Whether to open a browser.
    opened : callable
        Called with the address as soon as the server listens.

    Raises
    ------
    UsageError
        If the port is in use, or `table` is not a table.
    """
    import uvicorn

    from shoal.studio.app import application
    from shoal.studio.guard import Guard

    # Remove what a studio that was killed has left behind.
    sweep_temporary_folders()
    studio = studio_of(home=home, table=table, allowed=allowed, max_upload=max_upload)
    with contextlib.closing(_listening(port)) as listening:
        guard = Guard(application(studio), port=listening.getsockname()[1], max_upload=max_upload)
        server = uvicorn.Server(
            uvicorn.Config(
                guard,
                access_log=False,  # the log would contain the token
                # Messages of lower levels may quote names of files.
                log_level="debug" if os.environ.get("SHOAL_DEBUG") == "1" else "critical",
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
        )

        def stop() -> None:
            server.should_exit = True

        studio.stop = stop
        address = guard.entrance
        opened(address)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            with _closed_with_the_terminal(stop), contextlib.suppress(KeyboardInterrupt):  # Ctrl-C closes the studio
                server.run(sockets=[listening])
        finally:
            with _undisturbed():
                studio.close()


@contextlib.contextmanager
def _closed_with_the_terminal(stop: Callable[[], None]) -> Iterator[None]:
    """Close the studio if its terminal is closed, as Ctrl-C does; a studio started with `nohup` keeps running."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has no such signal
    if hangup is None or not _is_main_thread() or signal.getsignal(hangup) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(hangup, lambda number, frame: stop())
    try:
        yield
    finally:
        signal.signal(hangup, before)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore signals during the cleanup, which takes seconds; if interrupted, it would leave the table behind."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {one: signal.signal(one, signal.SIG_IGN) for one in numbers} if _is_main_thread() else {}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def studio_of(*, home: Path, table: Path | None, allowed: Sequence[Path], max_upload: int) -> Studio:
    """Create a studio without a server; see `serve`."""
    from shoal.studio import screens
    from shoal.studio.projects import PROJECT
    from shoal.studio.worker import Worker

    paths = AllowedPaths(home=home, allowed=tuple(allowed))
    studio = Studio(paths=paths, worker=Worker(), max_upload=max_upload)
    if table is not None and table.name.endswith(PROJECT):
        if table.resolve().parent != paths.home:
            raise UsageError("Start the studio in the folder of the project.")
        screens.open_project(studio, {"project": table.name})
    elif table is not None:
        screens.open_table(studio, paths.table(str(table)))
    return studio


def _listening(port: int) -> socket.socket:
    """Open a socket that is reachable from this machine only."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Allows using the port of a studio that was just closed. On Windows the option would share the port.
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise UsageError(f"Port {port} cannot be used: {reason_of(error)}. Choose another one.") from error
    listening.listen(64)
    return listening
