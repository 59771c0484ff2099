"""Explain certificates in sentences for readers who do not know the models; pages and command line share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import ceil, floor
from typing import Any

from shoal._core.words import listed, number, percent, quote
from shoal.models.counting import PSEUDONYM
from shoal.report.figures import CountedFigures
from shoal.wording import SENTENCES, find_code, say

_NAMED = 12
"""Largest number of columns that a sentence names."""
_SCOPES = ("knows", "columns")
"""The keys of a requested model that state its sets of quasi-identifiers, for each of which it holds by itself."""
_OF_UNITS = {
    "persons": "of persons",
    "units": "of units such as households",
    "records": "of one record of a person",
    "one_record_each": "of persons with one record each",
    "linked_persons": "of persons whose records are linked",
    "lists": "of each value of a list",
}
"""What a model is about if persons may have several records."""
_LIMITS = ("counted_linked_persons", "counted_records", "counted_persons", "counted_by_row")
"""The sentences about what is counted that limit what is promised."""
_LETTERS = ("k", "l", "alpha", "e", "t", "beta", "delta")
"""The parameters of models of groups."""


def model_title(request: Mapping[str, Any]) -> str:
    """Format a requested model with its parameters in one line.

    Examples
    --------
    >>> model_title({"model": "l-diversity", "variant": "frequency", "l": 4})
    'l-diversity (frequency), l = 4'
    """
    of = _OF_UNITS.get(request.get("of", ""))
    whose = (f", {of}" if of else "") + _name_sets(request)
    request = _without_sets(request)
    if "t" in request:
        return f"{request['model']} ({_distance(request)}), t = {number(request['t'])}{whose}"
    # The variant of the model, then its parameters.
    variant = f" ({request['variant']})" if request.get("variant") else ""
    parameters = [
        f"{name.replace('_', ' ')} = {number(value)}"
        for name, value in request.items()
        if name not in ("model", "variant", "population", "of", "harmless") and value is not None
    ]
    harmless = [f"without {listed([*map(quote, request['harmless'])])}"] if request.get("harmless") else []
    return ", ".join([f"{request['model']}{variant}", *parameters, *harmless]) + whose


def _distance(request: Mapping[str, Any]) -> str:
    return f"{request.get('distance', 'equal')} distance"


def _without_sets(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a requested model without its sets."""
    return {name: value for name, value in request.items() if name not in _SCOPES}


def _name_sets(request: Mapping[str, Any]) -> str:
    """Name the sets of a requested model, as the end of its title; empty if it has none."""
    if "columns" in request:
        return f", for {listed(request['columns'])}"
    if "knows" not in request:
        return ""
    known = request["knows"]
    return ", for each quasi-identifier" if known == 1 else f", for any {number(known)} quasi-identifiers"


def promise(request: Mapping[str, Any], sensitive: Sequence[str]) -> str:
    """Explain the guarantee of a requested model for the records of the table, in one or two sentences.

    Parameters
    ----------
    request : mapping
        One entry of the certificate's "requested".
    sensitive : sequence of str
        Names of the sensitive attributes.
    """
    of_groups = _without_sets(request)
    # Sensitive attributes are alternatives: the guarantee holds for each of them.
    what = listed([*map(quote, sensitive)], "or") or "the sensitive attribute"
    arguments = {**of_groups, **_arguments_of(of_groups)}
    promised = " ".join(say(code, what=what, **arguments) for code in _codes_of(of_groups))
    if not request.keys() & set(_SCOPES):
        return promised
    known = listed(request["columns"]) if "columns" in request else _any_of(request["knows"])
    # k-anonymity by itself has a sentence of its own.
    if of_groups.keys() == {"model", "k"}:
        return say("promise_k_of_sets", known=known, **arguments)
    return say("promise_of_sets", known=known, promised=promised)


def _name_measure(request: Mapping[str, Any]) -> str:
    """Name the measure of a model of the whole release, and its sentence."""
    return str(request.get("model")).replace(" ", "_").replace("-", "_")


