"""The screen of a reviewer: recount someone's release, attack it, decide, and print the document."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, ShoalError, UsageError
from shoal.studio import equivalents
from shoal.studio.attack_choice import ATTACKS_OF_REVIEW, explain_left_out
from shoal.studio.jobs import reviews as jobs
from shoal.studio.jobs.tables import inspect_table
from shoal.studio.pages import page
from shoal.studio.plan import Plan
from shoal.studio.rejected_forms import FieldError
from shoal.studio.review_files import find_reviews, load_review, save_review, summarize_figures
from shoal.studio.screen_inputs import check_form, hash_names, select_name
from shoal.studio.state import Review, Studio
from shoal.studio.table_screen import complete

_WORDS = (
    *("decision", "conditions", "valid_until", "reviewed_by", "title", "institution", "purpose"),
    *("recipient", "controls", "roles", "notes"),
)
"""Parameters of `shoal.About` that the form of a decision has as fields."""
_OF_OWN = ("institution", "purpose", "recipient", "controls", "roles", "notes")
"""Words of a private report that the decision about the release begins with."""
_KNOWN, _SENSITIVE, _IDENTIFIES = "known", "sensitive", "identifies"


def review(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the screen: the choice of a release, its figures, the attacks, and the decision."""
    counted, tested = _collect_facts(studio)
    facts = None if counted is None else counted["audit"]
    changed = facts is not None and _save(studio, counted, tested)
    own = studio.review
    from shoal.attacks import ATTACKS
    from shoal.report import DECISIONS, collect_review, describe_attack, describe_audit, list_column_rates

    return page(
        "review.html.j2",
        studio,
        step="review",
        own=own,
        changed=changed,
        saved=find_reviews(studio.paths),
        counted=counted,
        facts=facts,
        remarks=[] if facts is None else describe_audit(facts),
        summary=None if facts is None else collect_review(facts, _list_results(tested)),
        tested=tested,
        unclear=[] if tested is None else tested["unclear"],
        left_out=_explain_left_out(own, counted) | _group_unclear(tested),
        known=ATTACKS,
        describe=describe_attack,
        column_rates=list_column_rates,
        decisions=DECISIONS,
        said={} if own is None or own.words else _read_report(own),
        of=hash_names([] if counted is None else counted["columns"]),
        of_original=hash_names(tested["columns"] if tested else []),
        releases=[one.name for one in studio.paths.releases()],
        tables=[one.name for one in studio.paths.listed()],
        equivalents=None if own is None or counted is None else equivalents.of_reviewing(own, counted, tested),
    )


def _collect_facts(studio: Studio) -> Any:
    """Return the recount and the results of the attacks, each None if it was not requested."""
    own = studio.review
    if own is None:
        return None, None
    path = Path(own.source)
    # The time of the last change of the folder or of its table, whichever is later.
    files = [path, *path.glob("*")] if path.is_dir() else [path]
    asked = {"source": own.source, "stamp": max((one.stat().st_mtime_ns for one in files if one.exists()), default=0)}
    roles = {name: None if one is None else list(one) for name, one in own.roles.items()}
    chosen = {**asked, **roles, "identifiers": [*own.identifiers]}
    counted = studio.facts("review", f"Counting {own.shown}", jobs.recount, chosen, back="/review")
    # The attacks follow the recount, because the certificate may provide the columns.
    if own.original is None or counted["audit"] is None:
        return counted, None
    original = str(studio.paths.table(own.original)) if own.original else ""
    # The open table is read as its screen reads it.
    is_open = original == studio.plan.source
    reading, columns = studio.plan.file_reading if is_open else {}, []
    if original:
        looked = {"source": original, "demo": None, "reading": reading}
        found = studio.facts("review", f"Looking at {own.original}", inspect_table, looked, back="/review")
        columns = [one["name"] for one in found["columns"]]
        if own.person is None:
            studio.review = own = replace(own, person=complete(studio.plan if is_open else Plan(), found).person)
    arguments = {
        **asked,
        "quasi_identifiers": counted["quasi_identifiers"],
        "sensitive": counted["sensitive"],
        "rows": counted["audit"]["rows"],
        "link": _is_linked(counted),
        "original": original,
        "reading": reading,
        "person": own.person or "",
        "hierarchies": {name: str(studio.paths.table(file)) for name, file in own.hierarchies.items()},
    }
    tested = studio.facts("review", f"Attacking {own.shown}", jobs.attack_published, arguments, back="/review")
    return counted, {**tested, "columns": columns}


