"""The screen For whom: the goal and coarser columns, with what they give at once, and what an adversary knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal._core.quoting import listed_names
from shoal._core.validation import number_in
from shoal.errors import UnsupportedError, UsageError, near_matches
from shoal.request.texts import names_in, read_set
from shoal.studio.coarsening_screens import check_coarsening, describe_coarsenings, shape_column, try_goal
from shoal.studio.jobs import tables as jobs
from shoal.studio.pages import page
from shoal.studio.plan import Plan
from shoal.studio.rejected_forms import FieldError
from shoal.studio.requests import request_in
from shoal.studio.screen_inputs import (
    build_equivalents,
    check_form,
    count_alone,
    explain_models,
    hash_names,
    inspect_with_roles,
    parse_k,
    typed_decimal,
)
from shoal.studio.state import Studio, Waiting
from shoal.studio.words import GOALS

_SETS = 3
"""Smallest number of fields for sets of columns; there is always an empty one."""
_MAX_SETS = 50
_AFTER = {"next": "/publish", "compare": "/compare"}
"""The next screens, by the buttons that lead to them."""


def goal(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the choice of the audience, of the privacy models, of coarser columns, and what they give."""
    inspected = inspect_with_roles(studio, "goal")
    plan = studio.plan
    sensitive, quasi = plan.names_of("sensitive"), plan.names_of("quasi_identifier")
    # The treatment of missing sensitive values is a question only if there are some.
    missing = sum(one["missing"] for one in inspected["columns"] if one["name"] in sensitive)
    if query.get("then") in _AFTER.values():  # the coarsenings are tried first, which shows errors at this form
        try_goal(studio, later=False)
        raise Waiting(path=query["then"])
    shaped = shape_column(studio, inspected["columns"], query) if "column" in query else None
    # The trial first: the answer to a slider waits for nothing else.
    seen = try_goal(studio)
    offered, before = _list_coarsenings(studio, seen), count_alone(studio, "goal", plan)
    return page(
        "goal.html.j2",
        studio,
        step="goal",
        goals=GOALS,
        sensitive=sensitive,
        quasi=quasi,
        of=hash_names(plan.coarsenable),
        sets=[*plan.sets, *[""] * max(1, _SETS - len(plan.sets))],
        harmless=listed_names(plan.harmless),
        missing=missing,
        refused=_find_refusals(plan),
        sentences=explain_models(plan),
        offered=offered,
        seen=seen,
        before=before,
        shaped=shaped,
        k=parse_k(plan),
        equivalents=build_equivalents(studio, plan),
    )


def _list_coarsenings(studio: Studio, seen: Mapping[str, Any] | None) -> dict[str, list[list[Any]]] | None:
    """List the coarsenings of each column from the finest on, with the plan's own; None while they come.

    `seen` is what is known of the plan, such as the values that its own coarsenings leave.
    """
    plan = studio.plan
    # The offers depend on the original columns, so choosing one of them does not compute them again.
    bare = Plan(privacy={"k": "2"})
    goal = ("coarsen", "privacy", "harmless", "knows", "sets", "resist", "algorithm")
    plain = replace(plan, **{name: getattr(bare, name) for name in goal}).work
    # A hierarchy that was shaped and not taken stays on its own screen.
    taken = {name: tree for name, tree in plan.trees.items() if tree.name in plan.files and name in plan.coarsenable}
    made = {name: [tree.path, tree.name] for name, tree in taken.items() if Path(tree.path).is_file()}
    arguments = {"content": plain, "trees": made}
    offered = studio.facts_later(
        "goal", "Finding what fits each column", jobs.list_coarsenings, arguments, back="/table"
    )
    if offered is None:
        return None
    found = {}
    for name, rungs in offered.items():
        own = plan.coarsen.get(name, "")
        left = None if seen is None else seen["left"].get(name)
        added = rungs if own in [words for words, _ in rungs] else [*rungs, [own, left]]
        found[name] = [added[0], *sorted(added[1:], key=lambda rung: -(rung[1] or 1))]
    return found