def _codes_of(request: Mapping[str, Any]) -> list[str]:
    """Find the sentences that explain a model of the whole release by its name, and another one by its parameters."""
    of, name = request.get("of"), _name_measure(request)
    if f"release_{name}" in SENTENCES:
        return [find_code(f"release_{name}_of_{of}", f"release_{name}")]
    # The most specific parameter explains the others, but k.
    others = [one for one in ("alpha", "e", "beta", "delta", "t", "l") if one in request][:1]
    parts = [*(["k"] if "k" in request else []), *others] or ["of_another_model"]
    form = "without_harmless" if request.get("harmless") else request.get("distance", "equal")
    # What is counted comes before variants; of persons with linked records and of lists, l is a share like alpha.
    found = [
        find_code(
            f"promise_{'alpha' if part == 'l' else part}_of_{of}",
            f"promise_{part}_{request.get('variant')}",
            f"promise_{part}_{form}",
            f"promise_{part}",
        )
        for part in parts
    ]
    # Some sentences state k as well.
    others = [code for code in found if code != "promise_k"]
    return others if any("{k:" in SENTENCES[code] for code in others) else found


def _arguments_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Collect what the sentences about a model state besides its parameters."""
    found: dict[str, Any] = {"k": request.get("k"), "c": request.get("c"), "measure": _describe_distance(request)}
    found["counted"] = say("mapped_by_count" if request.get("population") else "mapped_by_estimate")
    if "k" in request:
        found["others"] = "one other" if request["k"] == 2 else f"{number(request['k'] - 1)} others"
    if request.get("l"):
        share = 1 / float(request["l"])
        found |= {"one_in": share, "alpha": request.get("alpha") or share}
    if "t" in request:
        found["points"] = 100 * float(request["t"])
    if "least_group" in request:
        units = request["of"] if request.get("of") in ("persons", "units") else "records"
        found["counted"] = say("mapped_by_groups", units=units, **{**request, **found})
    return {**found, "title": model_title(request)} if "model" in request else found


def _describe_distance(request: Mapping[str, Any]) -> str:
    kind = request.get("distance")
    known = kind in ("ordered", "hierarchical", "metric")
    measure = say(f"distance_{kind}") if known else "the largest distance"
    return say("normalised_distance", measure=measure) if request.get("normalised") else measure


def _any_of(count: int) -> str:
    return "any single quasi-identifier" if count == 1 else f"any {number(count)} of the quasi-identifiers"


def achieved_for(request: Mapping[str, Any], achieved: Mapping[str, Any]) -> str:
    """Format the achieved values of the parameters that a requested model has.

    Examples
    --------
    >>> achieved_for({"model": "k-anonymity", "k": 10}, {"k": 12, "l": {}})
    'k = 12'
    """
    achieved, request = _figures_of_sets(request, achieved), _without_sets(request)
    achieved = achieved.get({"linked_persons": "linked", "lists": "lists"}.get(request.get("of", ""), ""), achieved)
    measure, letters = _name_measure(request), [letter for letter in _LETTERS if letter in request]
    if request.get("of") in ("persons", "units") and letters == ["k"] and "population" not in request:
        # How many persons a group has depends on whose the records are, which readers do not know.
        fewest = f"{number(request['k'])} {'persons' if request['of'] == 'persons' else 'units'}"
        return f"every group has records of at least {fewest}; the smallest has {number(achieved['k'])} records"
    # Models of the whole release have a measure of their own name.
    if measure in achieved:
        value = achieved[measure]
        if isinstance(value, dict):
            return f"from {number(floor(value['low'] * 1000) / 1000)} to {_cautious('', value['high'])}"
        return f"{request['model']} = {_cautious('', value)}"
    # Other models are measured by each of their parameters.
    found: list[str] = []
    for letter in letters:
        value = _closeness_of(request, achieved) if letter == "t" else achieved.get(letter)
        if letter == "l" and request.get("harmless"):
            value = next(
                one["l"] for one in achieved["without_harmless"] if list(one["values"]) == list(request["harmless"])
            )
        if isinstance(value, dict):
            value = value.get(request.get("variant", ""), value)
        if isinstance(value, dict):
            measure = f", {_distance(request)}" if letter == "t" else ""
            found.extend(f"{letter} = {_cautious(letter, one)} ({name}{measure})" for name, one in value.items())
        elif value is not None:
            found.append(f"{letter} = {_cautious(letter, value)}")
    all_groups = "satisfied by all groups together" if f"release_{measure}" in SENTENCES else "satisfied in every group"
    return ", ".join(found) or all_groups


def _figures_of_sets(request: Mapping[str, Any], achieved: Mapping[str, Any]) -> Mapping[str, Any]:
    """Select the achieved figures of the sets of a requested model; all figures if it has no sets."""
    figures: Mapping[str, Any] = achieved.get("sets", achieved)
    if "columns" in request:
        return next((one for one in figures.get("named", ()) if one["columns"] == request["columns"]), figures)
    return figures if "knows" in request else achieved


def _closeness_of(request: Mapping[str, Any], achieved: Mapping[str, Any]) -> object:
    """Look up the value that was measured under the requested distance."""
    # The distance must match in every parameter.
    for measured in achieved.get("closeness", ()):
        if all(request.get(name) == value for name, value in measured.items() if name != "t"):
            return measured["t"]
    return achieved.get("t") if request.get("distance", "equal") == "equal" else None


def _cautious(letter: str, value: object) -> str:
    """Format an achieved value, rounded against the publisher: down if larger is safer, and up otherwise."""
    if not isinstance(value, float):
        return number(value)
    return number((floor if letter in ("k", "l", "e") else ceil)(value * 1000) / 1000)


def fails_model(request: Mapping[str, Any], failures: Sequence[Mapping[str, Any]]) -> bool:
    """Check whether a requested model is among the failures of an audit, for one of its sets or as a whole.

    Failures are of the parts of a model: a part that bounds the size of groups has its k, and no part states whom the
    model is about.
    """
    plain = {name: value for name, value in _without_sets(request).items() if name != "of"}
    for failure in failures:
        part = {name: value for name, value in failure["model"].items() if name != "of"}
        failed = part == plain or (part["model"] == "k-anonymity" and part["k"] == plain.get("k"))
        columns = failure.get("columns")
        of_set = columns is None or columns == request.get("columns") or len(columns) == request.get("knows")
        if failed and of_set:
            return True
    return False


def found(figures: CountedFigures) -> str:
    """Describe the risk of re-identification; empty if nothing was measured.

    Examples
    --------
    >>> from shoal.report.figures import read_figures
    >>> risk = {"before": {"highest": 1.0, "average": 0.5}, "after": {"highest": 0.25, "average": 0.1}}
    >>> found(read_figures({"achieved": {}, "risk": risk}))
    'a record is found with a probability of at most 25%, 10% on average over all records; before, of 100% and 50%'
    """
    if not figures.after:
        return ""
    # The release first, then the original for comparison.
    highest, average = (percent(figures.after[name]) for name in ("highest", "average"))
    by = " from one record" if figures.of == "persons" and figures.several else ""
    said = f"a {figures.noun} is found{by} with a probability of at most {highest}, "
    said += f"{average} on average over all {figures.noun}s"
    before = figures.risk.get("before")
    if before:
        said += f"; before, of {percent(before['highest'])} and {percent(before['average'])}"
    return said if figures.confidence is None else f"{said}; {describe_guess(figures)}"


def describe_guess(figures: CountedFigures) -> str:
    """Describe the largest confidence in a sensitive value: from one record, or from all records of a person together.

    Examples
    --------
    >>> from shoal.report.figures import read_figures
    >>> describe_guess(read_figures({"achieved": {"alpha": 0.25}}))
    'a sensitive value is guessed rightly with a probability of at most 25%'
    """
    value, surest = f"a sensitive value{name_harmless(figures)}", figures.surest
    if surest is None and figures.confidence == 1:
        return say("guessed_certainly", value=value)
    if surest is None:
        whose = f"guessed_of_{figures.about}" if figures.several else "guessed"
        return say(find_code(whose, "guessed"), value=value, confidence=figures.confidence)
    code = "guessed_of_several" if surest["units_above"] else "guessed_of_none"
    return say(code, value=value, above=surest["units_above"], **surest)


def name_harmless(figures: CountedFigures) -> str:
    """Name the values that the confidence leaves out, as the end of "a value"."""
    return f" other than {listed([*map(quote, figures.harmless)])}" if figures.harmless else ""


def describe_counted(requested: Sequence[Mapping[str, Any]], *, alone: bool = False) -> str:
    """Explain what the requested models count, records or persons, and what that means for persons.

    Parameters
    ----------
    requested : sequence of mapping
        The certificate's "requested".
    alone : bool
        Whether a record that does not show its person was counted as another person.
    """
    return " ".join(map(say, _find_counted(requested, alone=alone)))


def _find_counted(requested: Sequence[Mapping[str, Any]], *, alone: bool) -> tuple[str, str]:
    """Find the sentences about what is counted, and about what that means for persons."""
    whose = {request.get("of") for request in requested} - ({"one_record_each"} if alone else set())
    told = next((one for one in ("linked_persons", "one_record_each", "records", "persons") if one in whose), "by_row")
    persons = bool(whose & {"persons", "linked_persons", "one_record_each"})
    return "persons_counted" if persons else "records_counted", f"counted_{told}"


def protections(
    requested: Sequence[Mapping[str, Any]], quasi_identifiers: Sequence[str], missing_person: str | None = None
) -> list[str]:
    """State against whom a release protects and what its models count, in sentences; the limits are `reservations`.

    Parameters
    ----------
    requested, quasi_identifiers, missing_person
        As for `reservations`.
    """
    if any("epsilon" in request for request in requested):
        return []
    counted = [code for code in _find_counted(requested, alone=missing_person == "own") if code not in _LIMITS]
    return [say("protects", known=_name_known(requested, quasi_identifiers)), " ".join(map(say, counted))]


def describe_audited_unit(stated: Set[str]) -> str:
    """Explain what an audit without a column of persons counts, and what its certificate states of persons.

    Parameters
    ----------
    stated : set of str
        What the models of the certificate count ("of" of its "requested"); empty if there is none.
    """
    # Cells alone show no persons, so the statement is passed on as one.
    told = {"one_record_each": "one_record_each", "persons": "persons", "linked_persons": "persons"}
    return next((say(f"stated_{code}") for of, code in told.items() if of in stated), describe_counted(()))


def reservations(
    requested: Sequence[Mapping[str, Any]],
    quasi_identifiers: Sequence[str],
    insensitive: Sequence[str],
    missing_person: str | None = None,
) -> list[str]:
    """List the limits of a release's guarantee, in sentences.

    Parameters
    ----------
    requested : sequence of mapping
        The certificate's "requested".
    quasi_identifiers, insensitive : sequence of str
        Names of the columns with these roles.
    missing_person : str, optional
        "own" if a record without a person was assumed to belong to a different person.
    """
    whose = {request.get("of") for request in requested}
    if any("epsilon" in request for request in requested):
        return _reservations_of_sampling(requested)
    # The parameters of all models decide which kinds of disclosure they cover.
    guarded = set().union(*requested) if requested else set()
    of_sets, alone = _describe_known(requested), missing_person == "own"
    known = _name_known(requested, quasi_identifiers)
    insensitive = [name for name in insensitive if not ("linked_persons" in whose and name == PSEUDONYM)]
    estimated = any(request.get("of") == "records" and "sampling_fraction" in request for request in requested)
    said = {
        "limit_lists": "lists" in whose,
        "limit_estimates": estimated,
        "limit_unnamed": alone,
        "limit_one_record": "linked_persons" not in whose and bool(whose & {"persons", "records"}),
        "limit_sets": bool(of_sets),
        "limit_insensitive": bool(insensitive),
        "limit_no_diversity": not guards_values(requested),
        "limit_no_closeness": bool(guarded & {"l", "alpha", "e"}) and not guarded & {"t", "beta", "delta"},
        **dict.fromkeys(("limit_one_release", "limit_algorithm", "limit_membership"), True),
    }
    return [
        say("limit_known", known=known),
        *(say(code) for code in _find_counted(requested, alone=alone) if code in _LIMITS),
        *(say(code, columns=insensitive) for code, holds in said.items() if holds),
    ]


def guards_values(requested: Sequence[Mapping[str, Any]]) -> bool:
    """Check whether a requested model limits what is learned of sensitive values; k alone does not."""
    return bool(set().union(*requested) & {"l", "alpha", "e", "t", "beta", "delta", "epsilon"})


def _reservations_of_sampling(requested: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the limits of differential privacy by sampling."""
    paid = next((request for request in requested if "level_epsilon" in request), None)
    of_records = all(request.get("of") != "one_record_each" for request in requested)
    return [
        say("sampling_procedure"),
        say("sampling_fixed") if paid is None else say("sampling_levels", **paid),
        *([say("sampling_records")] if of_records else []),
        say("sampling_one_release"),
    ]


