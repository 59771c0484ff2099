"""Descriptions of all risk measures, which documentation, reports and the command line share.

A measure has the name of its figures in `Risk` and in JSON. Only its sentence depends on the figures of a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shoal._core.file_formats import read_data_file
from shoal.disclosure_risk import measure_sentences as sentences
from shoal.disclosure_risk.measure_sentences import Facts

_PERSON = re.compile(r"\bperson(?=s?\b)")


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
        said = None if figures is None else self.describe(facts, figures)
        # Further kinds, such as households, are not persons; names of columns stay as they are.
        if said is None or "of" not in facts or any(_PERSON.search(str(name)) for name in facts.get("columns", ())):
            return said
        return _PERSON.sub("unit", said)


def _read_measures() -> tuple[Measure, ...]:
    entries = read_data_file(__package__, "measures.toml")
    adversary = entries.pop("adversary")
    return tuple(
        Measure(
            name=name,
            describe=_SENTENCES[name],
            **{**entry, "assumptions": entry["assumptions"].replace("{adversary}", adversary)},
        )
        for name, entry in entries.items()
    )


_SENTENCES: Mapping[str, Callable[[Facts, Any], str | None]] = {
    "unit": sentences.describe_units,
    "persons": sentences.describe_persons,
    "sample_uniques": sentences.describe_sample_uniques,
    "known_sets": sentences.describe_known_sets,
    "small_classes": sentences.describe_small_classes,
    "prosecutor": sentences.describe_prosecutor,
    "journalist": sentences.describe_journalist,
    "marketer": sentences.describe_marketer,
    "k_map": sentences.describe_k_map,
    "delta_presence": sentences.describe_delta_presence,
    "population_uniques": sentences.describe_population_uniques,
    "individual": sentences.describe_individual,
    "household": sentences.describe_household,
    "log_linear": sentences.describe_log_linear,
    "suda": sentences.describe_suda,
    "attribute_disclosure": sentences.describe_attribute_disclosure,
    "quasi_identifiers": sentences.describe_combinations,
    "identifiers": sentences.describe_identifiers,
}
"""For each measure, the function that describes its figures."""

MEASURES = _read_measures()
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
--qi ... --explain` and `shoal.results.Risk.explain(name)` say the same.

Letters: n rows in u classes of f rows each, which are F of the N people of the population; c_i classes of i rows;
sampling fraction p = n / N; w survey weights. Each record is assumed to belong to a different person unless a column
identifies persons: f and F then count distinct persons, and a person has the highest risk of any of that person's
records.
"""