def _save(studio: Studio, counted: Mapping[str, Any], tested: Mapping[str, Any] | None) -> bool:
    """Save the review once something was chosen; return whether the figures differ from the saved ones."""
    own = studio.review
    assert own is not None
    figures = summarize_figures(counted, _list_results(tested))
    # A decision about other figures is not overwritten before it is made again.
    if own.figures not in ("", figures["figures"]):
        return True
    if own.words or own.original is not None or own.quasi_identifiers is not None:
        studio.review = save_review(studio.paths, own, figures)
    return False


def _read_report(own: Review) -> dict[str, str]:
    """Read what the publisher's report says, as first words of the decision."""
    from shoal.report import facts_in

    # The private report of one's own release has the words for those who decide.
    for folder, names in ((f"{own.source}.private", _OF_OWN), (own.source, ("purpose",))):
        try:
            about = facts_in((Path(folder) / "report.json").read_bytes()).about
        except (OSError, ShoalError):  # the report is not believed, and need not be there
            continue
        title = f"Review of {about.title}" if about.title else ""
        return {"title": title, **{name: getattr(about, name) for name in names}}
    return {}


def _is_linked(counted: Mapping[str, Any]) -> bool:
    from shoal.report.figures import read_figures

    return read_figures(counted["audit"]).of == "bundles"


def _explain_left_out(own: Review | None, counted: Mapping[str, Any] | None) -> dict[str, list[str]]:
    if own is None or counted is None or counted["audit"] is None or own.original is None:
        return {}
    options = {"sensitive": bool(counted["sensitive"]), "original": bool(own.original)}
    return explain_left_out(ATTACKS_OF_REVIEW, link=_is_linked(counted), **options)


