"""What stays behind when a studio ends: nothing of a dropped table, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals.")

PATIENCE = 120.0
"""Seconds in which a busy machine starts and ends a studio."""
TABLE = b"age,disease\n" + b"30,Zyzzyva\n31,x\n" * 20


def started(folder: Path, **extra: Any) -> tuple[subprocess.Popen[bytes], str]:
    """A studio in a process of its own, whose temporary files are in a folder of this test."""
    (folder / "temporary").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / "temporary"), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "shoal", "studio", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, env=environment, **extra)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline().decode())
    assert found is not None
    return process, found.group()


def drop_a_table(address: str) -> None:
    """Drop a table into the page, as a browser does."""
    root = address.partition("/?")[0]
    cookies = urllib.request.HTTPCookieProcessor(CookieJar())
    client = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
    assert client.open(address, timeout=PATIENCE).status == 200
    dropped = urllib.request.Request(f"{root}/open/dropped?name=mine.csv", data=TABLE, headers={"Origin": root})
    with client.open(dropped, timeout=PATIENCE) as answer:
        assert answer.status == 200


def tables_in(folder: Path) -> list[Path]:
    return [path for path in (folder / "temporary").rglob("*") if path.is_file() and path.read_bytes() == TABLE]


@pytest.mark.drawn
@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_signals_leave_nothing_of_a_dropped_table(tmp_path: Path, name: str) -> None:
    process, address = started(tmp_path)
    drop_a_table(address)
    assert len(tables_in(tmp_path)) == 1
    process.send_signal(getattr(signal, name))
    process.send_signal(getattr(signal, name))  # by the shell, and by the system
    process.communicate(timeout=PATIENCE)
    assert not list((tmp_path / "temporary").glob("shoal-studio-*"))


def test_a_closed_terminal_leaves_nothing_of_a_dropped_table(tmp_path: Path) -> None:
    import fcntl
    import pty
    import termios

    leader, follower = pty.openpty()

    def take_the_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process, address = started(
        tmp_path, stdin=follower, stderr=follower, start_new_session=True, preexec_fn=take_the_terminal
    )
    os.close(follower)
    drop_a_table(address)
    assert len(tables_in(tmp_path)) == 1
    os.close(leader)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, "closing its terminal is how a studio is closed"
    assert not list((tmp_path / "temporary").glob("shoal-studio-*"))


def test_the_next_studio_sweeps_what_a_killed_one_left(tmp_path: Path) -> None:
    process, address = started(tmp_path)
    drop_a_table(address)
    process.kill()
    process.communicate()
    assert len(tables_in(tmp_path)) == 1, "nobody could remove it"
    (tmp_path / "second").mkdir()
    (tmp_path / "second/temporary").symlink_to(tmp_path / "temporary")
    process, _ = started(tmp_path / "second")
    assert not tables_in(tmp_path)
    process.terminate()
    process.communicate(timeout=PATIENCE)
