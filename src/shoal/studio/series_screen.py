"""The screen of series: the ledgers, the releases of a changing table so far, and the next release."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, UsageError
from shoal.studio import equivalents
from shoal.studio.jobs import ledgers as jobs
from shoal.studio.pages import page
from shoal.studio.rejected_forms import FieldError, SubmittedForm, refused_page
from shoal.studio.screen_inputs import hash_names, inspect_with_roles, select_name
from shoal.studio.state import NextRelease, RequestedJob, Studio, Waiting
from shoal.studio.worker import Outcome

_USUAL = "releases.db"
_MAX_NAME_LENGTH = 100
_ENVIRONMENT = "SHOAL_LEDGER_KEY"
"""Environment variable that may hold the key of ledgers."""
_CLOSED = "No ledger is open. Choose one, or start a series."


def releases_of_series(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the open ledger: its series, their releases, and the actions on them."""
    # A requested job in progress takes precedence.
    ordered = studio.ordered
    if ordered is not None and studio.worker.job is not None and studio.worker.job.key == ordered.key:
        raise Waiting(step="series", job=studio.worker.job, back="/series")
    plan = studio.plan
    # The outcome of a job on another table is of no use for this one.
    if ordered is not None and ordered.source != plan.source:
        ordered = studio.ordered = None
    if plan.source and plan.decided:
        inspect_with_roles(studio, "series")
    ended = None if ordered is None else studio.worker.outcome(ordered.key)
    found = problem = None
    if studio.ledger:
        try:
            found = _load_ledger(studio)
        except ShoalError as error:
            # A ledger that does not open changes nothing: the error is shown at its form.
            if studio.unconfirmed is not None and studio.unconfirmed.sent.path == "/series/open":
                raise
            # The outcome of the last job is shown even if the ledger cannot be read.
            from shoal.studio.words import SCREENS

            problem = error.render(SCREENS)
    if ordered is not None and ended is not None and ended.error is None:
        _keep_answers(studio, ordered, ended.facts)
    answers = _find_answers(studio)
    named, sensitive = plan.identifiers, plan.names_of("sensitive")
    studio.for_series = bool(plan.source and not (named and sensitive and plan.names_of("quasi_identifier")))
    text = page(
        "series.html.j2",
        studio,
        step="series",
        found=found,
        problem=problem,
        ended=ended,
        ordered=ordered,
        written=ordered is not None and ordered.folder is not None and (studio.paths.home / ordered.folder).exists(),
        ledgers=studio.paths.ledgers(),
        named=named,
        of=hash_names(named),
        sensitive=sensitive,
        quasi=plan.names_of("quasi_identifier"),
        others=plan.names_of("insensitive"),
        folders={} if found is None else {one["name"]: _propose_folder(studio, one) for one in found["series"]},
        released={} if found is None else _find_published(studio, found),
        links={} if found is None else _link_releases(studio, found),
        keyless=[one for one in studio.paths.ledgers() if not _has_key(studio, one)],
        erasing=_rejected_ids(ordered, ended),
        answers=answers,
        most_ids=jobs.MOST_IDS,
        m=_propose_m(plan.privacy),
        usual=_USUAL,
        home=studio.paths.home,
        equivalents=_build_equivalents(studio, found),
    )
    # The form of the next release keeps its answers, and the form of another failed job its values.
    kept = [] if answers is None else [answers.sent]
    if ordered is not None and ended is not None and ended.error is not None and ordered.sent not in kept:
        kept.append(ordered.sent)
    for sent in kept:
        text = refused_page(text, sent, None)
    return text


def _find_answers(studio: Studio) -> NextRelease | None:
    """Find the answers for the next release; those about another table are dropped."""
    if studio.next_release is not None and studio.next_release.source != studio.plan.source:
        studio.next_release = None
    return studio.next_release


def _keep_answers(studio: Studio, ordered: RequestedJob, facts: Mapping[str, Any]) -> None:
    """Keep the answers for the next release and who prevents it, or drop them if it is made."""
    answers, box = studio.next_release, f"without-{ordered.key.rpartition(':')[2]}"
    if "number" in facts:
        studio.released[studio.ledger, ordered.sent.form["series"]] = ordered.source, facts["number"]
        studio.next_release = None
    elif answers is not None and facts.get("reason") and box not in answers.people:
        # People of this refusal were not left out, so an earlier box with some of them is not ticked.
        found = set(facts["ids"])
        earlier = {name: one for name, one in answers.people.items() if found.isdisjoint(one[1])}
        studio.next_release = replace(answers, people={**earlier, box: (facts["reason"], tuple(facts["ids"]))})


