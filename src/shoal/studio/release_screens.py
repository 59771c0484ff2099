"""The screens of a release: the summary before it is made, its progress, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import number, percent, quote, visible
from shoal.errors import UsageError
from shoal.studio import equivalents
from shoal.studio.jobs import attacks, tables
from shoal.studio.pages import page
from shoal.studio.plan import ONE_EACH, RECORDS, Plan
from shoal.studio.requests import arguments_in
from shoal.studio.screen_inputs import (
    build_equivalents,
    explain_models,
    hash_names,
    inspect_with_roles,
)
from shoal.studio.state import RequestedRelease, Studio, Waiting
from shoal.studio.words import CONCERNS, FILES, ROLES, SCREENS
from shoal.wording import join_warnings

_MANY_STARS = 0.5
"""Share of stars of a column from which its release is worth a look."""
_MUCH_LOST = 0.5
"""Loss of a column above which its release is worth a look."""
_MANY_FORMS = 50
"""Number of published forms of a column up to which they are no concern."""
_WORDS = ("title", "institution", "purpose", "contact", "recipient", "controls", "roles", "notes", "signatures")
"""Parameters of `shoal.About` that the form of a release has as fields."""
_AFTER = {"stay": "/publish", "attack": "/attack"}
"""The next screens, by what a form does that stores its words and makes no release."""
_BACK = ("/", "/table", "/goal", "/compare", "/publish", "/attack", "/series", "/release", "/review")


def publishing(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the summary of all decisions before the release is made."""
    plan = studio.plan
    # A release in progress takes precedence.
    if studio.publication is not None and studio.worker.job is not None and studio.worker.job.lasting:
        raise Waiting(step="publish", job=studio.worker.job, back="/publish")
    inspected = inspect_with_roles(studio, "publish")
    return page(
        "publish.html.j2",
        studio,
        step="publish",
        of=hash_plan(plan),
        folder=_propose_folder(studio),
        home=studio.paths.home,
        roles=[(role, plan.names_of(role["name"])) for role in ROLES],
        sentences=explain_models(plan),
        equivalents=build_equivalents(studio, plan),
        ended=_explain_end(studio, query),
        last=_find_last_folder(studio),
        rows=inspected["rows"],
        persons=_count_persons(inspected, plan) if plan.treatment == ONE_EACH and plan.person else None,
    )


def hash_plan(plan: Plan) -> str:
    """Hash what a plan publishes, so that what is made is what was shown."""
    return hash_names([repr(sorted(plan.work.items()))])


def _count_persons(inspected: Mapping[str, Any], plan: Plan) -> int:
    """Count the persons of the table, of each of whom one record is published."""
    column = next(one for one in inspected["columns"] if one["name"] == plan.person)
    return int(column["distinct"] + (column["missing"] if plan.unnamed_are_persons else 0))


def _propose_folder(studio: Studio) -> str:
    """Propose the name of a folder: the typed one, or that of a release that failed, else an unused one."""
    made = studio.publication
    done = None if made is None else studio.worker.outcome(made.key)
    failed = "release" if made is None or (done is not None and not done.error) else made.folder.name
    return studio.paths.free_folder(studio.folder or failed)


def _find_last_folder(studio: Studio) -> str | None:
    """Return the folder name of the last release of the open table; None if there is none."""
    made = studio.publication
    if made is None or made.plan.source != studio.plan.source:
        return None
    done = studio.worker.outcome(made.key)
    return made.folder.name if done is not None and not done.error else None


def _explain_end(studio: Studio, query: Mapping[str, str]) -> str | None:
    """Return the message to show after a failed or cancelled release; None if there is none."""
    if studio.publication is None:
        return None
    # The address states whether the visitor comes from a release that ended.
    if query.get("ended") == "cancelled":
        return "Stopped. Nothing was written."
    done = studio.worker.outcome(studio.publication.key)
    return None if done is None or query.get("ended") != "failed" else done.error


def publish(studio: Studio, form: Mapping[str, str]) -> str:
    """Store the words for the report, and start the job that makes the release unless the form goes elsewhere."""
    if not studio.plan.decided:
        return "/table"
    if form.get("of") != hash_plan(studio.plan):
        raise UsageError("The plan has changed since this page was made. Read what would be made now, then make it.")
    from shoal.report import About

    report = _read_words(studio.plan, form)
    About(**report)  # raises an error if the words are invalid
    # Stored in the plan, so that the history, the spec file and the equivalents show them.
    studio.history.change("Words for the report", report=report)
    studio.folder = form.get("folder", "").strip()
    if form.get("do") in _AFTER:
        return _AFTER[form["do"]]
    folder, studio.folder = studio.paths.folder(studio.folder), ""
    plan = studio.plan
    content = plan.content(source=plan.source)
    arguments_in(content)  # raises an error if the plan is invalid
    studio.count += 1
    # Each release has its own key: the outcome of an earlier one must not stand in for it.
    key = f"publish:{studio.count}"
    arguments = {"content": content, "folder": str(folder)}
    started = studio.worker.start(key, f"Making the release “{folder.name}”", tables.publish, arguments, lasting=True)
    if not started:
        raise UsageError("Another release is being made. Wait for it, or stop it.")
    studio.publication = RequestedRelease(key=key, folder=folder, plan=plan)
    return "/release"


