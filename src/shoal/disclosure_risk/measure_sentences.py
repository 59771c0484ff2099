"""Sentences about the figures of risk measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from shoal._core.words import listed, number, percent

Facts: TypeAlias = Mapping[str, Any]
"""The result of `Risk.to_dict`."""


def _records(facts: Facts, share: float) -> int:
    """Convert a share to a number of rows, or of persons if they are counted."""
    return round(share * total_of(facts))


def total_of(facts: Facts) -> int:
    """Get the total that shares refer to: the number of rows, or of persons if they are counted."""
    persons: int | None = facts.get("units")
    return int(facts["rows"]) if persons is None else persons


def name_counted(facts: Facts, count: float, rows: str = "record") -> str:
    """Choose the noun for what is counted: persons if a column identifies them, else records (or rows)."""
    noun = rows if facts.get("unit") is None else "unit" if "of" in facts else "person"
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


def _people(count: int) -> str:
    """Format a smallest number of people of the population."""
    return f"at least {number(count)} {'person' if count == 1 else 'people'} of the population"


def _known(facts: Facts) -> str:
    """Name the columns that the adversary knows, or their number if there are many."""
    columns = facts["columns"]
    return listed(columns) if len(columns) <= _NAMED else f"{len(columns)} quasi-identifiers"


_NAMED = 4
"""Largest number of columns that a sentence names."""


def describe_sample_uniques(facts: Facts, figures: float) -> str:
    """Describe the figures of the measure `sample_uniques` of a table."""
    alone, persons = _records(facts, figures), facts.get("unit") is not None
    total = f"{number(total_of(facts))} {name_counted(facts, 2)} in the file"
    if not alone:
        same = (
            "every record has the same as a record of another person" if persons else "each has another with the same"
        )
        by = f"{_known(facts)}{' of one record' if persons else ''}"
        return f"None of the {total} can be told from all others by {by}: {same}."
    if persons:
        known = "one of their records, and that they are in the file: no record of another person has the same"
    else:
        known = "a person, and that the person is in the file: no other record has the same"
    return f"Of {total}, {number(alone)} could be found by someone who knows {_known(facts)} of {known}."


def describe_small_classes(facts: Facts, figures: Facts) -> str:
    """Describe the figures of the measure `small_classes` of a table."""
    counts = {int(k): _records(facts, share) for k, share in figures.items() if int(k) > 2}
    shares = [
        f"{number(count)} {'shares' if count == 1 else 'share'} them with fewer than {number(k - 1)} others"
        for k, count in counts.items()
    ]
    # The smallest class, as a number of persons or of records.
    smallest = number(facts["smallest_class"])
    if facts.get("unit") is not None:
        fewest = f"the smallest has records of {smallest} {name_counted(facts, facts['smallest_class'])}"
    else:
        fewest = f"{'every row matches at least' if facts['stars'] == 'wildcard' else 'the smallest has'} {smallest}"
    found = f"The rows form {number(facts['classes'])} classes with the same {_known(facts)}; {fewest}."
    return f"{found} Of the {name_counted(facts, 2)}, {listed(shares)}." if shares else found


def describe_prosecutor(facts: Facts, figures: Facts) -> str:
    """Describe the figures of the measure `prosecutor` of a table."""
    # With several records per person, the adversary chooses among persons.
    if facts.get("unit") is not None:
        picking = (
            "knows the quasi-identifiers of one record of a person known to be in the file, and picks one of the "
            "persons who have such a record, is right"
        )
    else:
        picking = "looks for one record of a person known to be in the file picks it"
    counted = name_counted(facts, 2)
    return (
        f"Someone who {picking} with a probability of at most {_one_in(figures['highest'])}, and of "
        f"{_share(figures['average'])} on average over all {counted}. For "
        f"{number(_records(facts, figures['records_above']))} of {number(total_of(facts))} {counted} it is more than "
        f"{_limit(figures)}."
    )


def describe_journalist(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `journalist` of a table."""
    above, counted = _records(facts, figures["records_above"]), name_counted(facts, 2, "row")
    return (
        f"Someone who knows the population, and not who is in the file, picks the right person for a row with a "
        f"probability of at most {_one_in(figures['highest'])}, and of {_share(figures['average'])} on average over "
        f"all {counted}. For {number(above)} of {number(total_of(facts))} {counted} it is more than {_limit(figures)}."
    )


