"""Descriptions of all risk measures, which documentation, reports and the command line share.

A measure has the name of its figures in `Risk` and in JSON. Only its sentence depends on the figures of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from shoal._core.language import gettext as _
from shoal._core.language import ngettext, percentage
from shoal._core.words import listed, number, percent

__all__ = ["MEASURES", "Measure", "page"]

Facts: TypeAlias = Mapping[str, Any]
"""The result of `Risk.to_dict`."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The description of a risk measure."""

    name: str
    """Name in `Risk` and in JSON."""
    title: str
    """Common name."""
    meaning: str
    """Definition, in a sentence."""
    assumptions: str
    """Assumptions; the figure is wrong if an assumption is."""
    formula: str
    """Formula, in the letters of the page: n rows in u classes of f rows each (F people of N in the population),
    sampling fraction p, c_i classes of i rows."""
    reference: str
    """Source of the measure."""
    describe: Callable[[Facts, Any], str | None]
    """Describes the figures of a table in plain words, given all results and those of the measure."""

    def sentence(self, facts: Facts) -> str | None:
        """Describe the figures of a table in plain words; None if they were not requested."""
        figures = facts[self.name]
        return None if figures is None else self.describe(facts, figures)


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
    return percent(share).replace("<", _("less than") + " ").replace(">", _("more than") + " ")


def _limit(figures: Facts) -> str:
    """Format a threshold as it was given."""
    per_cent: float = 100 * figures["threshold"]
    plain = abs(per_cent - round(per_cent, 2)) < 1e-9
    return percentage(f"{per_cent:.6g}") if plain else _one_in(figures["threshold"])


def _one_in(probability: float) -> str:
    """Format a probability in common words, such as 1 in 7 or 2.9%."""
    inverse = 1 / probability if probability else 1.0
    whole = abs(inverse - round(inverse)) < 1e-9 and round(inverse) > 1
    return _("1 in {many}").format(many=number(round(inverse))) if whole else _share(probability)


def _people_fit(count: int) -> str:
    """Format a number of people of the population."""
    return f"at least {number(count)} {'person' if count == 1 else 'people'} of the population"


def _known(facts: Facts) -> str:
    """Name the columns that the adversary knows, or their number if there are many."""
    columns = facts["columns"]
    return listed(columns) if len(columns) <= _NAMED else _("{count} quasi-identifiers").format(count=len(columns))


_NAMED = 4
"""Largest number of columns that a sentence names."""


def _sample_uniques(facts: Facts, figures: float) -> str:
    alone = _records(facts, figures)
    # The sentence for persons; the one for records follows.
    if facts.get("unit") is not None:
        if not alone:
            return _(
                "None of the {persons} persons in the file can be told from all others by {known}: every record has "
                "the same as a record of another person."
            ).format(persons=number(facts["units"]), known=_known(facts))
        return _(
            "Of {persons} persons in the file, {alone} could be found by somebody who knows {known} of one of their "
            "records, and that they are in the file: no record of another person has the same."
        ).format(persons=number(facts["units"]), alone=number(alone), known=_known(facts))
    if not alone:
        return _(
            "None of the {rows} records in the file can be told from all others by {known}: each has at least one "
            "other with the same."
        ).format(rows=number(facts["rows"]), known=_known(facts))
    return _(
        "Of {rows} records in the file, {alone} could be found by somebody who knows {known} of a person, and that the "
        "person is in the file: no other record has the same."
    ).format(rows=number(facts["rows"]), alone=number(alone), known=_known(facts))


def _small_classes(facts: Facts, figures: Facts) -> str:
    shares = [
        ngettext(
            "{count} shares them with fewer than {others} others",
            "{count} share them with fewer than {others} others",
            _records(facts, share),
        ).format(count=number(_records(facts, share)), others=number(int(k) - 1))
        for k, share in figures.items()
        if int(k) > 2
    ]
    # The smallest class, as a number of persons or of records.
    persons = facts.get("unit") is not None
    if persons:
        fewest = ngettext(
            "the smallest has records of {count} person",
            "the smallest has records of {count} persons",
            facts["smallest_class"],
        )
    else:
        fewest = (
            _("every row matches at least {count}") if facts["stars"] == "wildcard" else _("the smallest has {count}")
        )
    found = _("The rows form {classes} classes with the same {known}; {smallest}.").format(
        classes=number(facts["classes"]),
        known=_known(facts),
        smallest=fewest.format(count=number(facts["smallest_class"])),
    )
    if not shares:
        return found
    of_all = _("Of the persons, {shares}.") if persons else _("Of the records, {shares}.")
    return f"{found} {of_all.format(shares=listed(shares))}"


