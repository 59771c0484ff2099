"""Descriptions of all risk measures, which documentation, reports and the command line share.

A measure has the name of its figures in `Risk` and in JSON. Only its sentence depends on the figures of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.disclosure_risk import measure_sentences as sentences
from shoal.disclosure_risk.measure_sentences import Facts


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
        describe=sentences.describe_units,
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
        describe=sentences.describe_persons,
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
        describe=sentences.describe_sample_uniques,
    ),
    Measure(
        name="known_sets",
        title="Sets of quasi-identifiers",
        meaning="How many rows are unique in at least one of several sets of quasi-identifiers (`knows`, `qi_sets`).",
        assumptions="The adversary knows the columns of one set of a person who is in the table, and nothing else. A "
        "star matches only itself.",
        formula="rows with f = 1 in some set / n; rows with 1 / f above the threshold in some set / n",
        reference="A. Hundepool and L. Willenborg, mu- and tau-ARGUS, 1996: combinations of identifying variables",
        describe=sentences.describe_known_sets,
    ),
    Measure(
        name="small_classes",
        title="Rows in small classes",
        meaning="The share of the rows in classes of fewer than k rows, for some k.",
        assumptions=_ADVERSARY,
        formula="(sum of f over the classes with f < k) / n",
        reference="L. Sweeney, k-anonymity: a model for protecting privacy, International Journal of Uncertainty, "
        "Fuzziness and Knowledge-Based Systems 10(5), 2002, doi:10.1142/S0218488502001648",
        describe=sentences.describe_small_classes,
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
        describe=sentences.describe_prosecutor,
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
        describe=sentences.describe_journalist,
    ),
    Measure(
        name="marketer",
        title="Marketer risk",
        meaning="The share of the rows that are matched rightly by somebody who matches all with the population.",
        assumptions="As for the journalist; each row is matched with one of the people who fit, at random.",
        formula="sum(f / F) / n",
        reference="F. K. Dankar and K. El Emam, A method for evaluating marketer re-identification risk, PAIS 2010",
        describe=sentences.describe_marketer,
    ),
    Measure(
        name="k_map",
        title="k-map",
        meaning="The number of people of the population whom each row fits at least, counted or estimated.",
        assumptions="Counted: the population table is complete. Estimated: the table is a simple random sample, and "
        "the size of a class that occurs in it is Poisson with the mean p F, without zero.",
        formula="min F; or the largest k for which P(X >= min f | X >= 1) <= significance, X Poisson with mean p k",
        reference="L. Sweeney 2002, doi:10.1142/S0218488502001648; K. El Emam and F. K. Dankar 2008, "
        "doi:10.1197/jamia.M2716",
        describe=sentences.describe_k_map,
    ),
    Measure(
        name="delta_presence",
        title="delta-presence",
        meaning="How sure somebody can be that a person of the population is in the table: at least and at most.",
        assumptions="The adversary knows the population table, and that the table is drawn from it.",
        formula="min and max of f / F over the classes of the population (f = 0 where a class has no row)",
        reference="M. E. Nergiz, M. Atzori and C. Clifton, Hiding the presence of individuals from shared databases, "
        "SIGMOD 2007, doi:10.1145/1247480.1247554",
        describe=sentences.describe_delta_presence,
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
        describe=sentences.describe_population_uniques,
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
        describe=sentences.describe_individual,
    ),
    Measure(
        name="household",
        title="Household risk",
        meaning="The probability that somebody of a row's household is re-identified, and with them everybody in it.",
        assumptions="As for individual risk; the risks within a household are independent.",
        formula="1 - product of (1 - r) over the household",
        reference="A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 3.5",
        describe=sentences.describe_household,
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
        describe=sentences.describe_log_linear,
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
        describe=sentences.describe_suda,
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
        describe=sentences.describe_attribute_disclosure,
    ),
    Measure(
        name="quasi_identifiers",
        title="Which columns identify",
        meaning="How well each combination of columns tells the rows apart.",
        assumptions="None where all rows were looked at. In a sample of a large table the separation of every "
        "combination is within its error with a probability of 99%.",
        formula="distinction: distinct combinations / n; separation: pairs of rows that differ / all pairs",
        reference="R. Motwani and Y. Xu, Efficient algorithms for masking and finding quasi-identifiers, VLDB 2007",
        describe=sentences.describe_combinations,
    ),
    Measure(
        name="identifiers",
        title="Columns that look like identifiers",
        meaning="Columns whose name or values look like a direct identifier or a category of HIPAA's Safe Harbor rule.",
        assumptions="Names in English, German, French and Spanish, and usual forms of values. It is a warning, never "
        "a promise: a column that is not named here may still identify people.",
        formula="the name has a word of the category, or enough distinct values have its form (and checksum)",
        reference="45 CFR 164.514(b)(2)(i)",
        describe=sentences.describe_identifiers,
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
