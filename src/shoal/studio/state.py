"""One studio: what was decided, the worker, the last release. Browsers come and go; all of them see the same."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.studio.plan import History, Plan
from shoal.studio.refusing import FieldError, Sent

if TYPE_CHECKING:
    from shoal.studio.allowed_paths import Places
    from shoal.studio.work import Job, Outcome, Workshop

__all__ = ["OrderedRelease", "OrderedWork", "Studio", "UnprovedChange", "Waiting"]

_DECIDED = ("levels", "ways", "attack", "together", "values_shown", "columns_shown", "ledger")
"""What a form changes beside the plan."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What a screen is in place of itself, as long as it cannot be shown."""

    step: str = ""
    """The screen."""
    job: Job | None = None
    """The work that it waits for."""
    back: str = "/"
    """Where to go when that is cancelled."""
    path: str | None = None
    """Another screen that comes first."""


@dataclass(frozen=True, kw_only=True)
class OrderedRelease:
    """A release that was asked for."""

    key: str
    """The piece of work that makes it."""
    folder: Path
    """Where it goes."""
    plan: Plan
    """What was asked for."""


@dataclass(frozen=True, kw_only=True)
class OrderedWork:
    """Work on a series that was asked for."""

    key: str
    """The piece of work."""
    title: str
    """What people are told that it does."""
    folder: str | None
    """The folder of the release that it makes; None where it makes none."""
    sent: Sent
    """The form that asked for it."""


@dataclass(frozen=True, kw_only=True)
class UnprovedChange:
    """A change that holds only if the screen after it can be shown: its work may find that something is wrong."""

    sent: Sent
    """The form that asked for it."""
    before: Mapping[str, Any]
    """What was decided before; see `Studio.decisions`."""
    target: str
    """The screen after it."""


@dataclass(kw_only=True)
class Studio:
    """The state of one studio."""

    places: Places
    """What may be read and written."""
    workshop: Workshop
    """Where work is done."""
    stop: Callable[[], None] = lambda: None
    """Ends the server."""
    max_upload: int = 0
    """Bytes of a dropped file, at most."""
    history: History = field(default_factory=History)
    """What was decided."""
    publication: OrderedRelease | None = None
    """The last release that was asked for."""
    levels: Mapping[str, str] | None = None
    """The levels of protection to compare, as they were typed; None as long as nobody asked."""
    ways: bool = False
    """Whether somebody asked to compare algorithms."""
    attack: Mapping[str, str] | None = None
    """How the release is attacked; None as long as nobody asked."""
    together: Mapping[str, Any] | None = None
    """Which releases are attacked together; None as long as nobody asked."""
    ledger: str = ""
    """The ledger that is open, by its name in the folder."""
    ordered: OrderedWork | None = None
    """What was asked for last of a series."""
    values_shown: bool = False
    """Whether somebody asked to see values of the table."""
    columns_shown: set[str] = field(default_factory=set)
    """The columns of which somebody asked to see the values, to group them by hand."""
    unproved: UnprovedChange | None = None
    """The last change, as long as the screen after it was not shown."""
    count: int = 0
    """Releases that were asked for."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held by whoever looks at the state or changes it."""

    @property
    def plan(self) -> Plan:
        """What was decided so far."""
        return self.history.plan

    def decisions(self) -> dict[str, Any]:
        """Return everything that forms change, so that a change can be taken back."""
        own = {name: getattr(self, name) for name in _DECIDED}
        return {**own, "columns_shown": {*self.columns_shown}, "history": ([*self.history.steps], self.history.at)}

    def take_back(self, decisions: Mapping[str, Any]) -> None:
        """Let earlier decisions hold again."""
        for name in _DECIDED:
            setattr(self, name, decisions[name])
        self.history.steps, self.history.at = decisions["history"]
        self.forget_unused()

    def forget_unused(self) -> None:
        """Remove the dropped tables of which the history knows nothing."""
        self.places.forget_but({plan.source for _, plan in self.history.steps})

    def outcome(
        self, step: str, title: str, work: Callable[..., Any], arguments: Mapping[str, Any], *, back: str
    ) -> Outcome | Waiting:
        """Return how a piece of work ended; it is started where it did not run yet, and waited for meanwhile."""
        key = self._key(work, arguments)
        found = self.workshop.outcome(key)
        if found is not None:
            return found
        if not self.workshop.start(key, title, work, arguments):
            return Waiting(step="publish", job=self.workshop.job, back="/publish")
        return Waiting(step=step, job=self.workshop.job, back=back)

    def facts(self, step: str, title: str, work: Callable[..., Any], arguments: Mapping[str, Any], *, back: str) -> Any:
        """Return what a piece of work found, or a `Waiting`.

        Raises
        ------
        FieldError
            Where it failed; the next time it is tried again.
        """
        found = self.outcome(step, title, work, arguments, back=back)
        if isinstance(found, Waiting):
            return found
        if found.error is not None:
            self.workshop.forget(self._key(work, arguments))
            raise FieldError(found.error, field=found.parameter)
        return found.facts

    def _key(self, work: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
        """Return what tells a piece of work from others; a file that changed makes another one."""
        named = {name: value for name, value in arguments.items() if not callable(value)}
        try:
            found = os.stat(self.plan.source)
            stamp = [] if self.plan.demo else [found.st_mtime_ns, found.st_size]
        except OSError:
            stamp = []
        return f"{work.__name__}:{json.dumps([stamp, named], sort_keys=True)}"

    def file_of_release(self, side: str, name: str) -> Path | None:
        """Return a file of the last release: of the public folder or the private one; None where there is none."""
        if self.publication is None or side not in ("public", "private"):
            return None
        done = self.workshop.outcome(self.publication.key)
        if done is None or done.error is not None:
            return None
        folder = self.publication.folder
        names = done.facts["files" if side == "public" else "private"]
        path = (folder if side == "public" else folder.with_name(f"{folder.name}.private")) / name
        return path if name in names and path.is_file() and not path.is_symlink() else None

    def close(self) -> None:
        """End everything, and forget what was dropped."""
        self.workshop.close()
        self.places.close()
        self.stop()