def _prosecutor(facts: Facts, figures: Facts) -> str:
    above = _records(facts, figures["records_above"])
    # With several records per person, the adversary chooses among persons.
    if facts.get("unit") is not None:
        return _(
            "Somebody who knows the quasi-identifiers of one record of a person known to be in the file, and picks one "
            "of the persons who have such a record, is right with a probability of at most {highest}, and of {average} "
            "on average. For {above} of {persons} persons it is more than {limit}."
        ).format(
            highest=_one_in(figures["highest"]),
            average=_share(figures["average"]),
            above=number(above),
            persons=number(facts["units"]),
            limit=_limit(figures),
        )
    return _(
        "Somebody who looks for one record of a person known to be in the file picks it with a probability of at most "
        "{highest}, and of {average} on average. For {above} of {rows} records it is more than {limit}."
    ).format(
        highest=_one_in(figures["highest"]),
        average=_share(figures["average"]),
        above=number(above),
        rows=number(facts["rows"]),
        limit=_limit(figures),
    )


def _journalist(facts: Facts, figures: Any) -> str:
    above = _records(facts, figures["records_above"])
    return (
        f"Somebody who knows the population, and not who is in the file, picks the right person for a row with a "
        f"probability of at most {_one_in(figures['highest'])}, and of {_share(figures['average'])} on average. For "
        f"{number(above)} of {number(_total(facts))} {_noun(facts, 2, 'row')} it is more than {_limit(figures)}."
    )


def _marketer(facts: Facts, figures: Any) -> str:
    who = "every row" if facts.get("unit") is None else "of every person the row that fits fewest people"
    return (
        f"Somebody who matches {who} with a person of the population that fits is right about "
        f"{_share(figures['average'])} of them: {number(round(figures['average'] * _total(facts)))} of "
        f"{number(_total(facts))}."
    )


def _k_map(facts: Facts, figures: Any) -> str:
    # The counted k first, then the estimates.
    sentences = []
    if figures["k"] is not None:
        sentences.append(f"Every row fits {_people_fit(figures['k'])}.")
    if figures["estimated"] is not None:
        sentences.append(
            f"By the Poisson law every row fits {_people_fit(figures['estimated'])} "
            f"({number(figures['estimated_without_zero'])} by the law without zero), with an error of at most "
            f"{_share(figures['significance'])} for a row."
        )
    return " ".join(sentences)


def _delta_presence(facts: Facts, figures: Any) -> str:
    return (
        f"That a person of the population is in the file can be known with a probability between "
        f"{_share(figures['lowest'])} and {_share(figures['highest'])}, depending on the person."
    )


def _population_uniques(facts: Facts, figures: Any) -> str:
    # All estimates that fit the sample, in parentheses.
    forms = (
        ("pitman", _("{share} by Pitman's model")),
        ("zayatz", _("{share} by Zayatz")),
        ("snb", _("{share} by the slide negative binomial")),
    )
    others = [form.format(share=_share(figures[name])) for name, form in forms if figures[name] is not None]
    return _(
        "An estimated {share} of the people of the population are alone there with their {known} ({others})."
    ).format(share=_share(figures["dankar"]), known=_known(facts), others=listed(others))


def _individual(facts: Facts, figures: Any) -> str:
    return (
        f"By the survey weights, {number(round(figures['expected'], 1))} of {number(_total(facts))} "
        f"{_noun(facts, 2, 'row')} are expected to be re-identified by somebody who tries all: "
        f"{_share(figures['global'])}. The {_noun(facts, 1, 'row')} at greatest risk has {_share(figures['highest'])}."
    )


def _household(facts: Facts, figures: Any) -> str:
    return (
        f"Counting that who finds one person of a household finds all of it, "
        f"{number(round(figures['expected'], 1))} of {number(_total(facts))} {_noun(facts, 2, 'row')} are expected to "
        f"be disclosed: {_share(figures['global'])}."
    )