def _describe_known(requested: Sequence[Mapping[str, Any]]) -> str | None:
    """Describe what the adversary of a request with sets knows; None if there are no sets."""
    sets = dict.fromkeys(tuple(one["columns"]) for one in requested if "columns" in one)
    known = [f"({listed(columns)})" for columns in sets]
    known += [_any_of(one["knows"]) for one in requested if "knows" in one][:1]
    return listed(known, "or") if known else None


def _name_known(requested: Sequence[Mapping[str, Any]], quasi_identifiers: Sequence[str]) -> str:
    """Name what the adversary of a request knows."""
    if len(quasi_identifiers) > _NAMED:
        known = f"its {number(len(quasi_identifiers))} quasi-identifiers"
    else:
        known = listed(quasi_identifiers)
    return _describe_known(requested) or known


def left_out(parameters: Mapping[str, Any]) -> list[str]:
    """State which records a request leaves out, without their number, which depends on the original table.

    Parameters
    ----------
    parameters : mapping
        The "parameters" of a public certificate.
    """
    most = parameters.get("rows_per_person")
    said = {
        "read_one_record": most == 1,
        "read_some_records": most is not None and most != 1,
        "read_dropped": parameters["missing_sensitive"] == "drop",
    }
    return [say(code, rows_per_person=most) for code, holds in said.items() if holds]


