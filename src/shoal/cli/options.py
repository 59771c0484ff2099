"""Every option of the command line that is no model's and no algorithm's parameter, each defined once.

To add an option to the commands that publish: define it here, with the panel of the help that shows it; name it in one
of the groups below; and add a field of that name to `shoal.cli.spec.ReleaseSpec`. Each command that takes the group has
it then, and so have spec files; an option that is called like a parameter of `shoal.anonymize` is handed on to it.
Parameters of models and algorithms need none of this: they are declared with their fields.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal._core.language import languages
from shoal._core.validation import number_in

__all__ = [
    "CELLS",
    "EVERYDAY",
    "FORMS",
    "INPUT",
    "METHOD",
    "METHOD_PANEL",
    "OF_SOME",
    "OUTPUT",
    "PARAMETERS",
    "PREFERENCES",
    "PRIVACY",
    "PRIVACY_PANEL",
    "READING",
    "REPORT",
    "RECODING",
    "REQUEST",
    "ROLES",
    "Page",
    "Parameters",
    "Algorithms",
    "Chart",
    "Coarsen",
    "ComparedLoss",
    "Contact",
    "Dates",
    "Decimal",
    "Delimiter",
    "DemoOutput",
    "DirectIdentifiers",
    "ENGINE",
    "Engine",
    "Encoding",
    "ExactEnds",
    "Force",
    "Format",
    "Hierarchies",
    "Insensitive",
    "Institution",
    "Json",
    "KeepOrder",
    "Language",
    "LargestSet",
    "Limits",
    "Master",
    "Memory",
    "MissingSensitive",
    "Normalize",
    "Notes",
    "Output",
    "PublishProof",
    "Purpose",
    "QuasiIdentifiers",
    "Recoding",
    "Released",
    "ReportDate",
    "Seconds",
    "Seed",
    "Sensitive",
    "Sheet",
    "Signatures",
    "Source",
    "Spec",
    "SpreadsheetSafe",
    "Star",
    "Strict",
    "Title",
    "TunedLoss",
    "Weights",
    "as_number",
    "names_in",
]

_COLUMNS = "Columns"
PRIVACY_PANEL = "Privacy"
METHOD_PANEL = "Method"
_RECODING = "Recoding"
OF_SOME = "For some algorithms"
_FILES = "Files"
_FIRST_SHEET = "First sheet of the reports"
_NAMES = "Separated by commas, or the option repeated; a name with a comma stands in double quotes."

OUT_HELP = "Folder for the release: all of it may be published. What only you may see goes to OUT.private beside it."
"""What -o says wherever a release is written."""
INPUT = ("input",)
ROLES = ("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive")
CELLS = ("missing_sensitive", "normalize", "star")
PRIVACY = ("privacy",)
"""The parameters of all models."""
METHOD = ("algorithm", "seed", "keep_order")
ENGINE = ("engine", "memory", "master")
"""How much of a table is in memory at once, for commands that publish one."""
RECODING = ("recoding", "largest_set", "exact_ends", "hierarchies", "coarsen")
PREFERENCES = ("weights", "limits")
"""What else is asked of an algorithm, besides the parameters of its own."""
PARAMETERS = ("parameters",)
"""The parameters of all algorithms."""
FORMS = ("dates", "decimal")
"""How dates and numbers are written, for commands that look at what cells mean."""
READING = ("delimiter", "encoding", "sheet")
REPORT = ("title", "institution", "purpose", "contact", "date", "notes", "signatures", "language")
"""What the publisher says of a release on the first sheet of its reports."""
OUTPUT = ("output", "format", "spreadsheet_safe", "publish_proof", "strict", "force")
REQUEST = ("spec", "json")
EVERYDAY = (
    *ROLES, "k", "l", "recoding", "hierarchies", "coarsen", "output", "force", "spec",
    *("algorithms", "chart", "seconds"), *("population", "sampling_fraction", "weights", "suda", "explain"),
)  # fmt: skip
"""What --help shows of a command with many options, by the names of the parameters; --help-all shows all."""

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="CSV (also packed: .gz, .zst), Excel, OpenDocument, Parquet or Arrow file, - for standard input, "
        "sqlite:///file.db::table, or any SQLAlchemy URL with ::table or ::query.",
        show_default=False,
    ),
]
Released = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="The table to judge, whoever made it: what anonymize reads, or the folder of a release."
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help=OUT_HELP,
        rich_help_panel=_FILES,
    ),
]
DemoOutput = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help=OUT_HELP,
        rich_help_panel=_FILES,
    ),
]
Page = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="Write a page: OUT.html, or OUT as a folder for it."),
]
Spec = Annotated[
    Path | None,
    typer.Option(
        "--spec",
        metavar="FILE.toml",
        help="Read the request from a TOML file; flags override it, and relative paths in it start from its folder.",
        rich_help_panel=_FILES,
    ),
]
Force = Annotated[
    bool | None,
    typer.Option("--force/--no-force", help="Replace OUT and OUT.private if they exist.", rich_help_panel=_FILES),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Format of the release: csv, parquet, xlsx or ods; as the input's unless given.",
        rich_help_panel=_FILES,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates the fields of a CSV input; detected unless given.",
        rich_help_panel=_FILES,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Encoding of a CSV input; detected unless given.", rich_help_panel=_FILES
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet", metavar="NAME", help="The sheet of a workbook; needed where it has several.", rich_help_panel=_FILES
    ),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="NAME=FORMAT",
        help="How the dates of a column are written, as born=%d.%m.%Y; found out unless given. Repeat it for others.",
        rich_help_panel=_FILES,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="SIGN",
        help="What stands before decimals in text, a comma or a point; found out unless given.",
        rich_help_panel=_FILES,
    ),
]
SpreadsheetSafe = Annotated[
    bool | None,
    typer.Option(
        "--spreadsheet-safe/--no-spreadsheet-safe",
        help="Quote cells that a spreadsheet would run as a formula.",
        rich_help_panel=_FILES,
    ),
]
PublishProof = Annotated[
    bool | None,
    typer.Option(
        "--publish-proof/--no-publish-proof",
        help="State the algorithm, its costs and the lower bound in OUT, too; they tell more than the published table.",
        rich_help_panel=_FILES,
    ),
]
Strict = Annotated[
    bool | None,
    typer.Option(
        "--strict/--no-strict",
        help="Write nothing where a release has warnings. `shoal list warnings` tells them.",
        rich_help_panel=_FILES,
    ),
]


def _first_sheet(flag: str, metavar: str, help: str, *, many: bool = False) -> Any:  # noqa: A002
    kind: Any = list[str] if many else str
    option = typer.Option(flag, metavar=metavar, help=help, rich_help_panel=_FIRST_SHEET)
    return Annotated[kind | None, option]


Title = _first_sheet("--title", "TEXT", "Heading of the reports.")
Institution = _first_sheet("--institution", "TEXT", "Who publishes the release.")
Purpose = _first_sheet("--purpose", "TEXT", "What it is published for.")
Contact = _first_sheet("--contact", "TEXT", "Whom readers ask.")
ReportDate = _first_sheet(
    "--report-date", "TEXT", "When; unless given, today in your report, and nothing in that for readers."
)
Notes = _first_sheet("--notes", "TEXT", "What those who decide should know; in your report only.")
Signatures = _first_sheet(
    "--signature", "TEXT", "Who signs, in your report only: a line for each; repeat it.", many=True
)
Language = _first_sheet("--language", "|".join(languages()), "Language of the reports; English unless given.")
Json = Annotated[
    bool | None,
    typer.Option(
        "--json", help="Print one JSON object on standard output and nothing else there.", rich_help_panel=_FILES
    ),
]

QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--qi",
        metavar="NAMES",
        help=f"Quasi-identifiers: what an adversary may know of a person. {_NAMES}",
        rich_help_panel=_COLUMNS,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        metavar="NAMES",
        help="Sensitive attributes: what must not be linked to a person.",
        rich_help_panel=_COLUMNS,
    ),
]
DirectIdentifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="NAMES",
        help="Direct identifiers: columns that name a person, never published.",
        rich_help_panel=_COLUMNS,
    ),
]
Insensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--insensitive",
        metavar="NAMES",
        help="Columns that are neither, published as they are.",
        rich_help_panel=_COLUMNS,
    ),
]
MissingSensitive = Annotated[
    str | None,
    typer.Option(
        "--missing-sensitive",
        metavar="error|value|drop",
        help="A missing sensitive value is an error, a value of its own, or drops its row.",
        rich_help_panel=_COLUMNS,
    ),
]
Star = Annotated[
    str | None,
    typer.Option(
        "--star", metavar="SYMBOL", help="The symbol of a suppressed cell, * unless given.", rich_help_panel=_COLUMNS
    ),
]


Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithms",
        metavar="NAMES",
        help="The algorithms to compare, separated by commas; all that fit and are quick unless given.",
        rich_help_panel=METHOD_PANEL,
    ),
]
ComparedLoss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        metavar="NAME",
        help="The metric that the chart shows against the time; gcp unless given. `shoal list metrics` tells them.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Chart = Annotated[
    Path | None,
    typer.Option(
        "--chart",
        metavar="FILE",
        help="Draw loss against time into a file, .svg or .png; it is replaced if it exists.",
        rich_help_panel=_FILES,
    ),
]
Recoding = Annotated[
    str | None,
    typer.Option(
        "--recoding",
        metavar="HOW",
        help="suppression publishes stars (unless given); generalization the intervals and sets that cover a group's "
        "values, or their common ancestor in a --hierarchy.",
        rich_help_panel=_RECODING,
    ),
]
Coarsen = Annotated[
    list[str] | None,
    typer.Option(
        "--coarsen",
        metavar="NAME=HOW",
        help="Make a column less precise first; repeat it for others. HOW is prefix:3, bins:10, cuts:18,30,65, "
        "quantiles:4, date:year|quarter|month, level:FILE:2, round:5, top:90, bottom:18, labels:K, ordered:K, "
        "points:K (of two columns), regions:EDGES.csv:K, zip3, any (all values as one).",
        rich_help_panel=_RECODING,
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="NAME=FILE",
        help="With --recoding generalization: publish the lowest common ancestor of a group's values, in a tree with a "
        "line per value, from the value to the root; repeat it for other columns.",
        rich_help_panel=_RECODING,
    ),
]
LargestSet = Annotated[
    int | None,
    typer.Option(
        "--largest-set",
        metavar="NUMBER",
        help="With --recoding generalization: a set of more values becomes a star; 16 unless given.",
        rich_help_panel=_RECODING,
    ),
]
ExactEnds = Annotated[
    bool | None,
    typer.Option(
        "--exact-ends/--no-exact-ends",
        help="With --recoding generalization: let intervals end, and sets have members, at values that fewer than k "
        "records of the table have. By default ends go outward, to months, years or round numbers.",
        rich_help_panel=_RECODING,
    ),
]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="NAME=NUMBER",
        help="How much the loss of a column counts, 1 unless given; repeat it for others. For full-domain, patterns.",
        rich_help_panel=OF_SOME,
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=LOW:HIGH",
        help="The lowest and the highest level of its hierarchy that a column may be published at, 0 for its values; "
        "repeat it for others. For full-domain.",
        rich_help_panel=OF_SOME,
    ),
]
TunedLoss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        metavar="NAME",
        help="What to minimize: gcp unless given, kl_divergence or non_uniform_entropy.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Seconds = Annotated[
    str | None,
    typer.Option(
        "--seconds", metavar="NUMBER", help="How long to search; 30 unless given.", rich_help_panel=METHOD_PANEL
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="Any parameter of the algorithm; repeat it for others. `shoal list algorithms` tells them.",
        rich_help_panel=OF_SOME,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="Make the release reproducible; from the operating system unless given.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        "--normalize/--no-normalize",
        help="Strip blanks at the ends and invisible characters from sensitive values and quasi-identifiers, and "
        "compose characters (Unicode NFC), before anything else.",
        rich_help_panel=_COLUMNS,
    ),
]
KeepOrder = Annotated[
    bool | None,
    typer.Option(
        "--keep-order/--no-keep-order",
        help="Publish the rows in the order of the input, which tells about it.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="memory reads the table as a whole, stream in pieces, for tables larger than memory (Parquet, a folder of "
        "Parquet files, or CSV), spark lets Spark read and write it (Parquet by a path or URI, as hdfs://...; no "
        "insensitive columns); auto, unless given, takes what fits.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="With --engine stream or spark: how much memory it may take, as 4GB; half of the machine's unless given. "
        "Spark's own processes take what its settings give them.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="With --engine spark: the cluster, or local[2] for two threads of this machine; what Spark's "
        "configuration says unless given.",
        rich_help_panel=METHOD_PANEL,
    ),
]


def names_in(option: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names that an option lists, read as lines of CSV; None where it was not given.

    Examples
    --------
    >>> names_in("--qi", ['age, "last, first"', "zip"])
    ('age', 'last, first', 'zip')
    """
    if not values:
        return None
    names: list[str] = []
    for line in values:
        try:
            names.extend(*csv.reader([line], skipinitialspace=True, strict=True))
        except (csv.Error, TypeError) as error:
            raise typer.BadParameter("the quotes do not match.", param_hint=option) from error
    if "" in names:
        raise typer.BadParameter("a name is empty.", param_hint=option)
    return tuple(names)


def as_number(option: str, given: float | str) -> int | float | Fraction:
    """Return a number as it was meant: a whole number, a decimal, or a fraction such as 1/3.

    Examples
    --------
    >>> as_number("-l", "4"), as_number("--alpha", "0.25"), as_number("--alpha", "1/3")
    (4, 0.25, Fraction(1, 3))
    """
    number = number_in(given) if isinstance(given, str) else given
    if isinstance(number, str):
        raise typer.BadParameter(f"'{given}' is no number.", param_hint=option)
    return number
