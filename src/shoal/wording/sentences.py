"""The sentence of every fact.

A placeholder names an argument of the fact. A format may follow after a colon: `percent` (a share from 0 to 1),
`number`, `value` (a loss), `names` and `shares` (columns, with their shares), or a format of Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_REASONS: dict[str, str | tuple[str, str]] = {
    # Why an algorithm was chosen.
    # The caller named the algorithm.
    "requested": "asked for",
    "judges_releases": "a model of the release as a whole, which it alone decides about",
    "like_table_by_suppression": "groups that must be like the table, by suppression: fewest stars in our trials",
    "like_table_by_generalization": (
        "groups that must be like the table, by generalization: smallest sub-domains in our trials"
    ),
    "k_anonymity_by_suppression": "k-anonymity by suppression: fewest stars within a factor d",
    "frequencies_by_suppression": "a frequency requirement by suppression: fewest stars, with a guarantee",
    "monotone_by_suppression": "a monotone requirement by suppression: fewest stars in our trials",
    "monotone_by_generalization": "a monotone requirement by generalization: smallest sub-domains in our trials",
    "differentially_private": "differential privacy: groups that do not depend on the records",
    "forms_of_plan": "the published forms are those of a plan",
    "sets_of_columns": "sets of quasi-identifiers, each protected by itself",
    "serves_preferences": "{preferences}, which it alone serves",
    "searches_with_preferences": "{preferences}, served by its local search",
    "both": "{one} and {other}",
    "weights": "weights of attributes",
    "limits": "limits of their levels",
    "suppression_limit": "a limit of suppressed rows",
}
_GUARANTEES: dict[str, str | tuple[str, str]] = {
    # What an algorithm promises about the cost of the partition that it returned.
    "untouched": "No cell is suppressed: the table met the requirement as it was.",
    "classes_as_they_are": "No cell is suppressed: records of classes that were too small were left out.",
    "transparent": (
        "No value of a record is believed with more than 1 in {l} by somebody who knows the algorithm and all "
        "quasi-identifiers as well."
    ),
    "proven_optimal": "Proven optimal: no release with this requirement recodes fewer cells.",
    "tp_phase_one": (
        "Phase one ended TP: no release with this requirement suppresses fewer tuples, and at most {stars:g} "
        "times the fewest stars."
    ),
    "tp_phase_two": (
        "Phase two ended TP: at most l - 1 = {more} suppressed tuples more than the fewest possible, and at "
        "most {stars:g} times the fewest stars."
    ),
    "tp_phase_three": (
        "Phase three ended TP: at most l = {l} times the fewest suppressed tuples possible, and at most "
        "{stars:g} times the fewest stars."
    ),
    "cascade_phase_one": (
        "At most {stars:g} times the fewest stars possible: phase one ended TP, and the cascade leaves no more "
        "stars than TP."
    ),
    "cascade_phase_two": (
        "At most {stars:g} times the fewest stars possible: phase two ended TP, and the cascade leaves no more "
        "stars than TP."
    ),
    "cascade_phase_three": (
        "At most {stars:g} times the fewest stars possible: phase three ended TP, and the cascade leaves no "
        "more stars than TP."
    ),
    "tp_no_guarantee": (
        "No approximation is guaranteed for this requirement (k above l, or a fractional l); see the lower bound."
    ),
    "m_approximation": "At most d = {d} times the fewest stars possible (case {case} of the proof).",
    "heuristic": "{algorithm} is a heuristic: nothing is promised about the cost.",
    "weighted_copies": (
        "The loss is minimized with weights of attributes: nothing is promised about the loss without them."
    ),
    "clustering": "Clustering is a heuristic: nothing is promised about the cost.",
    "hilbert_like_table": (
        "Hilbert is a heuristic: nothing is promised about the cost. Where groups must be like the table, "
        "stretches of a curve must be long: the algorithms 'sabre' and 'cluster' lose far less."
    ),
    "no_specialization": "No value can be specialized further for all rows alike. Nothing is promised about the cost.",
    "full_domain_optimal": "Optimal for this metric ({metric}) among {releases}, within the suppression limit.",
    "full_domain_stopped": (
        "The search stopped at its limit: {metric} is {found:value}, and among {releases} within the "
        "suppression limit none is better than {bound:value}."
    ),
    "weighted_metric": "{metric}, with weights of attributes",
    "full_domain": (
        "full-domain generalizations of these hierarchies (any name of a root is a star) that suppress the "
        "unacceptable classes and, only as far as the request needs it, the smallest others, each as a whole"
    ),
    "full_domain_within_limits": (
        "full-domain generalizations of these hierarchies (any name of a root is a star) within the limits of "
        "their levels that suppress the unacceptable classes and, only as far as the request needs it, the "
        "smallest others, each as a whole"
    ),
    "local_recoding": (
        "Local recoding repeats the full-domain search on the suppressed rows: no optimum, and nothing is "
        "promised about the cost."
    ),
    "local_recoding_drew": (
        "Local recoding drew groups that are like the table from the rows of each node of the hierarchies: no "
        "optimum, and nothing is promised about the cost."
    ),
    "too_large_to_search": "The table is too large to be searched for the fewest stars.",
    "one_after_other": "{one} {other}",
    "nothing_proven": "None: the search was stopped before it proved anything.",
    "search_stopped": "At most {more} recoded cells more than the fewest possible: the search was stopped.",
    "milp_time_limit": (
        "No release with this requirement recodes fewer than {least} cells, {gap} % fewer than this one: the "
        "time limit ended the search for fewer."
    ),
    "milp_interrupted": (
        "No release with this requirement recodes fewer than {least} cells, {gap} % fewer than this one: an "
        "interruption ended the search for fewer."
    ),
    "milp_gap": (
        "No release with this requirement recodes fewer than {least} cells, {gap} % fewer than this one: the "
        "gap that was asked for ended the search for fewer."
    ),
    "patterns_optimal": "The fewest stars of any k-anonymous release whose rows follow these patterns ({proof}).",
    "patterns_optimal_weighted": (
        "The fewest weighted stars of any k-anonymous release whose rows follow these patterns ({proof})."
    ),
    "patterns_gap": (
        "At most {gap:.2f} % more than the fewest stars of any k-anonymous release whose rows follow these "
        "patterns ({proof})."
    ),
    "patterns_gap_weighted": (
        "At most {gap:.2f} % more than the fewest weighted stars of any k-anonymous release whose rows follow "
        "these patterns ({proof})."
    ),
    "patterns_theorem_4": (
        "At most d = {d} times the fewest stars of any k-anonymous release whose rows follow these patterns "
        "(Theorem 4)."
    ),
    "patterns_weighted": "Nothing is promised of weighted stars; algorithm='patterns-optimal' proves a bound.",
    # Sets of quasi-identifiers, and limits of levels.
    "sets_by_levels": (
        "The loss of a cell is {found:value} on average. Full-domain generalizations of these hierarchies in "
        "which whole records become stars lose {bound:value} or more."
    ),
    "within_limits": (
        "Records without a common node at an allowed level are in different groups, and suppressed if that left "
        "too few: nothing is promised beyond the lower bound."
    ),
    "solved_in_parts": (
        "The table was solved in {count} part: nothing is promised of the whole beyond the lower bound.",
        "The table was solved in {count} parts: nothing is promised of the whole beyond the lower bound.",
    ),
    "solved_in_parts_beside_large": (
        (
            "The table was solved in {count} part, most rows of its large classes aside: nothing is promised of "
            "the whole beyond the lower bound."
        ),
        (
            "The table was solved in {count} parts, most rows of its large classes aside: nothing is promised "
            "of the whole beyond the lower bound."
        ),
    ),
    "linked_rows": "Linked rows: persons are grouped by a heuristic, so nothing is promised about the cost.",
    "lists_of_values": "Lists of values: records are grouped by a heuristic, so nothing is promised of the cost.",
    "cost_of_plan": "The published forms are those of a plan; nothing is promised of their cost.",
    "proof_tells_more": (
        "The algorithm, its costs, bounds and ratios depend on the original table, not on the published one "
        "alone. Whoever knows how the algorithm works can rule out originals with them, and may learn more of a "
        "person than the models allow. They are here because the publisher asked for it."
    ),
}
_BOUNDS: dict[str, str | tuple[str, str]] = {
    # What lower bounds rest on.
    "all_can_stay": "every row can keep all its values",
    "residue": "residue after phase one: rows that no group of identical rows can hold",
    "pillar": "l times the pillar height of the residue after phase one",
    "k_change": "a group with a changed row has at least k rows, and all of them change",
    "large_class_given_up": "small classes cannot be filled without giving up a whole large class",
    "hit_sets": "in each set that finds too few records, each of them needs a star: the fewest stars that do",
    "program_of_cells": "an integer program over all cells and groups of the sets",
    "largest_set": "the set of quasi-identifiers that needs most stars by itself",
    "projections": (
        "rows that no group of identical rows can hold, priced by the cheapest projections that could hold them"
    ),
    "bundles": "each person loses at least what it loses with the nearest persons that its bundle needs",
    "nearest_rows": "each row loses at least what it loses with the nearest rows that its group needs",
    "nearest_rows_by_budget": (
        "each row loses at least what it loses with the nearest rows that its group needs, as far as a budget "
        "of work allowed to look for these"
    ),
    "priced_cells": "rows are priced by the cells of the hierarchies that groups around them publish",
    "costs_nonnegative": "no group costs less than nothing",
    "bipartite": "assignment of the rows of one value to those of the other, its dual solution checked in integers",
    "pairs_and_triples": "linear program over all pairs and triples, its dual solution checked in integers",
    "pairs_and_triples_cut": (
        "linear program over all pairs and triples with {cuts} parity cuts, its dual solution checked in integers"
    ),
    "branch_and_bound": "{relaxation}; branch and bound over {groups} groups",
    "milp_program": "mixed integer program over generalization vectors, solved by HiGHS (milp)",
    "dynamic_program": "dynamic programming over every group that the rows can form (exact)",
    "lagrangian": "Lagrangian relaxation of the integer program",
    "integer_program": "integer program over output row types",
    "fixed_parameter": "fixed-parameter algorithm over all choices of output row types",
    "simplex_matching": "simplex matching: {proof}",
    "following_patterns": "{proof}, over releases whose rows follow the patterns",
}
_WARNINGS: dict[str, str | tuple[str, str]] = {
    # What warnings found, and what to do next.
    "smallest_group": (
        (
            "The smallest group has {count:number} record. Tables about people are hardly ever published with "
            "groups of fewer than {least}."
        ),
        (
            "The smallest group has {count:number} records. Tables about people are hardly ever published with "
            "groups of fewer than {least}."
        ),
    ),
    "ask_for_k": "Ask for more as well: {asked}.",
    "shared_value": (
        "{share:percent} of the records are in groups in which all share one value of '{column}': it is known "
        "of everybody there."
    ),
    "shared_values": (
        "{count} columns have groups in which all records share one value, which is known of everybody there: "
        "{columns:shares}."
    ),
    "shared_by_persons": (
        "Some persons who publish the same records of quasi-identifiers all have one value of {columns:names} "
        "in some record: it is known of each of them."
    ),
    "ask_for_l_of_persons": "Ask for {asked} as well.",
    "ask_for_l": "Ask for {asked} as well: up to {most:number} is feasible.",
    "drop_same": "All records have the same value of {columns:names}: no model hides it, so drop it ({drop}).",
    "drop_same_first": (
        "All records have the same value of {columns:names}: no model hides it, so drop it first ({drop})."
    ),
    "names": "{columns:names}",
    "no_two": (
        "More than half of the records have one value of {columns:names}, so no release has l = 2, and coarser "
        "quasi-identifiers do not change that. Ask for {distinct}, for groups that are like the table with "
        "{like}, or drop it ({drop})."
    ),
    "own_values": (
        "{share:percent} of the records have a value of '{column}' of their own, and it is published as it is: "
        "whoever knows it of a person finds the record."
    ),
    "own_values_of_several": (
        "{count} sensitive columns have values that a record shares with no other, and they are published as "
        "they are: whoever knows one of a person finds the record: {columns:shares}."
    ),
    "own_values_in_input": (
        "{share:percent} of the records have a value of '{column}' of their own: whoever knows it of a person "
        "finds the record in any release that shows it."
    ),
    "coarsen_or_drop": (
        "Make it coarser first ({coarser}), or drop it, as a direct identifier and not as sensitive ({drop})."
    ),
    "drop_sensitive": "Drop it, as a direct identifier and not as sensitive ({drop}).",
    "coarsen_or_drop_first": "Make it coarser first, or drop it.",
    "drop_or_quasi": "Drop it ({drop}), or make it a quasi-identifier.",
    "own_pairs": (
        "{share:percent} of the records have a pair of values of '{column}' and '{other}' of their own, and "
        "both are published as they are: whoever knows them of a person finds the record."
    ),
    "own_together": (
        "{records:number} records are unique by the columns that are published as they are, all together: "
        "{columns:list}. Whoever knows them of a person finds the record."
    ),
    "quasi_or_drop": "Make one of them a quasi-identifier, or drop it.",
    "stars": "{share:percent} of the records show a star for '{column}'.",
    "coarsen_first": "Make it coarser first, and more of it can stay: {coarser}.",
    "replace_text": "{asked} (most of its values are numbers, TEXT is not)",
    "limited_by": (
        "The groups had to be so large because of '{column}' (t = {t} of {limit}; the others at most {others}): "
        "make it less precise, or ask for t of the others only."
    ),
    "coarsen_more": "Make it coarser still, or drop it ({drop}).",
    "with": "{one} with {other}",
    "sets": (
        "{share:percent} of the records show a set of {members} or more exact values of '{column}', "
        "{shown:number} different ones in all sets: whoever knows somebody's sees whether it is there."
    ),
    "coarsen_sets": "Make it coarser first: {coarser}; or allow smaller sets only: {smaller}.",
    "dominant": (
        "{share:percent} of the records have the same value of '{column}': who guesses it is nearly always "
        "right, and what the others have stands out."
    ),
    "dominant_in_several": (
        "{count} sensitive columns have one value in nearly all records: who guesses it is nearly always right, "
        "and what the others have stands out: {columns:shares}."
    ),
    "ask_for_t": "Ask for groups that are like the table: {asked}; or group the rare values before.",
    "read_alike": (
        "{pairs:number} pair(s) of values of '{column}' differ in upper and lower case, blanks, invisible "
        "characters, punctuation, forms of Unicode or letters of another alphabet alone, and {records:number} "
        "records show one of them. They count as different values, and read like one."
    ),
    "write_alike": "Write them alike in the input. {asked} does that for blanks at the ends and invisible characters.",
    "publisher_writes_alike": "Ask the publisher to write them alike.",
    "formulas": "{records:number} record(s) have a value of '{column}' that a spreadsheet may run as a formula.",
    "for_spreadsheets": "Write the file for spreadsheets: {asked}; or as a workbook or Parquet.",
    "singled_out": (
        "{records:number} of {rows:number} records are singled out: each alone has the exact value at which an "
        "interval ends, or which a set shows, and fits the other cells of that group."
    ),
    "without_exact_ends": "Publish without {asked}.",
    # Columns that may identify persons with several records.
    "persons_by_values": (
        "The column '{column}' repeats as the number or name of a person would: {evidence}. Groups count "
        "records, and several of one person hide nobody."
    ),
    "persons_by_name": (
        "The column '{column}' looks like what every person has one of, but repeats: {evidence}. Groups count "
        "records, and several of one person hide nobody."
    ),
    "persons_by_combinations": (
        "No column says who a record is of, but quasi-identifiers repeat as those of people with several "
        "records would: {evidence}. Groups count records, and several of one person hide nobody."
    ),
    "published_person": (
        "The column '{column}' is published as it is, and repeats as the number or name of a person would: "
        "{evidence}. It links all records of a person."
    ),
    "respelled_persons": (
        "{values:number} values of '{column}' differ from another one in case, blanks, punctuation, zeros "
        "before or the form of a number alone: a person who is spelled in two ways counts as two."
    ),
    "spell_persons_alike": "If they are the same persons, write them alike in the input.",
    "uncounted_persons": "Persons are named, and no model counts them: all records of a group may be of one.",
    "one_record_each": "Make it one record per person first.",
    "count_persons": (
        "Name the column of persons, {person}: groups count persons then. Or publish one record of each, with "
        "{one} as well."
    ),
    "count_one_of": "{first} If it is no number of persons, one of these may be: {columns:list}.",
    "sure_of_persons": (
        "For {above:number} of {units:number} persons ({columns}), all their records together reveal some value "
        "of '{column}' with a probability of more than {limit}, for one of them with {largest:percent}: the "
        "model counts records, not persons."
    ),
    "fewer_records_each": "Publish one record of each person, with {one}.",
    "rows_of_persons": "{rows:number} rows of {persons:number} values of '{column}', at most {most:number} of one",
    "rows_of_persons_in_sample": (
        "{rows:number} rows of {persons:number} values of '{column}' in a sample, at most {most:number} of one"
    ),
    "fewest_in_group": "{evidence}, and the group with the fewest of them has {fewest:number}",
    "published_names": (
        "The column '{column}' seems to hold names of persons, and they are published: whoever reads them knows "
        "who is in the table."
    ),
    "drop_names": "Drop it ({drop}).",
    "lists_in_cells": (
        "Most cells of '{column}' seem to hold several values with {separator} between them. Each list counts "
        "as one value, so that a value that all records of a group share is not seen."
    ),
    "lists_in_groups": (
        "Most cells of '{column}' seem to hold several values with {separator} between them. Each list counts as one "
        "value, so that records are grouped by whole lists."
    ),
    "split_lists": "If they are lists, publish one record or one column of each value.",
    "no_quasi_identifiers": (
        "No column is a quasi-identifier: all records are one group, and each is published as it came."
    ),
    "name_quasi_identifiers": "Name the columns that others may know, with {asked}.",
    "declare_lists": "If they are lists, name them: {asked}. Or publish one record of each value.",
    "same_within": "{evidence}; {columns:list} the same within nearly each",
    "same_within_with_others": "{evidence}; {columns:list_and_others} the same within nearly each",
    "rows_of_combinations": (
        "{rows:number} rows have {persons:number} combinations of quasi-identifiers, at most {most:number} the "
        "same one: far more than chance explains"
    ),
    "rows_of_combinations_in_sample": (
        "{rows:number} rows have {persons:number} combinations of quasi-identifiers in a sample, at most "
        "{most:number} the same one: far more than chance explains"
    ),
    "unread_dates": (
        "The column '{column}' looks like dates, but no format reads all of them: it is taken as names without "
        "an order. Write its dates in one format and leave missing ones empty, or say the format, as in "
        "{asked}."
    ),
    "derived_missing": (
        "The derived column '{column}' is missing in {rows:number} record(s): in {missing:number} a date is "
        "missing or cannot be read, in {negative:number} the second date is before the first."
    ),
    "odd_dates": (
        (
            "The column '{column}' looks like dates, but {count:,} of its values is none{place}: it is taken as "
            "names without an order. Write its dates in one format and leave missing ones empty, or say the "
            "format, as in {asked}."
        ),
        (
            "The column '{column}' looks like dates, but {count:,} of its values are none{place}: it is taken "
            "as names without an order. Write its dates in one format and leave missing ones empty, or say the "
            "format, as in {asked}."
        ),
    ),
    "two_ways": "The column '{column}' can be read in two ways.",
    "say_which": "Say which: {one} or {other}.",
    "codes_among_values": "The column '{column}' has numbers or dates, and {codes:list} among them.",
    "make_missing": "If that means missing, replace it: {asked}.",
    "cells_look_recoded": (
        "Cells of {columns:list} look as if they were anonymized before: stars, intervals, sets, or codes whose "
        "end is masked."
    ),
    "audit_or_go_back": (
        "If the table is a release, audit it to see what it protects; to anonymize it, go back to the table "
        "that it was made of."
    ),
    "none_sensitive": "No column looks sensitive.",
    "name_sensitive": "If one must not be linked to a person, name it as sensitive.",
    "many_quasi": (
        "{count} columns are taken for quasi-identifiers, to be on the safe side. A release with so many says little."
    ),
    "fewer_quasi": "Call those sensitive that nobody can know of a person, and leave out what nobody needs.",
}
# Codes are unique across all kinds of facts.
SENTENCES: Mapping[str, str | tuple[str, str]] = MappingProxyType(_REASONS | _GUARANTEES | _BOUNDS | _WARNINGS)
"""The sentence of each code; some have a singular and a plural, chosen by the argument `count`."""

CODES: Mapping[str, str] = MappingProxyType(
    {
        # How a search ended.
        "complete": "all of its work was done",
        "cut-short": "its budget of work was spent: these are the best groups that were found until then",
        # Steps, and what is measured.
        **{step: step for step in ("read", "coarsen", "encode", "partition")},
        **{step: step for step in ("recode", "verify", "bound", "certify")},
        **{step: step for step in ("compile", "verify again")},
        **{name: name for name in ("write", "groups", "unique rows", "missing")},
    }
)
"""Values and names of certificates that pages show alone, with their texts."""
