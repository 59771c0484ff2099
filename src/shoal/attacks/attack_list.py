"""Descriptions of all attacks, which the documentation and the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from shoal._core.file_formats import read_data_file
from shoal._core.words import listed, number, percent
from shoal.wording import say
from shoal.wording.descriptions import (
    COUNTS_CERTAIN,
    count_people,
    is_complete,
    name_attempts,
    name_known_columns,
    name_value,
)

Facts: TypeAlias = Mapping[str, Any]
"""The result of an attack as a dictionary (`to_dict`)."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """The description of an attack.

    Examples
    --------
    >>> ATTACKS["linking"].function
    'linking_attack'
    """

    name: str
    """Name on the command line and in JSON."""
    function: str
    """Name of the function in `shoal.attacks`."""
    title: str
    """Common name."""
    meaning: str
    """The question that it answers, in a sentence."""
    assumptions: str
    """Assumptions; the figures are wrong if an assumption is."""
    formula: str
    """How the figures are computed."""
    reference: str
    """Source of the method."""
    sentences: Callable[[Facts], list[str]]
    """Formats the figures of a release as sentences."""


def _count_records(count: float) -> str:
    return f"{number(count)} {'record' if count == 1 else 'records'}"


def _number_or_none(count: float) -> str:
    return "none" if count == 0 else number(count)


def _introduce_attempts(facts: Facts) -> str:
    return f"Of {name_attempts(facts)} in the release"


def _count_successes(facts: Facts, *, of: bool = False) -> str:
    """Count the successes, of the attempts if asked, with their interval if others could have been attacked as well."""
    said = _number_or_none(facts["successes"]) + (f" of {number(facts['attempts'])}" if of else "")
    if is_complete(facts):
        return said
    return f"{said} (95% interval {percent(facts['low'])} to {percent(facts['high'])})"


def _describe_guessing(facts: Facts) -> str:
    return say(f"attack_guessing_of_{facts.get('of')}", "attack_guessing", rate=facts["baseline"]["rate"])


def _describe_misfits(facts: Facts) -> list[str]:
    # Both count as failures of the attack, which usually means that the tables are written differently.
    lost, not_shown = facts.get("not_covered", 0), facts.get("values_not_shown", 0)
    lines = []
    if lost:
        lines.append(
            f"{_count_records(lost)} said to be in the release fit none of its rows: the attack counts as wrong there."
        )
    if not_shown:
        lines.append(
            f"{_count_records(not_shown)} said to be in the release have a value that it does not show: the attack "
            "counts as wrong there. Compare how the values are written."
        )
    return lines


def describe_columns(facts: Facts) -> list[str]:
    """Describe the results of the other sensitive columns, and the columns that were not measured."""
    each = facts.get("each") or ()
    if facts["attack"] == "linking":
        # Linking reports values besides links: the worst of them is in its own sentence already.
        each = [one for one in facts.get("values_of_each") or () if one != facts["values"]]
        lines = [
            f"For {_number_or_none(one['successes'])} of {count_people(one['attempts'])}, {name_value(one)} is certain."
            for one in each
        ]
    else:
        # The worst column is in the main sentence already.
        others = [one for one in each if one["sensitive"] != facts["sensitive"]]
        right = _SUCCESS_PHRASES.get(facts["attack"], "The attack succeeds for")
        compared = "from the release alone" if facts["attack"] == "minimality" else "guessing"
        certain = facts["attack"] in COUNTS_CERTAIN
        guesses = [f"; {compared}, for {percent(one['baseline']['rate'])}" for one in others]
        lines = [
            f"{right} {_count_successes(one, of=True)} if {name_value(one)} is attacked{'' if certain else guess}."
            for one, guess in zip(others, guesses, strict=True)
        ]
        if others:
            worst = "That is the worst of the sensitive columns" + ("" if certain else " compared with guessing")
            lines.insert(0, f"{worst}: each was attacked alone, then all together.")
    # Columns that an attack cannot be run on are listed with the reason.
    unmeasured = [
        f"Not measured: {name_value(one)}, because of this: {one['why']}" for one in facts.get("not_measured") or ()
    ]
    return [*lines, *unmeasured, *describe_unattacked(facts)]


def describe_unattacked(facts: Facts) -> list[str]:
    """Name what people have that was not attacked: single values of lists, all records of a person together."""
    left = [code for code in ("lists", "several_records") if facts.get(code)]
    return [say(f"unattacked_{code}_of_{facts.get('of')}", f"unattacked_{code}") for code in left]


_SUCCESS_PHRASES = {"skewness": "The guess is right for", "inference": "The classifier is right for"}
"""Beginning of the sentence about another column, for attacks that guess."""


def _describe_homogeneity(facts: Facts) -> list[str]:
    sentence = (
        f"{_introduce_attempts(facts)}, {name_value(facts)} is certain for {_count_successes(facts)} "
        f"to someone who knows {name_known_columns(facts)} of a person."
    )
    return [sentence, say(f"attack_alike_of_{facts.get('of')}", "attack_alike"), *_describe_misfits(facts)]


def _describe_background(facts: Facts) -> list[str]:
    excluded = "1 wrong value" if facts["j"] == 1 else f"{number(facts['j'])} wrong values"
    sentence = (
        f"{_introduce_attempts(facts)}, {name_value(facts)} is certain for {_count_successes(facts)} "
        f"to someone who knows {name_known_columns(facts)} of a person and can exclude "
        f"{excluded}, the most telling first"
    )
    # Values excluded at random are not counted for persons with several records.
    chance = facts.get("by_chance")
    sentence += "." if chance is None else f"; if they are drawn at random, for {percent(chance)}."
    return [sentence, *_describe_misfits(facts)]


def _describe_skewness(facts: Facts) -> list[str]:
    return [
        (
            f"{_introduce_attempts(facts)}, taking for {name_value(facts)} the most common one of the records that may "
            f"be a person's is right for {_count_successes(facts)}."
        ),
        _describe_guessing(facts),
        (
            f"In one group the belief in a value grows from {percent(facts['belief_before'])} to "
            f"{percent(facts['belief_after'])}, {number(facts['largest_factor'])} times as much. "
            f"{_count_records(facts['rows_above_t'])} of the release are in groups with a distance above "
            f"{facts['t']:g} from the table; the largest is {number(facts['largest_distance'])}."
        ),
        *_describe_misfits(facts),
    ]


def _describe_similarity(facts: Facts) -> list[str]:
    sentence = (
        f"{_introduce_attempts(facts)}, it is certain for {_count_successes(facts)} "
        f"roughly what {name_value(facts)} is "
        f"({facts['similar']}), to someone who knows {name_known_columns(facts)} of a person."
    )
    return [sentence, *_describe_misfits(facts)]


def _describe_linking(facts: Facts) -> list[str]:
    things = facts.get("of", "rows")
    # Without a known owner of each row, a link to the wrong person cannot be distinguished from a right one.
    right = "to the right person" if facts["verified"] else "to one person (whether the right one is not known)"
    lines = [
        (
            f"Of {number(facts['attempts'])} {things} of the release, {_count_successes(facts)} "
            f"are "
            f"linked {right} by someone who knows {name_known_columns(facts)} of {count_people(facts['people'])}."
        ),
        (
            f"Picking one of the people whom each row may be about is expected to be right for "
            f"{number(round(facts['expected_matches'], 1))} {things}; picking anyone, for "
            f"{number(round(facts['baseline']['rate'] * facts['attempts'], 1))}."
        ),
    ]
    # A sensitive value may be certain even if the link is not: all linked rows may share it.
    values = facts["values"]
    if values is not None and values["rate"] is not None:
        lines.append(
            f"For {_number_or_none(values['successes'])} of {count_people(values['attempts'])}, {name_value(values)} "
            "is certain: all rows that may be theirs have the same."
        )
    # The rate among people who are not in the release shows how much of the success is chance.
    if facts["control"] is not None and facts["control"]["rate"] is not None:
        lines.append(
            f"Rows are linked, wrongly, to {percent(facts['control']['rate'])} of the people who are not in the "
            f"release."
        )
    if facts["unmatched_rows"]:
        lines.append(f"{number(facts['unmatched_rows'])} rows match none of these people: they count as not linked.")
    return lines


def _describe_inference(facts: Facts) -> list[str]:
    return [
        (
            f"{_introduce_attempts(facts)}, a {facts['classifier']} that learned from it is right about "
            f"{name_value(facts)} for {_count_successes(facts)}."
        ),
        _describe_guessing(facts),
        *_describe_misfits(facts),
    ]


def _describe_minimality(facts: Facts) -> list[str]:
    how = {
        "formula": "that nothing is made less precise than it must be",
        "enumeration": "the algorithm and its parameters",
    }[facts["method"]]
    lines = [
        (
            f"{_introduce_attempts(facts)}, {name_value(facts)} is believed with more than 1 / {facts['l']} for "
            f"{_count_successes(facts)} by someone who knows who is in it and "
            f"{how}; the largest belief is {percent(facts['largest_belief'])}."
        ),
        (
            f"From the release alone it is {percent(facts['baseline']['rate'])} of them, and the largest belief is "
            f"{percent(facts['largest_belief_before'])}."
        ),
    ]
    # The formula covers rows published unchanged and the rows of one merged group.
    if facts["people_covered"] < facts["attempts"]:
        rest = facts["attempts"] - facts["people_covered"]
        lines.append(f"The formula says nothing of {_count_records(rest)}: for them the release alone counts.")
    return lines


def _describe_refinement(facts: Facts) -> list[str]:
    lines = [f"Not measured: '{one['column']}', because {one['why']}." for one in facts["not_measured_columns"]]
    if not facts["attempts"]:
        return ["Not measured: no measured column has a cell that stands for several values.", *lines]
    known = ["has the public files"]
    if facts["smallest"]:
        known.append("that each cell is the smallest of its group")
    if facts["method"] != "none":
        known.append(f"that {facts['method']} made the release")
    knows = known[0] if len(known) == 1 else f"{known[0]} and knows {listed(known[1:])}"
    sentences = [
        (
            f"Of {number(facts['attempts'])} coarser cells, {_count_successes(facts)} "
            f"are known for a group to someone who {knows}: some record of it, which one is not known, has this "
            "value in every table that gives the release."
        ),
        (
            "Someone who draws the hidden values by the published shares would be right about as many of these claims "
            f"as {percent(facts['control']['rate'])} of the cells: only what is above that is revealed by the release."
        ),
    ]
    if facts["method"] != "none":
        sentences.insert(1, f"Without the method it is {percent(facts['baseline']['rate'])} of them.")
    if facts["method"] != "none" and not facts["method_groups"]:
        sentences.append("The method adds no condition here: ends are shared by several records, or groups are small.")
    if facts["entropy_left"] is not None:
        sentences.append(
            f"Of what is unknown within the cells (their entropy), {percent(facts['entropy_left'])} remains unknown"
            + (f"; without the method, {percent(facts['entropy_left_before'])}." if facts["method"] != "none" else ".")
        )
    sentences.append(
        f"In {number(facts['alone'])} of the coarser cells a record is certainly alone in a segment of its cell: no "
        "other record of the group lies there."
    )
    if facts["not_counted"]:
        sentences.append(
            f"The tables of {number(facts['not_counted'])} coarser cells were not counted: there are too many."
        )
    return [*sentences, *lines]


def _describe_singling_out(facts: Facts) -> list[str]:
    people, by_chance = count_people(facts["people"]), facts["baseline"]["rate"] * facts["attempts"]
    lines = [
        (
            f"Of {name_attempts(facts)}, made from the public table alone, {_count_successes(facts)} "
            f"fit exactly one of {people}, although they fit a random person with a probability of at most 1 in "
            f"{number(round(1 / facts['weight']))}: {count_people(facts['singled_out'])} can be told from all others."
        ),
        f"Of random descriptions that fit as rarely, {number(round(by_chance, 1))} would.",
    ]
    if facts["control"] is not None and facts["control"]["rate"] is not None:
        single = round(facts["control"]["rate"] * facts["attempts"])
        lines.append(f"Of people who are not in the release, {number(single)} of them are true of exactly one.")
    for one in facts["by_kind"]:
        if one["attempts"]:
            lines.append(
                f"{_PREDICATES[one['kind']]}: {number(one['successes'])} of {number(one['attempts'])} (by chance "
                f"{number(round(one['by_chance'], 1))}). However often they may fit, {number(one['isolating'])} fit "
                f"exactly one person, by chance {number(round(one['isolating_by_chance'], 1))}: that alone says "
                "little."
            )
        else:
            lines.append(f"{_PREDICATES[one['kind']]}: not measured, because the release has none.")
    return lines


_PREDICATES = {
    "end": "A group and an end or a member of one of its cells",
    "segment": "A group and a range in which a record certainly lies",
    "hash": "A group and a hash of the record",
}
"""Names of the kinds of descriptions."""


def _describe_intersection(facts: Facts) -> list[str]:
    if not facts["people"]:
        return ["Not measured: none of these people fits a row of a release."]
    contradicted = facts.get("contradicted", 0)
    return [
        (
            f"Of {count_people(facts['people'])} in {number(facts['releases'])} releases, {name_value(facts)} is "
            f"certain for {_number_or_none(facts['vulnerable'])} to someone who knows who is in which release."
        ),
        *(
            [f"Not measured for {count_people(contradicted)}: no value is left, so the tables disagree about them."]
            if contradicted
            else []
        ),
        *describe_columns(facts),
    ]


_SENTENCES: Mapping[str, Callable[[Facts], list[str]]] = {
    "linking": _describe_linking,
    "homogeneity": _describe_homogeneity,
    "background": _describe_background,
    "skewness": _describe_skewness,
    "similarity": _describe_similarity,
    "inference": _describe_inference,
    "intersection": _describe_intersection,
    "refinement": _describe_refinement,
    "singling-out": _describe_singling_out,
    "minimality": _describe_minimality,
}
"""For each attack, the function that describes its figures."""


def _read_attacks() -> Iterator[Attack]:
    entries = read_data_file(__package__, "attacks.toml")
    texts = entries.pop("texts")
    for name, entry in entries.items():
        for of_text, text in texts.items():
            entry = {field: one.replace(f"{{{of_text}}}", text) for field, one in entry.items()}  # noqa: PLW2901
        yield Attack(name=name, sentences=_SENTENCES[name], **entry)


ATTACKS: Mapping[str, Attack] = MappingProxyType({attack.name: attack for attack in _read_attacks()})
"""The attacks by name, in the order in which they are explained."""


def render_documentation() -> str:
    """Render the part of the documentation that explains every attack."""
    sections = [
        f"## {attack.title}\n\n"
        f"`shoal attack --method {attack.name}`, `shoal.attacks.{attack.function}`. {attack.meaning}\n\n"
        f"* **Assumptions.** {attack.assumptions}\n"
        f"* **Formula.** {attack.formula}.\n"
        f"* **Reference.** {attack.reference}.\n"
        for attack in ATTACKS.values()
    ]
    return "\n".join(sections)
