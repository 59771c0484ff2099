"""The sentence of every fact.

A placeholder names an argument of the fact. A format may follow after a colon: `percent` (a share from 0 to 1),
`number`, `value` (a loss), `names` and `shares` (columns, with their shares), or a format of Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shoal._core.language import marked

__all__ = ["CODES", "SENTENCES"]

_REASONS: dict[str, str | tuple[str, str]] = {
    # Why an algorithm was chosen.
    # The caller named the algorithm.
    "requested": marked("asked for"),
    "judges_releases": marked("a model of the release as a whole, which it alone decides about"),
    "like_table_by_suppression": marked(
        "groups that must be like the table, by suppression: fewest stars in our trials"
    ),
    "like_table_by_generalization": marked(
        "groups that must be like the table, by generalization: smallest sub-domains in our trials"
    ),
    "k_anonymity_by_suppression": marked("k-anonymity by suppression: fewest stars within a factor d"),
    "frequencies_by_suppression": marked("a frequency requirement by suppression: fewest stars, with a guarantee"),
    "monotone_by_suppression": marked("a monotone requirement by suppression: fewest stars in our trials"),
    "monotone_by_generalization": marked(
        "a monotone requirement by generalization: smallest sub-domains in our trials"
    ),
    "differentially_private": marked("differential privacy: groups that do not depend on the records"),
    "forms_of_plan": marked("the published forms are those of a plan"),
    "sets_of_columns": marked("sets of quasi-identifiers, each protected by itself"),
    "serves_preferences": marked("{preferences}, which it alone serves"),
    "searches_with_preferences": marked("{preferences}, served by its local search"),
    "both": marked("{one} and {other}"),
    "weights": marked("weights of attributes"),
    "limits": marked("limits of their levels"),
    "suppression_limit": marked("a limit of suppressed rows"),
}
_GUARANTEES: dict[str, str | tuple[str, str]] = {
    # What an algorithm promises about the cost of the partition that it returned.
    "untouched": marked("No cell is suppressed: the table met the requirement as it was."),
    "classes_as_they_are": marked("No cell is suppressed: records of classes that were too small were left out."),
    "transparent": marked(
        "No value of a record is believed with more than 1 in {l} by somebody who knows the algorithm and all "
        "quasi-identifiers as well."
    ),
    "proven_optimal": marked("Proven optimal: no release with this requirement recodes fewer cells."),
    "tp_phase_one": marked(
        "Phase one ended TP: no release with this requirement suppresses fewer tuples, and at most {stars:g} times the "
        "fewest stars."
    ),
    "tp_phase_two": marked(
        "Phase two ended TP: at most l - 1 = {more} suppressed tuples more than the fewest possible, and at most "
        "{stars:g} times the fewest stars."
    ),
    "tp_phase_three": marked(
        "Phase three ended TP: at most l = {l} times the fewest suppressed tuples possible, and at most {stars:g} "
        "times the fewest stars."
    ),
    "cascade_phase_one": marked(
        "At most {stars:g} times the fewest stars possible: phase one ended TP, and the cascade leaves no more stars "
        "than TP."
    ),
    "cascade_phase_two": marked(
        "At most {stars:g} times the fewest stars possible: phase two ended TP, and the cascade leaves no more stars "
        "than TP."
    ),
    "cascade_phase_three": marked(
        "At most {stars:g} times the fewest stars possible: phase three ended TP, and the cascade leaves no more stars "
        "than TP."
    ),
    "tp_no_guarantee": marked(
        "No approximation is guaranteed for this requirement (k above l, or a fractional l); see the lower bound."
    ),
    "m_approximation": marked("At most d = {d} times the fewest stars possible (case {case} of the proof)."),
    "heuristic": marked("{algorithm} is a heuristic: nothing is promised about the cost."),
    "weighted_copies": marked(
        "The loss is minimized with weights of attributes: nothing is promised about the loss without them."
    ),
    "clustering": marked("Clustering is a heuristic: nothing is promised about the cost."),
    "hilbert_like_table": marked(
        "Hilbert is a heuristic: nothing is promised about the cost. Where groups must be like the table, stretches of "
        "a curve must be long: the algorithms 'sabre' and 'cluster' lose far less."
    ),
    "no_specialization": marked(
        "No value can be specialized further for all rows alike. Nothing is promised about the cost."
    ),
    "full_domain_optimal": marked("Optimal for this metric ({metric}) among {releases}, within the suppression limit."),
    "full_domain_stopped": marked(
        "The search stopped at its limit: {metric} is {found:value}, and among {releases} within the suppression limit "
        "none is better than {bound:value}."
    ),
    "weighted_metric": marked("{metric}, with weights of attributes"),
    "full_domain": marked(
        "full-domain generalizations of these hierarchies (any name of a root is a star) that suppress the "
        "unacceptable classes and, only as far as the request needs it, the smallest others, each as a whole"
    ),
    "full_domain_within_limits": marked(
        "full-domain generalizations of these hierarchies (any name of a root is a star) within the limits of their "
        "levels that suppress the unacceptable classes and, only as far as the request needs it, the smallest others, "
        "each as a whole"
    ),
    "local_recoding": marked(
        "Local recoding repeats the full-domain search on the suppressed rows: no optimum, and nothing is promised "
        "about the cost."
    ),
    "local_recoding_drew": marked(
        "Local recoding drew groups that are like the table from the rows of each node of the hierarchies: no optimum, "
        "and nothing is promised about the cost."
    ),
    "too_large_to_search": marked("The table is too large to be searched for the fewest stars."),
    "one_after_other": marked("{one} {other}"),
    "nothing_proven": marked("None: the search was stopped before it proved anything."),
    "search_stopped": marked("At most {more} recoded cells more than the fewest possible: the search was stopped."),
    "milp_time_limit": marked(
        "No release with this requirement recodes fewer than {least} cells, {gap} % fewer than this one: the time "
        "limit ended the search for fewer."
    ),
    "milp_interrupted": marked(
        "No release with this requirement recodes fewer than {least} cells, {gap} % fewer than this one: an "
        "interruption ended the search for fewer."
    ),
    "milp_gap": marked(
        "No release with this requirement recodes fewer than {least} cells, {gap} % fewer than this one: the gap that "
        "was asked for ended the search for fewer."
    ),
    "patterns_optimal": marked(
        "The fewest stars of any k-anonymous release whose rows follow these patterns ({proof})."
    ),
    "patterns_optimal_weighted": marked(
        "The fewest weighted stars of any k-anonymous release whose rows follow these patterns ({proof})."
    ),
    "patterns_gap": marked(
        "At most {gap:.2f} % more than the fewest stars of any k-anonymous release whose rows follow these patterns "
        "({proof})."
    ),
    "patterns_gap_weighted": marked(
        "At most {gap:.2f} % more than the fewest weighted stars of any k-anonymous release whose rows follow these "
        "patterns ({proof})."
    ),
    "patterns_theorem_4": marked(
        "At most d = {d} times the fewest stars of any k-anonymous release whose rows follow these patterns "
        "(Theorem 4)."
    ),
    "patterns_weighted": marked("Nothing is promised of weighted stars; algorithm='patterns-optimal' proves a bound."),
    # Sets of quasi-identifiers, and limits of levels.
    "sets_by_levels": marked(
        "The loss of a cell is {found:value} on average. Full-domain generalizations of these hierarchies in which "
        "whole records become stars lose {bound:value} or more."
    ),
    "within_limits": marked(
        "Records without a common node at an allowed level are in different groups, and suppressed if that left too "
        "few: nothing is promised beyond the lower bound."
    ),
    "solved_in_parts": (
        marked("The table was solved in {count} part: nothing is promised of the whole beyond the lower bound."),
        marked("The table was solved in {count} parts: nothing is promised of the whole beyond the lower bound."),
    ),
    "solved_in_parts_beside_large": (
        marked(
            "The table was solved in {count} part, most rows of its large classes aside: nothing is promised of the "
            "whole beyond the lower bound."
        ),
        marked(
            "The table was solved in {count} parts, most rows of its large classes aside: nothing is promised of the "
            "whole beyond the lower bound."
        ),
    ),
    "linked_rows": marked("Linked rows: persons are grouped by a heuristic, so nothing is promised about the cost."),
    "lists_of_values": marked(
        "Lists of values: records are grouped by a heuristic, so nothing is promised of the cost."
    ),
    "cost_of_plan": marked("The published forms are those of a plan; nothing is promised of their cost."),
    "proof_tells_more": marked(
        "The algorithm, its costs, bounds and ratios depend on the original table, not on the published one alone. "
        "Whoever knows how the algorithm works can rule out originals with them, and may learn more of a person than "
        "the models allow. They are here because the publisher asked for it."
    ),
}
_BOUNDS: dict[str, str | tuple[str, str]] = {
    # What lower bounds rest on.
    "all_can_stay": marked("every row can keep all its values"),
    "residue": marked("residue after phase one: rows that no group of identical rows can hold"),
    "pillar": marked("l times the pillar height of the residue after phase one"),
    "k_change": marked("a group with a changed row has at least k rows, and all of them change"),
    "large_class_given_up": marked("small classes cannot be filled without giving up a whole large class"),
    "hit_sets": marked("in each set that finds too few records, each of them needs a star: the fewest stars that do"),
    "program_of_cells": marked("an integer program over all cells and groups of the sets"),
    "largest_set": marked("the set of quasi-identifiers that needs most stars by itself"),
    "projections": marked(
        "rows that no group of identical rows can hold, priced by the cheapest projections that could hold them"
    ),
    "bundles": marked("each person loses at least what it loses with the nearest persons that its bundle needs"),
    "nearest_rows": marked("each row loses at least what it loses with the nearest rows that its group needs"),
    "nearest_rows_by_budget": marked(
        "each row loses at least what it loses with the nearest rows that its group needs, as far as a budget of work "
        "allowed to look for these"
    ),
    "priced_cells": marked("rows are priced by the cells of the hierarchies that groups around them publish"),
    "costs_nonnegative": marked("no group costs less than nothing"),
    "bipartite": marked(
        "assignment of the rows of one value to those of the other, its dual solution checked in integers"
    ),
    "pairs_and_triples": marked("linear program over all pairs and triples, its dual solution checked in integers"),
    "pairs_and_triples_cut": marked(
        "linear program over all pairs and triples with {cuts} parity cuts, its dual solution checked in integers"
    ),
    "branch_and_bound": marked("{relaxation}; branch and bound over {groups} groups"),
    "milp_program": marked("mixed integer program over generalization vectors, solved by HiGHS (milp)"),
    "dynamic_program": marked("dynamic programming over every group that the rows can form (exact)"),
    "lagrangian": marked("Lagrangian relaxation of the integer program"),
    "rounding_program": marked("linear program with rounding inequalities over output row types"),
    "integer_program": marked("integer program over output row types"),
    "fixed_parameter": marked("fixed-parameter algorithm over all choices of output row types"),
    "simplex_matching": marked("simplex matching: {proof}"),
    "following_patterns": marked("{proof}, over releases whose rows follow the patterns"),
}
_WARNINGS: dict[str, str | tuple[str, str]] = {
    # What warnings found, and what to do next.
    "smallest_group": (
        marked(
            "The smallest group has {count:number} record. Tables about people are hardly ever published with groups "
            "of fewer than {least}."
        ),
        marked(
            "The smallest group has {count:number} records. Tables about people are hardly ever published with groups "
            "of fewer than {least}."
        ),
    ),
    "ask_for_k": marked("Ask for more as well: {asked}."),
    "shared_value": marked(
        "{share:percent} of the records are in groups in which all share one value of '{column}': it is known of "
        "everybody there."
    ),
    "shared_values": marked(
        "{count} columns have groups in which all records share one value, which is known of everybody there: "
        "{columns:shares}."
    ),
    "shared_by_persons": marked(
        "Some persons who publish the same records of quasi-identifiers all have one value of {columns:names} in some "
        "record: it is known of each of them."
    ),
    "ask_for_l_of_persons": marked("Ask for {asked} as well."),
    "ask_for_l": marked("Ask for {asked} as well: up to {most:number} is feasible."),
    "drop_same": marked("All records have the same value of {columns:names}: no model hides it, so drop it ({drop})."),
    "drop_same_first": marked(
        "All records have the same value of {columns:names}: no model hides it, so drop it first ({drop})."
    ),
    "names": "{columns:names}",
    "no_two": marked(
        "More than half of the records have one value of {columns:names}, so no release has l = 2, and coarser "
        "quasi-identifiers do not change that. Ask for {distinct}, for groups that are like the table with {like}, or "
        "drop it ({drop})."
    ),
    "own_values": marked(
        "{share:percent} of the records have a value of '{column}' of their own, and it is published as it is: whoever "
        "knows it of a person finds the record."
    ),
    "own_values_of_several": marked(
        "{count} sensitive columns have values that a record shares with no other, and they are published as they are: "
        "whoever knows one of a person finds the record: {columns:shares}."
    ),
    "own_values_in_input": marked(
        "{share:percent} of the records have a value of '{column}' of their own: whoever knows it of a person finds "
        "the record in any release that shows it."
    ),
    "coarsen_or_drop": marked(
        "Make it coarser first ({coarser}), or drop it, as a direct identifier and not as sensitive ({drop})."
    ),
    "drop_sensitive": marked("Drop it, as a direct identifier and not as sensitive ({drop})."),
    "coarsen_or_drop_first": marked("Make it coarser first, or drop it."),
    "drop_or_quasi": marked("Drop it ({drop}), or make it a quasi-identifier."),
    "own_pairs": marked(
        "{share:percent} of the records have a pair of values of '{column}' and '{other}' of their own, and both are "
        "published as they are: whoever knows them of a person finds the record."
    ),
    "own_together": marked(
        "{records:number} records are unique by the columns that are published as they are, all together: "
        "{columns:list}. Whoever knows them of a person finds the record."
    ),
    "quasi_or_drop": marked("Make one of them a quasi-identifier, or drop it."),
    "stars": marked("{share:percent} of the records show a star for '{column}'."),
    "coarsen_first": marked("Make it coarser first, and more of it can stay: {coarser}."),
    "replace_text": marked("{asked} (most of its values are numbers, TEXT is not)"),
    "limited_by": marked(
        "The groups had to be so large because of '{column}' (t = {t} of {limit}; the others at most {others}): make "
        "it less precise, or ask for t of the others only."
    ),
    "coarsen_more": marked("Make it coarser still, or drop it ({drop})."),
    "with": marked("{one} with {other}"),
    "sets": marked(
        "{share:percent} of the records show a set of {members} or more exact values of '{column}', {shown:number} "
        "different ones in all sets: whoever knows somebody's sees whether it is there."
    ),
    "coarsen_sets": marked("Make it coarser first: {coarser}; or allow smaller sets only: {smaller}."),
    "dominant": marked(
        "{share:percent} of the records have the same value of '{column}': who guesses it is nearly always right, and "
        "what the others have stands out."
    ),
    "dominant_in_several": marked(
        "{count} sensitive columns have one value in nearly all records: who guesses it is nearly always right, and "
        "what the others have stands out: {columns:shares}."
    ),
    "ask_for_t": marked("Ask for groups that are like the table: {asked}; or group the rare values before."),
    "read_alike": marked(
        "{pairs:number} pair(s) of values of '{column}' differ in upper and lower case, blanks, invisible characters, "
        "punctuation, forms of Unicode or letters of another alphabet alone, and {records:number} records show one of "
        "them. They count as different values, and read like one."
    ),
    "write_alike": marked(
        "Write them alike in the input. {asked} does that for blanks at the ends and invisible characters."
    ),
    "publisher_writes_alike": marked("Ask the publisher to write them alike."),
    "formulas": marked(
        "{records:number} record(s) have a value of '{column}' that a spreadsheet may run as a formula."
    ),
    "for_spreadsheets": marked("Write the file for spreadsheets: {asked}; or as a workbook or Parquet."),
    "singled_out": marked(
        "{records:number} of {rows:number} records are singled out: each alone has the exact value at which an "
        "interval ends, or which a set shows, and fits the other cells of that group."
    ),
    "without_exact_ends": marked("Publish without {asked}."),
    # Columns that may identify persons with several records.
    "persons_by_values": marked(
        "The column '{column}' repeats as the number or name of a person would: {evidence}. Groups count records, and "
        "several of one person hide nobody."
    ),
    "persons_by_name": marked(
        "The column '{column}' looks like what every person has one of, but repeats: {evidence}. Groups count records, "
        "and several of one person hide nobody."
    ),
    "persons_by_combinations": marked(
        "No column says who a record is of, but quasi-identifiers repeat as those of people with several records "
        "would: {evidence}. Groups count records, and several of one person hide nobody."
    ),
    "published_person": marked(
        "The column '{column}' is published as it is, and repeats as the number or name of a person would: {evidence}. "
        "It links all records of a person."
    ),
    "respelled_persons": marked(
        "{values:number} values of '{column}' differ from another one in case, blanks, punctuation, zeros before or "
        "the form of a number alone: a person who is spelled in two ways counts as two."
    ),
    "spell_persons_alike": marked("If they are the same persons, write them alike in the input."),
    "uncounted_persons": marked("Persons are named, and no model counts them: all records of a group may be of one."),
    "one_record_each": marked("Make it one record per person first."),
    "count_persons": marked(
        "Name the column of persons, {person}: groups count persons then. Or publish one record of each, with {one} as "
        "well."
    ),
    "sure_of_persons": marked(
        "For {above:number} of {units:number} persons ({columns}), all their records together reveal some value of "
        "'{column}' with a probability of more than {limit}, for one of them with {largest:percent}: the model counts "
        "records, not persons."
    ),
    "fewer_records_each": marked("Publish one record of each person, with {one}."),
    "rows_of_persons": marked(
        "{rows:number} rows of {persons:number} values of '{column}', at most {most:number} of one"
    ),
    "rows_of_persons_in_sample": marked(
        "{rows:number} rows of {persons:number} values of '{column}' in a sample, at most {most:number} of one"
    ),
    "fewest_in_group": marked("{evidence}, and the group with the fewest of them has {fewest:number}"),
    "published_names": marked(
        "The column '{column}' seems to hold names of persons, and they are published: whoever reads them knows who is "
        "in the table."
    ),
    "drop_names": marked("Drop it ({drop})."),
    "lists_in_cells": marked(
        "Most cells of '{column}' seem to hold several values with {separator} between them. Each list counts as one "
        "value, so that a value that all records of a group share is not seen."
    ),
    "declare_lists": marked("If they are lists, name them: {asked}. Or publish one record of each value."),
    "same_within": marked("{evidence}; {columns:list} the same within nearly each"),
    "same_within_with_others": marked("{evidence}; {columns:list_and_others} the same within nearly each"),
    "rows_of_combinations": marked(
        "{rows:number} rows have {persons:number} combinations of quasi-identifiers, at most {most:number} the same "
        "one: far more than chance explains"
    ),
    "rows_of_combinations_in_sample": marked(
        "{rows:number} rows have {persons:number} combinations of quasi-identifiers in a sample, at most {most:number} "
        "the same one: far more than chance explains"
    ),
    "unread_dates": marked(
        "The column '{column}' looks like dates, but no format reads all of them: it is taken as names without an "
        "order. Write its dates in one format and leave missing ones empty, or say the format, as in {asked}."
    ),
    "derived_missing": marked(
        "The derived column '{column}' is missing in {rows:number} record(s): in {missing:number} a date is missing or "
        "cannot be read, in {negative:number} the second date is before the first."
    ),
    "odd_dates": (
        marked(
            "The column '{column}' looks like dates, but {count:,} of its values is none{place}: it "
            "is taken as names without an order. Write its dates in one format and leave missing ones empty, or say "
            "the format, as in {asked}."
        ),
        marked(
            "The column '{column}' looks like dates, but {count:,} of its values are none{place}: it "
            "is taken as names without an order. Write its dates in one format and leave missing ones empty, or say "
            "the format, as in {asked}."
        ),
    ),
    "two_ways": marked("The column '{column}' can be read in two ways."),
    "say_which": marked("Say which: {one} or {other}."),
    "codes_among_values": marked("The column '{column}' has numbers or dates, and {codes:list} among them."),
    "make_missing": marked("If that means missing, replace it: {asked}."),
    "cells_look_recoded": marked(
        "Cells of {columns:list} look as if they were anonymized before: stars, intervals, sets, or codes whose end is "
        "masked."
    ),
    "audit_or_go_back": marked(
        "If the table is a release, audit it to see what it protects; to anonymize it, go back to the table that it "
        "was made of."
    ),
    "none_sensitive": marked("No column looks sensitive."),
    "name_sensitive": marked("If one must not be linked to a person, name it as sensitive."),
    "many_quasi": marked(
        "{count} columns are taken for quasi-identifiers, to be on the safe side. A release with so many says little."
    ),
    "fewer_quasi": marked("Call those sensitive that nobody can know of a person, and leave out what nobody needs."),
}
# Codes are unique across all kinds of facts.
SENTENCES: Mapping[str, str | tuple[str, str]] = MappingProxyType(_REASONS | _GUARANTEES | _BOUNDS | _WARNINGS)
"""The sentence of each code; some have a singular and a plural, chosen by the argument `count`."""

CODES: Mapping[str, str] = MappingProxyType(
    {
        # How a search ended.
        "complete": marked("all of its work was done"),
        "cut-short": marked("its budget of work was spent: these are the best groups that were found until then"),
        # Steps, and what is measured.
        **{step: step for step in (marked("read"), marked("coarsen"), marked("encode"), marked("partition"))},
        **{step: step for step in (marked("recode"), marked("verify"), marked("bound"), marked("certify"))},
        **{step: step for step in (marked("compile"), marked("verify again"))},
        **{name: name for name in (marked("write"), marked("groups"), marked("unique rows"), marked("missing"))},
    }
)
"""Values and names of certificates that pages show alone, with their texts."""
