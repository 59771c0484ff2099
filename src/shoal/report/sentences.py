"""Explain certificates in sentences for readers who do not know the models; pages and command line share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Any

from shoal._core.words import listed, number, percent, quote
from shoal.report.linked_promises import (
    promise_of_lists,
    promise_to_linked_persons,
    records_of_persons,
    share_text,
)
from shoal.report.sampling_promises import promise_of_sampling, reservations_of_sampling
from shoal.report.set_promises import describe_known, figures_of_sets, name_sets, promise_of_sets, without_sets
from shoal.table import PSEUDONYM

_NAMED = 12
"""Largest number of columns that a sentence names."""


def model_title(request: Mapping[str, Any]) -> str:
    """Format a requested model with its parameters in one line.

    Examples
    --------
    >>> model_title({"model": "l-diversity", "variant": "frequency", "l": 4})
    'l-diversity (frequency), l = 4'
    """
    sets, request = name_sets(request), without_sets(request)
    name = request["model"]
    model = name
    of = _OF_UNITS.get(request.get("of", ""))
    whose = (f", {of}" if of else "") + sets
    if "t" in request:
        return f"{model} ({_distance(request)}), t = {number(request['t'])}{whose}"
    # The variant of the model, then its parameters.
    variant = f" ({request['variant']})" if request.get("variant") else ""
    parameters = [
        f"{name.replace('_', ' ')} = {number(value)}"
        for name, value in request.items()
        if name not in ("model", "variant", "population", "of", "harmless") and value is not None
    ]
    harmless = [f"without {_harmless_values(request)}"] if request.get("harmless") else []
    return ", ".join([f"{model}{variant}", *parameters, *harmless]) + whose


def _harmless_values(request: Mapping[str, Any]) -> str:
    """List the values that need no protection, in quotes."""
    return listed([*map(quote, request["harmless"])])


_OF_UNITS = {
    "persons": "of persons",
    "records": "of one record of a person",
    "one_record_each": "of persons with one record each",
    "linked_persons": "of persons whose records are linked",
    "lists": "of each value of a list",
}
"""What a model is about if persons may have several records."""


MODELS = (
    *("k-anonymity", "l-diversity", "(alpha, k)-anonymity", "(k, e)-anonymity"),
    *("t-closeness", "beta-likeness", "delta-disclosure", "average risk"),
    *("sample uniqueness", "population uniqueness", "k-map", "delta-presence"),
    "differential privacy",
    "m-uniqueness",
    *("frequency", "distinct", "entropy", "recursive", "basic"),
    *("enhanced", "risk", "share", "sampling fraction"),
)
"""Names in requests, for translation: models, their variants, and parameters that are words."""
DISTANCES = (
    *("equal distance", "ordered distance", "hierarchical distance"),
    "metric distance",
)
"""The distances of t-closeness."""


def _distance(request: Mapping[str, Any]) -> str:
    return f"{request.get('distance', 'equal')} distance"


def promise(request: Mapping[str, Any], sensitive: Sequence[str]) -> str:
    """Explain the guarantee of a requested model for the records of the table, in one or two sentences.

    Parameters
    ----------
    request : mapping
        One entry of the certificate's "requested".
    sensitive : sequence of str
        Names of the sensitive attributes.
    """
    return promise_of_sets(request, _promise_of_groups(without_sets(request), sensitive))


def _promise_of_groups(request: Mapping[str, Any], sensitive: Sequence[str]) -> str:
    # Sensitive attributes are alternatives: the guarantee holds for each of them.
    what = listed([*map(quote, sensitive)], "or") or "the sensitive attribute"
    k = number(request.get("k"))
    # Models are recognized by their parameters, the most specific first.
    if request.get("model") in _OF_RELEASES:
        return _OF_RELEASES[request["model"]](request)
    if request.get("of") in _BY_UNIT:
        return _BY_UNIT[request["of"]](request, what)
    if "k" in request and request.get("of") == "persons":
        return _promise_to_persons(request, sensitive)
    if "alpha" in request:
        return (
            f"Every group has at least {k} records, and no value of {what} makes up more than "
            f"{share_text(request['alpha'])} of a group: no record can be linked to a value with more confidence "
            "than that."
        )
    if "e" in request:
        return (
            f"Every group has at least {k} records, and its values of {what} span a range of at least "
            f"{number(request['e'])}: knowing the group does not pin the value down more closely than that."
        )
    for letter, promised in _BY_LETTER.items():
        if letter in request:
            return promised(request, what)
    if "k" in request:
        others = "one other" if request["k"] == 2 else f"{number(request['k'] - 1)} others"
        return (
            f"Every record has the same published quasi-identifiers as at least {others}: whoever knows them of a "
            f"record cannot tell which of {k} or more it is."
        )
    return f"Every group of the release satisfies {model_title(request)}."


def _promise_to_persons(request: Mapping[str, Any], sensitive: Sequence[str]) -> str:
    k = number(request["k"])
    said = (
        f"Records with the same published quasi-identifiers are of at least {k} persons, none of whom has more than "
        f"one in {k} of them: whoever knows the quasi-identifiers of all records of a person takes a record for that "
        f"person's with a probability of at most one in {k}."
    )
    if not request.keys() & {"alpha", "e"}:
        return said
    return f"{said} {promise({name: value for name, value in request.items() if name != 'of'}, sensitive)}"


def _promise_of_average_risk(request: Mapping[str, Any]) -> str:
    if request.get("of") == "persons":
        return (
            "Whoever knows the quasi-identifiers of all records of a person in the table, and picks a record of "
            "each of their groups, picks one of the person's with a probability of at most "
            f"{share_text(request['risk'])}, on average over all persons: for single persons it may be higher."
        )
    return (
        "Whoever knows the quasi-identifiers of a record in the table picks the right one with a probability of "
        f"at most {share_text(request['risk'])}, on average over all records: for single records it may be "
        "higher."
    )


def _promise_of_uniqueness(request: Mapping[str, Any]) -> str:
    return (
        f"At most {share_text(request['share'])} of the records are alone with their published "
        "quasi-identifiers. How small the groups of the others are is not bounded."
    )


def _promise_of_population_uniqueness(request: Mapping[str, Any]) -> str:
    return (
        f"At most {share_text(request['share'])} of the people of the population are estimated to be the only "
        "ones with their published quasi-identifiers. That is an estimate from the sizes of the groups."
    )


def _promise_of_map(request: Mapping[str, Any]) -> str:
    counted = "by a count of its people" if request.get("population") else "by an estimate from the sampling fraction"
    if "least_group" in request:
        counted += (
            f" (every group has at least {number(request['least_group'])} "
            f"{'persons' if request.get('of') == 'persons' else 'records'} of the table; of the groups that fewer "
            f"people fit and that occur in a random sample, at most {share_text(request['significance'])} have so many)"
        )
    return (
        f"At least {number(request['k'])} people of the population fit the published quasi-identifiers of each "
        f"record, {counted}: whoever does not know who of them is in the table cannot tell whose record it is. "
        "Somebody who is known to be in it is hidden among the records of the group only."
    )


def _promise_of_presence(request: Mapping[str, Any]) -> str:
    return (
        "Whoever knows the quasi-identifiers of a person of the population can tell with a probability from "
        f"{share_text(request['low'])} to {share_text(request['high'])} that the person is in the table."
    )


_OF_RELEASES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "average risk": _promise_of_average_risk,
    "sample uniqueness": _promise_of_uniqueness,
    "population uniqueness": _promise_of_population_uniqueness,
    "k-map": _promise_of_map,
    "delta-presence": _promise_of_presence,
    "differential privacy": promise_of_sampling,
}
"""Explanations of models of the whole release."""


def _promise_of_shares(request: Mapping[str, Any], what: str) -> str:
    if "beta" in request:
        # Each variant has whole sentences.
        enhanced = request.get("variant") == "enhanced"
        said = (
            (
                "Knowing a record's group raises the confidence in any value of {what} by a factor of at most 1 "
                "+ {beta} over its share in the whole table; for values that are common already, by less."
            )
            if enhanced
            else (
                "Knowing a record's group raises the confidence in any value of {what} by a factor of at most 1 "
                "+ {beta} over its share in the whole table."
            )
        )
        return said.format(what=what, beta=number(request["beta"]))
    return (
        f"In every group every value of {what} is about as common as in the whole table: the logarithm of the "
        f"ratio of the two shares stays within {number(request['delta'])}."
    )


def _promise_of_diversity(request: Mapping[str, Any], what: str) -> str:
    l = request["l"]
    variant = request.get("variant", "frequency")
    if variant == "distinct":
        return (
            f"Every group holds at least {number(l)} different values of {what}. How common one of them may be "
            "is not bounded."
        )
    if variant == "entropy":
        return (
            f"In every group the values of {what} are at least as mixed (by entropy) as {number(l)} equally "
            "common values."
        )
    if variant == "recursive":
        return (
            f"In every group the most common value of {what} occurs less than {number(request.get('c'))} times "
            f"as often as all values from number {number(l)} on together (the most common first): it stays "
            "uncertain even when rarer ones are ruled out."
        )
    if request.get("harmless"):
        return (
            f"Whoever knows a record's quasi-identifiers can link the record to any one value of {what} with a "
            f"confidence of at most 1 in {number(l)} ({percent(1 / float(l))}), except for "
            f"{_harmless_values(request)}: the publisher decided that this needs no protection."
        )
    return (
        f"Whoever knows a record's quasi-identifiers can link the record to any one value of {what} with a "
        f"confidence of at most 1 in {number(l)} ({percent(1 / float(l))})."
    )


def _promise_of_closeness(request: Mapping[str, Any], what: str) -> str:
    t = request["t"]
    if request.get("distance", "equal") == "equal":
        return (
            f"Knowing a record's group says little about {what} that the whole table does not say: the share of "
            "any value, and of any set of values, differs from its share in the whole table by at most "
            f"{number(100 * float(t))} percentage points."
        )
    measures = {
        "ordered": "the way from the first value to the last one in their order",
        "hierarchical": "the largest distance that the hierarchy of the values has",
        "metric": "the largest distance that the publisher's table of distances has",
    }
    measure = measures.get(request["distance"], "the largest distance")
    if request.get("normalised"):
        measure += " " + "(divided by the largest one, so that it counts 1)"
    return (
        f"In every group the values of {what} are spread nearly as in the whole table: they would have to move "
        f"by at most {percent(float(t))} of {measure}, on average over the records, to be spread the same."
    )


def _promise_of_lists(request: Mapping[str, Any], what: str) -> str:
    of_groups = [promise({"k": request["k"]}, ())] if "k" in request else []
    return " ".join([*of_groups, promise_of_lists(request, what)])


_BY_UNIT: Mapping[str, Callable[[Mapping[str, Any], str], str]] = {
    "linked_persons": promise_to_linked_persons,
    "lists": _promise_of_lists,
}
"""What models promise to units that have several sensitive values."""
_BY_LETTER: Mapping[str, Callable[[Mapping[str, Any], str], str]] = {
    "beta": _promise_of_shares,
    "delta": _promise_of_shares,
    "t": _promise_of_closeness,
    "l": _promise_of_diversity,
}
"""What models of sensitive values promise, by a parameter that they have."""


def achieved_for(request: Mapping[str, Any], achieved: Mapping[str, Any]) -> str:
    """Format the achieved values of the parameters that a requested model has.

    Examples
    --------
    >>> achieved_for({"model": "k-anonymity", "k": 10}, {"k": 12, "l": {}})
    'k = 12'
    """
    achieved, request = figures_of_sets(request, achieved), without_sets(request)
    if request.get("of") == "persons" and request["model"] in ("average risk", "delta-presence"):
        return "satisfied by all groups together"
    if request.get("of") == "persons" and "population" not in request and not request.keys() & {"alpha", "e"}:
        # How many persons a group has depends on whose the records are, which readers do not know.
        return f"satisfied in every group; the smallest has {number(achieved['k'])} records"
    found: list[str] = []
    if request.get("of") == "linked_persons":
        achieved = achieved.get("linked", achieved)
    if request.get("of") == "lists":
        achieved = achieved.get("lists", achieved)
    # Models of the whole release have a measure of their own name.
    measure = str(request.get("model")).replace(" ", "_").replace("-", "_")
    if measure in achieved:
        value = achieved[measure]
        if isinstance(value, dict):
            low = number(floor(value["low"] * 1000) / 1000)
            return f"from {low} to {_cautious('', value['high'])}"
        name = request["model"]
        return f"{name} = {_cautious('', value)}"
    # Other models are measured by each of their parameters.
    for letter in ("k", "l", "alpha", "e", "t", "beta", "delta"):
        if letter not in request:
            continue
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
    return ", ".join(found) or "satisfied in every group"


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


def found(risk: Mapping[str, Mapping[str, Any]], what: str = "a record") -> str:
    """Describe the risk of re-identification from a certificate's `risk`; empty if nothing was measured.

    Examples
    --------
    >>> found({"before": {"highest": 1.0, "average": 0.5}, "after": {"highest": 0.25, "average": 0.1}})
    'a record is found with a probability of at most 25%, on average 10%; before, of 100% and 50%'
    """
    if "after" not in risk:
        return ""
    # The release first, then the original for comparison.
    highest, average = (percent(risk["after"][name]) for name in ("highest", "average"))
    said = f"{what} is found with a probability of at most {highest}, on average {average}"
    before = risk.get("before")
    return f"{said}; before, of {percent(before['highest'])} and {percent(before['average'])}" if before else said


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
        "own" if a record without a person was taken for another person's.
    """
    if any("epsilon" in request for request in requested):
        return reservations_of_sampling(requested)
    # The parameters of all models decide which kinds of disclosure they cover.
    guarded = set().union(*requested) if requested else set()
    # Sets are named, and many columns are counted instead of named.
    of_sets = describe_known(requested)
    known = of_sets or (
        listed(quasi_identifiers)
        if len(quasi_identifiers) <= _NAMED
        else f"its {number(len(quasi_identifiers))} quasi-identifiers"
    )
    said = [
        (
            f"It protects against someone who knows {known}. Whoever knows more of a person than that may learn "
            "more than is said here; which columns an adversary can know is the publisher's judgement."
        ),
        *records_of_persons(requested, alone=missing_person == "own"),
    ]
    if of_sets:
        said.append(
            "Someone who knows more of the quasi-identifiers together may find a record: the groups of all "
            "quasi-identifiers may be of one record."
        )
    linked = any(request.get("of") == "linked_persons" for request in requested)
    insensitive = [name for name in insensitive if not (linked and name == PSEUDONYM)]
    if insensitive:
        said.append(
            f"It does not look at {listed(insensitive)}: the publisher declared that nobody can recognize a "
            "person by that, and it is published row by row as it came."
        )
    if not guarded & {"l", "alpha", "e", "t", "beta", "delta"}:
        said.append(
            "It hides which record belongs to a person, not what the records say: where all records of a "
            "group agree on a value, that value is known for everyone in the group. Ask for l-diversity as "
            "well if that matters."
        )
    elif not guarded & {"t", "beta", "delta"}:
        said.append(
            "It limits how surely one exact value can be linked to a record. It limits neither what follows "
            "from values that mean nearly the same, nor what the shares of the values in a group reveal "
            "compared with the whole table."
        )
    return [
        *said,
        (
            "It counts one release. Publishing another one of the same people, or of people that overlap, can "
            "undo both; such series need a method made for them."
        ),
        (
            "It does not reckon with an adversary who knows which algorithm made the release, and who rules out "
            "originals of which that algorithm would have made something else."
        ),
        "It does not hide that somebody is in the table, and it is no differential privacy.",
    ]


