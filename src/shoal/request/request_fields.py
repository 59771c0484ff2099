"""The fields of a request: everything that can be requested of a release, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from os import PathLike
from typing import Any, Literal, get_origin

from shoal._core.file_formats import FORMATS
from shoal._core.validation import (
    Boolean,
    Constraint,
    Integer,
    OneOf,
    Optional,
    Parameter,
    Symbol,
    number_in,
    parameters_of,
)
from shoal._core.words import listed
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.algorithms.base import Algorithm
from shoal.hierarchy import Coarsening, Hierarchy
from shoal.models import PrivacyModel
from shoal.recoding import LARGEST_SET, METHODS
from shoal.report import About
from shoal.request.texts import levels_in


@dataclass(frozen=True, kw_only=True)
class RequestField(Parameter):
    """The declaration of one field of a request."""

    section: str
    """The section of the field: "columns", "model", "recoding", "method", "preferences", "engine", "forms",
    "reading", "cleaning" or "output"."""
    typed: str
    """The type in the documentation."""
    doc: str
    """The description for Python users."""
    short: str
    """The one-letter flag, if there is one."""
    kind: Any
    """The type of the value in a spec file: a tuple for column names, a dict for one value per column."""
    key: str
    """The section of spec files that contains the field, unless it is at the top level."""


def requestable(
    typed: str,
    doc: str,
    *,
    section: str,
    default: Any = None,
    flag: str | None = None,
    short: str = "",
    metavar: str = "VALUE",
    help: str = "",  # noqa: A002
    kind: Any = str,
    read: Callable[[str], Any] | None = None,
    constraint: Constraint | None = None,
) -> Any:
    """Declare a field of `Request`; see `RequestField`. Switches are off by default, other fields None."""
    # Switches are Boolean options, tuples of names are columns.
    switch, many = kind is bool, get_origin(kind) is tuple
    declared = RequestField(
        constraint=Boolean() if switch else constraint,
        help=help,
        flag=flag,
        metavar=metavar,
        read=read,
        many=many,
        section=section,
        typed=typed,
        doc=doc,
        short=short,
        kind=kind,
        key="columns" if many else "reading" if section in ("forms", "reading", "cleaning") else "",
    )
    return field(default=False if switch else default, metadata={"parameter": declared})


_NAMES = "Separated by commas, or the option repeated. Put a name with a comma in double quotes."


ENGINES = ("auto", "memory", "stream", "spark")
"""The engines that read and write tables."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RequestFields:
    """The declared fields of `Request`, which adds their resolution and their text forms."""

    # Roles of columns.
    quasi_identifiers: Sequence[str] = requestable(
        "sequence of str",
        "Columns that an adversary knows from elsewhere. A missing value is a value of its own.",
        section="columns",
        default=MISSING,
        flag="--qi",
        metavar="NAMES",
        help=f"Quasi-identifiers: columns that an adversary may know. {_NAMES}",
        kind=tuple[str, ...],
    )
    sensitive: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        "Columns that must not be linked to a person.",
        section="columns",
        flag="--sensitive",
        metavar="NAMES",
        help="Sensitive attributes: columns that must not be linked to a person.",
        kind=tuple[str, ...],
    )
    direct_identifiers: Sequence[str] = requestable(
        "sequence of str",
        "Columns that identify a person; never published.",
        section="columns",
        default=(),
        flag="--id",
        metavar="NAMES",
        help="Direct identifiers: columns that identify a person, never published.",
        kind=tuple[str, ...],
    )
    insensitive: str | Sequence[str] = requestable(
        'sequence of str, or "rest"',
        'Columns that are published unchanged; "rest" means all columns without another role. Check them first: a '
        "forgotten column may identify people.",
        section="columns",
        default=(),
        flag="--insensitive",
        metavar="NAMES",
        help="Columns that reveal nothing about a person, published unchanged. The word rest stands for all columns "
        "without another role.",
        kind=tuple[str, ...],
    )
    # Sets of quasi-identifiers.
    qi_sets: Sequence[str | Sequence[str]] = requestable(
        "sequence of str or of sequences of str",
        "Sets of quasi-identifiers that different adversaries know: the models then hold for the groups of each set by "
        'itself, not of all quasi-identifiers together. A set is a list of names or a text, `"age,zip"`; '
        '`"age,zip:10"` has its own k. Without `quasi_identifiers` the columns of the sets are the quasi-identifiers.',
        section="columns",
        default=(),
        flag="--qi-set",
        metavar="NAMES[:K]",
        help="A set of quasi-identifiers that an adversary knows, such as age,zip or, with its own k, age,zip:10. "
        "Repeat it for others: the models hold for each set by itself.",
        kind=tuple[str, ...],
        read=str,
    )
    knows: int | None = requestable(
        "int, optional",
        "The number of quasi-identifiers that an adversary knows, at least 1, whichever they are: the models hold for "
        "the groups of every so many quasi-identifiers.",
        section="columns",
        flag="--knows",
        metavar="NUMBER",
        help="An adversary knows any so many of the quasi-identifiers: the models hold for every such set by itself.",
        kind=int,
        constraint=Optional(Integer(low=1)),
    )
    # Persons and further units.
    person: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        "The column, or several together, that identifies the person whose row it is, if persons have several rows. It "
        "is read and never published. `KAnonymity(k)`, and the k of every other model, then counts persons: none has "
        "more than one in k rows of a group. Models of sensitive values are about each record of a person.",
        section="columns",
        flag="--person",
        metavar="NAMES",
        help="The column (or several together) that identifies the person of each record. It is never published, "
        "and k counts persons instead of records.",
        kind=tuple[str, ...],
    )
    units: Sequence[str | Sequence[str]] = requestable(
        "sequence of str or of sequences of str",
        'Further kinds of units to protect in the same way as persons, such as households: `["household"]`.',
        section="columns",
        default=(),
        flag="--unit",
        metavar="NAMES",
        help="Columns that identify further units, such as households, protected in the same way as persons.",
        kind=tuple[str, ...],
    )
    missing_person: str = requestable(
        '{"error", "own"}',
        "The treatment of rows without a person: an error, or a separate person for each row.",
        section="columns",
        default="error",
        flag="--missing-person",
        metavar="error|own",
        help="Records without a person: an error, or a separate person for each record.",
        constraint=OneOf(("error", "own")),
    )
    rows_per_person: int | None = requestable(
        "int, optional",
        "Publish at most so many rows of a person; others are left out. With 1, the guarantees for rows hold "
        "for persons.",
        section="columns",
        flag="--rows-per-person",
        metavar="NUMBER",
        help="Publish at most this many records of each person. With 1, the guarantees for records hold for persons.",
        kind=int,
        constraint=Optional(Integer(low=1)),
    )
    kept_rows: str = requestable(
        '{"random", "first", "last"}',
        "The rows of a person to keep: random ones, or the first or last by the column `order`.",
        section="columns",
        default="random",
        flag="--kept-rows",
        metavar="random|first|last",
        help="The records of a person to keep: random ones, or the first or last by --order.",
        constraint=OneOf(("random", "first", "last")),
    )
    order: str | None = requestable(
        "str, optional",
        "The column of numbers or dates that orders the rows of a person.",
        section="columns",
        flag="--order",
        metavar="NAME",
        help="The column of numbers or dates that orders the records of a person.",
    )
    link: bool = requestable(
        "bool",
        "Whether the rows of each person are published together, under a random pseudonym. Every person then publishes "
        "the same rows of quasi-identifiers as at least k - 1 others, and all models count persons. It needs `person`; "
        "rows are left out so that enough persons have equally many.",
        section="columns",
        flag="--link",
        help="Publish the records of each person together, under a random pseudonym. Needs --person.",
        kind=bool,
    )
    # Missing and irregular values.
    lists: Mapping[str, str] | None = requestable(
        "mapping of column to str, optional",
        'Sensitive columns whose cells hold several values, with the separator between them: `{"diagnoses": ";"}`. '
        "l, t and beta then count the records that have a value, alone or among others. A column of lists (Parquet) is "
        "published as text with the separator.",
        section="columns",
        flag="--list",
        metavar="NAME=SEPARATOR",
        help="A sensitive column whose cells hold several values, with the separator between them, such as "
        "'diagnoses=;'. Repeat it for others.",
        kind=dict[str, str],
    )
    missing_sensitive: str = requestable(
        '{"error", "value", "drop"}',
        "The treatment of rows without a sensitive value: an error, an ordinary value, or left out.",
        section="columns",
        default="error",
        flag="--missing-sensitive",
        metavar="error|value|drop",
        help="Records without a sensitive value: an error, a value of its own, or left out.",
        constraint=OneOf(("error", "value", "drop")),
    )
    normalize: bool = requestable(
        "bool",
        "Whether to strip surrounding blanks and invisible characters (zero-width characters, soft hyphens, marks of "
        "direction) from sensitive values and quasi-identifiers that are text, and to compose their characters "
        "(Unicode NFC), before anything else. Text that becomes empty is missing. The normalized values are "
        "published. Without it, sensitive values that differ only in this way are an error.",
        section="columns",
        flag="--normalize",
        help="Strip surrounding blanks and invisible characters from sensitive values and quasi-identifiers, and "
        "compose characters (Unicode NFC), before anything else.",
        kind=bool,
    )
    star: str = requestable(
        "str",
        "The symbol of a suppressed cell. It must not be a value of the data, and must not contain digits or commas, "
        "which occur in numbers, dates, intervals and sets.",
        section="columns",
        default="*",
        flag="--star",
        metavar="SYMBOL",
        help="The symbol of a suppressed cell. Default: *.",
        constraint=Symbol(),
    )
    # Privacy models, directly or by their most common parameters.
    privacy: PrivacyModel | Sequence[PrivacyModel] | None = requestable(
        "PrivacyModel or sequence of PrivacyModel, optional",
        "The models that every group, or the release as a whole, must satisfy.",
        section="model",
    )
    k: int | None = requestable(
        "int, optional", "Short for `KAnonymity(k)`, which is added to `privacy`.", section="model"
    )
    l: float | None = requestable(
        "number, optional", "Short for `LDiversity(l)`, which is added to `privacy`.", section="model"
    )
    t: float | None = requestable(
        "number, optional", "Short for `TCloseness(t)`, which is added to `privacy`.", section="model"
    )
    harmless: str | Sequence[str] | None = requestable(
        "str or sequence of str, optional",
        'Sensitive values that need no protection, such as "healthy": `l` does not count them; see `LDiversity`.',
        section="model",
    )
    # The method: algorithm, randomness and order.
    algorithm: str | Algorithm = requestable(
        'str or Algorithm, default "auto"',
        'A name ("tp+", "mondrian", ...) or an object such as `shoal.algorithms.ThreePhase(refine="hilbert")`.',
        section="method",
        default="auto",
        flag="--algorithm",
        metavar="NAME",
        help=f"auto (default) chooses by models and recoding. By name: {', '.join(ALGORITHMS)}. "
        "See `shoal list algorithms`.",
    )
    resist: str | None = requestable(
        "str, optional",
        '"minimality": the promise must also hold for an adversary who knows the algorithm; "auto" chooses it for '
        "that.",
        section="method",
        flag="--resist",
        metavar="minimality",
        help="minimality: the promise also holds for someone who knows the algorithm (transparent).",
        constraint=Optional(OneOf(("minimality",))),
    )
    seed: int | None = requestable(
        "int, optional",
        "Seed for reproducible experiments, at least 0; by default randomness comes from the operating system.",
        section="method",
        flag="--seed",
        metavar="NUMBER",
        help="Makes the release reproducible. Default: randomness from the operating system.",
        kind=int,
        constraint=Optional(Integer(low=0)),
    )
    keep_order: bool = requestable(
        "bool",
        "Whether to keep the row order of the input, which may reveal something about the rows. By default rows are "
        "sorted by their published values.",
        section="method",
        flag="--keep-order",
        help="Keep the row order of the input (it may reveal something about the rows).",
        kind=bool,
    )
    # Engines and their memory.
    engine: Literal["auto", "memory", "stream", "spark"] = requestable(
        '{"auto", "memory", "stream", "spark"}',
        '"memory" reads the whole table. "stream" reads batches within `memory`, for larger tables: `data` is a path '
        "to Parquet or CSV, a folder of Parquet files, or a lazy frame, the values of insensitive columns must fit "
        'into the memory, and `release.data` is a lazy frame. "spark" lets Spark read and write: `data` is a PySpark '
        "DataFrame, or Parquet by a path or URI that the active session reads; there are no insensitive columns, and "
        '`release.data` is a PySpark DataFrame. "auto" chooses "spark" for PySpark DataFrames, and "stream" for '
        "folders, for tables that do not fit, and if `memory` is given.",
        section="engine",
        default="auto",
        flag="--engine",
        metavar="NAME",
        help="memory reads the whole table, stream reads batches of tables larger than memory (Parquet, a folder of "
        "Parquet files, or CSV), spark lets Spark read and write (Parquet by a path or URI such as hdfs://...; no "
        "insensitive columns). auto (default) chooses a suitable one.",
        constraint=OneOf(ENGINES),
    )
    memory: int | str | None = requestable(
        "int or str, optional",
        'The memory limit of the engines "stream" and "spark" in this process, in bytes or as text ("4GB"); half of '
        "the machine's memory by default. Spark's own processes follow their settings.",
        section="engine",
        flag="--memory",
        metavar="SIZE",
        kind=int | str,
        help="With --engine stream or spark: the memory limit, such as 4GB. Default: half of the machine's memory. "
        "Spark's own processes follow their settings.",
    )
    # Recoding: stars or generalized values, hierarchies and coarsenings.
    recoding: Literal["suppression", "generalization"] = requestable(
        '{"suppression", "generalization"}',
        "Whether values that differ within a group become an interval or set that covers them, or a star.",
        section="recoding",
        default="generalization",
        flag="--recoding",
        metavar="HOW",
        help="generalization (default) publishes the intervals and sets that cover a group's values, or their common "
        "ancestor in a --hierarchy; suppression publishes stars.",
        constraint=OneOf(tuple(METHODS)),
    )
    largest_set: int = requestable(
        "int",
        "For generalization: a set has at most this many values; larger ones become a star. A set shows exact values, "
        "so that anyone who knows a person's value sees if it is a member. For less precise groups, coarsen the "
        "column, or give it a hierarchy.",
        section="recoding",
        default=LARGEST_SET,
        flag="--largest-set",
        metavar="NUMBER",
        help="Sets with more values than this become a star. Default: 16.",
        kind=int,
        constraint=Integer(low=1),
    )
    exact_ends: bool = requestable(
        "bool",
        "For generalization without a hierarchy. By default, an end of an interval is the value of at least k records "
        "(the requested k, and at least 3); else it moves outward to an end of a month, a quarter, years or a round "
        "step that holds k records, where a record may happen to be. A set with a member that fewer than k records "
        "have becomes a star. True publishes the smallest intervals and sets, whose ends are usually the value of a "
        "single record.",
        section="recoding",
        flag="--exact-ends",
        help="Allow ends of intervals, and members of sets, that fewer than k "
        "records have as their value. By default ends move outward, to months, years or round numbers.",
        kind=bool,
    )
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = requestable(
        "mapping of column to Hierarchy or path, optional",
        "For generalization: quasi-identifiers whose values become the lowest common ancestor of a group's values, "
        "in a tree or its file (one line per value, from the value to the root). The root is shown as a star.",
        section="recoding",
        flag="--hierarchy",
        metavar="NAME=FILE",
        help="Publish the lowest common ancestor of a group's values, in a tree with "
        "one line per value, from the value to the root; repeat it for other columns.",
        kind=dict[str, str],
    )
    coarsen: Mapping[str | tuple[str, ...], Coarsening | str] | None = requestable(
        "mapping of column to Coarsening or text, optional",
        'Coarsenings of published columns beforehand, also in the words of the command line (`"bins:10"`); the key '
        "of a coarsening of several columns is a tuple. "
        "`SinceFirst()` counts days since the first date of each person.",
        section="recoding",
        flag="--coarsen",
        metavar="NAME=HOW",
        help="Make a column less precise beforehand; repeat it for others. HOW is prefix:3, bins:10, cuts:18,30,65, "
        "quantiles:4, date:decade|5years|year|quarter|month, level:FILE:2, round:5, top:90, bottom:18, ends:18:90, "
        "labels:K, ordered:K, points:K (of two columns), regions:EDGES.csv:K, zip3, "
        "since:first (days since the first date of the person), any (all values as one).",
        kind=dict[str, str],
    )
    # Preferences that only some algorithms support.
    weights: Mapping[str, float] | None = requestable(
        "mapping of column to number, optional",
        'Weights of the quasi-identifiers in the loss, each > 0 and 1 by default: `{"age": 2}` keeps ages more '
        "precise at the cost of the others. The algorithm minimizes the weighted loss, so it must minimize "
        'a sum over columns ("cluster", which "auto" chooses, "sabre", "full-domain", "patterns", "exact", "milp", '
        '"matching").',
        section="preferences",
        flag="--weight",
        metavar="NAME=NUMBER",
        help="The weight of a column in the loss. Default: 1. Repeat it for others. For cluster, sabre, "
        "full-domain, patterns, exact, milp, matching.",
        kind=dict[str, float | str],
        read=number_in,
    )
    limits: Mapping[str, tuple[int, int]] | None = requestable(
        "mapping of column to pair of int, optional",
        "The lowest and the highest level of its hierarchy, inclusive, at which a quasi-identifier may be published: "
        "0 is the value itself, the last one a star. Without a hierarchy there are only these two, and an interval or "
        "a set is of level 1. A node of one value is that value: from the lowest level on, it joins the other nodes of "
        "its parent. Suppressed rows are stars in any case: those that are too few to share cells at these "
        'levels. For all algorithms except "tds", "safepub" and "transparent"; "full-domain", which "auto" chooses for '
        "limits of columns without a given hierarchy under generalization, builds hierarchies of its own.",
        section="preferences",
        flag="--limit",
        metavar="NAME=LOW:HIGH",
        help="The lowest and the highest level of its hierarchy at which a column may be published; level 0 is the "
        "value itself. Repeat it for others. Not for tds, safepub, transparent.",
        kind=dict[str, tuple[int, int] | str],
        read=levels_in,
    )
    suppression_limit: float | None = requestable(
        "number, optional",
        "The largest share of rows that may be suppressed, from 0 to 1, for algorithms with such a limit "
        '("full-domain", which "auto" then chooses).',
        section="preferences",
    )
    # Formats of values in text columns.
    dates: Mapping[str, str] | None = requestable(
        "mapping of column to str, optional",
        'The date formats of text columns, in the notation of `strptime` ("%d.%m.%Y"). By default the only format '
        "that fits a whole column; if two fit, the format is required. Values that are published unchanged keep "
        "their format.",
        section="forms",
        flag="--date",
        metavar="NAME=FORMAT",
        help="The date format of a column, such as born=%d.%m.%Y. Default: detected. Repeat it for others.",
        kind=dict[str, str],
    )
    decimal: str | None = requestable(
        '{",", "."}, optional',
        "The decimal separator in text columns; detected by default.",
        section="forms",
        flag="--decimal",
        metavar="SIGN",
        help="The decimal separator in text, a comma or a point. Default: detected.",
    )
    # Options of reading files.
    delimiter: str | None = requestable(
        "str, optional",
        "The delimiter of a CSV file; detected by default.",
        section="reading",
        flag="--delimiter",
        metavar="CHARACTER",
        help="The delimiter of a CSV input. Default: detected.",
    )
    encoding: str | None = requestable(
        "str, optional",
        "Encoding of a CSV file; detected by default.",
        section="reading",
        flag="--encoding",
        metavar="NAME",
        help="The encoding of a CSV input. Default: detected.",
    )
    sheet: str | None = requestable(
        "str, optional",
        "The sheet of a workbook; required if it has several.",
        section="reading",
        flag="--sheet",
        metavar="NAME",
        help="The sheet of a workbook; required if it has several.",
    )
    header_row: int | None = requestable(
        "int, optional",
        "The row, at least 1, of a CSV file or a sheet with the names of the columns; rows above it are skipped. By "
        "default the first one.",
        section="reading",
        flag="--header-row",
        metavar="NUMBER",
        help="The row of a CSV input or of a sheet with the names of the columns; rows above are skipped. Default: 1.",
        kind=int,
        constraint=Optional(Integer(low=1)),
    )
    replace_values: Mapping[str, Mapping[str, str | None]] | None = requestable(
        "mapping of column to mapping of str to str or None, optional",
        'Values to replace before anything else: `{"gender": {"W": "w", "weiblich": "w"}}` merges spellings, '
        '`{"age": {"99": None}}` makes a code missing, the column "*" stands for all. Nothing else is derived from the '
        "old values: the release is one of the table with the new values.",
        section="cleaning",
        flag="--replace",
        metavar="NAME=OLD,OLD:NEW",
        help="Replace values before anything else: gender=W,weiblich:w merges spellings; age=99: makes a code "
        "missing; * is any column; several behind semicolons. Repeat it for others.",
        kind=dict[str, str],
    )
    derive: Mapping[str, str] | None = requestable(
        "mapping of str to str, optional",
        'New columns, derived from dates after values were replaced: `{"age": "years:born:2025-12-31"}` has whole '
        'years from a column of dates to a date or another column, `{"stay": "days:admitted:discharged"}` days. A '
        'date format may follow, `"years:born:2025-12-31:%d/%m/%Y"`. Without a date, and if the second one is before '
        "the first, the value is missing.",
        section="cleaning",
        flag="--derive",
        metavar="NAME=HOW",
        help="Derive a column from dates: age=years:born:2025-12-31 or stay=days:admitted:discharged; the last is a "
        "date or a column, and a date format may follow. Repeat it for others.",
        kind=dict[str, str],
    )
    # Options of saving.
    about: About | None = requestable(
        "About, optional",
        "Title, institution, purpose and more, for the first sheet of the reports.",
        section="output",
    )
    output: str | PathLike[str] | None = requestable(
        "path, optional",
        "A folder to save the release to, as `Release.save` does; the fields below are its parameters.",
        section="output",
        flag="--output",
        short="-o",
        metavar="OUT",
        help="Folder for the release: all of it may be published. Private files go to OUT.private in the same place.",
    )
    format: str | None = requestable(
        str(list(FORMATS)).replace("'", '"').translate({91: "{", 93: "}"}) + ", optional",
        "Format of the release; that of the input by default.",
        section="output",
        flag="--format",
        metavar="FORMAT",
        help=f"Format of the release: {listed(list(FORMATS), 'or')}; by default that of the input.",
    )
    spreadsheet_safe: bool = requestable(
        "bool",
        "Whether to quote cells that a spreadsheet would run as a formula.",
        section="output",
        flag="--spreadsheet-safe",
        help="Quote cells that a spreadsheet would run as a formula.",
        kind=bool,
    )
    publish_proof: bool = requestable(
        "bool",
        "Whether the public certificate and report also state the algorithm, its costs and the lower bound.",
        section="output",
        flag="--publish-proof",
        help="Also state the algorithm, its costs and the lower bound in OUT; they reveal more than the table.",
        kind=bool,
    )
    strict: bool = requestable(
        "bool",
        "Whether to refuse a release with `warnings`. A request whose evaluation has some is refused before the "
        "search, unless the table is read in pieces.",
        section="output",
        flag="--strict",
        help="Write nothing if the request or the release has warnings. See `shoal list warnings`.",
        kind=bool,
    )
    force: bool = requestable(
        "bool",
        "Whether to replace existing folders of an earlier release.",
        section="output",
        flag="--force",
        help="Replace existing output: OUT, and OUT.private if the command writes it.",
        kind=bool,
    )


def fields_in(*sections: str) -> tuple[str, ...]:
    """Return the names of the fields in some sections; see `RequestField.section`."""
    declared: Mapping[str, Any] = parameters_of(RequestFields)
    return tuple(name for name, one in declared.items() if one.section in sections)
