"""Disclosure risk of tables from any tool: what an adversary can learn, measured or estimated.

Each family of measures has a module. `MEASURES` describes the meaning, assumptions and formula of each measure for the
documentation, reports and the command line. The function `shoal.risk` combines them.
"""

from shoal.disclosure_risk.combinations import Combination, KnownSets, measure_known_sets, rank_combinations
from shoal.disclosure_risk.compatible_frequencies import count_compatible, generalized_columns, make_people_counter
from shoal.disclosure_risk.confidence import attribute_disclosure, class_confidence, measure_persons
from shoal.disclosure_risk.figures import Threshold
from shoal.disclosure_risk.frequencies import Frequencies, count_frequencies
from shoal.disclosure_risk.identifiers import PossibleIdentifier, detect_identifiers
from shoal.disclosure_risk.individual import Household, Individual
from shoal.disclosure_risk.log_linear import (
    LOG_LINEAR_MODELS,
    LogLinear,
    PopulationUniques,
    log_linear_risk,
    population_uniques,
)
from shoal.disclosure_risk.measures import MEASURES, Measure
from shoal.disclosure_risk.persons import (
    PEEKED_ROWS,
    PersonEvidence,
    detect_persons,
    detect_persons_in_sample,
    evidence_by_name,
    look_for_persons,
    may_be_code,
    may_be_persons,
    merge_evidence,
    repeated_combinations,
)
from shoal.disclosure_risk.reidentification import (
    KMapFigures,
    Marketer,
    PresenceFigures,
    Reidentification,
    delta_presence,
    journalist_risk,
    k_map,
    marketer_risk,
    prosecutor_risk,
    reidentification,
    sample_uniques,
    small_classes,
)
from shoal.disclosure_risk.suda import SpecialUniques, find_minimal_uniques, summarize_special_uniques

__all__ = [
    "measure_known_sets",
    "measure_persons",
    "LOG_LINEAR_MODELS",
    "MEASURES",
    "PEEKED_ROWS",
    "Combination",
    "PresenceFigures",
    "Frequencies",
    "Household",
    "Individual",
    "KMapFigures",
    "KnownSets",
    "LogLinear",
    "Marketer",
    "Measure",
    "PersonEvidence",
    "PopulationUniques",
    "PossibleIdentifier",
    "Reidentification",
    "SpecialUniques",
    "Threshold",
    "attribute_disclosure",
    "class_confidence",
    "count_compatible",
    "count_frequencies",
    "delta_presence",
    "detect_identifiers",
    "detect_persons",
    "detect_persons_in_sample",
    "evidence_by_name",
    "make_people_counter",
    "generalized_columns",
    "journalist_risk",
    "k_map",
    "log_linear_risk",
    "look_for_persons",
    "marketer_risk",
    "may_be_code",
    "may_be_persons",
    "merge_evidence",
    "find_minimal_uniques",
    "population_uniques",
    "prosecutor_risk",
    "rank_combinations",
    "reidentification",
    "repeated_combinations",
    "sample_uniques",
    "small_classes",
    "summarize_special_uniques",
]