def describe_marketer(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `marketer` of a table."""
    who = "every row" if facts.get("unit") is None else "of every person the row that fits fewest people"
    return (
        f"Someone who matches {who} with a person of the population that fits is right about "
        f"{_share(figures['average'])} of them: {number(round(figures['average'] * total_of(facts)))} of "
        f"{number(total_of(facts))}."
    )


def describe_k_map(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `k_map` of a table."""
    # The counted k first, then the estimates.
    sentences = []
    if figures["k"] is not None:
        sentences.append(f"Every row fits {_people(figures['k'])}.")
    if figures["estimated"] is not None:
        sentences.append(
            f"By the Poisson law without zero every row fits {_people(figures['estimated'])}, with an error of at most "
            f"{_share(figures['significance'])} for a row."
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
    names = {"pitman": "Pitman's model", "zayatz": "Zayatz", "snb": "the slide negative binomial"}
    others = [f"{_share(figures[one])} by {name}" for one, name in names.items() if figures[one] is not None]
    return (
        f"An estimated {_share(figures['dankar'])} of the people of the population are alone there with their "
        f"{_known(facts)} ({listed(others)})."
    )


def describe_individual(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `individual` of a table."""
    return (
        f"By the survey weights, {number(round(figures['expected'], 1))} of {number(total_of(facts))} "
        f"{name_counted(facts, 2, 'row')} are expected to be re-identified by someone who tries all: "
        f"{_share(figures['global'])}. The {name_counted(facts, 1, 'row')} at greatest risk has "
        f"{_share(figures['highest'])}."
    )


def describe_household(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `household` of a table."""
    return (
        f"Counting that who finds one person of a household finds all of it, "
        f"{number(round(figures['expected'], 1))} of {number(total_of(facts))} {name_counted(facts, 2, 'row')} are "
        f"expected to be disclosed: {_share(figures['global'])}."
    )


def describe_log_linear(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `log_linear` of a table."""
    return (
        f"Of the {number(_records(facts, facts['sample_uniques']))} {name_counted(facts, 2)} that are alone in the "
        f"file, {number(round(figures['tau_1'], 1))} are expected to be alone in the population, too, and "
        f"{number(round(figures['tau_2'], 1))} to be matched rightly by someone who knows the population (log-linear "
        f"model, {figures['model']})."
    )


def describe_suda(facts: Facts, figures: Any) -> str:
    """Describe the figures of the measure `suda` of a table."""
    special = _records(facts, figures["records"])
    special_of_all = f"{number(special)} of {number(total_of(facts))} {name_counted(facts, 2)}"
    sentences = [f"{special_of_all} can be told from all others by at most {number(figures['size'])} of the columns."]
    # The column with the largest contribution to the scores.
    if special:
        column, share = max(figures["contributions"].items(), key=lambda one: one[1])
        sentences.append(f"The column '{column}' is part of {_share(share / 100)} of what makes them special.")
    if special and figures["dis"]:
        sentences.append(
            f"A match with a {name_counted(facts, 1)} that is alone in the file is right with a probability of "
            f"{_share(figures['dis'])}."
        )
    return " ".join(sentences)


def describe_attribute_disclosure(facts: Facts, figures: Facts) -> str | None:
    """Describe the figures of the measure `attribute_disclosure` of a table."""
    # A sentence for each sensitive attribute; of many, for the one that most records reveal.
    sentences = []
    persons = facts.get("unit") is not None
    ranked = sorted(figures.items(), key=lambda item: -item[1]["records_above"])
    for name, one in figures.items() if len(figures) <= _NAMED else ranked[:1]:
        above = _records(facts, one["records_above"])
        whose = "all records of a person" if persons else "a record"
        value = f"one of the person's values of {name}" if persons else f"its {name}"
        sentences.append(
            f"Someone who knows {_known(facts)} of {whose} can be sure of {value} with a confidence of up to "
            f"{_share(one['highest'])}, {_share(one['average'])} on average over all {name_counted(facts, 2)}; for "
            f"{number(above)} {name_counted(facts, above)} it is more than {_limit(one)}."
        )
    if len(figures) > _NAMED:
        others = (
            f"{name} ({_share(one['highest'])}; {_records(facts, one['records_above'])})" for name, one in ranked[1:]
        )
        sentences.append(f"The same holds for {', '.join(others)}.")
    return " ".join(sentences) or None


def describe_combinations(facts: Facts, ranked: Sequence[Facts]) -> str | None:
    """Describe the figures of the measure `combinations` of a table."""
    if not ranked or ranked[0]["separation"] is None:
        return None
    # The best single column, and the best combination.
    alone = max((one for one in ranked if len(one["columns"]) == 1), key=lambda one: one["separation"])
    best, column, share = ranked[0], alone["columns"][0], _share(alone["separation"])
    if len(best["columns"]) == 1:
        return f"'{column}' tells apart {share} of all pairs of {name_counted(facts, 2)}."
    return (
        f"Of single columns, '{column}' tells most {name_counted(facts, 2)} apart: {share} of all pairs. "
        f"{listed(best['columns'])} together tell apart {_share(best['separation'])}."
    )


def describe_known_sets(facts: Facts, sets: Facts) -> str:
    """Describe the figures of the measure `known_sets` of a table."""
    return (
        f"Of {number(sets['sets'])} set(s) of quasi-identifiers, {listed(sets['columns'])} find most "
        f"{name_counted(facts, 2)}: {_share(sets['most_uniques'])} are alone in it, and {_share(sets['uniques'])} in "
        "some set."
    )


def describe_units(facts: Facts, columns: str) -> str:
    """Describe whom the figures count, by the measure `unit` of a table."""
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
