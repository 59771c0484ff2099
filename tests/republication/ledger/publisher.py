"""Publishers that can be killed or stopped: a process with everything loaded, which makes one more for each release.

It reads a JSON object a line from standard input and writes one a line to standard output. Nothing of Polars may run in
the process itself: its threads do not survive a fork.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.io.folder import StagedFolder
from shoal.republication import Signatures, generalize, publication
from shoal.republication.ledger import journal
from shoal.republication.ledger.anchor import Anchor
from shoal.republication.ledger.store import Store


def warm() -> None:
    """Load the compiled kernels."""
    generalize(
        quasi_identifiers=np.arange(12, dtype=np.int32).reshape(6, 2),
        sensitive=np.array([0, 1, 2, 0, 1, 2], dtype=np.int32),
        values=3,
        signature_of=np.array([0, 0, 0, -1, -1, -1]),
        signatures=Signatures.of([[0, 1, 2]]),
        m=3,
        rng=np.random.default_rng(0),
    )


def die_at(point: str, kind: str) -> None:
    """Let this process be killed, or stopped, at one of the moments that matter."""
    publish, advance, rename = StagedFolder.publish, journal.advance, Path.rename
    expect, confirm, digests = Anchor.expect, Store.confirm, publication.PublicationFiles.digests

    def die(*_: object) -> None:
        os.kill(os.getpid(), getattr(signal, kind))

    def staged_files(*given: Any) -> Any:
        die()
        return digests(*given)

    def about_to_publish(staged: StagedFolder) -> None:
        die()
        publish(staged)

    def renamed(staged: StagedFolder) -> None:
        publish(staged)
        die()

    def mark_published(*given: Any) -> None:
        advance(*given)
        if given[2].releases[-1].state == "published":
            die()

    def one_renamed(folder: Path, to: Path) -> Path:
        rename(folder, to)
        die()
        return to

    def expected(*given: Any) -> None:
        expect(*given)
        die()

    def confirmed(store: Store) -> None:
        confirm(store)
        die()

    if point == "the anchor is about to expect":
        Anchor.expect = die  # type: ignore[assignment, method-assign]
    elif point == "the anchor expects":
        Anchor.expect = expected  # type: ignore[assignment, method-assign]
    elif point == "files are staged":
        publication.PublicationFiles.digests = staged_files  # type: ignore[method-assign]
    elif point == "the ledger knows":
        StagedFolder.publish = about_to_publish  # type: ignore[method-assign]
    elif point == "the private folder is there":
        Path.rename = one_renamed  # type: ignore[assignment, method-assign]
    elif point == "the folder is there":
        StagedFolder.publish = renamed  # type: ignore[method-assign]
    elif point == "the ledger is about to settle":
        journal.advance = mark_published  # type: ignore[assignment]
    elif point == "the ledger is settled":
        Store.confirm = die  # type: ignore[assignment, method-assign]
    elif point == "the anchor is confirmed":
        Store.confirm = confirmed  # type: ignore[method-assign]


def publish(order: dict[str, Any]) -> dict[str, Any]:
    if "limit" in order:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
    os.chdir(order.get("inside", "."))
    die_at(order.get("point", ""), order.get("signal", "SIGKILL"))
    try:
        ledger = shoal.Ledger(order["url"], key=order["key"], wait=order.get("wait", 30))
        if "erase" in order:
            return {"erased": ledger.series("admissions").erase(order["erase"])}
        made = ledger.series("admissions").publish(order["table"], order["output"])
    except shoal.errors.ShoalError as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"number": made.number}


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    warm()
    say({"ready": True})
    children: dict[int, int] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "wait_for" in order:
            _, status = os.waitpid(order["wait_for"], 0)
            with os.fdopen(children.pop(order["wait_for"])) as answer:
                say({"killed": os.WIFSIGNALED(status), **json.loads(answer.read() or "{}")})
            continue
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, json.dumps(publish(order)).encode())
            os._exit(0)
        os.close(writing)
        children[child] = reading
        say({"child": child})


if __name__ == "__main__":
    main()