def _group_unclear(tested: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Group the attacks that did not understand the cells by reason."""
    found: dict[str, list[str]] = {}
    for one in tested["attacks"] if tested else ():
        if one.get("unclear"):
            found.setdefault(one["error"], []).append(one["name"])
    return found


def _list_results(tested: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [one["facts"] for one in (tested["attacks"] if tested else ()) if one["facts"] is not None]


def open_review(studio: Studio, form: Mapping[str, str]) -> str:
    """Open a published table, with its saved review if there is one, or a saved review."""
    if form.get("review"):
        studio.review = load_review(studio.paths, form["review"])
        return "/review"
    path = studio.paths.published(form.get("source", ""))
    home = studio.paths.home
    shown = str(path.relative_to(home) if path.is_relative_to(home) else path)
    file = next((name for name, one in find_reviews(studio.paths) if one.shown == shown), "")
    studio.review = load_review(studio.paths, file) if file else Review(source=str(path), shown=shown)
    return "/review"


def set_columns_of_review(studio: Studio, form: Mapping[str, str]) -> str:
    """Store the roles of the columns."""
    own, counted, _ = _opened(studio)
    check_form(form, counted["columns"])
    # Fields are numbered, because names of columns may contain any character.
    chosen = {
        role: tuple(name for place, name in enumerate(counted["columns"]) if form.get(f"role-{place}") == role)
        for role in (_KNOWN, _SENSITIVE, _IDENTIFIES)
    }
    if not chosen[_KNOWN]:
        raise UsageError("Choose at least one column that others may know: risk is what these columns betray.")
    studio.review = _reopen(
        own, quasi_identifiers=chosen[_KNOWN], sensitive=chosen[_SENSITIVE], identifiers=chosen[_IDENTIFIES]
    )
    return "/review#found"


def attack_review(studio: Studio, form: Mapping[str, str]) -> str:
    """Request attacks on the published table."""
    own, counted, tested = _opened(studio)
    # Validate now, so that the error appears at the form and not when the job runs.
    original = form.get("original", "").strip()
    chosen = {name: form.get(f"hierarchy-{place}", "") for place, name in enumerate(counted["columns"])}
    hierarchies = {name: file for name, file in chosen.items() if file}
    for file in (original, *hierarchies.values()):
        if file:
            studio.paths.table(file)
    # Of another table the likely column is proposed again.
    same = original == own.original and tested is not None
    person = select_name(form, tested["columns"], field="person") or "" if original and same else None
    studio.review = _reopen(own, original=original, person=person, hierarchies=hierarchies)
    return "/review#attack"


def _reopen(own: Review, **changes: Any) -> Review:
    """Change what is counted or attacked: a decision was about the figures before, and is made again."""
    undecided = {name: given for name, given in own.words.items() if name not in ("decision", "date")}
    changed = replace(own, **changes)
    return own if changed == own else replace(changed, words=undecided, figures="")


def decide(studio: Studio, form: Mapping[str, str]) -> str:
    """Store the decision and the words of its document."""
    own, counted, _ = _opened(studio)
    from shoal.report import About

    # Only known fields, because the words are arguments of `About`.
    words: dict[str, Any] = {name: given for name in _WORDS if (given := form.get(name, "").strip())}
    if "decision" not in words:
        raise FieldError("Choose what you decide.", field="decision")
    if words["decision"] == "conditions" and "conditions" not in words:
        raise FieldError("Type the conditions.", field="conditions")
    if words["decision"] == "approved" and counted["raw"]:
        raise FieldError("This is no release: its columns identify persons. It cannot be approved.", field="decision")
    if words["decision"] == "approved" and _is_certain(counted["audit"]):
        raise FieldError(
            "A record or a value is certain in it. Approve it with conditions, or refuse it.", field="decision"
        )
    if "reviewed_by" not in words:
        raise FieldError("Type who decides.", field="reviewed_by")
    # The day of the decision is kept, because a saved review may be opened and printed later.
    words["date"] = dt.date.today().isoformat()
    try:
        About(**words)
    except ParameterError as error:
        raise FieldError(*error.args, field=error.parameter) from error
    studio.review = replace(own, words=words, figures="")
    return "/review#kept"


def _is_certain(facts: Mapping[str, Any]) -> bool:
    """Check whether a record, or a sensitive value, is certain to one who knows what others may know."""
    from shoal.report.figures import read_figures

    figures = read_figures(facts)
    return figures.after.get("highest", 0) >= 1 or (figures.confidence or 0) >= 1


def _opened(studio: Studio) -> tuple[Review, Mapping[str, Any], Any]:
    """Return the open review, its recount and the results of its attacks."""
    counted, tested = _collect_facts(studio)
    if studio.review is None or counted is None:
        raise UsageError("No release is open. Choose one.")
    return studio.review, counted, tested


def document_of(studio: Studio) -> str | None:
    """Render the document to print; None before a decision."""
    (counted, tested), own = _collect_facts(studio), studio.review
    if own is None or "decision" not in own.words or counted["audit"] is None:
        return None
    from shoal.report import About, render_audit

    name = Path(own.shown).name
    words: dict[str, Any] = {**own.words}
    return render_audit(
        counted["audit"],
        title=f"Review of {name}",
        about=About(**words),
        attacks=_list_results(tested),
        removed=tested["removed"] if tested else (),
        checked={
            "known": counted["quasi_identifiers"],
            "certified": counted["certified"] and own.quasi_identifiers is None,
            "stated": counted["stated"] if own.quasi_identifiers is not None else [],
            "different": counted["different"],
            "raw": counted["raw"],
            "suspected": counted["suspected"],
            "files": counted["files"],
        },
        failed=[(one["name"], one["error"]) for one in (tested["attacks"] if tested else ()) if one["error"]],
    )