def _has_bins(coarsenings: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(one.get("coarsening") == "bins" for one in coarsenings.values())


def reading(parameters: Mapping[str, Any]) -> list[str]:
    """Explain how to interpret the cells and rows of a release, in sentences.

    Parameters
    ----------
    parameters : mapping
        The "parameters" of a public certificate.
    """
    # Columns that were coarsened together share an entry.
    coarse = [listed(name.split(",")) for name in parameters["coarsen"]]
    replaced = parameters.get("replaced") or ()
    said = {
        "read_star": True,
        "read_ranges": parameters["recoding"] == "generalization" or _has_bins(parameters["coarsen"]),
        "read_ends": parameters.get("shared_by"),
        "read_since_first": parameters.get("since_first"),
        "read_two_tables": parameters.get("two_tables"),
        "read_coarse": coarse,
        "read_tuned": parameters.get("tuned"),
        "read_input_order": parameters["keep_order"],
        "read_sorted": not parameters["keep_order"],
        "read_replaced": replaced,
        "read_derived": parameters.get("derived"),
        "read_normalized": parameters.get("normalize"),
    }
    sentences = left_out(parameters)
    for code, holds in said.items():
        if not holds:
            continue
        # Some sentences are about each of several columns.
        match code:
            case "read_since_first":
                sentences += [say("read_since_first", columns=names) for names in parameters["since_first"]]
            case "read_derived":
                each = parameters["derived"].items()
                sentences += [say(f"read_{one['unit']}", **{**one, "name": name}) for name, one in each]
            case "read_coarse":
                sentences.append(say("read_coarse", columns=coarse))
            case "read_replaced":
                sentences.append(say("read_replaced", columns="all columns" if "*" in replaced else listed(replaced)))
            case _:
                sentences.append(say(code, **parameters))
    return sentences
