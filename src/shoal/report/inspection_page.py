"""The page of an inspection, with sentences that the command line prints as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import listed, number, percent
from shoal.report.templating import template
from shoal.wording import join_warnings

PERSON_QUESTION = "Does each row stand for one person?"
"""The first question of an inspection, because groups count rows."""
ROLES = (
    ("person", "Person", "whose record each row is; never published"),
    ("direct_identifier", "Direct identifier", "never published"),
    ("quasi_identifier", "Quasi-identifier", "what others may know of a person"),
    ("sensitive", "Sensitive", "what must not be linked to a person"),
    ("insensitive", "Insensitive", "published as it is"),
)
"""The roles in the order of presentation, with their meanings."""
_PAIRS = 15
"""Largest number of pairs of columns on the page."""


def render_inspection(facts: Mapping[str, Any], *, file: str | None = None) -> str:
    """Render an inspection as one HTML page.

    Parameters
    ----------
    facts : mapping
        `Inspection.to_dict()`.
    file : str, optional
        The name of the table's file.
    """
    return template("inspection.html.j2").render(
        facts=facts,
        title=file or "A table",
        file=file or "INPUT",
        roles=ROLES,
        by_separation=sorted(facts["columns"], key=lambda column: -(column["separation"] or 0.0)),
        pairs=pairs_of(facts, _PAIRS),
        person=person_sentences(facts),
        risk=risk_sentences(facts["risk"]),
        read=how_it_was_read(facts),
        warned=[text for _code, text in join_warnings(facts["warnings"])],
        shown_values=any("values" in column for column in facts["columns"]),
    )


def person_sentences(facts: Mapping[str, Any]) -> list[str]:
    """List the question whether each row stands for one person, the evidence, and the advice.

    Parameters
    ----------
    facts : mapping
        `Inspection.to_dict()`.
    """
    # The question stays even without evidence against it.
    person = facts["person"]
    if not person["evidence"]:
        return [person["question"], "No column suggests otherwise, but only you know."]
    found = [f"{one['text']}." for one in person["evidence"]]
    then = "If persons have several records, groups of records hide nobody: name the column that identifies the person."
    return [person["question"], *found, then]


def pairs_of(facts: Mapping[str, Any], most: int) -> list[Mapping[str, Any]]:
    """Select the pairs of columns that separate most records."""
    return [one for one in facts["combinations"] if len(one["columns"]) == 2][:most]


def risk_sentences(risk: Mapping[str, Any]) -> list[str]:
    """Describe the risk by the proposed quasi-identifiers, in sentences."""
    if not risk["quasi_identifiers"]:
        return ["No column is taken for a quasi-identifier: nobody could be recognized by what is published."]
    # Many columns are not repeated in the sentence.
    known = listed(risk["quasi_identifiers"]) if len(risk["quasi_identifiers"]) <= 12 else "the quasi-identifiers above"
    what = "record" if risk.get("unit") is None else "person"
    # Zero is a statement of its own, followed by the next interesting figure.
    alone = (
        f"{percent(risk['sample_uniques'])} of the {what}s are alone"
        if risk["sample_uniques"]
        else f"no {what} is alone, the smallest group has {number(risk['smallest_class'])} {what}s"
    )
    below = percent(risk["below_k"]) if risk["below_k"] else "none"
    groups = (
        f"Somebody who knows {known} of a person finds {number(risk['classes'])} groups of records that agree on them: "
        f"{alone}, and {below} are in groups of fewer than {number(risk['k'])}."
    )
    # The prosecutor's risk, for an adversary who knows that the person is in the table.
    chance = (
        f"On average that leads to the right {what} with a probability of {percent(risk['average'])} for somebody who "
        "is known to be in the table, if all columns were published as they are."
    )
    if risk.get("unit") is not None:
        whose = (
            f"These figures count {number(risk['units'])} persons, whom '{risk['unit']}' identifies by the proposal."
        )
        return [groups, chance, whose]
    return [groups, chance]


def how_it_was_read(facts: Mapping[str, Any]) -> list[str]:
    """Describe how a file was read, as parts of a sentence."""
    # Names for invisible or small characters.
    delimiter = {"\t": "a tab", ",": "a comma", ";": "a semicolon", "|": "a bar"}
    said = []
    if facts["encoding"] is not None:
        said.append(f"encoding {facts['encoding']}")
    if facts["delimiter"] is not None:
        separator = delimiter.get(facts["delimiter"], repr(facts["delimiter"]))
        said.append(f"fields separated by {separator}")
    if facts["sheet"] is not None:
        said.append(f"sheet '{facts['sheet']}'")
    if facts["header_row"] is not None:
        said.append(f"names of columns in row {facts['header_row']}")
    if facts["decimal"] is not None:
        said.append("decimals behind a comma")
    return said
