"""The server: a socket of this machine, an address that works once, and the end of everything when it is closed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

from shoal._core.temporary import sweep_temporary_folders
from shoal.errors import UsageError
from shoal.studio.allowed_paths import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from shoal.studio.state import Studio

__all__ = ["serve", "studio_of"]

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
        The folder that it works in.
    table : Path, optional
        The table to begin with.
    allowed : sequence of Path
        What may be read beside that folder.
    port : int
        Where to listen; 0 takes a free port.
    max_upload : int
        Bytes of a dropped file, at most.
    browser : bool
        Whether to open a browser.
    opened : callable
        Called with the address when it can be opened.

    Raises
    ------
    UsageError
        The port is taken, or the table is none.
    """
    import uvicorn

    from shoal.studio.app import application
    from shoal.studio.guard import Guard

    sweep_temporary_folders()
    studio = studio_of(home=home, table=table, allowed=allowed, max_upload=max_upload)
    with contextlib.closing(_listening(port)) as listening:
        guard = Guard(application(studio), port=listening.getsockname()[1], max_upload=max_upload)
        server = uvicorn.Server(
            uvicorn.Config(
                guard,
                access_log=False,  # it would write the token
                log_level="debug" if os.environ.get("SHOAL_DEBUG") == "1" else "critical",  # others may quote names
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
            with _closed_with_the_terminal(stop), contextlib.suppress(KeyboardInterrupt):  # Ctrl-C closes it, too
                server.run(sockets=[listening])
        finally:
            with _undisturbed():
                studio.close()


@contextlib.contextmanager
def _closed_with_the_terminal(stop: Callable[[], None]) -> Iterator[None]:
    """Close the studio like Ctrl-C when its terminal is closed; what `nohup` started goes on."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
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
    """Ignore signals that would cut the cleanup short: it takes seconds at most, and would leave the table behind."""
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
    """Return a studio that nobody serves yet; see `serve`."""
    from shoal.studio import screens
    from shoal.studio.state import Studio
    from shoal.studio.work import Workshop

    places = Places(home=home, allowed=tuple(allowed))
    studio = Studio(places=places, workshop=Workshop(), max_upload=max_upload)
    if table is not None:
        screens.opened(studio, places.table(str(table)))
    return studio


def _listening(port: int) -> socket.socket:
    """Return a socket that nobody outside this machine can reach."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # the port of a studio that was just closed may be taken again; elsewhere it would be shared
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise UsageError(f"Port {port} cannot be used: {error.strerror}. Choose another one.") from error
    listening.listen(64)
    return listening