def _log_linear(facts: Facts, figures: Any) -> str:
    # Persons are counted if a column identifies them.
    form = (
        _(
            "Of the {alone} records that are alone in the file, {unique} are expected to be alone in the "
            "population, too, and {matched} to be matched rightly by somebody who knows the population "
            "(log-linear model, {model})."
        )
        if facts.get("unit") is None
        else _(
            "Of the {alone} persons that are alone in the file, {unique} are expected to be alone in the "
            "population, too, and {matched} to be matched rightly by somebody who knows the population "
            "(log-linear model, {model})."
        )
    )
    return form.format(
        alone=number(_records(facts, facts["sample_uniques"])),
        unique=number(round(figures["tau_1"], 1)),
        matched=number(round(figures["tau_2"], 1)),
        model=figures["model"],
    )


def _suda(facts: Facts, figures: Any) -> str:
    special, records = _records(facts, figures["records"]), facts.get("unit") is None
    form = (
        _("{special} of {all} records can be told from all others by at most {columns} of the columns.")
        if records
        else _("{special} of {all} persons can be told from all others by at most {columns} of the columns.")
    )
    sentences = [form.format(special=number(special), all=number(_total(facts)), columns=number(figures["size"]))]
    # The column with the largest contribution to the scores.
    if special:
        column, share = max(figures["contributions"].items(), key=lambda one: one[1])
        leading = _("The column '{column}' is part of {share} of what makes them special.")
        sentences.append(leading.format(column=column, share=_share(share / 100)))
    if special and figures["dis"]:
        match = (
            _("A match with a record that is alone in the file is right with a probability of {share}.")
            if records
            else _("A match with a person that is alone in the file is right with a probability of {share}.")
        )
        sentences.append(match.format(share=_share(figures["dis"])))
    return " ".join(sentences)


def _attribute_disclosure(facts: Facts, figures: Facts) -> str | None:
    # A sentence for each sensitive attribute.
    sentences = []
    for name, one in figures.items():
        above = _records(facts, one["records_above"])
        if facts.get("unit") is None:
            form = _(
                "Somebody who knows {known} of a record can be sure of its {name} with a confidence of up to "
                "{highest}, {average} on average; for {above} records it is more than {limit}."
            )
        else:
            form = ngettext(
                "Somebody who knows {known} of all records of a person can be sure of one of the person's values of "
                "{name} with a confidence of up to {highest}, {average} on average; for {above} person it is more "
                "than {limit}.",
                "Somebody who knows {known} of all records of a person can be sure of one of the person's values of "
                "{name} with a confidence of up to {highest}, {average} on average; for {above} persons it is more "
                "than {limit}.",
                above,
            )
        shares = {"highest": _share(one["highest"]), "average": _share(one["average"])}
        sentences.append(form.format(known=_known(facts), name=name, above=number(above), limit=_limit(one), **shares))
    return " ".join(sentences) or None