def mend(studio: Studio, form: Mapping[str, str]) -> str:
    """Change what prevents the goal, as the evaluation advises."""
    seen = try_goal(studio)
    plan = studio.plan
    found = next((one["mend"] for one in seen["goals"] if one["mend"]), None) if seen else None
    if found is None:
        raise UsageError("Nothing has to be changed any more.")
    changes: dict[str, Any] = dict(found)
    if "coarsen" in found:
        changes["coarsen"] = {**plan.coarsen, **found["coarsen"]}
    words = ", ".join(f"{name}: {value}" for change in found.values() for name, value in change.items())
    studio.history.change(f"Took what is possible: {words}", **changes)
    return "/goal#seen"


def _find_refusals(plan: Plan) -> dict[str, str]:
    """Return why some wishes are not offered: a promise that is asked for already does not go together with them."""
    wishes = ("resist", "harmless", "knows")
    asked = request_in(plan.work).features
    from shoal.models.promises import find_refusal

    found = {wish: find_refusal(asked | {wish}) for wish in wishes}
    return {wish: refused[2] for wish, refused in found.items() if refused is not None}


def set_goal(studio: Studio, form: Mapping[str, str]) -> str:
    """Store the privacy models, the coarsenings and the options of a form."""
    before = studio.plan
    changed = _parse_goal(before, form)
    check_coarsening(studio, changed.get("coarsen", {}))
    # A card has its numbers, and states who receives the table and what binds them, if anything does.
    card = next((one for one in GOALS if one["name"] == form.get("for")), None)
    if card is not None:
        kept = {name: one for name, one in changed["privacy"].items() if name == "t"}
        sensitive = bool(before.names_of("sensitive"))
        changed["privacy"] = {name: one for name, one in card["privacy"].items() if name == "k" or sensitive} | kept
        report = {name: words for name, words in before.report.items() if name not in ("recipient", "controls")}
        binding = {"controls": card["meaning"]} if card["binds"] else {}
        changed["report"] = {**report, "recipient": card["title"], **binding}
    models = ", ".join(f"{name} = {value}" for name, value in changed["privacy"].items())
    description = f"Goal: {models}" if changed["privacy"] != before.privacy or "coarsen" not in changed else ""
    # An algorithm that was chosen for another goal gives way to the default one.
    try:
        _check(replace(before, **changed))
    except UnsupportedError:
        if not before.algorithm:
            raise
        changed["algorithm"] = ""
        _check(replace(before, **changed))
        description = f"Goal: {models}; algorithm: the one that fits"
    coarser = describe_coarsenings(before, changed.get("coarsen", before.coarsen))
    studio.history.change(", ".join([description] * bool(description) + coarser[:3]) or f"Goal: {models}", **changed)
    then = _AFTER.get(form.get("do", "") if card is None else "")
    if then is None:
        return "/goal"
    return f"/goal?then={then}" if studio.plan.coarsen != before.coarsen else then


def _check(plan: Plan) -> None:
    """Check that an algorithm serves the goal of a plan, and that the proofs of its models hold.

    Raises
    ------
    ShoalError
        If it is not so.
    """
    from shoal.request.request import check_sampling

    request = request_in(plan.work)
    from shoal.models.promises import check_together

    check_together(request.features)
    sampling = request.requirement.sampling
    if sampling is not None:
        check_sampling(request, request.schema, sampling)
    # The choice raises an error if no algorithm serves the goal.
    _ = request.chosen


def _parse_goal(plan: Plan, form: Mapping[str, str]) -> dict[str, Any]:
    """Parse a form of the goal; what has no field in it stays as it is."""
    privacy = _parse_models(plan, form)
    found: dict[str, Any] = {
        "privacy": privacy,
        "recoding": form.get("recoding", plan.recoding),
        "missing_sensitive": form.get("missing_sensitive", plan.missing_sensitive),
        "normalize": "normalize" in form if "k" in form or "epsilon" in form else plan.normalize,
        "resist": form.get("resist", plan.resist),
    }
    # Values are listed as names of columns are: a comma separates them, quotes protect one.
    if "harmless" in form:
        try:
            found["harmless"] = names_in("harmless", [form["harmless"]]) if form["harmless"].strip() else ()
        except UsageError as error:
            raise FieldError(
                "Separate the values by commas, and put one with a comma in double quotes.", field="harmless"
            ) from error
    if found["resist"] and "l" not in privacy:
        raise FieldError("That needs a bound of the variety within groups (l).", field="l")
    return found | _parse_knowledge(plan, form) | _parse_weights(plan, form) | _parse_coarsenings(plan, form)


