"""The state of a studio: decisions, worker, and last release. All connected browsers share it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.studio.allowed_paths import AllowedPaths
from shoal.studio.plan import History, Plan
from shoal.studio.projects import Project, name_project, project_text, write_project
from shoal.studio.rejected_forms import FieldError, SubmittedForm
from shoal.studio.worker import Given, Job, Work, Worker

_DECIDED = (
    *("levels", "ways", "attack", "together", "values_shown", "folder"),
    *("ledger", "ledger_keys", "next_release", "review"),
)
"""Attributes of `Studio` that forms change in addition to the plan."""


@dataclass(kw_only=True, eq=False)
class Waiting(Exception):  # noqa: N818 - no error: the screen is shown later
    """A screen cannot be shown yet: there is a job to wait for, or another screen to go to."""

    step: str = ""
    """The name of the screen."""
    job: Job | None = None
    """The job to wait for."""
    back: str = "/"
    """The path to go to if the job is cancelled."""
    path: str | None = None
    """The path of another screen that must come first."""


@dataclass(frozen=True, kw_only=True)
class RequestedRelease:
    """A requested release."""

    key: str
    """The key of the job that makes it."""
    folder: Path
    """The folder to write to."""
    plan: Plan
    """The plan at the time of the request."""


@dataclass(frozen=True, kw_only=True)
class RequestedJob:
    """A requested job on a series."""

    key: str
    """The key of the job."""
    title: str
    """The title shown to users."""
    folder: str | None
    """The folder of the release that the job makes; None if it makes none."""
    sent: SubmittedForm
    """The form that requested it."""
    source: str = ""
    """The open table at the time."""


@dataclass(frozen=True, kw_only=True)
class NextRelease:
    """The answers that were given for the next release of a series."""

    sent: SubmittedForm
    """The last form that requested the release."""
    source: str
    """The open table at the time."""
    people: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """People who prevent the release, by the name of the box that leaves them out: the reason, and their ids."""

    @property
    def series(self) -> str:
        """The name of the series."""
        return self.sent.form["series"]


@dataclass(frozen=True, kw_only=True)
class Review:
    """The review of a published table."""

    source: str
    """Path of the folder or table."""
    shown: str
    """The path in commands, relative to the folder of the studio."""
    quasi_identifiers: tuple[str, ...] | None = None
    """Columns that others may know, as the reviewer chose; None for those of the certificate."""
    sensitive: tuple[str, ...] | None = None
    """Sensitive columns, as the reviewer chose; None for those of the certificate."""
    identifiers: tuple[str, ...] = ()
    """Columns that identify persons by themselves, as the reviewer stated."""
    original: str | None = None
    """The table that it was made from, as typed; empty if it is not at hand, None until attacks are requested."""
    person: str | None = ""
    """The column of that table that identifies persons with several records; empty if each record is a person, None
    until the likely one is found."""
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    """The file of the hierarchy of each column whose cells need one, as chosen."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The decision and the other words of the document, by parameter of `shoal.About`."""
    file: str = ""
    """Name of the file that it was saved to; empty if it was not saved."""
    figures: str = ""
    """The figures of the last count that was saved, as JSON; empty for a new decision."""

    @property
    def roles(self) -> dict[str, tuple[str, ...] | None]:
        """The roles of columns that the reviewer chose."""
        return {"quasi_identifiers": self.quasi_identifiers, "sensitive": self.sensitive}


@dataclass(frozen=True, kw_only=True)
class UnconfirmedChange:
    """A change that is kept only if the next screen can be shown, because its job may find an error."""

    sent: SubmittedForm
    """The form that requested it."""
    before: Mapping[str, Any]
    """The decisions before the change; see `Studio.decisions`."""
    target: str
    """The path of the next screen."""