def _combinations(facts: Facts, ranked: Sequence[Facts]) -> str | None:
    if not ranked or ranked[0]["separation"] is None:
        return None
    # The best single column, and the best combination.
    alone = max((one for one in ranked if len(one["columns"]) == 1), key=lambda one: one["separation"])
    best, records = ranked[0], facts.get("unit") is None
    if len(best["columns"]) == 1:
        form = (
            _("'{column}' tells apart {share} of all pairs of records.")
            if records
            else _("'{column}' tells apart {share} of all pairs of persons.")
        )
    else:
        form = (
            _(
                "Of single columns, '{column}' tells most records apart: {share} of all pairs. {columns} "
                "together tell apart {most}."
            )
            if records
            else _(
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


def _known_sets(_facts: Facts, sets: Facts) -> str:
    return _(
        "Of {sets} set(s) of quasi-identifiers, {columns} find most records: {most} are alone in it, and "
        "{some} in some set."
    ).format(
        sets=number(sets["sets"]),
        columns=listed(sets["columns"]),
        most=_share(sets["most_uniques"]),
        some=_share(sets["uniques"]),
    )


def _units(facts: Facts, columns: str) -> str:
    return ngettext(
        "All figures count persons, who are identified by '{unit}': {rows} records of {units} person. A person has the "
        "highest risk of any of that person's records. A record that is known to be in a class is of one person with "
        "a probability of up to {share}.",
        "All figures count persons, who are identified by '{unit}': {rows} records of {units} persons. A person has "
        "the highest risk of any of that person's records. A record that is known to be in a class is of one person "
        "with a probability of up to {share}.",
        facts["units"],
    ).format(
        unit=columns,
        rows=number(facts["rows"]),
        units=number(facts["units"]),
        share=_share(facts["largest_share"]),
    )


def _persons(_facts: Facts, evidence: Sequence[Facts]) -> str | None:
    if not evidence:
        return None
    return _(
        "The column '{column}' repeats as the number or name of a person would: {evidence}. All figures "
        "here count records, and of a person with several more is known than they show, up to everything."
    ).format(column=evidence[0]["column"], evidence=evidence[0]["text"])


def _identifiers(_facts: Facts, found: Sequence[Facts]) -> str | None:
    return " ".join(dict.fromkeys(one["text"] for one in found)) or None


_ADVERSARY = (
    "The adversary knows the true values of all quasi-identifiers of a person, and that the table is right. Each "
    "record is taken for another person unless a column identifies persons: f and F then count distinct persons, and a "
    "person has the highest risk of any of that person's records."
)

MEASURES: tuple[Measure, ...] = (
    Measure(
        name="unit",
        title="Persons who are counted",
        meaning="The columns that identify persons with several records, and what all other figures count then.",
        assumptions="A record without a person is of a person of its own. Records are not linked: the adversary does "
        "not see which of them are of one person.",
        formula="f: distinct persons of a class; of a person: max over the records of 1 / f; largest share: max of r / "
        "g for the r of the g records of a class that are of one person",
        reference="K. Wang and B. C. M. Fung, Anonymizing sequential releases, KDD 2006",
        describe=_units,
    ),
    Measure(
        name="persons",
        title="Persons with several records",
        meaning="Columns without a role whose values repeat as persons do: other columns are the same within them.",
        assumptions="Evidence, no proof: an age, a gender or several columns that have nothing to do with each other "
        "agree within the values far more often than chance explains. Tables in which it is not found may still have "
        "several records of a person.",
        formula="for each column, the mean share of the pairs of rows of a value that agree, against that of all pairs",
        reference="K. Wang and B. C. M. Fung, Anonymizing sequential releases, KDD 2006: (X, Y)-anonymity, for tables "
        "in which a person has several records",
        describe=_persons,
    ),
    Measure(
        name="sample_uniques",
        title="Sample uniques",
        meaning="The share of the rows whose combination of quasi-identifiers no other row has.",
        assumptions=f"{_ADVERSARY} It says nothing of the population: who is alone in the file may not be alone "
        "outside.",
        formula="c_1 / n",
        reference="K. El Emam, Guide to the De-Identification of Personal Health Information, CRC Press 2013, chapter "
        "15",
        describe=_sample_uniques,
    ),
    Measure(
        name="known_sets",
        title="Sets of quasi-identifiers",
        meaning="How many rows are unique in at least one of several sets of quasi-identifiers (`knows`, `qi_sets`).",
        assumptions="The adversary knows the columns of one set of a person who is in the table, and nothing else. A "
        "star matches only itself.",
        formula="rows with f = 1 in some set / n; rows with 1 / f above the threshold in some set / n",
        reference="A. Hundepool and L. Willenborg, mu- and tau-ARGUS, 1996: combinations of identifying variables",
        describe=_known_sets,
    ),
    Measure(
        name="small_classes",
        title="Rows in small classes",
        meaning="The share of the rows in classes of fewer than k rows, for some k.",
        assumptions=_ADVERSARY,
        formula="(sum of f over the classes with f < k) / n",
        reference="L. Sweeney, k-anonymity: a model for protecting privacy, International Journal of Uncertainty, "
        "Fuzziness and Knowledge-Based Systems 10(5), 2002, doi:10.1142/S0218488502001648",
        describe=_small_classes,
    ),
    Measure(
        name="prosecutor",
        title="Prosecutor risk",
        meaning="The probability of finding the row of a person who is known to be in the table.",
        assumptions=f"{_ADVERSARY} The adversary knows that the person is in the table, and guesses among the rows "
        "that fit.",
        formula="highest 1 / min f; average u / n; records_above: the share of rows with 1 / f above the threshold",
        reference="K. El Emam and F. K. Dankar, Protecting privacy using k-anonymity, Journal of the American Medical "
        "Informatics Association 15(5), 2008, doi:10.1197/jamia.M2716",
        describe=_prosecutor,
    ),
    Measure(
        name="journalist",
        title="Journalist risk",
        meaning="The probability of finding the person of a row among the people of a population.",
        assumptions="The population table holds everybody who may be meant, with the same columns. The adversary does "
        "not know who is in the table, and guesses among the people who fit.",
        formula="highest 1 / min F; average max(u / sum F, sum(f / F) / n); records_above: the share of rows with 1 / "
        "F above the threshold",
        reference="K. El Emam and F. K. Dankar 2008, doi:10.1197/jamia.M2716; El Emam 2013, chapter 16",
        describe=_journalist,
    ),
    Measure(
        name="marketer",
        title="Marketer risk",
        meaning="The share of the rows that are matched rightly by somebody who matches all with the population.",
        assumptions="As for the journalist; each row is matched with one of the people who fit, at random.",
        formula="sum(f / F) / n",
        reference="F. K. Dankar and K. El Emam, A method for evaluating marketer re-identification risk, PAIS 2010",
        describe=_marketer,
    ),
    Measure(
        name="k_map",
        title="k-map",
        meaning="The number of people of the population whom each row fits at least, counted or estimated.",
        assumptions="Counted: the population table is complete. Estimated: the table is a simple random sample, and "
        "the size of a class in it is Poisson with the mean p F; 'without zero' conditions on the class being in the "
        "sample.",
        formula="min F; or the largest k for which P(X >= min f) <= significance, X Poisson with mean p k",
        reference="L. Sweeney 2002, doi:10.1142/S0218488502001648; K. El Emam and F. K. Dankar 2008, "
        "doi:10.1197/jamia.M2716",
        describe=_k_map,
    ),
    Measure(
        name="delta_presence",
        title="delta-presence",
        meaning="How sure somebody can be that a person of the population is in the table: at least and at most.",
        assumptions="The adversary knows the population table, and that the table is drawn from it.",
        formula="min and max of f / F over the classes of the population (f = 0 where a class has no row)",
        reference="M. E. Nergiz, M. Atzori and C. Clifton, Hiding the presence of individuals from shared databases, "
        "SIGMOD 2007, doi:10.1145/1247480.1247554",
        describe=_delta_presence,
    ),
    Measure(
        name="population_uniques",
        title="Population uniques",
        meaning="The estimated share of the people of the population who are alone with their quasi-identifiers there.",
        assumptions="The table is a simple random sample with the sampling fraction p. Zayatz: classes of the "
        "population are as large, in proportion, as those of the sample. Pitman: the sizes follow Pitman's sampling "
        "formula. Slide negative binomial: F - 1 is negative binomial. Dankar et al. take Pitman's model up to p = "
        "0.1, else the smaller of the other two, and Zayatz where a model does not fit; each can be wrong by a "
        "factor of two.",
        formula="pitman: Gamma(theta + 1) / Gamma(theta + alpha) N^(alpha - 1), theta and alpha by maximum "
        "likelihood; zayatz: P(F = 1 | f = 1) c_1 / n; snb: K beta^alpha / N",
        reference="L. Zayatz 1991; N. Hoshino, Journal of Official Statistics 17(4), 2001; G. Chen and S. "
        "Keller-McNulty, Journal of Official Statistics 14(1), 1998; F. K. Dankar, K. El Emam, A. Neisa and T. "
        "Roffey 2012, doi:10.1186/1472-6947-12-66",
        describe=_population_uniques,
    ),
    Measure(
        name="individual",
        title="Individual risk",
        meaning="The probability that a row is re-identified, by survey weights; its mean and its sum over the rows.",
        assumptions="The weights of a class add up to its people in the population. F given f is negative binomial "
        "with the success probability f / sum w. The adversary knows the population, and guesses among the people "
        "who fit.",
        formula="r = (p^f / f) 2F1(f, f; f + 1; 1 - p) with p = f / sum w; global sum(r) / n; expected sum(r)",
        reference="R. Benedetti and L. Franconi 1998; S. Polettini, Some remarks on the individual risk methodology, "
        "2003",
        describe=_individual,
    ),
    Measure(
        name="household",
        title="Household risk",
        meaning="The probability that somebody of a row's household is re-identified, and with them everybody in it.",
        assumptions="As for individual risk; the risks within a household are independent.",
        formula="1 - product of (1 - r) over the household",
        reference="A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 3.5",
        describe=_household,
    ),
    Measure(
        name="log_linear",
        title="Log-linear model",
        meaning="How many sample uniques are expected to be alone in the population, and to be matched rightly.",
        assumptions="Population frequencies are independent and Poisson, with means that follow the log-linear model; "
        "the table is a sample drawn with the same probability p for everybody. A model with too few interactions "
        "overestimates the risk, one with too many underestimates it.",
        formula="tau_1 = sum exp(-lambda (1 - p)); tau_2 = sum (1 - exp(-lambda (1 - p))) / (lambda (1 - p)); lambda "
        "= mu / p with the fitted frequency mu of the cell, over the sample uniques",
        reference="C. Skinner and N. Shlomo, Assessing identification risk in survey microdata using log-linear "
        "models, JASA 103(483), 2008, doi:10.1198/016214507000001328",
        describe=_log_linear,
    ),
    Measure(
        name="suda",
        title="Special uniques (SUDA)",
        meaning="Rows that few columns already tell from all others, with a score: the fewer columns, the higher.",
        assumptions=f"{_ADVERSARY} A missing value is a value. DIS assumes a simple random sample with the fraction p.",
        formula="a minimal sample unique of s of the A columns counts the product of (A - i) for i = s ... M; DIS = U "
        "p / (U p + P (1 - p)) for U unique rows and P rows in pairs",
        reference="M. J. Elliot, A. M. Manning and R. W. Ford 2002; A. M. Manning, D. "
        "J. Haglin and J. A. Keane 2008, doi:10.1007/s10618-007-0078-6; C. J. Skinner and M. J. Elliot 2002, "
        "doi:10.1111/1467-9868.00365",
        describe=_suda,
    ),
    Measure(
        name="attribute_disclosure",
        title="Attribute disclosure",
        meaning="How sure an adversary can be of a sensitive value of a person, without finding the row.",
        assumptions=f"{_ADVERSARY} The adversary takes the most common value among the rows that fit, and knows "
        "nothing else of the value. For persons the adversary knows the class of each record of a person, and takes "
        "every matching of records with persons for equally likely.",
        formula="max over the values of (rows of the class with the value) / f: its maximum, its mean over the rows, "
        "and the share of rows above 1 / l; for a person with r of the g rows of a class, c of which have the value: 1 "
        "- product over the classes of C(g - c, r) / C(g, r)",
        reference="A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, l-diversity: privacy beyond "
        "k-anonymity, TKDD 1(1), 2007, doi:10.1145/1217299.1217302",
        describe=_attribute_disclosure,
    ),
    Measure(
        name="quasi_identifiers",
        title="Which columns identify",
        meaning="How well each combination of columns tells the rows apart.",
        assumptions="None where all rows were looked at. In a sample of a large table the separation of every "
        "combination is within its error with a probability of 99%.",
        formula="distinction: distinct combinations / n; separation: pairs of rows that differ / all pairs",
        reference="R. Motwani and Y. Xu, Efficient algorithms for masking and finding quasi-identifiers, VLDB 2007",
        describe=_combinations,
    ),
    Measure(
        name="identifiers",
        title="Columns that look like identifiers",
        meaning="Columns whose name or values look like a direct identifier or a category of HIPAA's Safe Harbor rule.",
        assumptions="Names in English, German, French and Spanish, and usual forms of values. It is a warning, never "
        "a promise: a column that is not named here may still identify people.",
        formula="the name has a word of the category, or enough distinct values have its form (and checksum)",
        reference="45 CFR 164.514(b)(2)(i)",
        describe=_identifiers,
    ),
)
"""All measures, in the order in which they are explained."""


def page() -> str:
    """Render the page of the documentation that explains every measure."""
    sections = [
        f"## {measure.title}\n\n"
        f"`{measure.name}`. {measure.meaning}\n\n"
        f"* **Assumptions.** {measure.assumptions}\n"
        f"* **Formula.** `{measure.formula}`\n"
        f"* **Reference.** {measure.reference}\n"
        for measure in MEASURES
    ]
    return "\n".join((_HEAD, *sections))


_HEAD = """# Measures of disclosure risk, one by one

What each figure of [`shoal risk`](risk.md) means, what it takes for granted, and how it is computed. `shoal risk FILE
--qi ... --explain` and `shoal.Risk.explain(name)` say the same.

Letters: n rows in u classes of f rows each, which are F of the N people of the population; c_i classes of i rows;
sampling fraction p = n / N; w survey weights.
"""