def _read_words(plan: Plan, form: Mapping[str, str]) -> dict[str, Any]:
    """Read the words for the report from a form; those without a field in the form stay as they are."""
    given: dict[str, Any] = {**plan.report, **{name: form[name].strip() for name in _WORDS if name in form}}
    # Signatures are typed in one line.
    if isinstance(given.get("signatures"), str):
        given["signatures"] = [one.strip() for one in given["signatures"].split(";") if one.strip()]
    return {name: one for name, one in given.items() if one}


def released(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the results of a release: guarantees, information loss, and files."""
    made = studio.publication
    if made is None:
        raise Waiting(path="/publish")
    # In progress, discarded, or failed: another screen is shown.
    job = studio.worker.job
    if job is not None and job.key == made.key:
        raise Waiting(step="publish", job=job, back="/publish")
    done = studio.worker.outcome(made.key)
    if done is None:
        raise Waiting(path="/publish")
    if done.error is not None:
        raise Waiting(path="/publish?ended=failed")
    from shoal.report import achieved_for, model_title, promise
    from shoal.report.figures import read_figures
    from shoal.report.sentences import describe_counted

    certificate = done.facts["certificate"]
    sensitive = made.plan.names_of("sensitive")
    risk = read_figures(certificate).risk
    return page(
        "release.html.j2",
        studio,
        step="release",
        plan=made.plan,
        made=made,
        facts=done.facts,
        concerns=_rank_concerns(done.facts, made.plan, risk),
        protects_records=made.plan.rows == RECORDS
        or any(one["code"] == "repeated_person" for one in done.facts["warnings"]),
        counted=describe_counted(certificate["requested"], alone=made.plan.unnamed_are_persons),
        certificate=certificate,
        risk=risk,
        files=FILES,
        tables=[one for one in done.facts["files"] if one not in FILES],
        listed=[one for one in FILES if one in done.facts["files"]],
        promises=[
            (model_title(one), promise(one, sensitive), achieved_for(one, certificate["achieved"]))
            for one in certificate["requested"]
        ],
        equivalents=equivalents.of_publishing(made.plan, output=made.folder.name),
    )


def _rank_concerns(
    facts: Mapping[str, Any], plan: Plan, risk: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, list[list[str]]]]:
    """Group the warnings about a release by subject, the most serious first, and by kind."""
    found = join_warnings(facts["warnings"], SCREENS)
    if facts["others"]:
        made = ", ".join(quote(visible(name)) for name in facts["others"])
        compared = "Releases of the same people can be compared: give away only one."
        found.append(("other_releases", f"Of the same table there is already {made}. {compared}"))
    if plan.rows == RECORDS:
        found.append(("repeated_person", plan.whose))
    if risk.get("after") and risk["after"]["highest"] >= 1:
        found.append(("certain_match", "The highest risk is 100%: someone can be picked out with certainty."))
    warned = {one["column"] for one in facts["warnings"] if one["code"] == "mostly_stars"}
    # Below the threshold of a warning, many stars and wide ranges are still worth a look.
    others = [one for one in facts["columns"] if one["name"] not in warned]
    starred = [(one["name"], one["stars"]) for one in others if one["stars"] >= _MANY_STARS]
    lost = [(one["name"], one["loss"]) for one in others if one["stars"] < _MANY_STARS and one["loss"] > _MUCH_LOST]
    for code, text, shares in (
        ("many_stars", "Columns with many stars, and their share of stars: {columns}.", starred),
        ("much_lost", "Columns that lose much, and the share of their information that is lost: {columns}.", lost),
    ):
        if shares:
            listed = ", ".join(f"{quote(visible(name))} ({percent(share)})" for name, share in shares)
            found.append((code, text.format(columns=listed)))
    # Sets of values are no use to an analyst if there are many more of them than values.
    many = [one for one in facts["columns"] if one["after"] > max(_MANY_FORMS, 3 * one["before"])]
    for one in many:
        counts = f"{number(one['before'])} values became {number(one['after'])} different sets and ranges"
        found.append(("many_forms", f"{quote(visible(one['name']))}: {counts}, which analysts can hardly use."))
    # A subject without codes takes the kinds that no other subject names.
    ranked: list[tuple[str, list[list[str]]]] = []
    for title, codes in CONCERNS:
        kinds = codes or dict.fromkeys(
            code for code, _text in found if not any(code in group for _title, group in CONCERNS)
        )
        texts = [[text for code, text in found if code == kind] for kind in kinds]
        ranked.append((title, [one for one in texts if one]))
    return [one for one in ranked if one[1]]


def cancel(studio: Studio, form: Mapping[str, str]) -> str:
    """Cancel the current job."""
    stopped = studio.worker.cancel()
    made = studio.publication
    if stopped is not None and made is not None and stopped.key == made.key:
        if made.folder.exists():  # the release was complete already, which cannot be undone
            raise UsageError(
                f"The release was in place already, in the folder '{made.folder.name}', when it was stopped: "
                "it is whole and verified. Remove the folder and its private one if you do not "
                "want it."
            )
        return "/publish?ended=cancelled"
    if stopped is not None:  # withdraw the request, or its screen would start the job again
        name = stopped.key.partition(":")[0]
        if name == tables.compare.__name__:
            studio.levels = None
        elif name == tables.compare_algorithms.__name__:
            studio.ways = ""
        elif name == attacks.attack.__name__:
            studio.attack = None
        elif name == attacks.intersect.__name__:
            studio.together = None
    # Only known paths, so that a form cannot redirect to another site.
    back = form.get("back", "/")
    return back if back in _BACK else "/"