def _propose_folder(studio: Studio, series: Mapping[str, Any]) -> str:
    """Propose a folder whose name has the name of the series and the number of its next release."""
    releases = series["releases"]
    number = releases[-1]["number"] + 1 if releases else 1
    plain = re.sub(r"\W+", "-", series["name"]).strip("-_")[:40] or "release"
    return studio.paths.free_folder(f"{plain}-{number}")


def _link_releases(studio: Studio, found: Mapping[str, Any]) -> dict[str, list[str]]:
    """List what is in the folder of each release: "table", "public" and "private" reports."""
    folders = [Path(release["folder"]) for one in found["series"] for release in one["releases"] if release["folder"]]
    return {
        str(folder): [side for side in ("table", "public", "private") if studio.paths.report(folder.name, side)]
        for folder in folders
        if folder.parent == studio.paths.home
    }


def _find_published(studio: Studio, found: Mapping[str, Any]) -> dict[str, int]:
    """Map each series whose last release was made from the open table to the number of that release."""
    numbers = {}
    for one in found["series"]:
        source, number = studio.released.get((studio.ledger, one["name"]), ("", 0))
        last = one["releases"][-1] if one["releases"] else {}
        # A release that was taken back must be made again.
        if source == studio.plan.source and last.get("number") == number and last["state"] == "published":
            numbers[one["name"]] = number
    return numbers


def _has_key(studio: Studio, ledger: str) -> bool:
    """Check whether the key of a ledger was named, or lies next to it."""
    known = ledger in studio.ledger_keys or _ENVIRONMENT in os.environ
    return known or (studio.paths.home / f"{ledger}.key").is_file()


def _rejected_ids(ordered: RequestedJob | None, ended: Outcome | None) -> str:
    """Return the ids of a form that failed, so that they need not be typed again."""
    failed = ordered is not None and ended is not None and (ended.error is not None or "ids" in ended.facts)
    return ordered.sent.form.get("ids", "") if ordered is not None and failed else ""


def _propose_m(privacy: Mapping[str, str]) -> str:
    given = privacy.get("l", "")
    return given if given.isdecimal() and int(given) >= 2 else "4"


def _load_ledger(studio: Studio) -> Any:
    path = studio.paths.ledger(studio.ledger)
    if not path.is_file():
        raise UsageError("There is no such ledger in this folder any longer.")
    # The state of the file is part of the key, so a changed ledger is read again.
    stamp = path.stat()
    arguments = {
        "ledger": str(path),
        "key": studio.ledger_keys.get(studio.ledger),
        "stamp": [stamp.st_mtime_ns, stamp.st_size],
    }
    return studio.facts("series", f"Opening {studio.ledger}", jobs.list_series, arguments, back="/series")


def open_ledger(studio: Studio, form: Mapping[str, str]) -> str:
    """Open a ledger in the folder of the studio."""
    name = form.get("ledger", "").strip()
    if not studio.paths.ledger(name).is_file():
        raise UsageError("There is no such ledger in this folder. Look at its name, or start a series.")
    if "key" in form:
        key = studio.paths.ledger_key(form["key"])
        if not key.is_file():
            raise FieldError("There is no such file. Look at its name, and at the folder.", field="key")
        studio.ledger_keys = {**studio.ledger_keys, name: str(key)}
    studio.ledger, studio.ordered, studio.next_release = name, None, None
    return "/series"


def start(studio: Studio, form: Mapping[str, str]) -> str:
    """Start a series of the open table, in an existing or a new ledger."""
    plan = studio.plan
    if not plan.decided or not plan.names_of("sensitive"):
        raise UsageError(
            "A series protects a sensitive value of people whom others may know. Open the table of today, and choose "
            "on the screen Table what its columns are."
        )
    # Validate the fields in the order of the form.
    identifier, m = select_name(form, plan.identifiers), form.get("m", "").strip()
    if identifier is None:
        raise FieldError(
            "Choose the column that names each person (not a visit), the same in every release. It is never published.",
            field="identifier",
        )
    if not re.fullmatch(r"\d{1,3}", m) or int(m) < 2:
        raise FieldError(
            "The number of values that no one can tell apart (m) must be a whole number, at least 2.", field="m"
        )
    ledger = form.get("ledger", "").strip()
    try:
        path = studio.paths.ledger(ledger)
    except UsageError as error:
        raise FieldError(*error.args, field="ledger") from error
    # The place of the key is decided before there is a key.
    key, beside = form.get("key", "").strip(), form.get("place") == "beside"
    if not path.exists():
        if bool(key) == beside:
            raise FieldError(
                "Choose where the key of the new ledger is kept. It is either in the file that you name, or next to "
                "the ledger.",
                field="key",
            )
        others = {name: one for name, one in studio.ledger_keys.items() if name != ledger}
        own = {ledger: str(studio.paths.ledger_key(key))} if key else {}
        studio.ledger_keys = others | own
    arguments = {
        "ledger": str(path),
        "key": studio.ledger_keys.get(ledger),
        "name": form.get("name", "").strip()[:_MAX_NAME_LENGTH],
        "m": int(m),
        "identifier": identifier,
        "quasi_identifiers": plan.names_of("quasi_identifier"),
        "sensitive": plan.names_of("sensitive"),
        "direct_identifiers": [one for one in equivalents.left_out_of_series(plan) if one != identifier],
    }
    sent = SubmittedForm(path="/series/start", form=form)
    _start_job(studio, f"Starting the series “{arguments['name']}”", jobs.start_series, arguments, sent=sent)
    studio.ledger, studio.next_release = ledger, None
    return "/series"