@dataclass(kw_only=True)
class Studio:
    """The state of one studio."""

    paths: AllowedPaths
    """The paths that may be read and written."""
    worker: Worker
    """The worker that runs jobs."""
    stop: Callable[[], None] = lambda: None
    """Stops the server."""
    max_upload: int = 0
    """Maximum size of an uploaded file in bytes."""
    history: History = field(default_factory=History)
    """All plans so far."""
    publication: RequestedRelease | None = None
    """The last requested release."""
    folder: str = ""
    """The folder of the next release as typed; empty if none was."""
    levels: Mapping[str, str] | None = None
    """The levels of protection to compare, as typed, and the hash of their plan; None until they are requested."""
    ways: str = ""
    """The plan of a comparison of algorithms, hashed; empty until one is requested."""
    attack: Mapping[str, str] | None = None
    """Options of the attacks on the release, and the hash of their plan; None until they are requested."""
    together: Mapping[str, Any] | None = None
    """Options of the attack on several releases; None until it is requested."""
    review: Review | None = None
    """The review of a published table; None until one is opened."""
    ledger: str = ""
    """File name of the open ledger; empty if none is open."""
    ledger_keys: Mapping[str, str] = field(default_factory=dict)
    """Path of the key of each ledger whose key is in another folder; replaced as a whole, so that it can be undone."""
    ordered: RequestedJob | None = None
    """The last requested job on a series."""
    next_release: NextRelease | None = None
    """The answers for the next release; None once it is made, or if another table or ledger is opened."""
    released: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """The table and the number of the last release of each series, by ledger and series."""
    for_series: bool = False
    """Whether the columns of the table are described in order to start a series."""
    values_shown: bool = False
    """Whether the user chose to see the cells of columns that are left out, too."""
    unconfirmed: UnconfirmedChange | None = None
    """The last change, until the next screen has been shown."""
    pending: bool = False
    """Whether a part of the last screen waits for a job, which may still find an error of the last change."""
    count: int = 0
    """Number of releases requested so far."""
    projects: dict[str, str] = field(default_factory=dict)
    """File name of the project of each table, by its source."""
    asked: Project | None = None
    """A project that reads from a database, until its address is confirmed."""
    awaited: Project | None = None
    """An opened project whose table was dropped into the page, so that it must be dropped again."""
    saved: str = ""
    """The project as it was saved last; empty if it could not be saved."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while the state is read or changed."""

    @property
    def plan(self) -> Plan:
        """The current plan."""
        return self.history.plan

    def decisions(self) -> dict[str, Any]:
        """Copy the attributes that forms change, so that a change can be undone."""
        # The list is copied, because later changes mutate it.
        own = {name: getattr(self, name) for name in _DECIDED}
        return {**own, "history": ([*self.history.steps], self.history.at)}

    def restore(self, decisions: Mapping[str, Any]) -> None:
        """Restore earlier decisions."""
        for name in _DECIDED:
            setattr(self, name, decisions[name])
        self.history.steps, self.history.at = decisions["history"]
        # Uploads of the discarded plans are removed last, when the history no longer refers to them.
        self.remove_unused_uploads()

    @property
    def project(self) -> str:
        """File name of the project of the open table; empty if nothing was decided yet, or it cannot be saved."""
        return self.projects.get(self.plan.source, "") if self.saved else ""

    def save(self) -> None:
        """Save the project of the open table, if something was decided and it has changed."""
        # The meaning of a row is the first decision: a table that was only looked at has no project.
        plan = self.plan
        if not plan.source or not (plan.rows or plan.source in self.projects):
            return
        name = self.projects.get(plan.source) or name_project(self.paths, plan.shown)
        text = project_text(self.paths, self.history)
        if text == self.saved and name == self.projects.get(plan.source):
            return
        try:
            write_project(self.paths.home / name, text)
        except OSError:  # a folder that cannot be written; the screens say that nothing is kept
            self.saved = ""
        else:
            self.projects[plan.source], self.saved = name, text

    def remove_unused_uploads(self) -> None:
        """Remove the uploaded tables that no plan of the history uses."""
        self.paths.remove_uploads_except({plan.source for _, plan in self.history.steps})

    def facts(self, step: str, title: str, work: Work, arguments: Given, *, back: str, brief: bool = False) -> Any:
        """Return the value that a job returned; start the job if it has not run, and raise `Waiting` until it ends.

        Raises
        ------
        FieldError
            If the job failed. The next call runs it again.
        """
        # Three cases: finished, refused because a lasting job runs, started.
        key = self._key(work, arguments)
        found = self.worker.outcome(key)
        if found is None:
            started = self.worker.start(key, title, work, arguments, brief=brief)
            raise Waiting(
                step=step if started else "publish", job=self.worker.job, back=back if started else "/publish"
            )
        # Errors are not cached: the user may have mended the file.
        if found.error is not None:
            self.worker.forget(key)
            raise FieldError(found.error, field=found.parameter)
        return found.facts

    def facts_later(self, step: str, title: str, work: Work, arguments: Given, *, back: str) -> Any:
        """Return the value that a job returned, or None while it runs: the page loads that part again."""
        try:
            return self.facts(step, title, work, arguments, back=back, brief=True)
        except Waiting:
            self.pending = True
            return None

    def _key(self, work: Work, arguments: Given) -> str:
        """Build the key of a job from its function, its arguments, and the state of the table's file."""
        named = {name: value for name, value in arguments.items() if not callable(value)}
        try:
            # Modification time and size stand for the content; the demo file is written by the job itself.
            files = [os.stat(one) for one in (self.plan.source, self.plan.second) if one]
            stamp = [] if self.plan.demo else [part for one in files for part in (one.st_mtime_ns, one.st_size)]
        except OSError:
            stamp = []
        return f"{work.__name__}:{json.dumps([stamp, named], sort_keys=True)}"

    def file_of_release(self, side: str, name: str) -> Path | None:
        """Find a file in the public or private folder of the last release; None if there is no such file."""
        # Only files that the job itself listed are served, and never through a symbolic link.
        if self.publication is None or side not in ("public", "private"):
            return None
        done = self.worker.outcome(self.publication.key)
        if done is None or done.error is not None:
            return None
        folder = self.publication.folder
        names = done.facts["files" if side == "public" else "private"]
        path = (folder if side == "public" else folder.with_name(f"{folder.name}.private")) / name
        return path if name in names and path.is_file() and not path.is_symlink() else None

    def close(self) -> None:
        """End the worker and the server, and remove uploaded files."""
        self.worker.close()
        self.paths.close()
        self.stop()
