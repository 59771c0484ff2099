"""Explanations of the figures on the screens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Explained:
    """The explanation of a figure, shown on request."""

    title: str
    meaning: str


EXPLAINED: Mapping[str, Explained] = {
    "bytes": Explained(title="Size", meaning="How large the file is. Nothing of it was read yet."),
    "rows": Explained(
        title="Records",
        meaning="The rows of the table. Whether a person has one of them or several is asked on the screen Persons.",
    ),
    "values": Explained(
        title="Different values",
        meaning="How many different entries the column has. Many values single people out, few do not. Records "
        "without an entry are counted as missing.",
    ),
    "own": Explained(
        title="A value of their own",
        meaning="The share of the records whose entry nobody else has. Whoever knows it of a person has found the "
        "record, without knowing anything else.",
    ),
    "shown": Explained(
        title="Most frequent values",
        meaning="Up to five entries of the column with the number of records that have each. They are on the screen "
        "because you asked for them; nothing that the studio writes has them.",
    ),
    "k": Explained(
        title="The smallest group (k)",
        meaning="Every record shares everything that others may know with at least k - 1 others in the published "
        "table. Whoever looks for the record of a person finds k or more, and picks the right one with a "
        "chance of at most 1 in k, if each person has one record. This is called k-anonymity.",
    ),
    "k_counted": Explained(
        title="The smallest group (k), in persons",
        meaning="Records that agree on everything that others may know are of at least k persons, and none of them "
        "has more than one in k of these records. Whoever knows all records of a person takes a record for "
        "that person's with a chance of at most 1 in k. This is k-anonymity of persons.",
    ),
    "k_linked": Explained(
        title="The smallest group (k), in persons",
        meaning="The records of a person stand together. At least k persons have the same ones in everything that "
        "others may know, and as many of them. Whoever knows all records of a person finds k pseudonyms or "
        "more. This is k-anonymity of persons.",
    ),
    "l": Explained(
        title="The variety within groups (l)",
        meaning="Within every group, no sensitive value belongs to more than one record in l. Without it a group "
        "may share one diagnosis: then it does not matter which record is whose. This is called "
        "l-diversity.",
    ),
    "l_counted": Explained(
        title="The variety within groups (l), in records",
        meaning="Within every group, no sensitive value belongs to more than one record in l. That is about one "
        "record of a person: all records of a person together may show more. To bound that, publish one "
        "record of each person, or link them. This is called l-diversity.",
    ),
    "l_linked": Explained(
        title="The variety within groups (l), in persons",
        meaning="Of the persons of a group, at most one in l has any one sensitive value, in whichever of their "
        "records. This is l-diversity of persons.",
    ),
    "t": Explained(
        title="Closeness to the whole table (t)",
        meaning="The sensitive values of every group are spread nearly as in the whole table: the shares differ by "
        "at most t (0.2: 20 percentage points). It asks for more than l, and costs more. This is called "
        "t-closeness.",
    ),
    "knows": Explained(
        title="Only some columns at a time",
        meaning="A neighbour knows some facts of a person, hardly twenty of them. Whichever columns of that number "
        "somebody knows, the record of a person has at least k - 1 others like it in these. It loses less "
        "than protection against somebody who knows all columns, and promises nothing against somebody who "
        "knows more.",
    ),
    "sets": Explained(
        title="Certain columns together",
        meaning="Each set has the columns that one person may know together, such as what an employer knows. Behind "
        "a colon it may have a smallest group of its own: age, zip:10. Against somebody who knows columns "
        "of several sets nothing is promised.",
    ),
    "harmless": Explained(
        title="Values that nobody minds",
        meaning="Everybody may learn these, such as “healthy”: the variety within groups (l) does not bound how "
        "often they occur. Only name a value if nothing follows from having it, or from not having it.",
    ),
    "resist": Explained(
        title="Somebody who knows the method",
        meaning="Who knows how groups are made may learn from which groups were made: it is called a minimality "
        "attack. One algorithm has a proof that the variety within groups (l) holds nevertheless. It loses "
        "more.",
    ),
    "weight": Explained(
        title="Weight",
        meaning="A column with the weight 2 counts twice in what is lost: it stays more precise, and the others "
        "become less precise. It does not change what is promised. The usual weight is 1.",
    ),
    "epsilon": Explained(
        title="Largest influence of one record (epsilon)",
        meaning="Whether a record is in the table changes the chance of any release by a factor of at most e to the "
        "power of this number: 1 means about 2.7. Smaller is safer, and loses more.",
    ),
    "delta": Explained(
        title="Chance that it is exceeded (delta)",
        meaning="The probability that the factor is larger nevertheless. It should be smaller than 1 divided by the "
        "number of records, such as 0.000001.",
    ),
    "fraction": Explained(
        title="The share of the population",
        meaning="How many of all the people that could have been in this table are in it. If it has 1 of 100 "
        "patients of a country, somebody who looks for a patient does not know whether they are in it, and "
        "one who is alone in the table may not be alone in the country. Leave it empty if everybody is in "
        "it, or you do not know.",
    ),
    "left": Explained(
        title="Values left",
        meaning="How many different values the column has afterwards. Fewer values make larger groups, and say less.",
    ),
    "coarse_loss": Explained(
        title="Loss by making columns coarser",
        meaning="What the coarser columns lose already, before any group is made: 0% when every value is as it was, "
        "100% when nothing of a column is left, on average over the columns that others may know. What the "
        "groups cost comes on top; the screen Compare tells it.",
    ),
    "nodes": Explained(
        title="Groups of values",
        meaning="How many different values the column would have on this level of its hierarchy.",
    ),
    "rarest": Explained(
        title="The smallest of them",
        meaning="How few records share one value on this level, this column alone. Fewer than the goal asks for is "
        "no mistake: other columns and the groups come afterwards.",
    ),
    "too_few": Explained(
        title="Records with a value that is too rare",
        meaning="The share of the records whose value on this level fewer records have than the smallest group of "
        "the goal.",
    ),
    "records": Explained(title="Records", meaning="How many records of the table have the value."),
    "success": Explained(
        title="How often the attack is right",
        meaning="The share of the records of the table about which it is right, with the range in which it would "
        "lie for 95 of 100 tables like this one.",
    ),
    "baseline": Explained(
        title="By guessing alone",
        meaning="How often somebody would be right who has only the published list of values and knows nobody. What "
        "an attack gets beyond that is what it learned.",
    ),
    "control": Explained(
        title="About records that are not in it",
        meaning="How often the same attack is right about records that are not in the release. What it learns of "
        "them is knowledge of the world, not a disclosure; only the difference comes from being in the "
        "table.",
    ),
    "identifier": Explained(
        title="What names each person",
        meaning="Somebody who attacks has a list of people with their names, and what others may know of them. Here "
        "it is your own table: nobody can know more.",
    ),
    "ledger": Explained(
        title="Ledger",
        meaning="A file that remembers how each person was published, encrypted. Without it the next release could "
        "contradict the last one, and both together would betray people. Back it up after every release, "
        "and its key, in another place.",
    ),
    "m": Explained(
        title="How many values nobody can tell apart (m)",
        meaning="In every release each group has at least m different sensitive values, the same ones for a person "
        "in every release: whoever has all releases is sure of nobody's with more than 1 in m. This is "
        "called m-invariance.",
    ),
    "counterfeits": Explained(
        title="Counterfeits",
        meaning="Rows of people who are not there. They stand where somebody left and nobody fitting came. A list "
        "of how many each group has is published, so that counts can be put right.",
    ),
    "people": Explained(title="People", meaning="The people of the table that this release was made from."),
    "changed": Explained(
        title="New and gone",
        meaning="People who were not in the release before, and people of it who are not in this.",
    ),
    "before_values": Explained(title="Before", meaning="How many different values the column had in your table."),
    "after_values": Explained(
        title="After",
        meaning="How many different entries the column has in the release: values, ranges, sets, stars.",
    ),
    "stars": Explained(title="Stars", meaning="The share of the cells of the column that are hidden altogether."),
    "spread": Explained(
        title="How the values are spread",
        meaning="The share of the records with each value, or range of values: above in your table, below as the "
        "release tells it. A range or a set counts for its values in equal parts; of stars nothing is "
        "assumed.",
    ),
    "algorithm": Explained(
        title="Algorithm",
        meaning="How the groups are made. All of them keep what was asked for, and are verified by the same code; "
        "they differ in what is lost and in how long they take.",
    ),
    "least": Explained(
        title="At least",
        meaning="So many cells must become less precise in any release of this table that is as safe: it was proved.",
    ),
    "recoded": Explained(title="Cells less precise", meaning="How many cells are not published exactly as they were."),
    "drawing": Explained(
        title="Risk against loss",
        meaning="Each point is a level of protection. Further left fewer records are found, further up less is "
        "lost. A line above a point, where there is one, is what every release of this table loses at "
        "least.",
    ),
    "classes": Explained(
        title="Groups",
        meaning="Records that agree on everything that others may know are one group. Few large groups hide people, "
        "many small ones show them.",
    ),
    "alone": Explained(
        title="Alone",
        meaning="The share of the records with which no other one of the table agrees on everything that others may "
        "know. Whoever knows that of a person has found the record.",
    ),
    "below": Explained(
        title="In groups that are too small",
        meaning="The share of the records whose group has fewer records than the goal asks for. What remains of it "
        "here is taken care of when the release is made, by making single cells less precise: the more "
        "remains, the more is lost then.",
    ),
    "average": Explained(
        title="Average risk",
        meaning="The chance of picking the right record of somebody who is known to be in the table, for somebody "
        "who knows everything that others may know, on average over the records.",
    ),
    "highest": Explained(
        title="Highest risk",
        meaning="The same chance for the record that is easiest to find: 1 divided by the size of the smallest group.",
    ),
    "loss": Explained(
        title="Loss",
        meaning="How much less precise the column became: 0% when every value is as it was, 100% when nothing of it "
        "is left. An age of 34 published as 30 to 39 loses 9 years of the span of all ages. It is the mean "
        "normalized certainty penalty.",
    ),
    "gcp": Explained(
        title="Loss of all columns",
        meaning="The mean of the loss of the columns that others may know; sensitive columns lose nothing. It is "
        "the global certainty penalty.",
    ),
    "achieved": Explained(
        title="Achieved",
        meaning="What was counted in the published cells, by code that shares nothing with what made them. It is at "
        "least as good as what was asked for, or there would be no release.",
    ),
    "smallest": Explained(
        title="Smallest group",
        meaning="The fewest records of the published table that agree on everything that others may know.",
    ),
    "smallest_persons": Explained(
        title="Smallest group, in persons",
        meaning="The fewest persons whose published records agree on everything that others may know. This depends "
        "on whose the records are, so that it is for you alone.",
    ),
    "persons_published": Explained(
        title="Persons",
        meaning="The persons with a record in the release, and how many records of them it has.",
    ),
    "groups": Explained(
        title="Groups", meaning="How many groups of records that look the same the published table has."
    ),
    "pairs": Explained(
        title="Told apart",
        meaning="The share of all pairs of records that these columns tell apart. 100% would be a column that has "
        "another value in each record.",
    ),
    "sure": Explained(
        title="Sure of a value",
        meaning="How sure somebody can be of a sensitive value of a person, at most: the largest share that one "
        "value has in a group.",
    ),
    "kept": Explained(
        title="Cells kept",
        meaning="The share of the cells that others may know that are published exactly as they were. A range loses "
        "a cell here, however narrow it is; the loss tells how wide it is.",
    ),
    "at_most": Explained(
        title="At most",
        meaning="No release of this table that is as safe can keep more cells than this: it was proved for this table.",
    ),
    "seconds": Explained(title="Seconds", meaning="How long it took here to make and verify this release."),
    "knee": Explained(
        title="Knee",
        meaning="Up to the knee more protection costs less than beyond it. It says where the curve bends, not which "
        "risk is acceptable: that is yours to say.",
    ),
    "small": Explained(
        title="Records in small groups",
        meaning="The share of the records that fewer than so many records of the table match, themselves among them.",
    ),
    "part": Explained(
        title="Part in what is special",
        meaning="Some records stand out by few facts already. This is how much each column takes part in that: "
        "those with the longest bars are worth making coarser first.",
    ),
}
"""Explanations of the figures on the screens, except measures of risk; see `shoal.disclosure_risk.MEASURES`."""

_COUNTS_OF_PERSONS = ("alone", "below", "average", "highest", "small", "part", "pairs")
"""Figures that count persons if a column identifies persons: on the screens Risk now, Coarser and Publish."""


def explained_of_persons() -> dict[str, Explained]:
    """Explain all figures for a table in which persons have several records, and are counted."""
    counted = "Persons are counted here: a person with several records is found by any of them."
    changed = {
        name: replace(EXPLAINED[name], meaning=f"{EXPLAINED[name].meaning} {counted}") for name in _COUNTS_OF_PERSONS
    }
    return {**EXPLAINED, **changed}


COMPARED: Mapping[str, str] = {
    "highest risk": "highest",
    "average risk": "average",
    "sure of a value": "sure",
    "cells kept": "kept",
    "at most": "at_most",
    "loss": "gcp",
    "seconds": "seconds",
}
"""The explanation of each column of a comparison of levels, as a key of `EXPLAINED`."""