def act_on_series(studio: Studio, form: Mapping[str, str]) -> str:
    """Publish the next release of a series, verify it, erase people from it, or roll its last release back."""
    if not studio.ledger:
        raise UsageError(_CLOSED)
    ledger, series = str(studio.paths.ledger(studio.ledger)), form.get("series", "")
    key = studio.ledger_keys.get(studio.ledger)
    common = {"ledger": ledger, "key": key, "series": series}
    do, sent = form.get("do", ""), SubmittedForm(path="/series", form=form)
    if do == "publish":
        plan = studio.plan
        if not plan.source:
            raise UsageError(
                "Open the table of today first: everyone who is to be in the release, a line for each person."
            )
        folder = studio.paths.folder(form.get("folder", ""))
        # Only boxes that the form has, and that are ticked, count.
        answers = _find_answers(studio)
        people = answers.people if answers is not None and answers.series == series else {}
        leave_out: dict[str, list[str]] = {}
        for box, (reason, found) in people.items():
            if form.get(box):
                leave_out.setdefault(reason, []).extend(found)
        arguments = {
            **common,
            "source": plan.source,
            "folder": str(folder),
            "reading": {name: one for name, one in plan.read_arguments.items() if name != "dates"},
            "missing_sensitive": "drop" if form.get("drop") else "error",
            "strict": not form.get("anyway"),
            "leave_out": leave_out,
        }
        _start_job(
            studio,
            f"Making the next release of “{series}”",
            jobs.publish_next,
            arguments,
            sent=sent,
            folder=folder.name,
        )
        studio.next_release = NextRelease(sent=sent, source=plan.source, people=people)
    elif do == "erase":
        ids = [line.strip() for line in form.get("ids", "").splitlines() if line.strip()]
        if not ids or form.get("sure") != "yes":
            raise FieldError("Write at least one id, and say that it cannot be undone.", field="sure")
        _start_job(
            studio,
            f"Erasing people from “{series}”",
            jobs.erase_people,
            {**common, "ids": ids},
            sent=sent,
        )
    elif do == "verify":
        _start_job(studio, f"Checking the series “{series}”", jobs.verify_series, common, sent=sent)
    elif do == "rollback":
        if form.get("unpublished") != "yes":
            # A rollback is safe only if the release has not been published.
            raise FieldError(
                "A release that someone has cannot be taken back: the next one would contradict it. Say that no one "
                "outside has seen it, or leave it.",
                field="unpublished",
            )
        _start_job(studio, f"Taking back the last release of “{series}”", jobs.take_back, common, sent=sent)
    return "/series"


def _start_job(
    studio: Studio,
    title: str,
    work: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    sent: SubmittedForm,
    folder: str | None = None,
) -> None:
    """Start a lasting job on a series, which no other job replaces."""
    # Each request has its own key: a repeated job must run again, because it writes to the ledger.
    studio.count += 1
    key = f"series:{studio.count}"
    if not studio.worker.start(key, title, work, arguments, lasting=True):
        raise UsageError("A release is being made. Wait for it, or stop it.")
    studio.ordered = RequestedJob(key=key, title=title, folder=folder, sent=sent, source=studio.plan.source)


def _build_equivalents(studio: Studio, found: Mapping[str, Any] | None) -> equivalents.Equivalents | None:
    names = [one["name"] for one in found["series"]] if found else []
    try:
        return equivalents.of_series(
            studio.plan,
            ledger=studio.ledger or _USUAL,
            series=names[0] if names else "admissions",
            m=found["series"][0]["m"] if names and found else int(_propose_m(studio.plan.privacy)),
            started=bool(names),
            output=_propose_folder(studio, found["series"][0]) if names and found else studio.paths.free_folder(),
            key=studio.ledger_keys.get(studio.ledger),
        )
    except ShoalError:
        return None