def _parse_coarsenings(plan: Plan, form: Mapping[str, str]) -> dict[str, Any]:
    """Parse the coarsenings of a form, which numbers the columns."""
    given = {
        name: form[f"coarsen-{place}"] for place, name in enumerate(plan.coarsenable) if f"coarsen-{place}" in form
    }
    if given:
        check_form(form, plan.coarsenable)
    return {"coarsen": {**plan.coarsen, **given}} if given else {}


def _parse_models(plan: Plan, form: Mapping[str, str]) -> dict[str, str]:
    """Parse the parameters of the models."""
    # Differential privacy replaces all other models, and has a form of its own.
    if "epsilon" in form:
        privacy = {name: typed_decimal(form.get(name, "")) for name in ("epsilon", "delta")}
        absent = next((name for name, value in privacy.items() if not value), None)
        if absent is not None:
            raise FieldError("Both numbers are needed.", field=absent)
        others = [*plan.names_of("sensitive"), *plan.names_of("insensitive")]
        if others:
            message = (
                "Differential privacy makes no difference between columns. Choose on the screen Table that "
                f"others may know {listed_names(others)}, or leave it out."
            )
            raise FieldError(message, field="epsilon")
        return privacy
    if not {"k", "l", "t"} & form.keys():
        return dict(plan.privacy)
    # Diversity and closeness need a sensitive column.
    names = ("k", "l", "t") if plan.names_of("sensitive") else ("k",)
    privacy = {name: typed_decimal(form[name]) for name in names if form.get(name, "").strip()}
    if not privacy:
        raise FieldError("Ask for something: the smallest group (k), at least.", field="k")
    return privacy


def _parse_knowledge(plan: Plan, form: Mapping[str, str]) -> dict[str, Any]:
    """Parse which quasi-identifiers an adversary knows together: all, any so many of them, or certain sets."""
    kind, quasi = form.get("known"), plan.names_of("quasi_identifier")
    if kind is None:
        return {}
    if kind == "some":
        knows = form.get("knows", "").strip()
        if not knows.isdecimal() or not 1 <= int(knows[:6]) <= len(quasi):
            message = f"How many columns someone knows must be a number from 1 to {len(quasi)}."
            raise FieldError(message, field="knows")
        return {"knows": knows, "sets": ()}
    if kind != "sets":
        return {"knows": "", "sets": ()}
    # Each set has a field: names, and its own k behind a colon.
    given = {f"set-{place}": form.get(f"set-{place}", "").strip() for place in range(_MAX_SETS)}
    given = {field: text for field, text in given.items() if text}
    if not given:
        raise FieldError("Name the columns of at least one set.", field="set-0")
    named: set[str] = set()
    for field, text in given.items():
        try:
            names = read_set(text)[0]
        except UsageError as error:
            raise FieldError("Separate the names of columns by commas.", field=field) from error
        for name in names:
            if name not in quasi:
                known = near_matches(name, quasi)
                message = f"The column '{name}' is not one that others may know. {known}"
                raise FieldError(message, field=field)
        named |= {*names}
    # A quasi-identifier in no set would be published without protection.
    absent = [name for name in quasi if name not in named]
    if absent:
        message = f"Nothing would protect {listed_names(absent)}, because no set has it. Add it to a set."
        raise FieldError(message, field=[*given][-1])
    return {"knows": "", "sets": tuple(given.values())}


def _parse_weights(plan: Plan, form: Mapping[str, str]) -> dict[str, Any]:
    """Parse the weights of the quasi-identifiers, which forms number."""
    quasi, weights = plan.names_of("quasi_identifier"), dict(plan.weights)
    # Cards of audiences have no such fields and keep the weights.
    if not any(name.startswith("weight-") for name in form):
        return {}
    check_form(form, plan.coarsenable)
    for place, name in enumerate(quasi):
        text = typed_decimal(form.get(f"weight-{place}", weights.get(name, "")))
        number = number_in(text) if text else 1
        if isinstance(number, str) or not 0 < number <= 1_000:
            raise FieldError("A weight must be a number above 0 and at most 1,000.", field=f"weight-{place}")
        weights[name] = text
    return {"weights": {name: text for name, text in weights.items() if text and number_in(text) != 1}}
