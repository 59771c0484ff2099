"""Sentences about the figures of risk measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from shoal._core.words import listed, number, percent

Facts: TypeAlias = Mapping[str, Any]
"""The result of `Risk.to_dict`."""


def _records(facts: Facts, share: float) -> int:
    """Convert a share to a number of rows, or of persons if they are counted."""
    return round(share * _total(facts))


def _total(facts: Facts) -> int:
    """Get the total that shares refer to: the number of rows, or of persons if they are counted."""
    persons: int | None = facts.get("units")
    rows: int = facts["rows"]
    return rows if persons is None else persons


def _noun(facts: Facts, count: float, rows: str = "record") -> str:
    """Choose the noun for what is counted: persons if a column identifies them, else records (or rows)."""
    noun = rows if facts.get("unit") is None else "person"
    return noun if count == 1 else f"{noun}s"


def _share(share: float) -> str:
    """Format a percentage within a sentence."""
    return percent(share).replace("<", "less than ").replace(">", "more than ")


def _limit(figures: Facts) -> str:
    """Format a threshold as it was given."""
    per_cent: float = 100 * figures["threshold"]
    plain = abs(per_cent - round(per_cent, 2)) < 1e-9
    return f"{per_cent:.6g}%" if plain else _one_in(figures["threshold"])


def _one_in(probability: float) -> str:
    """Format a probability in common words, such as 1 in 7 or 2.9%."""
    inverse = 1 / probability if probability else 1.0
    whole = abs(inverse - round(inverse)) < 1e-9 and round(inverse) > 1
    return f"1 in {number(round(inverse))}" if whole else _share(probability)


def _people_fit(count: int) -> str:
    """Format a number of people of the population."""
    return f"at least {number(count)} {'person' if count == 1 else 'people'} of the population"


def _known(facts: Facts) -> str:
    """Name the columns that the adversary knows, or their number if there are many."""
    columns = facts["columns"]
    return listed(columns) if len(columns) <= _NAMED else f"{len(columns)} quasi-identifiers"


_NAMED = 4
"""Largest number of columns that a sentence names."""


def describe_sample_uniques(facts: Facts, figures: float) -> str:
    """Describe the figures of the measure `sample_uniques` of a table."""
    alone = _records(facts, figures)
    # The sentence for persons; the one for records follows.
    if facts.get("unit") is not None:
        if not alone:
            return (
                f"None of the {number(facts['units'])} persons in the file can be told from all others by "
                f"{_known(facts)}: every record has the same as a record of another person."
            )
        return (
            f"Of {number(facts['units'])} persons in the file, {number(alone)} could be found by somebody who "
            f"knows {_known(facts)} of one of their records, and that they are in the file: no record of another "
            "person has the same."
        )
    if not alone:
        return (
            f"None of the {number(facts['rows'])} records in the file can be told from all others by "
            f"{_known(facts)}: each has at least one other with the same."
        )
    return (
        f"Of {number(facts['rows'])} records in the file, {number(alone)} could be found by somebody who knows "
        f"{_known(facts)} of a person, and that the person is in the file: no other record has the same."
    )


def describe_small_classes(facts: Facts, figures: Facts) -> str:
    """Describe the figures of the measure `small_classes` of a table."""
    shares = [
        (
            f"{number(_records(facts, share))} {'shares' if _records(facts, share) == 1 else 'share'} them with "
            f"fewer than {number(int(k) - 1)} others"
        )
        for k, share in figures.items()
        if int(k) > 2
    ]
    # The smallest class, as a number of persons or of records.
    persons = facts.get("unit") is not None
    if persons:
        fewest = (
            "the smallest has records of {count} person"
            if facts["smallest_class"] == 1
            else "the smallest has records of {count} persons"
        )
    else:
        fewest = "every row matches at least {count}" if facts["stars"] == "wildcard" else "the smallest has {count}"
    found = (
        f"The rows form {number(facts['classes'])} classes with the same {_known(facts)}; "
        f"{fewest.format(count=number(facts['smallest_class']))}."
    )
    if not shares:
        return found
    of_all = "Of the persons, {shares}." if persons else "Of the records, {shares}."
    return f"{found} {of_all.format(shares=listed(shares))}"


def describe_prosecutor(facts: Facts, figures: Facts) -> str:
    """Describe the figures of the measure `prosecutor` of a table."""
    above = _records(facts, figures["records_above"])
    # With several records per person, the adversary chooses among persons.
    if facts.get("unit") is not None:
        return (
            "Somebody who knows the quasi-identifiers of one record of a person known to be in the file, and "
            "picks one of the persons who have such a record, is right with a probability of at most "
            f"{_one_in(figures['highest'])}, and of {_share(figures['average'])} on average. For {number(above)} "
            f"of {number(facts['units'])} persons it is more than {_limit(figures)}."
        )
    return (
        "Somebody who looks for one record of a person known to be in the file picks it with a probability of "
        f"at most {_one_in(figures['highest'])}, and of {_share(figures['average'])} on average. For "
        f"{number(above)} of {number(facts['rows'])} records it is more than {_limit(figures)}."
    )


def describe_journalist(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `journalist` of a table."""
    above = _records(facts, figures["records_above"])
    return (
        f"Somebody who knows the population, and not who is in the file, picks the right person for a row with a "
        f"probability of at most {_one_in(figures['highest'])}, and of {_share(figures['average'])} on average. For "
        f"{number(above)} of {number(_total(facts))} {_noun(facts, 2, 'row')} it is more than {_limit(figures)}."
    )