def _say_derived(name: str, derived: Mapping[str, str]) -> str:
    """Describe how a column was derived from dates."""
    form = "{name} was derived: the days from {begin} to {end}."
    if derived["unit"] == "years":
        form = (
            "{name} was derived: whole years from {begin} to {end}, by anniversaries (that of 29 February is 1 "
            "March in other years)."
        )
    return form.format(name=name, begin=derived["begin"], end=derived["end"])


def reading(parameters: Mapping[str, Any]) -> list[str]:
    """Explain how to interpret the cells and rows of a release, in sentences.

    Parameters
    ----------
    parameters : mapping
        The "parameters" of a public certificate.
    """
    said = [f"A cell {parameters['star']} was suppressed: it may stand for any value."]
    if parameters["recoding"] == "generalization":
        said.append(
            "A cell such as [21, 25] is an interval with both ends, one such as [21, 26) an interval "
            "without the end on the right, one such as {a, b} a set: the record has one of these values."
        )
    if parameters.get("shared_by"):
        said.append(
            "An interval of exact values may reach further than its records do, and its ends need not be "
            f"values of any: an end that fewer than {number(parameters['shared_by'])} records of the table "
            "had went outward, to a round number or to the end of a month or of years."
        )
    said += [
        f"{listed(names)}: days since the first of these dates of the person."
        for names in parameters.get("since_first", ())
    ]
    if parameters.get("two_tables"):
        said.append("It has two tables, persons and rows: the column pseudonym shows whose each row is.")
    # Columns that were coarsened together share an entry.
    coarse = [listed(name.split(",")) for name in parameters["coarsen"]]
    if coarse:
        said.append(f"{listed(coarse)}: made less precise before anything else, as the publisher asked for (below).")
    if parameters.get("tuned"):
        said.append(
            "The publisher searched for coarsenings that lose little. Which were chosen depends on the "
            "original table; nothing tells it but the published cells."
        )
    said.append(
        "The rows stand in the order of the original table."
        if parameters["keep_order"]
        else "The rows are sorted by what is published; their order tells nothing else."
    )
    if "rows_per_person" in parameters:
        most = parameters["rows_per_person"]
        said.append(
            "It has one record of each person; others, if there were any, are left out."
            if most == 1
            else (f"It has at most {number(most)} records of each person; others, if there were any, are left out.")
        )
    if parameters["missing_sensitive"] == "drop":
        said.append("Rows of the original table that miss a sensitive value, if there were any, are left out.")
    if parameters.get("replaced"):
        of = listed(parameters["replaced"]) if "*" not in parameters["replaced"] else "all columns"
        said.append(f"Before anything else values were replaced (spellings merged, codes made missing): {of}.")
    said += [_say_derived(name, derived) for name, derived in parameters.get("derived", {}).items()]
    if parameters.get("normalize"):
        said.append("Blanks at the ends of texts and invisible characters were removed before anything else.")
    return said