def describe_marketer(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `marketer` of a table."""
    who = "every row" if facts.get("unit") is None else "of every person the row that fits fewest people"
    return (
        f"Somebody who matches {who} with a person of the population that fits is right about "
        f"{_share(figures['average'])} of them: {number(round(figures['average'] * _total(facts)))} of "
        f"{number(_total(facts))}."
    )


def describe_k_map(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `k_map` of a table."""
    # The counted k first, then the estimates.
    sentences = []
    if figures["k"] is not None:
        sentences.append(f"Every row fits {_people_fit(figures['k'])}.")
    if figures["estimated"] is not None:
        people = f"{number(figures['estimated'])} {'person' if figures['estimated'] == 1 else 'people'}"
        sentences.append(
            f"By the Poisson law without zero every row fits at least {people} of the population, with an error of at "
            f"most {_share(figures['significance'])} for a row."
        )
    return " ".join(sentences)


def describe_delta_presence(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `delta_presence` of a table."""
    return (
        f"That a person of the population is in the file can be known with a probability between "
        f"{_share(figures['lowest'])} and {_share(figures['highest'])}, depending on the person."
    )


def describe_population_uniques(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `population_uniques` of a table."""
    # All estimates that fit the sample, in parentheses.
    forms = (
        ("pitman", "{share} by Pitman's model"),
        ("zayatz", "{share} by Zayatz"),
        ("snb", "{share} by the slide negative binomial"),
    )
    others = [form.format(share=_share(figures[name])) for name, form in forms if figures[name] is not None]
    return (
        f"An estimated {_share(figures['dankar'])} of the people of the population are alone there with their "
        f"{_known(facts)} ({listed(others)})."
    )


def describe_individual(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `individual` of a table."""
    return (
        f"By the survey weights, {number(round(figures['expected'], 1))} of {number(_total(facts))} "
        f"{_noun(facts, 2, 'row')} are expected to be re-identified by somebody who tries all: "
        f"{_share(figures['global'])}. The {_noun(facts, 1, 'row')} at greatest risk has {_share(figures['highest'])}."
    )


def describe_household(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `household` of a table."""
    return (
        f"Counting that who finds one person of a household finds all of it, "
        f"{number(round(figures['expected'], 1))} of {number(_total(facts))} {_noun(facts, 2, 'row')} are expected to "
        f"be disclosed: {_share(figures['global'])}."
    )


def describe_log_linear(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `log_linear` of a table."""
    # Persons are counted if a column identifies them.
    form = (
        (
            "Of the {alone} records that are alone in the file, {unique} are expected to be alone in the population, "
            "too, and {matched} to be matched rightly by somebody who knows the population (log-linear model, {model})."
        )
        if facts.get("unit") is None
        else (
            "Of the {alone} persons that are alone in the file, {unique} are expected to be alone in the population, "
            "too, and {matched} to be matched rightly by somebody who knows the population (log-linear model, {model})."
        )
    )
    return form.format(
        alone=number(_records(facts, facts["sample_uniques"])),
        unique=number(round(figures["tau_1"], 1)),
        matched=number(round(figures["tau_2"], 1)),
        model=figures["model"],
    )


def describe_suda(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `suda` of a table."""
    special, records = _records(facts, figures["records"]), facts.get("unit") is None
    form = (
        "{special} of {all} records can be told from all others by at most {columns} of the columns."
        if records
        else "{special} of {all} persons can be told from all others by at most {columns} of the columns."
    )
    sentences = [form.format(special=number(special), all=number(_total(facts)), columns=number(figures["size"]))]
    # The column with the largest contribution to the scores.
    if special:
        column, share = max(figures["contributions"].items(), key=lambda one: one[1])
        leading = "The column '{column}' is part of {share} of what makes them special."
        sentences.append(leading.format(column=column, share=_share(share / 100)))
    if special and figures["dis"]:
        match = (
            "A match with a record that is alone in the file is right with a probability of {share}."
            if records
            else "A match with a person that is alone in the file is right with a probability of {share}."
        )
        sentences.append(match.format(share=_share(figures["dis"])))
    return " ".join(sentences)


def describe_attribute_disclosure(facts: Facts, figures: Facts) -> str | None:
    """Describe the figures of the measure `attribute_disclosure` of a table."""
    # A sentence for each sensitive attribute; of many, for the one that most records reveal.
    sentences = []
    ranked = sorted(figures.items(), key=lambda item: -item[1]["records_above"])
    for name, one in figures.items() if len(figures) <= _NAMED else ranked[:1]:
        above = _records(facts, one["records_above"])
        if facts.get("unit") is None:
            form = (
                "Somebody who knows {known} of a record can be sure of its {name} with a confidence of up to "
                "{highest}, {average} on average; for {above} records it is more than {limit}."
            )
        else:
            form = (
                (
                    "Somebody who knows {known} of all records of a person can be sure of one of the "
                    "person's values of {name} with a confidence of up to {highest}, {average} on average; "
                    "for {above} person it is more than {limit}."
                )
                if above == 1
                else (
                    "Somebody who knows {known} of all records of a person can be sure of one of the "
                    "person's values of {name} with a confidence of up to {highest}, {average} on average; "
                    "for {above} persons it is more than {limit}."
                )
            )
        shares = {"highest": _share(one["highest"]), "average": _share(one["average"])}
        sentences.append(form.format(known=_known(facts), name=name, above=number(above), limit=_limit(one), **shares))
    if len(figures) > _NAMED:
        shown = (
            f"{name} ({_share(one['highest'])}; {_records(facts, one['records_above'])})" for name, one in ranked[1:]
        )
        others = ", ".join(shown)
        sentences.append(f"The same holds for {others}.")
    return " ".join(sentences) or None


def describe_combinations(facts: Facts, ranked: Sequence[Facts]) -> str | None:
    """Describe the figures of the measure `combinations` of a table."""
    if not ranked or ranked[0]["separation"] is None:
        return None
    # The best single column, and the best combination.
    alone = max((one for one in ranked if len(one["columns"]) == 1), key=lambda one: one["separation"])
    best, records = ranked[0], facts.get("unit") is None
    if len(best["columns"]) == 1:
        form = (
            "'{column}' tells apart {share} of all pairs of records."
            if records
            else "'{column}' tells apart {share} of all pairs of persons."
        )
    else:
        form = (
            (
                "Of single columns, '{column}' tells most records apart: {share} of all pairs. {columns} "
                "together tell apart {most}."
            )
            if records
            else (
                "Of single columns, '{column}' tells most persons apart: {share} of all pairs. {columns} "
                "together tell apart {most}."
            )
        )
    return form.format(
        column=alone["columns"][0],
        share=_share(alone["separation"]),
        columns=listed(best["columns"]),
        most=_share(best["separation"]),
    )


def describe_known_sets(_facts: Facts, sets: Facts) -> str:
    """Describe the figures of the measure `known_sets` of a table."""
    return (
        f"Of {number(sets['sets'])} set(s) of quasi-identifiers, {listed(sets['columns'])} find most records: "
        f"{_share(sets['most_uniques'])} are alone in it, and {_share(sets['uniques'])} in some set."
    )


def describe_units(facts: Facts, columns: str) -> str:
    """Describe the figures of the measure `units` of a table."""
    return (
        f"All figures count persons, who are identified by '{columns}': {number(facts['rows'])} records of "
        f"{number(facts['units'])} {'person' if facts['units'] == 1 else 'persons'}. A person has the highest "
        "risk of any of that person's records. A record that is known to be in a class is of one person with a "
        f"probability of up to {_share(facts['largest_share'])}."
    )


def describe_persons(_facts: Facts, evidence: Sequence[Facts]) -> str | None:
    """Describe the figures of the measure `persons` of a table."""
    if not evidence:
        return None
    return (
        f"The column '{evidence[0]['column']}' repeats as the number or name of a person would: {evidence[0]['text']}. "
        "All figures here count records, and of a person with several more is known than they show, up to everything."
    )


def describe_identifiers(_facts: Facts, found: Sequence[Facts]) -> str | None:
    """Describe the figures of the measure `identifiers` of a table."""
    return " ".join(dict.fromkeys(one["text"] for one in found)) or None
